"""Options that commands share, and the job that they describe."""

import ast
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from groupwise.groups import Groups
from groupwise.jobs import Job, Supervision, make_supervision
from groupwise.jobs.targets import get_column, ids_of
from groupwise.tables import LoadedTable, OptionError, TableError, read_table

__all__ = [
    "OPTION_NAMES",
    "Coverage",
    "Domain",
    "Features",
    "Folds",
    "Group",
    "Ignore",
    "JobOptions",
    "Json",
    "Kind",
    "Label",
    "MeasureName",
    "ModelPath",
    "Order",
    "Positive",
    "Quiet",
    "Seed",
    "Sql",
    "TablePath",
    "Target",
    "Time",
    "parse_params",
    "parse_time",
    "split_names",
]

#: How arguments of the library are called on the command line; messages are translated by it.
OPTION_NAMES = {
    "domain": "--domain",
    "group": "--group",
    "ignored": "--ignore",
    "kind": "--kind",
    "label": "--label",
    "measure": "--measure",
    "method": "--method",
    "order": "--order",
    "params": "--param",
    "positive": "--positive",
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
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="File that 'fit' wrote.")]
Sql = Annotated[str | None, typer.Option("--sql", help="Query whose answer is the table.")]
Group = Annotated[str | None, typer.Option("--group", "-g", help="Column that names the group.")]
Label = Annotated[
    list[str] | None,
    typer.Option(
        "--label", "-l", help="Column of labels; for proportions one per class (a,b,c or repeated)."
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        "-k",
        help="majority, presence, proportions, measure or transfer; by default told by the rest.",
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
        help="Also make sets of classes (intervals of shares) that hold this share of new groups: "
        "0.9. 'predict' shows them.",
    ),
]
Folds = Annotated[int, typer.Option("--folds", min=2, help="Folds of whole groups.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of folds and models.")]
Time = Annotated[
    str,
    typer.Option("--time", help="For the automatic choice: 30s, 2m, 1h; seconds without a unit."),
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


@dataclass(frozen=True)
class JobOptions:
    """What the options of a command say about a table and what is known of its groups."""

    table: str
    sql: str | None = None
    group: str | None = None
    label: list[str] = field(default_factory=list)
    kind: str | None = None
    measure: str | None = None
    domain: str | None = None
    target: str | None = None
    positive: str | None = None
    features: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    order: str | None = None
    seed: int = 0

    def read(self) -> LoadedTable:
        """The table itself; ids stay as they are written."""
        text = [column for column in (self.group, self.domain) if column is not None]
        return read_table(self.table, sql=self.sql, text=text)

    def supervision(self, frame: pd.DataFrame, name: str) -> tuple[Supervision, str | None]:
        """What is known of the groups, and why, where the options leave it open."""
        if not self.label:
            raise OptionError("--label is missing: which column says what is known?")
        kind, why = (self.kind, None) if self.kind else self._guess(frame, name)
        supervision = make_supervision(
            str(kind),
            label=self.label,
            group=self.group,
            measure=self.measure,
            domain=self.domain,
            target_domain=self.target,
            positive=self.positive,
        )
        return supervision, why

    def job(self, table: LoadedTable) -> tuple[Job, str | None]:
        """The checked table, ready to be learned from, and why it is of this kind."""
        supervision, why = self.supervision(table.frame, table.name)
        job = Job.from_table(
            table,
            supervision,
            wanted=self.features,
            ignored=self.ignore,
            order=self.order,
            seed=self.seed,
        )
        return job, why

    def _guess(self, frame: pd.DataFrame, name: str) -> tuple[str, str]:
        if self.domain or self.target:
            return "transfer", "as --domain is given"
        if self.measure:
            return "measure", "as --measure is given"
        if len(self.label) > 1:
            return "proportions", "as there is more than one --label"
        if self.group is None:
            raise OptionError("--group is missing: which column names the group?")
        groups = Groups(ids_of(frame, self.group, name, "group"))
        labels = get_column(frame, self.label[0], name, "label")
        per_group = labels.groupby(groups.codes).nunique(dropna=True)
        if int(per_group.max()) <= 1:
            return "majority", f"as {self.label[0]!r} is the same on all rows of a group"
        if float((per_group > 1).mean()) < 0.1:
            return "majority", "as few groups hold more than one label"
        raise TableError(
            f"{name}: column {self.label[0]!r} holds more than one label in "
            f"{int((per_group > 1).sum())} of {len(per_group)} groups: say --kind measure (a score "
            "per group), proportions (only the numbers per group are used) or transfer"
        )


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
