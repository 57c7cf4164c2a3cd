"""What can be wrong with a table."""

__all__ = ["OptionError", "TableError"]


class TableError(ValueError):
    """A table cannot be used; the message names the file and the column, row or group."""


class OptionError(TableError):
    """What was asked for does not exist or contradicts itself; the message names the option."""
