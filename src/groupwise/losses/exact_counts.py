"""Counts of several classes in small groups, exactly."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from groupwise.groups import Groups
from groupwise.losses.base import BoundLoss, RowWeights
from groupwise.losses.layout import Block, GroupedLayout
from groupwise.losses.logistic import log_softmax
from groupwise.losses.proportions import (
    CountLikelihoodLoss,
    RelativeEntropy,
    counts_of_shares,
)
from groupwise.losses.tilting import tilt_classes

__all__ = [
    "LARGEST_COUNT",
    "LARGEST_TABLE",
    "CountTables",
    "ExactCountLoss",
    "count_tables",
    "padded_counts",
    "table_steps",
]

#: Groups whose rows times the numbers of their tables are more than this are not exact.
LARGEST_TABLE = 8192
_CHUNK = 1_048_576  # numbers held at once
# Tables of like shape are worked on together: rows and counts are rounded up to these.
_ROWS = np.array(
    [2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 128, 256, 512, 1024, 2048, 4096]
)
_COUNTS = np.array([0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512, 1024, 2048, 4096])
#: Of these no table has more.
LARGEST_COUNT = int(_COUNTS[-1])
# How near the expected counts have to come where only underflow is to be avoided.
_NEAR = 0.02


class ExactCountLoss(CountLikelihoodLoss, name="proportions_exact"):
    r"""Negative log-likelihood of each group's class counts, exact also for several classes.

    .. math:: \ell(s) = -\sum_i w_i \log P(c_i) , \qquad
              P(c) = \sum_{y : \sum_j y_{jk} = c_k} \prod_j p_{j y_j} ,

    by dynamic programming over the rows, forward and backward, with a table of the counts so far
    of all classes but the largest: :math:`\prod_k (c_k + 1)` numbers. Groups whose table times
    their rows is more than 8,192 numbers (20 rows of 4 classes are less, 40 rows of 4 are not) use
    the relative entropy of :class:`CountLikelihoodLoss`, and so does a group where rounding leaves
    nothing of the likelihood because rows with scores hundreds apart contradict its counts. Two
    classes: the same as :class:`CountLikelihoodLoss`.

    The gradient is :math:`p_{ij} - E[y_{ij} | c_i]`. A group of one row gives softmax
    cross-entropy.

    Notes
    -----
    The curvature 2 p (1 - p) is a proven majoriser: the Hessian is the covariance of the rows under
    p less their covariance given the counts, which is positive semi-definite, and the covariance of
    a row under p is at most diag(2 p (1 - p)), its absolute row sums. The likelihood is not convex.

    Examples
    --------
    Two rows, one of class a and one of b; either may be the one: 2 / 9.

    >>> import numpy as np
    >>> from groupwise import Groups
    >>> shares = np.array([[0.5, 0.5, 0.0]])
    >>> loss = ExactCountLoss().bind(shares, Groups(["g", "g"]), n_classes=3)
    >>> float(np.exp(-loss.value(np.zeros((2, 3))))).__round__(6)
    0.222222
    """

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        if n_classes == 2:
            return super()._bind(target_group, groups, n_classes, weight_row)
        return _ExactCounts(counts_of_shares(target_group, groups), groups, weight_row)


class _ExactCounts(RelativeEntropy):
    def __init__(self, count_group: NDArray[Any], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(count_group, groups, weight_row)
        self._tables: dict[int, tuple[list[CountTables], float]] = {}

    def _given(self, score: NDArray[Any], block: Block) -> tuple[NDArray[Any], ...]:
        """Relative entropies less log-likelihoods after shifts, log p, and rows given counts."""
        tables, tol = self._tables_of(block)
        count = self.count_group[:, block.groups]
        log_p = log_softmax(score.astype(np.float64, copy=False))
        shift = tilt_classes(log_p, count, block.layout, tol=tol)
        moved = log_p + block.layout.spread(shift)
        total = logsumexp(moved, axis=0)
        value = (np.where(count > 0, shift, 0.0) * count).sum(axis=0) - block.layout.sum(total)
        expected = np.exp(moved - total)
        for table in tables:
            value[table.groups] -= table.condition(expected)[0]
        return value, log_p, expected

    def _tables_of(self, block: Block) -> tuple[list["CountTables"], float]:
        """The block's exact groups, and how near shifts must bring expected to known counts."""
        first = block.groups.start
        if first not in self._tables:
            count = self.count_group[:, block.groups].astype(np.intp)
            exact = _small(count)
            pure = (count > 0).sum(axis=0) == 1
            tables = list(count_tables(count, np.flatnonzero(exact & ~pure), block.layout))
            self._tables[first] = tables, _NEAR if (exact | pure).all() else 1e-10
        return self._tables[first]

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        return self._given(score, block)[0]

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        _, log_p, expected = self._given(score, block)
        p = np.exp(log_p)
        gradient = p - expected
        p *= 2.0 * (1.0 - p)
        return self._scale(gradient, block), self._scale(p, block)


