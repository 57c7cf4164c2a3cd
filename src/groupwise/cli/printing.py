"""What commands print of a table, a model and a comparison."""

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from groupwise.cli.console import Console, renamed
from groupwise.jobs import Job, Result, leaderboard
from groupwise.tables import ColumnUse
from groupwise.tables.columns import SPECIFIED

__all__ = [
    "board_rows",
    "print_board",
    "print_columns",
    "print_job",
    "print_score",
    "score_summary",
    "unlabelled_text",
]


def print_columns(console: Console, uses: Sequence[ColumnUse]) -> None:
    """Which columns are used and why the others are not."""
    features = [use for use in uses if use.is_feature]
    console.print(f"features:    {len(features)} columns")
    kinds = {"number": "numbers", "category": "categories", "date": "dates", "text": "texts"}
    for kind, heading in kinds.items():
        names = [use.name for use in features if use.use == kind]
        if names:
            console.print(f"  {heading + ':':<11} {_listed(names)}")
    left_out = [use for use in uses if use.use == "not used" and use.why != SPECIFIED]
    for use in left_out:
        console.print(f"  not used:   {use.name} ({use.why})")
    if left_out:
        console.print("              (--features names the columns to use, these among them)")


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def print_job(console: Console, job: Job, why: str | None) -> None:
    """What the job is."""
    if console.silent:
        return
    inside = f" in {job.targets.groups.n_groups:,} groups" if job.supervision.group else ""
    console.print(f"table:       {job.table}: {job.n_rows:,} rows{inside}")
    for note in job.notes:
        console.note(renamed(note))
    reason = f" ({renamed(why)})" if why else ""
    console.print(
        f"kind:        {job.supervision.kind}{reason}; classes {', '.join(job.targets.classes)}"
    )
    if why and job.supervision.kind == "majority" and len(job.targets.classes) == 2:
        console.print(
            f"             taken to mean: {job.supervision.meaning}; if one positive row makes a "
            f"group positive, say --kind presence --positive {shlex.quote(job.targets.classes[1])}"
        )
    if job.unlabelled is not None:
        console.print(f"unlabelled:  {unlabelled_text(job)}")
    if job.keep_whole is not None:
        whole = len(set(np.asarray(job.targets.whole).tolist()))
        console.print(f"kept whole:  {job.keep_whole}: {whole:,}, none in two folds")
    print_columns(console, job.uses)


def unlabelled_text(job: Job) -> str:
    """How many rows or groups have no label, and who learns from them."""
    found = job.unlabelled
    assert found is not None
    labelled = job.supervision.rows_labelled or job.supervision.group is None
    n = len(found.rows) if labelled else found.groups.n_groups
    total = n + (job.n_rows if labelled else job.targets.groups.n_groups)
    users = [m.name for m in job.methods() if m.uses_unlabelled and not job.reason_against(m)]
    use = f"learned from as well by {', '.join(users)}" if users else "set aside"
    what = "rows" if labelled else "groups"
    return f"{n:,} of {total:,} {what} have no label: {use}; 'groupwise predict' answers for them"


def score_summary(result: Result, method: str) -> dict[str, Any]:
    """Score, interval and worst groups of one method."""
    values = result.unit_scores()[method].dropna()
    score, low, high = result.mean_with_interval(method, values)
    worst = values.sort_values(kind="stable").head(5)
    simplest = result.baseline()
    return {
        "baseline": None if simplest is None else simplest[0],
        "score": score,
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
    if summary["baseline"] is not None:
        console.print(
            f"baseline:    {summary['baseline']:.3f} (the same answer for every group and row)"
        )
    worst = [f"{name} {value:.2f}" for name, value in summary["worst"].items() if value < 1.0]
    wrong = [name for name, value in summary["worst"].items() if value == 0.0]
    if len(wrong) == len(worst) > 0:  # right or wrong: no one is worse than another
        console.print(f"wrong:       {', '.join(wrong)}, ...")
    elif worst:
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
