"""What can be wrong with a table."""

__all__ = ["TableError"]


class TableError(ValueError):
    """A table cannot be used; the message names the file and the column, row or group."""
