"""Options that commands share, and what is refused of them before any work is done."""

import ast
import errno
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from groupwise.tables import OptionError

__all__ = [
    "OPTION_NAMES",
    "Coverage",
    "Domain",
    "Event",
    "Exposure",
    "Features",
    "Folds",
    "Group",
    "GroupWeight",
    "Groups",
    "GroupsTable",
    "Header",
    "Ignore",
    "Jobs",
    "Json",
    "KeepWhole",
    "Kind",
    "Label",
    "MeasureName",
    "ModelPath",
    "Notes",
    "Order",
    "Positive",
    "Quiet",
    "ReportedWords",
    "Seed",
    "Source",
    "Sql",
    "TablePath",
    "Target",
    "Time",
    "Title",
    "check_folder",
    "check_overwriting",
    "inputs",
    "labels_of",
    "parse_params",
    "parse_time",
    "parse_weights",
    "split_names",
]

#: How arguments of the library are called on the command line; messages are translated by it.
OPTION_NAMES = {
    "coverage": "--coverage",
    "domain": "--domain",
    "event": "--event",
    "explain": "--explain",
    "exposure": "--exposure",
    "group": "--group",
    "group_weights": "--group-weight",
    "groups_table": "--groups-table",
    "header": "--no-header",
    "ignored": "--ignore",
    "keep": "--keep",
    "keep_whole": "--keep-whole",
    "kind": "--kind",
    "label": "--label",
    "level": "--level",
    "measure": "--measure",
    "method": "--method",
    "order": "--order",
    "params": "--param",
    "positive": "--positive",
    "reported": "--reported",
    "sources": "--source",
    "sql": "--sql",
    "target_domain": "--target",
    "wanted": "--features",
}

TablePath = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, Feather or JSON lines (compressed or not), a folder of Parquet "
        "parts, '-' for standard input; with --sql a DuckDB or SQLite file or postgresql://...",
    ),
]
GroupsTable = Annotated[
    str | None,
    typer.Option(
        "--groups-table",
        metavar="TABLE",
        help="A second table, one line per group (labels, counts, features), joined on --group.",
    ),
]
Source = Annotated[
    list[str] | None,
    typer.Option(
        "--source",
        metavar="TABLE",
        help="A table like TABLE from elsewhere or earlier, to learn from as well (transfer); "
        "repeat it for several.",
    ),
]
KeepWhole = Annotated[
    str | None,
    typer.Option(
        "--keep-whole",
        metavar="COLUMN",
        help="Coarser ids that no fold divides: the users, where a user has several groups.",
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header", help="Whether the first line of a CSV file names the columns."
    ),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="File that 'fit' wrote.")]
