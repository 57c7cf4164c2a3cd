"""What can be wrong with a table, or with what is asked of it."""

import re

__all__ = ["OptionError", "TableError"]

_ARGUMENT = re.compile(r"`(\w+)`")


class TableError(ValueError):
    """A table cannot be used; the message names the file and the column, row or group.

    Arguments of the caller stand in backticks, so that another caller (the command line) can put
    its own names in their place.

    Examples
    --------
    >>> TableError("t.csv has no column 'grup' (`group`)").arguments
    ('group',)
    """

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments that the message speaks of."""
        return tuple(_ARGUMENT.findall(str(self)))

    def renamed(self, names: dict[str, str]) -> str:
        """The message with other names for some arguments.

        Examples
        --------
        >>> TableError("`label` is missing").renamed({"label": "--label"})
        '--label is missing'
        """
        return _ARGUMENT.sub(lambda found: names.get(found[1], found[0]), str(self))


class OptionError(TableError):
    """An argument does not exist or contradicts another; the message names it."""
