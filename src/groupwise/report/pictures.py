"""The pictures of a report, each with one sentence that says what is seen."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.jobs import FoldResult, Result, Supervision, leaderboard
from groupwise.report.drawn import Interval, Series, bars, intervals, lines, scatter
from groupwise.report.promises import HeldCoverage, held_coverage

__all__ = ["Picture", "make_pictures"]

_BINS, _MOST_COLUMNS, _MOST_LINES, _MOST_DOTS = 10, 12, 6, 1500


@dataclass(frozen=True)
class Picture:
    """A picture with its heading and what is seen."""

    title: str
    text: str
    svg: str


def make_pictures(result: Result, board: pd.DataFrame | None = None) -> list[Picture]:
    """All pictures that the result has the figures for.

    Parameters
    ----------
    result : Result
    board : DataFrame, default=None
        Its leaderboard, where that is there already.
    """
    return list(_pictures(result, leaderboard(result) if board is None else board))


def _pictures(result: Result, board: pd.DataFrame) -> Iterator[Picture]:
    best = result.fitted or str(board.index[0])
    first = result.methods[best]
    yield _scores(result, board)
    if result.about.supervision.right_or_wrong and all(fold.units.truth for fold in first):
        yield _probabilities(result, best)
        yield _calibration(_group_bins(first), best, "groups")
    elif result.about.supervision.group and not result.about.supervision.compares_groups:
        yield _spread(result, board, best)
    if first[0].units.shares is not None:
        yield _shares(result, best)
    if first[0].units.number is not None and result.about.supervision.same_unit:
        yield _numbers(result, best)
    held = _held_coverage(result.about.supervision, first)
    if held is not None:
        yield _coverage(held, best)
    bins = _row_bins(first)
    if bins is not None:
        yield _calibration(bins, best, "rows")
    for name in map(str, board.index):  # of the automatic choice: its best single method
        importance = result.importance(name)
        if importance is not None:
            yield _importance(importance, name)
            break
    curves = {str(name): _mean_curve(result.methods[str(name)]) for name in board.index}
    known = {name: curve for name, curve in curves.items() if curve is not None}
    if known:
        yield _rounds(result, known)
    margins = first[0].margins
    if margins is not None and margins.groups:
        yield _margins(margins.groups, margins.step, best)
    for name in map(str, board.index):
        weights = result.methods[name][0].weights
        if weights is not None:
            yield _weights(weights.names, weights.mass, name)
            break


def _scores(result: Result, board: pd.DataFrame) -> Picture:
    shown = result.fitted or board.index[0]
    rows = [
        Interval(str(name), line["score"], line["low"], line["high"], strong=name == shown)
        for name, line in board.iterrows()
    ]
    simplest = result.baseline()
    ties = [str(n) for n, line in board.iloc[1:].iterrows() if line["difference_high"] >= 0]
    said = f"{board.index[0]} scores {board['score'].iloc[0]:.3f}"
    if ties:
        said += f"; {_listed(ties)} may be as good"
    if simplest is not None:
        gain = "above" if board["low"].iloc[0] > simplest[0] else "not clearly above"
        said += f"; that is {gain} the same answer for all, {simplest[0]:.3f}"
    return Picture(
        "Scores and their intervals",
        f"{said}. Lines are 95 % intervals.",
        intervals(rows, reference=None if simplest is None else ("same for all", simplest[0])),
    )


def _probabilities(result: Result, best: str) -> Picture:
    """How sure the best method was of what is true, right and wrong."""
    units = [fold.units for fold in result.methods[best]]
    proba = [p[t] for u in units for p, t in zip(u.proba, u.truth or (), strict=True)]
    right = [p == t for u in units for p, t in zip(u.predicted, u.truth or (), strict=True)]
    bin_group = np.minimum((np.array(proba) * _BINS).astype(int), _BINS - 1)
    good = np.bincount(bin_group, np.array(right, dtype=float), minlength=_BINS)
    bad = np.bincount(bin_group, ~np.array(right), minlength=_BINS)
    rows = [
        (
            f".{k}",
            float(good[k]),
            float(bad[k]),
            f"{k / _BINS:.1f} to {(k + 1) / _BINS:.1f}: {good[k]:.0f} right, {bad[k]:.0f} wrong",
        )
        for k in range(_BINS)
    ]
    sure = int(bad[:2].sum())
    said = f"{best} has {int(good.sum())} of {len(proba)} groups right"
    said += f"; of {sure} it was sure and wrong." if sure else "; of none was it sure and wrong."
    return Picture(
        f"Probability given to the true label: {best}", said, bars(rows, names=("right", "wrong"))
    )


def _spread(result: Result, board: pd.DataFrame, best: str) -> Picture:
    """The middle half of the groups' scores under every method."""
    scores = result.unit_scores()
    rows = []
    for name in map(str, board.index):
        values = scores[name].dropna()
        low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
        rows.append(Interval(name, float(middle), float(low), float(high), name == best))
    [shown], of_best = [row for row in rows if row.strong], scores[best].dropna()
    return Picture(
        "Scores of single groups",
        f"Half of the groups score {shown.low:.2f} to {shown.high:.2f} under {best}; "
        f"the worst is {of_best.idxmin()} with {of_best.min():.2f}. Dots are medians, lines the "
        "middle half.",
        intervals(rows, digits=2),
    )


