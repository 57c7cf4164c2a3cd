"""How commands speak: what was found on one stream, progress and errors on the other; files."""

import errno
import json
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from groupwise.cli import stop_at_once
from groupwise.cli.options import OPTION_NAMES
from groupwise.cli.terminal import visible
from groupwise.exceptions import GroupDataError
from groupwise.files import write_text
from groupwise.io import ModelFileError
from groupwise.jobs import Result
from groupwise.tables import OptionError, TableError
from groupwise.tables.formats import without_password
from groupwise.tables.read import as_text

__all__ = [
    "Console",
    "TimeLeft",
    "check_folder",
    "check_overwriting",
    "command_line",
    "is_page",
    "one_line_errors",
    "renamed",
    "write_report",
]


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
            what = visible(what) if isinstance(what, str) else what
            self._out.print(what, highlight=False, markup=False)

    def note(self, what: str) -> None:
        """Print to standard error what a person should know; not with ``--quiet``."""
        if not self.silent:
            self._err.print(visible(f"note: {what}"), highlight=False, markup=False)

    def emit_json(self, content: dict[str, Any]) -> None:
        """Print for machines."""
        if self.as_json:
            print(json.dumps(content, allow_nan=False))

    def track(
        self, found: Iterable[Any], total: int, heading: str, names: Sequence[str] | None = None
    ) -> Iterator[Any]:
        """Give the results on, with a bar that says which is done and how long the rest may take.

        Parameters
        ----------
        found : iterable
            Results as they come.
        total : int
        heading : str
        names : sequence of str, default=None
            What each step does; steps of one name are taken to last as long as each other.
        """
        if self.silent or not self._err.is_terminal:
            yield from found
            return
        left = TimeLeft(names or [heading] * total)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(
            *columns, TextColumn("{task.fields[left]}"), console=self._err, transient=True
        ) as bar:
            task = bar.add_task(heading, total=total, left="")
            for one in found:
                name = left.done(time.monotonic())
                shown = heading if names is None else f"{heading}: {name}"
                bar.update(task, advance=1, description=shown, left=left.text())
                yield one

    @contextmanager
    def log(self, name: str) -> Iterator[None]:
        """Print what a logger of the library says while the block runs."""
        logger, handler = logging.getLogger(name), _Printed(self)
        level = logger.level
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    @staticmethod
    def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
        """A table whose first column is text and whose others are figures."""
        table = Table(title=visible(title), title_justify="left", box=SIMPLE_HEAD)
        for position, column in enumerate(columns):
            table.add_column(visible(column), justify="left" if position == 0 else "right")
        for row in rows:
            table.add_row(*map(visible, row))
        return table


class TimeLeft:
    """How long the steps that are left may take, from how long their like has taken.

    Parameters
    ----------
    names : sequence of str
        Of all steps, in order; equal names are steps alike.

    Examples
    --------
    >>> left = TimeLeft(["slow", "quick", "slow", "quick"], started=0.0)
    >>> left.done(9.0), left.seconds()  # nothing is known of quick yet: as slow
    ('slow', 27.0)
    >>> left.done(10.0), left.seconds()
    ('quick', 10.0)
    """

    def __init__(self, names: Sequence[str], started: float | None = None):
        self._names = list(names)
        self._spent: dict[str, list[float]] = {}
        self._last = time.monotonic() if started is None else started
        self._n_done = 0

    def done(self, now: float) -> str:
        """Take note that the next step is done; its name."""
        name = self._names[self._n_done]
        self._spent.setdefault(name, []).append(now - self._last)
        self._last, self._n_done = now, self._n_done + 1
        return name

    def seconds(self) -> float:
        """An estimate."""
        mean = {name: sum(spent) / len(spent) for name, spent in self._spent.items()}
        typical = sum(mean.values()) / max(1, len(mean))
        return sum(mean.get(name, typical) for name in self._names[self._n_done :])

    def text(self) -> str:
        """The estimate for people, rounded so that it does not flicker."""
        seconds = self.seconds()
        if seconds < 10:
            return "seconds left"
        if seconds < 90:
            return f"about {10 * round(seconds / 10):.0f} s left"
        return f"about {max(2, round(seconds / 60)):.0f} min left"


