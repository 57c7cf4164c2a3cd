"""What commands print for people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from groupwise.cli.console import Speaker
from groupwise.jobs import Job, Result
from groupwise.jobs.leaderboard import leaderboard, unit_scores
from groupwise.metrics import bootstrap_interval
from groupwise.tables import ColumnUse

__all__ = ["board_rows", "say_board", "say_columns", "say_score", "score_summary"]


def say_columns(speaker: Speaker, uses: Sequence[ColumnUse]) -> None:
    """Which columns are used and why the others are not."""
    features = [use for use in uses if use.is_feature]
    numbers = [use.name for use in features if use.use == "number"]
    categories = [use.name for use in features if use.use == "category"]
    speaker.say(f"features:    {len(features)} columns")
    if numbers:
        speaker.say(f"  numbers:    {_listed(numbers)}")
    if categories:
        speaker.say(f"  categories: {_listed(categories)}")
    for use in uses:
        if use.use == "not used" and use.why != "you said so":
            speaker.say(f"  not used:   {use.name} ({use.why})")


def _listed(names: Sequence[str], most: int = 12) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def say_job(speaker: Speaker, job: Job, why: str | None) -> None:
    """What the job is."""
    inside = f" in {job.known.groups.n_groups:,} groups" if job.supervision.group else ""
    speaker.say(f"table:       {job.table}: {job.n_rows:,} rows{inside}")
    reason = f" ({why})" if why else ""
    speaker.say(
        f"kind:        {job.supervision.kind}{reason}; classes {', '.join(job.known.classes)}"
    )
    say_columns(speaker, job.uses)


def score_summary(result: Result, method: str) -> dict[str, Any]:
    """Score, interval and worst groups of one method."""
    values = unit_scores(result)[method].dropna()
    low, high = bootstrap_interval(values)
    worst = values.sort_values(kind="stable").head(5)
    return {
        "score": float(values.mean()),
        "low": low,
        "high": high,
        "score_name": result.about["score"],
        "n_groups": len(values),
        "worst": {str(name): float(value) for name, value in worst.items()},
    }


def say_score(speaker: Speaker, summary: dict[str, Any], where: str) -> None:
    """One line with the score and one with the worst groups."""
    speaker.say(
        f"score:       {summary['score']:.3f} ({summary['score_name']}; 95 % interval "
        f"{summary['low']:.3f} to {summary['high']:.3f}, {summary['n_groups']:,} {where})"
    )
    worst = [f"{name} {value:.2f}" for name, value in summary["worst"].items() if value < 1.0]
    if worst:
        speaker.say(f"worst:       {', '.join(worst)}")


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


def say_board(speaker: Speaker, result: Result) -> pd.DataFrame:
    """The leaderboard, and what was left out."""
    board = leaderboard(result)
    columns = ["method", "score (95 %)", "to the best (95 %)", "s", "MiB"]
    table = Speaker.table(result.about["score"], columns, board_rows(board))
    table.columns[0].no_wrap = True
    speaker.say(table)
    if (np.asarray(board["difference_high"])[1:] >= 0).any():
        speaker.say("=: the difference to the best may be none")
    for name, reason in result.left_out.items():
        speaker.say(f"left out: {name} ({reason})")
    return board
