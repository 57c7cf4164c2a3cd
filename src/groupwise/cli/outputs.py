"""What commands write and print."""

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from groupwise.cli.console import Console
from groupwise.files import write_text
from groupwise.jobs import Job, Result, leaderboard
from groupwise.metrics import bootstrap_interval
from groupwise.tables import ColumnUse
from groupwise.tables.columns import SPECIFIED

__all__ = [
    "board_rows",
    "check_folder",
    "print_board",
    "print_columns",
    "print_job",
    "print_score",
    "score_summary",
    "write_report",
]


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


def write_report(result: Result, path: Path) -> None:
    """Write the page."""
    from groupwise.report import render  # matplotlib is slow to load

    write_text(path, render(result))


def print_columns(console: Console, uses: Sequence[ColumnUse]) -> None:
    """Which columns are used and why the others are not."""
    features = [use for use in uses if use.is_feature]
    numbers = [use.name for use in features if use.use == "number"]
    categories = [use.name for use in features if use.use == "category"]
    console.print(f"features:    {len(features)} columns")
    if numbers:
        console.print(f"  numbers:    {_listed(numbers)}")
    if categories:
        console.print(f"  categories: {_listed(categories)}")
    for use in uses:
        if use.use == "not used" and use.why != SPECIFIED:
            console.print(f"  not used:   {use.name} ({use.why})")


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def print_job(console: Console, job: Job, why: str | None) -> None:
    """What the job is."""
    inside = f" in {job.targets.groups.n_groups:,} groups" if job.supervision.group else ""
    console.print(f"table:       {job.table}: {job.n_rows:,} rows{inside}")
    reason = f" ({why})" if why else ""
    console.print(
        f"kind:        {job.supervision.kind}{reason}; classes {', '.join(job.targets.classes)}"
    )
    print_columns(console, job.uses)


def score_summary(result: Result, method: str) -> dict[str, Any]:
    """Score, interval and worst groups of one method."""
    values = result.unit_scores()[method].dropna()
    low, high = bootstrap_interval(values)
    worst = values.sort_values(kind="stable").head(5)
    return {
        "score": float(values.mean()),
        "low": low,
        "high": high,
        "score_name": result.about.supervision.score_name,
        "n_groups": len(values),
        "worst": {str(name): float(value) for name, value in worst.items()},
    }


def print_score(console: Console, summary: dict[str, Any], where: str) -> None:
    """One line with the score and one with the worst groups."""
    console.print(
        f"score:       {summary['score']:.3f} ({summary['score_name']}; 95 % interval "
        f"{summary['low']:.3f} to {summary['high']:.3f}, {summary['n_groups']:,} {where})"
    )
    worst = [f"{name} {value:.2f}" for name, value in summary["worst"].items() if value < 1.0]
    if worst:
        console.print(f"worst:       {', '.join(worst)}")


def board_rows(board: pd.DataFrame) -> list[list[str]]:
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
                f"{line['memory_mib']:.0f}",
            ]
        )
    return rows


def print_board(console: Console, result: Result) -> pd.DataFrame:
    """The leaderboard, and what was left out."""
    board = leaderboard(result)
    columns = ["method", "score (95 %)", "to the best (95 %)", "s", "MiB"]
    table = Console.table(result.about.supervision.score_name, columns, board_rows(board))
    table.columns[0].no_wrap = True
    console.print(table)
    if (np.asarray(board["difference_high"])[1:] >= 0).any():
        console.print("=: the difference to the best may be none")
    for name, reason in result.left_out.items():
        console.print(f"left out: {name} ({reason})")
    return board
