"""The pictures of a report, as SVG that follows the page's colours."""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.jobs import FoldResult, Result
from groupwise.plotting import (
    CoverageDisplay,
    GroupScoresDisplay,
    MarginsDisplay,
    ReliabilityDisplay,
    RoundsDisplay,
    SharesDisplay,
    SourceWeightDisplay,
)
from groupwise.report.promises import group_reliability, held_coverage

__all__ = ["Picture", "make_pictures"]

# Stands for the page's text colour while matplotlib draws.
_INK = "#010203"
_STYLE: Any = {
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "legend.framealpha": 0.0,
    "font.family": "sans-serif",
}


@dataclass(frozen=True)
class Picture:
    """A picture with its heading and what to look for."""

    title: str
    text: str
    svg: str


def make_pictures(result: Result, best: list[str]) -> list[Picture]:
    """All pictures that the result has the figures for.

    Parameters
    ----------
    result : Result
    best : list of str
        Methods in order; at most five are drawn in one picture, single ones show the first.
    """
    return list(_pictures(result, best[:5]))


def _pictures(result: Result, best: list[str]) -> Iterator[Picture]:
    supervision = result.about.supervision
    if supervision.group is not None:  # a row is right or wrong, which makes no curve
        scores, what = _group_values(result, best)
        yield _draw(
            f"By group: {what}",
            "Share of groups at or below each value; the worst are named. A line further right is "
            "better.",
            GroupScoresDisplay,
            scores,
            n_named=3,
        )
    first = result.methods[best[0]]
    curves = {name: _even(result.methods[name]) for name in best}
    curves = {name: curve for name, curve in curves.items() if curve is not None}
    if curves:
        yield _draw(
            "Error by boosting round",
            "On held-out groups, mean over folds with one standard error. Where it still falls, "
            "more rounds may help; where it rises, fewer.",
            RoundsDisplay,
            curves,
            ylabel=supervision.error_name,
        )
    if first[0].units.shares is not None:
        yield _draw(
            f"Known and predicted shares: {best[0]}",
            "One dot per held-out group and class; on the line they agree.",
            SharesDisplay,
            _stacked(fold.units.shares for fold in first),
            _stacked(fold.units.proba for fold in first),
            result.about.classes,
            _stacked(fold.units.size for fold in first),
        )
    reliability = [fold.reliability for fold in first if fold.reliability is not None]
    if reliability:
        bins = [
            np.sum([part.n for part in reliability], axis=0),
            np.sum([part.sure for part in reliability], axis=0),
            np.sum([part.right for part in reliability], axis=0),
        ]
        yield _draw(
            f"Reliability of row probabilities: {best[0]}",
            "Rows on the line are right as often as the model says.",
            ReliabilityDisplay,
            *bins,
        )
    if not supervision.rows_labelled:
        yield from _promises(first, best[0])
    margins = first[0].margins
    if margins is not None and margins.groups:
        yield _draw(
            f"Rows round by round: {best[0]}",
            "Score towards the true label of the rows of two of the worst groups; below zero the "
            "model takes a row for the other class.",
            MarginsDisplay,
            margins.groups,
            step=margins.step,
        )
    for name in best:
        weights = result.methods[name][0].weights
        if weights is None:
            continue
        yield _draw(
            f"Weight of the domains: {name}",
            "Share of the weight that each domain's rows keep, round by round (first fold).",
            SourceWeightDisplay,
            weights.mass,
            weights.names,
        )
        break


def _promises(folds: list[FoldResult], name: str) -> Iterator[Picture]:
    """How sure the method is of groups, and whether it may be."""
    groups = group_reliability(folds) if folds[0].units.shares is None else None
    if groups is not None:
        yield _draw(
            f"Reliability of group probabilities: {name}",
            "Groups on the line are right as often as the model says.",
            ReliabilityDisplay,
            *groups,
            what="groups",
        )
    held = held_coverage(folds)
    if held is not None:
        yield _draw(
            f"Coverage promised and held: {name}",
            f"Each fold's groups, calibrated on those of the others: {held.words}. "
            "'groupwise fit --coverage 0.9' makes a model that gives them.",
            CoverageDisplay,
            held.promised,
            held.held,
            n_groups=held.n_groups,
        )


def _group_values(result: Result, best: list[str]) -> tuple[dict[str, Any], str]:
    """A value of each group that is more than right or wrong."""
    if not result.about.supervision.right_or_wrong:
        scores = result.unit_scores()
        return {name: scores[name] for name in best}, "score"
    values = {}
    for name in best:
        units = [fold.units for fold in result.methods[name]]
        proba = [p[t] for u in units for p, t in zip(u.proba, u.truth or (), strict=True)]
        values[name] = pd.Series(proba, index=[n for u in units for n in u.name])
    return values, "probability of the true label"


def _stacked(parts: Iterable[Any]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _even(folds: list[FoldResult]) -> list[list[float]] | None:
    """Curves of equal length; a run that ended early keeps its last error."""
    curves = [fold.curve for fold in folds if fold.curve]
    if not curves:
        return None
    longest = max(len(curve) for curve in curves)
    return [curve + curve[-1:] * (longest - len(curve)) for curve in curves]


def _draw(title: str, text: str, display: Any, *args: Any, **options: Any) -> Picture:
    salt = re.sub(r"\W", "", title)  # ids inside one page must differ from picture to picture
    with matplotlib.rc_context(_STYLE | {"svg.hashsalt": salt}):
        figure = display(*args, **options).plot().figure_
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
    svg = stream.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'id="([A-Za-z0-9.]+_\d+)"', rf'id="{salt}_\1"', svg)
    return Picture(title, text, svg.replace("<svg ", '<svg role="img" ', 1))
