"""Options that commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Domain",
    "Features",
    "Folds",
    "Group",
    "Ignore",
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
    "split_names",
]

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
Folds = Annotated[int, typer.Option("--folds", min=2, help="Folds of whole groups.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Of folds and models.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a file that is read, or that is something else.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def split_names(given: list[str] | None) -> list[str]:
    """Names that were repeated, or written with commas in one."""
    return [name.strip() for part in given or [] for name in part.split(",") if name.strip()]
