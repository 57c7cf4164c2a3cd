"""Decision stumps that maximise a group measure itself, by exact search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.protocol import HardLearner
from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.metrics import CountMeasure, GroupMeasure
from groupwise.recipes import Recipe

__all__ = ["MeasureStumps", "StumpEnsemble"]


class MeasureStumps(Recipe):
    r"""Stumps :math:`h(x) = s \cdot \mathrm{sign}(x_j - \theta)` with the best weighted measure.

    The measure of every group under every stump (feature, threshold, sign) is tabulated once;
    a round of boosting is one product of the groups' weights with the table, and its argmax. The
    table has n_groups x (2 x n_thresholds) entries. Two classes, and measures of counts (accuracy,
    balanced accuracy, F, Matthews).

    Parameters
    ----------
    max_thresholds : int, default=32
        Per feature; all midpoints between its values if they are fewer, else quantiles.

    Examples
    --------
    >>> from groupwise.measures import GroupAdaBoostClassifier, MeasureStumps
    >>> GroupAdaBoostClassifier(MeasureStumps(8))
    GroupAdaBoostClassifier(estimator=MeasureStumps(max_thresholds=8))
    """

    def __init__(self, max_thresholds: int = 32):
        self.max_thresholds = max_thresholds

    def for_groups(
        self, measure: GroupMeasure, y_row: NDArray[np.intp], groups: Groups
    ) -> "_StumpsOfGroups":
        """The weak learner for these labels, groups and measure."""
        check_number("max_thresholds", self.max_thresholds, "[1, inf)", whole=True)
        if not isinstance(measure, CountMeasure):
            raise ValueError(f"MeasureStumps need a measure of counts, got {measure!r}")
        return _StumpsOfGroups(self.max_thresholds, measure, y_row, groups)


@dataclass(frozen=True)
class _StumpsOfGroups(HardLearner):
    max_thresholds: int
    measure: CountMeasure
    y_row: NDArray[np.intp]
    groups: Groups

    def bind(self, X: Rows) -> "_BoundStumps":
        # one stump below all values of the first feature: all rows alike
        feature, threshold = [np.array([0])], [np.array([-np.inf])]
        tables = [self._table(np.ones(len(self.y_row), np.intp), 1)]
        for j in range(X.shape[1]):
            column = _column(X, j)
            cuts = self._cuts(column)
            if len(cuts):
                feature.append(np.full(len(cuts), j))
                threshold.append(cuts)
                tables.append(self._table(np.searchsorted(cuts, column), len(cuts)))
        E = np.nan_to_num(np.concatenate(tables, axis=1))
        return _BoundStumps(self.groups, X, E, np.concatenate(feature), np.concatenate(threshold))

    def _cuts(self, column: NDArray[Any]) -> NDArray[Any]:
        values = np.unique(column)
        middle = 0.5 * (values[1:] + values[:-1])
        if len(middle) > self.max_thresholds:
            share = np.linspace(0, 1, self.max_thresholds + 2)[1:-1]
            middle = np.unique(np.quantile(column, share))
        return middle

    def _table(self, n_below: NDArray[np.intp], n_cuts: int) -> NDArray[Any]:
        """Measure of each group (line) for x > cut, all cuts, and the opposite, side by side."""
        groups, pos_row = self.groups, self.y_row > 0
        shape = (groups.n_groups, n_cuts + 1)
        cell = groups.codes * (n_cuts + 1) + n_below
        n_pred, n_tp = (
            # rows above cut c are those with more than c cuts below them
            np.bincount(cells, minlength=shape[0] * shape[1])
            .reshape(shape)[:, :0:-1]
            .cumsum(axis=1)[:, ::-1]
            for cells in (cell, cell[pos_row])
        )
        size = groups.sizes[:, None]
        pos = np.bincount(groups.codes[pos_row], minlength=shape[0])[:, None]
        above = self.measure.of_counts(n_tp, n_pred, pos, size)
        below = self.measure.of_counts(pos - n_tp, size - n_pred, pos, size)
        return np.stack([above, below], axis=2).reshape(shape[0], -1)


@dataclass(frozen=True)
class _BoundStumps:
    groups: Groups
    X: Rows
    E: NDArray[Any]
    feature: NDArray[np.intp]
    threshold: NDArray[Any]

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "_StumpRun":
        if n_classes != 2:
            raise ValueError(f"MeasureStumps vote between two classes, not {n_classes}")
        return _StumpRun(self)


@dataclass
class _StumpRun:
    bound: _BoundStumps
    chosen: list[int] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[np.intp]:
        bound = self.bound
        self.chosen.append(int(np.argmax(bound.groups.sum(weight) @ bound.E)))
        return (self.combine([1.0] * len(self.chosen))._vote(bound.X, -1) > 0).astype(np.intp)

    def combine(self, weights: Sequence[float]) -> "StumpEnsemble":
        chosen = np.array(self.chosen[: len(weights)], dtype=np.intp)
        stump, below = chosen // 2, chosen % 2
        return StumpEnsemble(
            self.bound.feature[stump],
            self.bound.threshold[stump],
            1.0 - 2.0 * below,
            np.array(weights, dtype=float),
        )


@dataclass(frozen=True)
class StumpEnsemble:
    """Weighted stumps.

    Attributes
    ----------
    feature, threshold, sign, weight : ndarray of shape (n_rounds,)
        A row above the threshold of a stump gets ``sign * weight``, any other the opposite.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[Any]
    sign: NDArray[Any]
    weight: NDArray[Any]

    def _vote(self, X: Rows, index: int) -> NDArray[Any]:
        above = _column(X, self.feature[index]) > self.threshold[index]
        return np.where(above, self.sign[index], -self.sign[index])

    def score(self, X: Rows) -> NDArray[Any]:
        score = np.zeros(X.shape[0])
        for stage in self.staged_score(X):
            score = stage
        return score

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        score = np.zeros(X.shape[0])
        for index, weight in enumerate(self.weight):
            score = score + weight * self._vote(X, index)
            yield score

    def tail(self, first: int) -> "StumpEnsemble":
        return StumpEnsemble(
            self.feature[first:], self.threshold[first:], self.sign[first:], self.weight[first:]
        )


def _column(X: Rows, index: int) -> NDArray[np.float64]:
    column = X[:, index] if isinstance(X, np.ndarray) else X[:, [index]].toarray().ravel()
    return column.astype(np.float64, copy=False)