def _small(count: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Groups whose table, as it is rounded up, is small enough."""
    explicit = np.sort(count, axis=0)[:-1]
    cells = (padded_counts(explicit) + 1.0).prod(axis=0)
    return np.asarray(cells * count.sum(axis=0) <= LARGEST_TABLE)


def padded_counts(count: NDArray[np.intp]) -> NDArray[np.intp]:
    """What counts are rounded up to, so that tables are of like shape."""
    return _COUNTS[np.searchsorted(_COUNTS, count)]


@dataclass(frozen=True)
class CountTables:
    """Groups whose tables have the same shape.

    Attributes
    ----------
    groups : ndarray of shape (n,)
    rows : ndarray of shape (padded size, n)
        A group's rows; where it has fewer, ``real`` is false and the row is any.
    real : ndarray of shape (padded size, n)
    order : ndarray of shape (n_classes, n)
        Classes of each group from rare to frequent; the last has no axis of the table.
    count : ndarray of shape (n_classes - 1, n)
        Of the others.
    shape : tuple of int
        Of a table.
    """

    groups: NDArray[np.intp]
    rows: NDArray[np.intp]
    real: NDArray[np.bool_]
    order: NDArray[np.intp]
    count: NDArray[np.intp]
    shape: tuple[int, ...]

    def condition(
        self, proba: NDArray[Any], start: NDArray[Any] | None = None, least: float = 0.0
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Replace ``proba`` of the rows by their expectations given the counts.

        ``ahead[j]`` at t is the probability that the first j rows hold t rows of the rarer
        classes, ``back`` that the rows from j on supply what is then missing. Padding is of the
        most frequent class and changes nothing.

        Parameters
        ----------
        proba : ndarray of shape (n_classes, n_rows)
        start : ndarray of shape (*shape, n), default=None
            The likelihood of each table of counts; ``None``: of ``count`` it is 1.
        least : float, default=0.0
            Groups whose likelihood is not above this are left as they are.

        Returns
        -------
        log_likely : ndarray of shape (n,)
            Logarithm of the probability of the counts; 0 of groups that were left.
        good : ndarray of shape (n,)
            Which were not.
        """
        p = proba[self.order[:, None], self.rows] * self.real
        p[-1] += ~self.real
        n_rows, n = self.rows.shape
        ahead = np.zeros((n_rows, *self.shape, n))
        ahead[(0, *(0 for _ in self.shape))] = 1.0
        steps = list(table_steps(len(self.shape)))
        for j in range(n_rows - 1):
            np.multiply(ahead[j], p[-1, j], out=ahead[j + 1])
            for k, (before, after) in enumerate(steps):
                ahead[j + 1][after] += ahead[j][before] * p[k, j]
        back = np.zeros((*self.shape, n)) if start is None else start
        if start is None:
            back[(*self.count, np.arange(n))] = 1.0
        axes = tuple(range(len(self.shape)))
        for j in range(n_rows - 1, -1, -1):
            supplied = [back[after] * p[k, j] for k, (_, after) in enumerate(steps)]
            back *= p[-1, j]
            p[-1, j] = (ahead[j] * back).sum(axis=axes)
            for k, (before, _) in enumerate(steps):
                p[k, j] = (ahead[j][before] * supplied[k]).sum(axis=axes)
                back[before] += supplied[k]
        likely = back[tuple(0 for _ in self.shape)]
        good = likely > least
        kept = self.real & good
        expected = p / np.where(good, likely, 1.0)
        for k, classes in enumerate(self.order):
            place = np.broadcast_to(classes, self.rows.shape)[kept]
            proba[place, self.rows[kept]] = expected[k][kept]
        return np.log(likely, out=np.zeros(n), where=good), good


def table_steps(n_axes: int) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Of each axis: all entries that have a next one, and the next ones."""
    for axis in range(n_axes):
        whole = [slice(None)] * n_axes
        before, after = whole.copy(), whole.copy()
        before[axis], after[axis] = slice(None, -1), slice(1, None)
        yield tuple(before), tuple(after)


def count_tables(
    count: NDArray[np.intp], groups: NDArray[np.intp], layout: GroupedLayout
) -> Iterator[CountTables]:
    """Groups with tables of like shape, not too many at once."""
    if not len(groups):
        return
    order = np.argsort(count[:, groups], axis=0, kind="stable")
    explicit = np.take_along_axis(count[:, groups], order, axis=0)[:-1]
    size = layout.sizes[groups].astype(np.intp)
    kind = np.vstack([np.searchsorted(_ROWS, size), np.searchsorted(_COUNTS, explicit)])
    shapes, which = np.unique(kind, axis=1, return_inverse=True)
    for label, shape in enumerate(shapes.T):
        n_rows, most = int(_ROWS[shape[0]]), tuple(int(c) + 1 for c in _COUNTS[shape[1:]])
        members = np.flatnonzero(which.ravel() == label)
        at_once = max(1, _CHUNK // (n_rows * int(np.prod(most))))
        for part in np.array_split(members, -(-len(members) // at_once)):
            position = np.arange(n_rows)[:, None]
            real = position < size[part]
            rows = layout.starts[groups[part]] + np.where(real, position, 0)
            yield CountTables(groups[part], rows, real, order[:, part], explicit[:, part], most)
