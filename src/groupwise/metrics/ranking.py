"""Measures of the order of a group's rows: precision at k, average precision, NDCG, ROC area.

Only the order of the scores inside a group counts. Rows with equal scores have no order: a measure
of the first k is its mean over all orders of them, average precision takes them as one step, and
the ROC area counts each such pair half, all as in scikit-learn.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_choice, check_number
from groupwise.metrics.measure import GroupMeasure

__all__ = ["NDCG", "AveragePrecision", "PrecisionAtK", "ROCArea", "RankingMeasure"]


@dataclass(frozen=True)
class _Ties:
    """Rows by group and falling score, equal scores taken together.

    Attributes
    ----------
    group : ndarray of shape (n_ties,)
        The group of each set of equal scores.
    before : ndarray of shape (n_ties,)
        Rows of the group with a higher score.
    size : ndarray of shape (n_ties,)
    gain : ndarray of shape (n_ties,)
        Sum of the labels.
    """

    group: NDArray[np.intp]
    before: NDArray[np.intp]
    size: NDArray[np.intp]
    gain: NDArray[Any]

    @classmethod
    def of(cls, gain_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> "_Ties":
        order = np.lexsort((-score_row, groups.codes))
        score, group = score_row[order], groups.codes[order]
        starts = np.flatnonzero(
            np.concatenate([[True], (score[1:] != score[:-1]) | (group[1:] != group[:-1])])
        )
        first = group[starts]
        size = np.diff(starts, append=len(order))
        gain = np.add.reduceat(gain_row[order].astype(float), starts)
        return cls(first, starts - groups.offsets[first], size, gain)

    def discounted(self, total_of_first: NDArray[Any], n_groups: int) -> NDArray[Any]:
        """Sum per group of the gains times the mean discount of their places."""
        places = total_of_first[self.before + self.size] - total_of_first[self.before]
        return np.bincount(self.group, self.gain * places / self.size, n_groups)

    def running(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum of the values of a group's ties up to and with each one."""
        total = np.cumsum(values)
        opens = self.before == 0
        start = np.maximum.accumulate(np.where(opens, np.arange(len(values)), 0))
        return total - (total - values)[start]


@dataclass(frozen=True)
class RankingMeasure(GroupMeasure):
    """Base of the measures of an order; for two classes.

    Parameters
    ----------
    without_positives : {"count", "skip"}, default="count"
        What a group without positive rows gets: ``"count"`` is the value the measure's docstring
        states, ``"skip"`` leaves the group out (NaN).
    """

    without_positives: str = "count"

    def __post_init__(self) -> None:
        check_choice("without_positives", self.without_positives, ("count", "skip"))

    def of(self, y_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        gain_row = np.maximum(y_row, 0)
        value, defined = self._values(gain_row, _Ties.of(gain_row, score_row, groups), groups)
        if self.without_positives == "skip":
            return np.where(defined, value, np.nan)
        return value

    @abstractmethod
    def _values(
        self, gain_row: NDArray[Any], ties: _Ties, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """The values, and in which groups there is something to find."""


@dataclass(frozen=True)
class PrecisionAtK(RankingMeasure, name="precision_at_k"):
    """Share of positives among the k rows with the highest scores (of all, if there are fewer).

    A group without positives counts 0.

    Parameters
    ----------
    without_positives : {"count", "skip"}, default="count"
    k : int, default=10

    Examples
    --------
    >>> PrecisionAtK(k=2)([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.1], [0, 0, 0, 1]).tolist()
    [0.5, 1.0]
    """

    k: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("k", self.k, "[1, inf)", whole=True)

    def _values(
        self, gain_row: NDArray[Any], ties: _Ties, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        found = ties.discounted(np.minimum(np.arange(_longest(groups) + 1), self.k), len(groups))
        return found / np.minimum(groups.sizes, self.k), groups.sum(gain_row) > 0


@dataclass(frozen=True)
class AveragePrecision(RankingMeasure, name="average_precision"):
    r"""Area under precision over recall, :math:`\sum_s (R_s - R_{s-1}) P_s`.

    A group without positives counts 1: no order of it is wrong.

    Examples
    --------
    >>> AveragePrecision()([1, 0, 1], [0.9, 0.8, 0.7], [0, 0, 0]).round(3).tolist()
    [0.833]
    """

    def _values(
        self, gain_row: NDArray[Any], ties: _Ties, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        n_positive = groups.sum(gain_row)
        precision = ties.running(ties.gain) / (ties.before + ties.size)
        found = np.bincount(ties.group, ties.gain * precision, len(groups))
        return np.where(n_positive > 0, found / np.maximum(n_positive, 1.0), 1.0), n_positive > 0


@dataclass(frozen=True)
class NDCG(RankingMeasure, name="ndcg"):
    r"""Normalised discounted cumulative gain of the first k rows.

    :math:`\sum_{r \le k} y_{(r)} / \log_2(r + 1)`, over its largest value for the group's labels,
    which may be grades >= 0. A group without gain counts 1: no order of it is wrong.

    Parameters
    ----------
    without_positives : {"count", "skip"}, default="count"
    k : int, default=None
        ``None`` takes all rows.

    Examples
    --------
    >>> NDCG(k=2)([0, 3, 1], [0.9, 0.8, 0.7], [0, 0, 0]).round(3).tolist()
    [0.521]
    """

    k: int | None = None

    graded = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("k", self.k, "[1, inf)", whole=True, none=True)

    def _values(
        self, gain_row: NDArray[Any], ties: _Ties, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        place = np.arange(_longest(groups))
        discount = np.where(place < (self.k or len(place)), 1.0 / np.log2(place + 2.0), 0.0)
        total = np.concatenate([[0.0], np.cumsum(discount)])
        reached = ties.discounted(total, len(groups))
        best = _Ties.of(gain_row, gain_row, groups).discounted(total, len(groups))
        value = np.where(best > 0, reached / np.where(best > 0, best, 1.0), 1.0)
        return np.minimum(value, 1.0), best > 0


@dataclass(frozen=True)
class ROCArea(RankingMeasure, name="roc_area"):
    """Share of the group's pairs of a positive and a negative row that are in the right order.

    A group of one class has no pair and counts 1 (or is left out with ``"skip"``).

    Examples
    --------
    >>> ROCArea()([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.1], [0, 0, 0, 0]).tolist()
    [0.75]
    """

    def _values(
        self, gain_row: NDArray[Any], ties: _Ties, groups: Groups
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        n_positive = groups.sum(gain_row)
        n_negative = groups.sizes - n_positive
        negative = ties.size - ties.gain
        below = n_negative[ties.group] - ties.running(negative) + 0.5 * negative
        right = np.bincount(ties.group, ties.gain * below, len(groups))
        n_pairs = n_positive * n_negative
        return np.where(n_pairs > 0, right / np.maximum(n_pairs, 1.0), 1.0), n_pairs > 0


def _longest(groups: Groups) -> int:
    return int(groups.sizes.max())
