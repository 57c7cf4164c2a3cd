"""One line of statistics per group: its rows' means, spreads, least and largest values."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from groupwise._compat import set_random_states
from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import LARGEST_VALUE, dense

__all__ = ["STATISTICS", "StatisticsMixin", "check_statistics", "summarise"]

# Forests hold features in 32 bits.
_LARGEST_IN_A_FOREST = float(np.finfo(np.float32).max)
#: What may be asked of each feature, over a group's rows.
STATISTICS = ("mean", "std", "min", "max")


def check_statistics(statistics: Sequence[str]) -> None:
    """Refuse what is no statistic, and none at all."""
    if isinstance(statistics, str) or not len(statistics) or set(statistics) - set(STATISTICS):
        raise ValueError(f"statistics must be some of {STATISTICS}, got {statistics!r}")


def summarise(
    X: Rows, groups: Groups, statistics: Sequence[str] = STATISTICS
) -> NDArray[np.float64]:
    """One line per group: each statistic of each feature over its rows.

    Examples
    --------
    >>> summarise(np.array([[1.0], [3.0], [7.0]]), Groups(["a", "a", "b"])).tolist()
    [[2.0, 1.0, 1.0, 3.0], [7.0, 0.0, 7.0, 7.0]]
    """
    rows = dense(X)
    parts = []
    for statistic in statistics:
        if statistic == "mean":
            parts.append(groups.mean(rows))
        else:  # a column at a time: at once they would be copies of the table
            of_column = _OF_COLUMN[statistic]
            parts.append(np.column_stack([of_column(column, groups) for column in rows.T]))
    return np.hstack(parts)


class StatisticsMixin:
    """What a classifier and a regressor on groups' statistics share."""

    estimator: BaseEstimator | None
    statistics: tuple[str, ...]
    random_state: RandomState

    @property
    def _largest_value(self) -> float:
        return _LARGEST_IN_A_FOREST if self.estimator is None else LARGEST_VALUE

    def _check_parameters(self) -> None:
        check_statistics(self.statistics)

    def _fit_to_lines(self, forest: Any, X: Rows, groups: Groups, target: NDArray[Any]) -> None:
        """Fit the estimator, or ``forest``, to one line per group."""
        self.statistics_ = tuple(self.statistics)
        self.estimator_ = forest if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            set_random_states(self.estimator_, self.random_state)
        lines = summarise(X, groups, self.statistics_)
        order = np.lexsort((target, *lines.T))  # their own: a forest draws lines by their place
        self.estimator_.fit(lines[order], target[order])


def _std(column: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    return np.sqrt(groups.mean((column - groups.spread(groups.mean(column))) ** 2))


def _min(column: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    return -groups.max(-column)


def _max(column: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    return groups.max(column)


_OF_COLUMN = {"std": _std, "min": _min, "max": _max}