def _shares(result: Result, best: str) -> Picture:
    folds = result.methods[best]
    known = _stacked(fold.units.shares for fold in folds)
    said = _stacked(fold.units.proba for fold in folds)
    names = [name for fold in folds for name in fold.units.name]
    size = _stacked(fold.units.size for fold in folds)
    classes = result.about.classes
    columns = range(1, 2) if len(classes) == 2 else range(len(classes))  # two mirror each other
    dots = [
        (
            float(known[g, k]),
            float(said[g, k]),
            float(np.sqrt(size[g] / size.max())) / 2,
            position,
            f"{names[g]}: {classes[k]} known {known[g, k]:.2f}, predicted {said[g, k]:.2f}",
        )
        for position, k in enumerate(columns)
        for g in range(min(len(names), _MOST_DOTS))
    ]
    error = float(np.abs(known - said).mean())
    text = (
        f"Predicted shares are {error:.3f} off on average. On the line they agree with the known."
    )
    if len(names) > _MOST_DOTS:
        text += f" The first {_MOST_DOTS:,} of {len(names):,} groups are drawn."
    shown = tuple(classes[k] for k in columns)
    return Picture(
        f"Known and predicted shares: {best}",
        text,
        scatter(dots, x_name="known share", y_name="predicted share", names=shown),
    )


def _numbers(result: Result, best: str) -> Picture:
    folds = result.methods[best]
    known = _stacked(fold.units.number for fold in folds)
    said = _stacked(fold.units.number_predicted for fold in folds)
    names = [name for fold in folds for name in fold.units.name]
    dots = [
        (x, y, 0.15, 0, f"{name}: known {x:.4g}, predicted {y:.4g}")
        for name, x, y in list(zip(names, known.tolist(), said.tolist(), strict=True))[:_MOST_DOTS]
    ]
    text = (
        f"Predicted numbers are {np.abs(known - said).mean():.4g} off on average. On the line they "
        "agree with the known."
    )
    if len(names) > _MOST_DOTS:
        text += f" The first {_MOST_DOTS:,} of {len(names):,} groups are drawn."
    ends = [float(end(x)) for end, x in ((min, known), (min, said), (max, known), (max, said))]
    return Picture(
        f"Known and predicted numbers: {best}",
        text,
        scatter(dots, x_name="known", y_name="predicted", span=(min(ends), max(ends))),
    )


def _row_bins(folds: list[FoldResult]) -> NDArray[np.float64] | None:
    parts = [fold.reliability for fold in folds if fold.reliability is not None]
    if not parts:
        return None
    return np.array(
        [np.sum([getattr(p, n) for p in parts], axis=0) for n in ("n", "sure", "right")]
    )


def _group_bins(folds: list[FoldResult]) -> NDArray[np.float64]:
    sure = np.concatenate([np.max(fold.units.proba, axis=1) for fold in folds])
    right = np.concatenate(
        [np.array(fold.units.predicted) == np.array(fold.units.truth) for fold in folds]
    )
    at = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    counted = [np.bincount(at, w, minlength=_BINS) for w in (None, sure, right.astype(float))]
    return np.array(counted, dtype=float)


def _calibration(bins: NDArray[np.float64], best: str, units: str) -> Picture:
    n, sure, right = bins
    says, is_right, total = sure.sum() / n.sum(), right.sum() / n.sum(), n.sum()
    error = np.sqrt(max(is_right * (1 - is_right), 0.25 / total) / total)
    word = "about as often"
    if says - is_right > 2 * error:
        word = "less often: it is too sure"
    elif is_right - says > 2 * error:
        word = "more often: it is too cautious"
    dots = [
        (
            float(sure[k] / n[k]),
            float(right[k] / n[k]),
            float(np.sqrt(n[k] / n.max())) / 1.5,
            0,
            f"{n[k]:.0f} {units}: {sure[k] / n[k]:.2f} sure, {right[k] / n[k]:.2f} right",
        )
        for k in np.flatnonzero(n)
    ]
    return Picture(
        f"Calibration over {units}: {best}",
        f"It is {says:.2f} sure on average and right {word} ({is_right:.2f}).",
        scatter(dots, x_name="how sure it says it is", y_name="share that is right"),
    )


