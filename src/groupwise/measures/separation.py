r"""The most violated labelling, for each measure that a support vector machine can train for.

With row scores f the structural loss of a measure is
:math:`L(f) = \max_{\bar y} \Delta(\bar y) - \langle u(\bar y), f \rangle`, where
:math:`u_i` is the signed share of row i if :math:`\bar y` flips its label and 0 if not. An oracle
finds the maximum exactly; as L is a maximum of linear functions, -u is a subgradient of it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.solvers.cutting_planes import Violation

__all__ = ["AccuracyOracle", "GroupF1Oracle", "PrecisionOracle", "ROCOracle"]


@dataclass(frozen=True)
class AccuracyOracle:
    """Share of wrong rows, positive ones ``cost`` times: the mean hinge loss of an ordinary SVM."""

    positive: NDArray[np.bool_]
    cost: float = 1.0

    @property
    def n_units(self) -> int:
        return len(self.positive)

    @cached_property
    def _share(self) -> NDArray[np.float64]:
        return np.where(self.positive, self.cost, -1.0) / len(self.positive)

    def worst(self, score_row: NDArray[Any]) -> Violation:
        sign = np.where(self.positive, 1.0, -1.0)
        share = np.where(sign * score_row < 1.0, self._share, 0.0)
        return Violation(float(np.abs(share).sum()), share)


@dataclass(frozen=True)
class ROCOracle:
    """Share of pairs in the wrong order: the mean hinge loss of all pairs, by two sorts."""

    positive: NDArray[np.bool_]

    @property
    def n_units(self) -> int:
        return int(self.positive.sum())

    def worst(self, score_row: NDArray[Any]) -> Violation:
        high, low = score_row[self.positive], score_row[~self.positive]
        n_pairs = len(high) * len(low)
        above = len(low) - np.searchsorted(np.sort(low), high - 1.0, side="right")
        below = np.searchsorted(np.sort(high), low + 1.0, side="left")
        share = np.empty(len(score_row))
        share[self.positive] = above / n_pairs
        share[~self.positive] = -below / n_pairs
        return Violation(float(above.sum() / n_pairs), share)


@dataclass(frozen=True)
class PrecisionOracle:
    """One less precision among the k rows called positive; k positives are called in any case."""

    positive: NDArray[np.bool_]
    k: int

    @property
    def n_units(self) -> int:
        return int(self.positive.sum())

    def worst(self, score_row: NDArray[Any]) -> Violation:
        high = np.flatnonzero(self.positive)
        low = np.flatnonzero(~self.positive)
        high = high[np.argsort(-score_row[high], kind="stable")]
        low = low[np.argsort(-score_row[low], kind="stable")]
        n_high = len(high)
        kept = np.arange(max(0, self.k - len(low)), min(self.k, n_high) + 1)
        top_high = np.concatenate([[0.0], np.cumsum(score_row[high])])
        top_low = np.concatenate([[0.0], np.cumsum(score_row[low])])
        gain = -kept / self.k - (top_high[-1] - top_high[kept] - top_low[self.k - kept]) / n_high
        best = int(kept[np.argmax(gain)])
        share = np.zeros(len(score_row))
        share[high[best:]] = 1.0 / n_high
        share[low[: self.k - best]] = -1.0 / n_high
        return Violation(1.0 - best / self.k, share)


@dataclass(frozen=True)
class GroupF1Oracle:
    r"""One less the mean F1 of groups; one group of all rows is plain F1.

    A labelling of a group enters by a, the positives it keeps (those with the highest scores), and
    b, the negatives it calls positive (likewise). With P positives, up to constants,

    .. math:: H(a, b) = -\frac{2a}{a + b + P} + \frac1P \Big(\sum_{\text{top } a} f_+
              + \sum_{\text{top } b} f_-\Big),

    concave in b for every a: a binary search for all a of all groups at once finds the best b, in
    :math:`O(P \log N)` after the sort (Joachims 2005 scans all pairs).
    """

    positive: NDArray[np.bool_]
    groups: Groups

    @property
    def n_units(self) -> int:
        return int(self.positive.sum())

    @cached_property
    def n_high(self) -> NDArray[np.intp]:
        return np.bincount(self.groups.codes[self.positive], minlength=len(self.groups))

    @cached_property
    def candidates(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Group and a of every pair (group, a), a = 0..P."""
        group = np.repeat(np.arange(len(self.groups)), self.n_high + 1)
        start = np.concatenate([[0], np.cumsum(self.n_high + 1)[:-1]])
        return group, np.arange(len(group)) - start[group]

    def _sorted(
        self, rows: NDArray[np.intp], score_row: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Rows by group and falling score, and where each group begins."""
        code = self.groups.codes[rows]
        rows = rows[np.lexsort((-score_row[rows], code))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=len(self.groups)))])
        return rows, starts

    def worst(self, score_row: NDArray[Any]) -> Violation:
        high, high_start = self._sorted(np.flatnonzero(self.positive), score_row)
        # a negative is called positive only if its score is above -P times the largest gain in
        # Delta, 2a / ((a + b + P)(a + b + P + 1)) <= 1 / (P + 1); in a group without positives the
        # best one alone may be, at score > -1
        low, low_start = self._sorted(
            np.flatnonzero(~self.positive & (score_row > -1.0)), score_row
        )
        group, kept = self.candidates
        n_high = self.n_high[group]
        scale = np.maximum(n_high, 1)
        first, n_low = low_start[group], np.diff(low_start)[group]
        f_low = np.append(score_row[low], -np.inf)
        called = _first_loss(kept, n_high, scale, f_low, first, n_low)
        called = np.where((n_high == 0) & (n_low > 0), np.maximum(called, 1), called)
        top_high = np.concatenate([[0.0], np.cumsum(score_row[high])])
        top_low = np.concatenate([[0.0], np.cumsum(score_row[low])])
        both = kept + called + n_high
        loss = np.where(both > 0, 1.0 - 2.0 * kept / np.maximum(both, 1), 0.0)
        missed = top_high[high_start[group + 1]] - top_high[high_start[group] + kept]
        gain = loss - (missed - top_low[first + called] + top_low[first]) / scale
        return self._best(group, kept, called, loss, gain, (high, high_start), (low, low_start))

    def _best(
        self,
        group: NDArray[Any],
        kept: NDArray[Any],
        called: NDArray[Any],
        loss: NDArray[Any],
        gain: NDArray[Any],
        highs: tuple[NDArray[Any], NDArray[Any]],
        lows: tuple[NDArray[Any], NDArray[Any]],
    ) -> Violation:
        """The best a of every group; nothing called is right in a group without positives."""
        gain_nothing = np.where((self.n_high[group] == 0) & (gain < 0.0), 0.0, gain)
        nothing = gain_nothing > gain
        loss, called = np.where(nothing, 0.0, loss), np.where(nothing, 0, called)
        starts = np.flatnonzero(kept == 0)
        top = np.maximum.reduceat(gain_nothing, starts)
        where = np.where(gain_nothing == top[group], np.arange(len(group)), len(group))
        chosen = np.minimum.reduceat(where, starts)
        n_groups, scale = len(self.groups), np.maximum(self.n_high, 1)
        share = np.zeros(self.groups.n_rows)
        for (rows, start), limit, sign in (
            (highs, kept[chosen], 1.0),
            (lows, called[chosen], -1.0),
        ):
            code = self.groups.codes[rows]
            place = np.arange(len(rows)) - start[code]
            flipped = place >= limit[code] if sign > 0 else place < limit[code]
            share[rows[flipped]] = sign / (n_groups * scale[code[flipped]])
        return Violation(float(loss[chosen].mean()), share)


def _first_loss(
    kept: NDArray[Any],
    n_high: NDArray[Any],
    scale: NDArray[Any],
    f_low: NDArray[Any],
    first: NDArray[Any],
    n_low: NDArray[Any],
) -> NDArray[np.intp]:
    """How many negatives to call positive: up to where one more no longer gains (concave in b)."""
    low, high = np.zeros(len(kept), np.intp), n_low.copy()
    while True:
        open_ = low < high
        if not open_.any():
            return low
        middle = (low + high) // 2
        both = kept + middle + n_high
        gain = 2.0 * kept / np.maximum(both * (both + 1.0), 1.0) + f_low[first + middle] / scale
        gains = open_ & (gain > 0)
        low = np.where(gains, middle + 1, low)
        high = np.where(open_ & ~gains, middle, high)