Sql = Annotated[str | None, typer.Option("--sql", help="Query whose answer is the table.")]
Group = Annotated[str | None, typer.Option("--group", "-g", help="Column that names the group.")]
Groups = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "-g",
        help="Column that names the group. Repeated: several groupings of the same rows (precinct "
        "and county), with a --label for each, or one of rows' labels; the first is judged and "
        "predicted, and no known total of another reaches from training rows to judged ones.",
    ),
]
GroupWeight = Annotated[
    list[str] | None,
    typer.Option(
        "--group-weight", metavar="COLUMN=NUMBER", help="What a grouping weighs, of several; or 1."
    ),
]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        "-l",
        help="Column of labels; for proportions one per class (a,b,c or repeated; with several "
        "--group, a,b,c for each).",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        "-k",
        help="majority, presence, grade, proportions, reported, mean, total, survival, measure or "
        "transfer; by default told by the rest.",
    ),
]
MeasureName = Annotated[
    str | None, typer.Option("--measure", help="What counts per group: f1, accuracy, ndcg, ...")
]
Domain = Annotated[str | None, typer.Option("--domain", help="Column of domains (transfer).")]
Target = Annotated[str | None, typer.Option("--target", help="The domain that counts (transfer).")]
Positive = Annotated[
    str | None, typer.Option("--positive", help="The positive class; by default the last of two.")
]
ReportedWords = Annotated[
    str | None,
    typer.Option(
        "--reported",
        metavar="WORDS",
        help="The label is a count as it was published: 'exact', or what was done to it: any of "
        "'laplace 2' (geometric, gaussian), 'rounded 5', 'below 5' (left out), 'sample 0.1' (the "
        "share of a group's rows that are here), with commas between.",
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COLUMN",
        help="What a row's rate is multiplied by (people, days), for a total of counts.",
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="COLUMN",
        help="Whether the event was seen, 0 or 1, where the label is a time (survival).",
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option("--features", help="Only these columns (a,b or 'acc_*' or repeated)."),
]
Ignore = Annotated[
    list[str] | None, typer.Option("--ignore", help="Not these columns (a,b or 'acc_*').")
]
Order = Annotated[
    str | None, typer.Option("--order", help="Column that orders the rows of a group (a time).")
]
Coverage = Annotated[
    float | None,
    typer.Option(
        "--coverage",
        help="Also make sets of classes (intervals of shares, means or totals) that hold this "
        "share of new groups: 0.9. 'predict' shows them.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", min=2, help="Folds of whole groups.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", min=1, help="Folds and methods at once, in processes of their own."
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of folds and models.")]
Time = Annotated[
    str,
    typer.Option("--time", help="For the automatic choice: 30s, 2m, 1h; seconds without a unit."),
]
Title = Annotated[str | None, typer.Option("--title", help="Heading of the HTML page.")]
Notes = Annotated[
    str | None,
    typer.Option("--notes", help="Words of your own for the HTML page, or @FILE that holds them."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a file that is read, or that is something else.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def parse_time(text: str) -> float:
    """Seconds.

    Examples
    --------
    >>> parse_time("2m"), parse_time("90"), parse_time("1.5h")
    (120.0, 90.0, 5400.0)
    """
    unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
    try:
        seconds = float(text if unit is None else text[:-1]) * (unit or 1.0)
    except ValueError:
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise OptionError(f"--time must be a time such as 30s, 2m or 1h, got {text!r}")
    return seconds


def split_names(given: list[str] | None) -> list[str]:
    """Names that were repeated, or written with commas in one."""
    return [name.strip() for part in given or [] for name in part.split(",") if name.strip()]


def labels_of(groups: list[str] | None, given: list[str] | None) -> list[str] | list[list[str]]:
    """Names of columns; of several groupings a list for each."""
    if len(groups or []) < 2:
        return split_names(given)
    return [split_names([part]) for part in given or []]


def parse_weights(given: list[str] | None) -> dict[str, float]:
    """``column=number`` options.

    Examples
    --------
    >>> parse_weights(["county=0.5"])
    {'county': 0.5}
    """
    weights = {}
    for part in given or []:
        name, mark, number = part.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            mark = ""
        if not mark:
            raise OptionError(f"--group-weight must be COLUMN=NUMBER, got {part!r}")
    return weights


def inputs(*tables: str | Path | list[str] | None) -> list[str | Path]:
    """All files that a command reads, in one list."""
    given = [[one] if isinstance(one, str | Path) else one or [] for one in tables]
    return [one for several in given for one in several]


def parse_params(given: list[str] | None) -> dict[str, Any]:
    """``k=v`` options as values: numbers, True, None and tuples as in Python, else text.

    Examples
    --------
    >>> parse_params(["gamma=4", "rule=mean", "early_stopping=True"])
    {'gamma': 4, 'rule': 'mean', 'early_stopping': True}
    """
    params = {}
    for part in given or []:
        name, mark, text = part.partition("=")
        if not mark or not name:
            raise OptionError(f"--param must be name=value, got {part!r}")
        try:
            params[name.strip()] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            params[name.strip()] = text
    return params


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
            raise OptionError(
                f"{path} is used by this command already, and would be replaced; say --force if it "
                "is meant"
            )
        if given.is_dir() and path.resolve().is_relative_to(given.resolve()):
            raise OptionError(f"{path} lies in {given}, which is read; say --force if it is meant")
    if ours is not None and path.exists() and path.stat().st_size > 0 and not ours(path):
        raise OptionError(
            f"{path} exists and was not written by groupwise; say --force to replace it"
        )
