"""How commands speak: what was found on one stream, progress and errors on the other."""

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console as RichConsole
from rich.progress import track
from rich.table import Table

from groupwise.cli.options import OPTION_NAMES
from groupwise.exceptions import GroupDataError
from groupwise.io import ModelFileError
from groupwise.tables import OptionError, TableError
from groupwise.tables.sql import without_password

__all__ = ["Console", "command_line", "one_line_errors"]


class _Stream(RichConsole):
    """A console that leaves a reader who went away to the command."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Console:
    """Prints text for people, or JSON for machines, or nothing.

    Parameters
    ----------
    as_json, quiet : bool
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False):
        self.as_json = as_json
        self.silent = quiet or as_json
        self._out = _Stream(soft_wrap=True)
        self._err = _Stream(stderr=True, soft_wrap=True)

    def print(self, what: object) -> None:
        """Print for people."""
        if not self.silent:
            self._out.print(what, highlight=False, markup=False)

    def note(self, what: str) -> None:
        """Print to standard error what a person should know; not with ``--quiet``."""
        if not self.silent:
            self._err.print(f"note: {what}", highlight=False, markup=False)

    def emit_json(self, content: dict[str, Any]) -> None:
        """Print for machines."""
        if self.as_json:
            print(json.dumps(content, allow_nan=False))

    def track(self, steps: Sequence[Any], heading: str) -> Iterable[Any]:
        """A progress bar over steps."""
        hidden = self.silent or not self._err.is_terminal
        return track(steps, heading, console=self._err, transient=True, disable=hidden)

    @staticmethod
    def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
        """A table whose first column is text and whose others are figures."""
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
        for position, column in enumerate(columns):
            table.add_column(column, justify="left" if position == 0 else "right")
        for row in rows:
            table.add_row(*row)
        return table


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what a user can put right into one line and an exit code.

    With the variable GROUPWISE_DEBUG set, everything keeps its traceback.
    """
    previous = _catch_termination()
    try:
        yield
    except KeyboardInterrupt:
        _fail("interrupted", 130)
    except BrokenPipeError as error:  # nobody reads any more, as in `groupwise ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(141) from error
    except ModelFileError as error:
        _fail(str(error), 4)
    except OptionError as error:
        _fail(error.renamed(OPTION_NAMES), 2)
    except TableError as error:
        _fail(error.renamed(OPTION_NAMES), 3)
    except GroupDataError as error:
        _fail(str(error), 3)
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), 5)
    except MemoryError:
        _fail("not enough memory", 1)
    except (ValueError, ArithmeticError, RuntimeError, ImportError) as error:
        if isinstance(error, typer.Exit | typer.Abort):
            raise
        _fail(str(error) or type(error).__name__, 1)
    finally:
        if previous is not None:
            signal.signal(signal.SIGTERM, previous)


def command_line() -> str:
    """The command as it was typed, without any password."""
    return shlex.join(["groupwise", *(without_password(part) for part in sys.argv[1:])])


def _fail(message: str, code: int) -> None:
    if os.environ.get("GROUPWISE_DEBUG"):
        raise  # inside an except block of the caller
    line = " ".join(message.split())
    print(f"error: {line}", file=sys.stderr)
    raise typer.Exit(code)


def _catch_termination() -> Any:
    """Let ``kill`` end a command as Ctrl-C does, so that no file is left half written."""

    def stop(_signum: int, _frame: object) -> None:
        raise KeyboardInterrupt

    try:
        return signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread: signals are somebody else's business
        return None
