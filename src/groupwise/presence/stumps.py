"""Decision stumps, all of them: exact search over features and thresholds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise._typing import Rows
from groupwise.boosting import HardLearner
from groupwise.inputs import check_number, dense
from groupwise.presence.program.pool import WholePool
from groupwise.recipes import Recipe

__all__ = ["StumpSum", "Stumps"]

# Entries of one block of scores (8 bytes each).
_BLOCK = 4_000_000


class Stumps(HardLearner, Recipe):
    r"""All stumps :math:`h(x) = \pm\mathrm{sign}(x_j - \theta)` and the constant, as a pool.

    A search sorts nothing: features are turned into ranks once, the weights of the rows are counted
    by rank, and a running sum gives the score of every stump.

    Parameters
    ----------
    max_thresholds : int, default=None
        Thresholds per feature, at quantiles; ``None``: the middle between any two neighbouring
        values, so that the search is exact over all stumps.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.presence import LPBoostClassifier, Stumps
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> LPBoostClassifier(Stumps(), C=1.0).fit(X, y).ensemble_.outputs[0].threshold
    array([1.5])
    """

    def __init__(self, max_thresholds: int | None = None):
        self.max_thresholds = max_thresholds

    def bind(self, X: Rows) -> "BoundStumps":
        """Rank the rows in every feature."""
        check_number("max_thresholds", self.max_thresholds, "[1, inf)", whole=True, none=True)
        rows = dense(X)
        cuts = [_thresholds(rows[:, j], self.max_thresholds) for j in range(rows.shape[1])]
        return BoundStumps(rows, cuts)


def _thresholds(column: NDArray[np.float64], most: int | None) -> NDArray[np.float64]:
    values = np.unique(column).astype(np.float64)
    middle = values[:-1] + 0.5 * (values[1:] - values[:-1])
    if most is not None and len(middle) > most:
        # of the middles those nearest to equal shares of the rows
        share = np.linspace(0, 1, most + 2)[1:-1]
        above = np.searchsorted(middle, np.quantile(column, share))
        middle = middle[np.unique(np.minimum(above, len(middle) - 1))]
    return middle


class BoundStumps(WholePool):
    """Stumps of given rows: number 0 is the constant +1, then feature by feature."""

    def __init__(self, rows: NDArray[np.float64], cuts: list[NDArray[np.float64]]):
        n_cuts = np.array([len(c) for c in cuts], dtype=np.intp)
        self.feature = np.concatenate([[0], np.repeat(np.arange(len(cuts)), n_cuts)])
        self.threshold = np.concatenate([[-np.inf], *cuts])
        self.n_rows = len(rows)
        useful = np.flatnonzero(n_cuts)
        self._sizes = n_cuts[useful] + 1  # ranks of each feature that varies
        self._first = np.concatenate([[0], np.cumsum(n_cuts)])[useful] + 1  # its first stump
        rank = [np.searchsorted(cuts[j], rows[:, j]) for j in useful]
        self._rank = np.column_stack(rank).astype(np.int32) if rank else None

    def blocks(self, weight: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        entries = weight.tocoo()
        line, row = entries.coords
        total = np.asarray(weight.sum(axis=1))
        yield np.zeros(1, dtype=np.intp), total[:, None]
        for part in self._parts(len(total), len(row)):
            yield self._score(part, line, row, entries.data, total)

    def _parts(self, n_lines: int, n_values: int) -> Iterator[slice]:
        """Runs of features whose scores and whose weights by rank fit into a block."""
        start, held = 0, 0
        for end, size in enumerate(self._sizes):
            cost = int(size) * n_lines + n_values
            if end > start and held + cost > _BLOCK:
                yield slice(start, end)
                start, held = end, 0
            held += cost
        if len(self._sizes):
            yield slice(start, len(self._sizes))

    def _score(
        self,
        part: slice,
        line: NDArray[Any],
        row: NDArray[Any],
        value: NDArray[Any],
        total: NDArray[Any],
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        assert self._rank is not None  # parts exist only where a feature varies
        sizes = self._sizes[part]
        start = np.concatenate([[0], np.cumsum(sizes)])
        width, n_lines = int(start[-1]), len(total)
        slot = self._rank[row, part] + start[:-1]
        slot += (line * width)[:, None]
        by_rank = np.bincount(
            slot.ravel(), np.repeat(value, len(sizes)), minlength=n_lines * width
        ).reshape(n_lines, width)
        below = by_rank.cumsum(axis=1)  # each feature's weights sum to the total
        below -= np.repeat(np.arange(len(sizes)), sizes) * total[:, None]
        keep = np.ones(width, dtype=bool)
        keep[start[1:] - 1] = False  # the last rank is above all thresholds
        within = np.arange(width) - np.repeat(start[:-1], sizes)
        numbers = np.repeat(self._first[part], sizes) + within
        return numbers[keep], total[:, None] - 2.0 * below[:, keep]

    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        out = np.ones((self.n_rows, len(numbers)))
        varies = np.flatnonzero(numbers > 0)
        if len(varies):
            assert self._rank is not None
            column = np.searchsorted(self._first, numbers[varies], side="right") - 1
            at = numbers[varies] - self._first[column]
            out[:, varies] = np.where(self._rank[:, column] > at, 1.0, -1.0)
        return out

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.where(numbers == 0, -1, self.feature[numbers])

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> "StumpSum":
        return StumpSum(self.feature[numbers], self.threshold[numbers], np.asarray(weight, float))


@dataclass(frozen=True)
class StumpSum:
    """Weighted stumps.

    Attributes
    ----------
    feature, threshold : ndarray of shape (n_stumps,)
        A row above the threshold gets the weight, any other its opposite. The constant has the
        threshold ``-inf``.
    weight : ndarray of shape (n_stumps,) or (n_stumps, n_outputs)
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.float64]
    weight: NDArray[np.float64]

    def score(self, X: Rows) -> NDArray[np.float64]:
        above = (dense(X[:, self.feature]) > self.threshold).astype(np.float64)
        return above @ (2.0 * self.weight) - self.weight.sum(axis=0)

    def staged_score(self, X: Rows) -> Iterator[NDArray[np.float64]]:
        for end in range(1, len(self.weight) + 1):
            yield StumpSum(self.feature[:end], self.threshold[:end], self.weight[:end]).score(X)

    def tail(self, first: int) -> "StumpSum":
        return StumpSum(self.feature[first:], self.threshold[first:], self.weight[first:])
