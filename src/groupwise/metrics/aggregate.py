"""From the groups' values to one number: mean, worst, quantile, and how sure it is."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids
from groupwise.groups import Groups
from groupwise.inputs import check_groups, check_number, class_codes
from groupwise.metrics.measure import GroupMeasure, MeasureLike, get_measure

__all__ = [
    "Aggregate",
    "GroupMean",
    "GroupQuantile",
    "GroupScores",
    "WorstGroup",
    "bootstrap_interval",
    "get_aggregate",
    "score_groups",
]

# draws of a bootstrap that are held in memory at a time
_CELLS = 4_000_000


class Aggregate(ABC):
    """How the values of the groups that count come to one number."""

    @abstractmethod
    def reduce(self, values: NDArray[Any]) -> NDArray[Any]:
        """One number for each line of ``values`` (its last axis are groups)."""

    def __call__(self, value_group: ArrayLike) -> float:
        """Aggregate, with the groups left out (NaN) left out."""
        return float(self.reduce(_counted(value_group)))

    def interval(
        self,
        value_group: ArrayLike,
        *,
        level: float = 0.95,
        random_state: int | np.random.Generator | None = 0,
    ) -> tuple[float, float]:
        """Percentile bootstrap interval, groups drawn with replacement; NaN groups left out."""
        values = _counted(value_group)
        rng = np.random.default_rng(random_state)
        n_draws, per_turn = 2000, max(1, _CELLS // len(values))
        drawn = [
            self.reduce(values[rng.integers(len(values), size=(min(per_turn, left), len(values)))])
            for left in range(n_draws, 0, -per_turn)
        ]
        return _middle(np.concatenate(drawn), level)


@dataclass(frozen=True)
class GroupMean(Aggregate):
    """The mean over groups, each counting once (the macro average)."""

    def reduce(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.mean(axis=-1)

    def interval(
        self,
        value_group: ArrayLike,
        *,
        level: float = 0.95,
        random_state: int | np.random.Generator | None = 0,
    ) -> tuple[float, float]:
        return bootstrap_interval(_counted(value_group), level=level, random_state=random_state)


def bootstrap_interval(
    value_group: ArrayLike,
    *,
    weight_group: ArrayLike | None = None,
    level: float = 0.95,
    n_draws: int = 2000,
    random_state: int | np.random.Generator | None = 0,
) -> tuple[float, float]:
    """Percentile interval of the mean, groups drawn with replacement.

    Parameters
    ----------
    value_group : array-like of shape (n_groups,)
    weight_group : array-like of shape (n_groups,), default=None
        How much a group counts in the mean: its rows, for a mean over rows. ``None``: all alike.
    level : float, default=0.95
    n_draws : int, default=2000
    random_state : int, numpy Generator or None, default=0

    Returns
    -------
    low, high : float
    """
    values = np.asarray(value_group, dtype=float)
    rng = np.random.default_rng(random_state)
    n_groups = len(values)
    weights = np.ones(n_groups) if weight_group is None else np.asarray(weight_group, dtype=float)
    if not weights.sum() > 0:
        raise ValueError("there must be a group with a weight above 0")
    # one draw at a time: all of them at once would hold n_draws x n_groups numbers
    draws = (rng.integers(n_groups, size=n_groups) for _ in range(n_draws))
    counted = (drawn for drawn in draws if weights[drawn].any())
    means = [np.average(values[drawn], weights=weights[drawn]) for drawn in counted]
    return _middle(np.array(means), level)


def _middle(drawn: NDArray[Any], level: float) -> tuple[float, float]:
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return float(low), float(high)


@dataclass(frozen=True)
class WorstGroup(Aggregate):
    """The smallest value over the groups: how the worst one does.

    Its bootstrap interval shows which groups the number hangs on; it is no confidence interval,
    as no resample holds a group worse than the worst.
    """

    def reduce(self, values: NDArray[Any]) -> NDArray[Any]:
        return values.min(axis=-1)


@dataclass(frozen=True)
class GroupQuantile(Aggregate):
    """A quantile over groups: 0.1 is what nine groups of ten reach.

    Examples
    --------
    >>> GroupQuantile(0.5)([0.1, 0.9, 0.4, float("nan")])
    0.4
    """

    q: float = 0.1

    def __post_init__(self) -> None:
        check_number("q", self.q, "[0, 1]")

    def reduce(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.quantile(values, self.q, axis=-1)


AGGREGATES: dict[str, Aggregate] = {"mean": GroupMean(), "worst": WorstGroup()}


def get_aggregate(aggregate: str | Aggregate) -> Aggregate:
    """Look an aggregation up by name, or take the object as it is."""
    if isinstance(aggregate, Aggregate):
        return aggregate
    if aggregate in AGGREGATES:
        return AGGREGATES[aggregate]
    raise ValueError(
        f"aggregate must be one of {sorted(AGGREGATES)} or an Aggregate such as "
        f"GroupQuantile(0.1), got {aggregate!r}"
    )


@dataclass(frozen=True)
class GroupScores:
    """The value of each group and what they come to.

    Attributes
    ----------
    measure : GroupMeasure
    aggregate : Aggregate
    table : DataFrame
        One line per group: its ``size`` and ``value``, worst first, groups left out (NaN) last.
    value : float
        The aggregate.
    overall : float
        The measure of all rows taken as one group; NaN if it leaves that group out.
    interval : tuple of float
        Its bootstrap interval, groups drawn with replacement.
    level : float
    """

    measure: GroupMeasure
    aggregate: Aggregate
    table: pd.DataFrame
    value: float
    overall: float
    interval: tuple[float, float]
    level: float

    def __str__(self) -> str:
        low, high = self.interval
        counted = int(self.table["value"].notna().sum())
        left_out = len(self.table) - counted
        return (
            f"{self.measure!r}, {self.aggregate!r} of {counted} groups"
            + (f" ({left_out} left out)" if left_out else "")
            + f": {self.value:.3f} ({self.level:.0%} interval {low:.3f} to {high:.3f}); worst "
            f"{self.table['value'].iloc[0]:.3f} in group {self.table.index[0]!r}, "
            f"all rows together {self.overall:.3f}"
        )


def score_groups(
    y: ArrayLike,
    score_row: ArrayLike,
    groups: Ids,
    *,
    measure: MeasureLike = "f1",
    aggregate: str | Aggregate = "mean",
    classes: ArrayLike | None = None,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = 0,
) -> GroupScores:
    """Score each group and aggregate, with an interval over groups.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Labels of the rows.
    score_row : array-like of shape (n_rows,) or (n_rows, n_classes)
        As ``decision_function`` or ``predict_proba`` gives it.
    groups : array-like of shape (n_rows,) or None
    measure : str, GroupMeasure or callable, default="f1"
        See :func:`get_measure`.
    aggregate : {"mean", "worst"} or Aggregate, default="mean"
    classes : array-like of shape (n_classes,), default=None
        What the labels are called, in the order of the model's ``classes_``; the second of two is
        the positive one. ``None``: labels are numbers as a measure takes them.
    level : float, default=0.95
    random_state : int, numpy Generator or None, default=0
        For the bootstrap.

    Returns
    -------
    scores : GroupScores

    Examples
    --------
    >>> s = score_groups(["ham", "spam", "spam"], [-0.2, 0.4, -0.1], ["ann", "ann", "bob"],
    ...                  classes=["ham", "spam"])
    >>> s.table["value"].to_dict(), s.value
    ({'bob': 0.0, 'ann': 1.0}, 0.5)
    """
    measure, aggregate = get_measure(measure), get_aggregate(aggregate)
    labels = np.asarray(y)
    encoded = check_groups(groups, len(labels))
    if classes is not None:
        labels = class_codes(labels, np.asarray(classes), encoded)
    value_group = measure(labels, score_row, encoded)
    table = pd.DataFrame(
        {"size": encoded.sizes, "value": value_group}, index=pd.Index(encoded.names, name="group")
    )
    return GroupScores(
        measure=measure,
        aggregate=aggregate,
        table=table.sort_values("value", kind="stable"),
        value=aggregate(value_group),
        overall=float(measure(labels, score_row, _one_group(len(labels)))[0]),
        interval=aggregate.interval(value_group, level=level, random_state=random_state),
        level=level,
    )


def _one_group(n_rows: int) -> Groups:
    return Groups(np.zeros(n_rows, dtype=np.intp))


def _counted(value_group: ArrayLike) -> NDArray[Any]:
    values = np.asarray(value_group, dtype=float)
    values = values[~np.isnan(values)]
    if not len(values):
        raise ValueError("no group counts: the measure leaves all of them out")
    return values
