"""What can be wrong with a model file."""

__all__ = ["ModelFileError"]


class ModelFileError(ValueError):
    """A model file cannot be used; the message names the file."""