class _Printed(logging.Handler):
    """Log records as lines for people."""

    def __init__(self, console: Console):
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        self._console.print(f"  {record.getMessage()}")


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turn what a user can put right into one line and an exit code.

    With the variable GROUPWISE_DEBUG set, everything keeps its traceback.
    """
    previous = _catch_signals()
    try:
        yield
    except KeyboardInterrupt as error:
        _fail(str(error) or "interrupted", 130)
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
        for number, handler in previous.items():
            signal.signal(number, handler)


def command_line() -> str:
    """The command as it was typed, without any password."""
    return shlex.join(["groupwise", *(without_password(as_text(part)) for part in sys.argv[1:])])


def _fail(message: str, code: int) -> None:
    if os.environ.get("GROUPWISE_DEBUG"):
        raise  # inside an except block of the caller
    line = visible(" ".join(message.split()))
    print(f"error: {line}", file=sys.stderr)
    raise typer.Exit(code)


def _catch_signals() -> dict[int, Any]:
    """Let Ctrl-C, and ``kill`` like it, end a command so that no file is left half written.

    Returns the handlers before.
    """

    def stop(_signum: int, _frame: object) -> None:
        raise KeyboardInterrupt

    previous: dict[int, Any] = {}
    try:
        previous[signal.SIGTERM] = signal.signal(signal.SIGTERM, stop)
        if signal.getsignal(signal.SIGINT) is stop_at_once:
            previous[signal.SIGINT] = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not in the main thread: signals are somebody else's business
        pass
    return previous


def check_folder(*paths: Path | None) -> None:
    """Refuse, before any work is done, files that could not be written in the end."""
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        if not folder.is_dir():
            raise OSError(errno.ENOENT, "there is no such folder", str(folder))
        if path.is_dir():
            raise OSError(errno.EISDIR, "is a folder, not a file", str(path))
        if not os.access(folder, os.W_OK):
            raise OSError(errno.EACCES, "the folder cannot be written to", str(folder))


def check_overwriting(
    path: Path | None,
    *,
    inputs: Sequence[str | Path] = (),
    force: bool = False,
    ours: Callable[[Path], bool] | None = None,
) -> None:
    """Refuse to replace what the command reads, or what was not written by a command like it.

    Parameters
    ----------
    path : Path or None
        Where the command would write.
    inputs : sequence of str or Path
        What it reads.
    force : bool
        Whether the user said that it is meant.
    ours : callable, default=None
        Says of an existing file whether it may be replaced without a word; ``None``: any may.
    """
    if path is None or force:
        return
    for given in map(Path, inputs):
        if given == path or (path.exists() and given.exists() and path.samefile(given)):
            raise OptionError(f"{path} is read, and would be replaced; say --force if it is meant")
        if given.is_dir() and path.resolve().is_relative_to(given.resolve()):
            raise OptionError(f"{path} lies in {given}, which is read; say --force if it is meant")
    if ours is not None and path.exists() and path.stat().st_size > 0 and not ours(path):
        raise OptionError(
            f"{path} exists and was not written by groupwise; say --force to replace it"
        )


def is_page(path: Path) -> bool:
    """Whether a file is a web page."""
    with path.open("rb") as stream:
        return stream.read(256).lstrip().lower().startswith((b"<!doctype html", b"<html"))


def write_report(
    result: Result, path: Path, *, title: str | None = None, notes: str | None = None
) -> None:
    """Write the page; ``notes`` may name a file with ``@``."""
    from groupwise.report import render  # slow to load

    if notes is not None and notes.startswith("@"):
        try:
            notes = Path(notes[1:]).read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise OptionError(f"--notes: {notes[1:]} is no text in UTF-8") from error
    write_text(path, render(result, title=title, notes=notes or ""))


def renamed(text: str) -> str:
    """A text of the library with the command line's names in it."""
    return TableError(text).renamed(OPTION_NAMES)
