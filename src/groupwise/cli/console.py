"""How commands speak: what was found on one stream, progress and errors on the other."""

import json
import logging
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console as RichConsole
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from groupwise.cli import stop_at_once
from groupwise.cli.options import OPTION_NAMES
from groupwise.cli.terminal import visible
from groupwise.exceptions import GroupDataError
from groupwise.io import ModelFileError
from groupwise.jobs import Job, Result, leaderboard
from groupwise.jobs.group_labels import Presence, look_like_grades
from groupwise.jobs.row_labels import Measure
from groupwise.tables import ColumnUse, OptionError, TableError
from groupwise.tables.columns import SPECIFIED
from groupwise.tables.formats import without_password
from groupwise.tables.read import as_text

__all__ = [
    "Console",
    "TimeLeft",
    "command_line",
    "one_line_errors",
    "print_board",
    "print_job",
    "print_score",
    "renamed",
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


def renamed(text: str) -> str:
    """A text of the library with the command line's names in it."""
    return TableError(text).renamed(OPTION_NAMES)


def _print_columns(console: Console, uses: Sequence[ColumnUse]) -> None:
    """Which columns are used and why the others are not."""
    features = [use for use in uses if use.is_feature]
    console.print(f"features:    {len(features)} columns")
    kinds = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}
    for kind, heading in kinds.items():
        names = [_shown(use.name) for use in features if use.use == kind]
        if names:
            console.print(f"  {heading + ':':<11} {_listed(names)}")
    names = [_shown(use.name) for use in features if use.of_group]
    if names:
        console.print(f"  of groups:  {_listed(names)} (from --groups-table)")
    left_out = [use for use in uses if use.use == "not used" and use.why != SPECIFIED]
    for use in left_out:
        console.print(f"  not used:   {_shown(use.name)} ({use.why})")
    if left_out:
        console.print("              (--features names the columns to use, these among them)")


def _shown(name: str) -> str:
    """A name as it is, or in quotes where its ends could not be seen."""
    return name if name and name == name.strip() else repr(name)


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def print_job(console: Console, job: Job, why: str | None, method: str | None = None) -> None:
    """What the job is; ``method`` is the only one, where there is one."""
    if console.silent:
        return
    inside = f" in {job.targets.groups.n_groups:,} groups" if job.supervision.group else ""
    console.print(f"table:       {job.table}: {job.n_rows:,} rows{inside}")
    for note in job.notes:
        console.note(renamed(note))
    reason = f" ({renamed(why)})" if why else ""
    console.print(
        f"kind:        {job.supervision.kind}{reason}; "
        f"{job.supervision.classes_in_words(job.targets.classes)}"
    )
    if (other := _other_reading(job, why is not None)) is not None:
        console.print(f"             {other}")
    if job.unlabelled is not None:
        console.print(f"unlabelled:  {_unlabelled(job, method)}")
    if job.keep_whole is not None:
        whole = len(set(np.asarray(job.targets.whole).tolist()))
        console.print(f"kept whole:  {job.keep_whole}: {whole:,}, none in two folds")
    _print_columns(console, job.uses)


def _other_reading(job: Job, guessed: bool) -> str | None:
    """What else the labels may mean, and how to say so."""
    known, classes = job.supervision, job.targets.classes
    if (
        (isinstance(known, Presence) or (isinstance(known, Measure) and known.names_positive))
        and known.positive is None
        and len(classes) == 2
    ):
        return f"the other way round: --positive {shlex.quote(classes[0])}"
    if not guessed or known.kind != "majority":
        return None
    if len(classes) == 2:
        return (
            f"taken to mean: {known.meaning}; if one positive row makes a group positive, say "
            f"--kind presence --positive {shlex.quote(classes[1])}"
        )
    if look_like_grades(classes):
        return (
            f"taken to mean: {known.meaning}; if the classes are grades in this order, say "
            "--kind grade"
        )
    return None


def _unlabelled(job: Job, method: str | None) -> str:
    """How many rows or groups have no label, and who learns from them."""
    found = job.unlabelled
    assert found is not None
    labelled = job.supervision.rows_labelled or job.supervision.group is None
    n = len(found.rows) if labelled else found.groups.n_groups
    total = n + (job.n_rows if labelled else job.targets.groups.n_groups)
    users = [m.name for m in job.methods() if m.uses_unlabelled and not job.reason_against(m)]
    use = f"learned from as well by {', '.join(users)}" if users else "set aside"
    if users and method is not None and method not in users:
        use += f", set aside by {method}"
    what = "rows" if labelled else "groups"
    return f"{n:,} of {total:,} {what} have no label: {use}; 'groupwise predict' answers for them"


def print_score(
    console: Console, summary: dict[str, Any], where: str, interval: str = "95 % interval"
) -> None:
    """One line with the score and one with the worst groups; ``interval`` says what it is of."""
    console.print(
        f"score:       {summary['score']:.3f} ({summary['score_name']}; {interval} "
        f"{summary['low']:.3f} to {summary['high']:.3f}, {summary['n_groups']:,} {where})"
    )
    if summary["besides"] is not None:
        console.print(f"             {summary['besides']}")
    if summary["baseline"] is not None:
        console.print(
            f"baseline:    {summary['baseline']:.3f} (the same answer for every group and row)"
        )
    worst = [f"{name} {value:.2f}" for name, value in summary["worst"].items() if value < 1.0]
    wrong = [name for name, value in summary["worst"].items() if value == 0.0]
    if len(wrong) == len(worst) > 0:  # right or wrong: no one is worse than another
        more = ", ..." if len(wrong) == len(summary["worst"]) < summary["n_groups"] else ""
        console.print(f"wrong:       {', '.join(wrong)}{more}")
    elif worst:
        console.print(f"worst:       {', '.join(worst)}")


def _board_rows(board: pd.DataFrame, with_memory: bool) -> list[list[str]]:
    """A leaderboard as text, cell by cell."""
    rows = []
    for position, (name, line) in enumerate(board.iterrows()):
        tie = " =" if position and line["difference_high"] >= 0 else ""
        paired = (
            f"{line['difference']:+.3f} ({line['difference_low']:+.3f}, "
            f"{line['difference_high']:+.3f})"
        )
        rows.append(
            [
                f"{name}{tie}",
                f"{line['score']:.3f} ({line['low']:.3f}, {line['high']:.3f})",
                paired if position else "",
                f"{line['seconds_fit'] + line['seconds_search']:.1f}",
                *([f"{line['memory_mib']:.0f}"] if with_memory else []),
            ]
        )
    return rows


def print_board(console: Console, result: Result) -> pd.DataFrame:
    """The leaderboard, and what was left out."""
    board = leaderboard(result)
    with_memory = bool((board["memory_mib"] > 0).any())  # the automatic choice measures none
    columns = ["method", "score (95 %)", "to the best (95 %)", "s"] + ["MiB"] * with_memory
    rows = _board_rows(board, with_memory)
    table = Console.table(result.about.supervision.score_name, columns, rows)
    table.columns[0].overflow = "fold"  # rather a long name in two lines than a score
    table.columns[0].min_width = 16
    for column in table.columns[1:]:
        column.no_wrap = True
    console.print(table)
    simplest = result.baseline()
    if simplest is not None:
        console.print(
            f"the same answer for every group and row: {simplest[0]:.3f} "
            f"({simplest[1]:.3f}, {simplest[2]:.3f})"
        )
    if (np.asarray(board["difference_high"])[1:] >= 0).any():
        console.print("=: the difference to the best may be none")
    for name, reason in result.left_out.items():
        console.print(f"left out: {name} ({reason})")
    return board