def _importance(table: pd.DataFrame, best: str) -> Picture:
    shown = table.head(_MOST_COLUMNS)
    rows = [
        Interval(str(name), line["fall"], line["low"], line["high"], line["low"] > 0)
        for name, line in shown.iterrows()
    ]
    clear = int((table["low"] > 0).sum())
    said = f"Shuffling {rows[0].name!r} costs {rows[0].value:.3f} of the score"
    said += f"; {clear} of {len(table)} columns matter clearly by themselves."
    if len(table) > len(shown):
        said += f" The first {len(shown)} are drawn."
    return Picture(
        f"What the score hangs on: {best}", said, intervals(rows, signed=True, reference=("", 0.0))
    )


def _rounds(result: Result, curves: dict[str, NDArray[np.float64]]) -> Picture:
    shown = dict(list(curves.items())[:_MOST_LINES])
    name, curve = next(iter(shown.items()))
    least = int(np.argmin(curve)) + 1
    said = f"{name} errs least after {least} of {len(curve)} rounds ({curve[least - 1]:.3f})."
    if len(curves) > len(shown):
        said += f" The {len(shown)} best of {len(curves)} methods with rounds are drawn."
    return Picture(
        "Error by round",
        f"{said} Error: {result.about.supervision.error_name}, held out, mean over folds.",
        lines(
            [Series(name, values.tolist()) for name, values in shown.items()],
            x_name="rounds",
            y_name="error",
        ),
    )


def _margins(groups: dict[str, list[list[float]]], step: int, best: str) -> Picture:
    series = [
        Series(f"{name}, row {k + 1}", values)
        for name, rows in groups.items()
        for k, values in enumerate(rows)
    ]
    below = sum(one.values[-1] < 0 for one in series)
    return Picture(
        f"Rows round by round: {best}",
        f"Score towards the true label of the rows of {_listed(list(groups))}, which it did badly: "
        f"{below} of {len(series)} rows end below zero, on the wrong side.",
        lines(
            series,
            x_name=f"rounds, by {step}" if step > 1 else "rounds",
            y_name="score towards the label",
            direct=False,
        ),
    )


def _weights(names: list[str], mass: list[list[float]], method: str) -> Picture:
    table = np.asarray(mass, dtype=float)
    order = np.argsort(-table[-1])[:_MOST_LINES]
    said = f"{names[order[0]]} has {table[-1, order[0]]:.2f} of the weight in the last round"
    return Picture(
        f"Weight of the domains: {method}",
        f"{said} (first fold).",
        lines(
            [Series(names[k], table[:, k].tolist()) for k in order],
            x_name="rounds",
            y_name="share of the weight",
        ),
    )


def _held_coverage(supervision: Supervision, folds: list[FoldResult]) -> HeldCoverage | None:
    kind = supervision.kind
    if (
        supervision.rows_labelled
        or kind == "survival"
        or "exposure" in supervision.roles().values()
    ):
        return None
    return held_coverage(folds, of_totals=kind == "total")


def _coverage(held: HeldCoverage, best: str) -> Picture:
    """Sets and intervals of each fold's groups, calibrated on those of the others."""
    pairs = list(zip(held.promised, held.held, strict=True))
    dots = [(x, y, 0.5, 0, f"{x:.0%} promised, {y:.0%} held") for x, y in pairs]
    return Picture(
        f"Coverage promised and held: {best}",
        f"{held.words}. A model fitted with a coverage gives them for new groups.",
        scatter(dots, x_name="coverage promised", y_name="share of groups held"),
    )


def _stacked(parts: Iterable[Any]) -> NDArray[np.float64]:
    return np.concatenate([np.asarray(part, dtype=float) for part in parts])


def _mean_curve(folds: list[FoldResult]) -> NDArray[np.float64] | None:
    """Mean over folds; a run that ended early keeps its last error."""
    curves = [fold.curve for fold in folds if fold.curve]
    if not curves:
        return None
    longest = max(len(curve) for curve in curves)
    return np.mean([curve + curve[-1:] * (longest - len(curve)) for curve in curves], axis=0)


def _listed(names: list[str]) -> str:
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
