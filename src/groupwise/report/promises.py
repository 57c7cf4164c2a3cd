"""What a report says of how sure a method is: coverage promised and held."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.jobs import FoldResult, GroupResults
from groupwise.uncertainty.quantiles import CalibrationScores, class_scores

__all__ = ["HeldCoverage", "held_coverage"]

_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


@dataclass(frozen=True)
class HeldCoverage:
    """Sets or intervals of every fold's groups, calibrated on the groups of the other folds.

    Where no fold divides coarser units (users, who have several groups each), every unit counts
    once, as it does where sets are promised.

    Attributes
    ----------
    promised, held, size : list of float
        By level; the size is the mean number of classes, or the mean width of an interval.
    n_groups : int
    of_shares : bool
    of_numbers : bool, default=False
    """

    promised: list[float]
    held: list[float]
    size: list[float]
    n_groups: int
    of_shares: bool
    of_numbers: bool = False

    @property
    def words(self) -> str:
        """The line for 90 %."""
        at = self.promised.index(0.9)
        what = f"sets of {self.size[at]:.2f} classes"
        if self.of_shares or self.of_numbers:
            width = f"{self.size[at]:.2f}" if self.of_shares else f"{self.size[at]:.4g}"
            what = f"intervals{' of shares' * self.of_shares} {width} wide"
        if self.size[at] == np.inf:
            what = "intervals without ends, as groups are few,"
        return f"90 % promised, {self.held[at]:.0%} held, with {what} on average"


def held_coverage(folds: list[FoldResult], *, of_totals: bool = False) -> HeldCoverage | None:
    """From what folds said of held-out groups; ``None`` where groups have no label, or are few.

    ``of_totals``: whether numbers are totals, whose errors grow with the rows, as those of means
    fall.
    """
    units = [fold.units for fold in folds]
    of_shares = all(unit.shares is not None for unit in units)
    of_numbers = all(unit.number is not None for unit in units)
    known = of_shares or of_numbers or all(unit.truth is not None for unit in units)
    if len(folds) < 2 or not known:
        return None
    fold = np.repeat(np.arange(len(units)), [len(unit.name) for unit in units])
    spread = np.sqrt(_each(units, "size")) ** (1 if of_totals else -1) if of_numbers else None
    score, classes = _scores(units, spread, of_shares)
    counted = [unit.name if unit.whole is None else unit.whole for unit in units]
    unit = np.unique(np.concatenate(counted), return_inverse=True)[1]
    weight = 1.0 / np.bincount(unit)[unit]
    held, size = [], []
    for level in _LEVELS:
        inside, large = np.empty(len(fold), bool), np.empty(len(fold))
        for number in range(len(units)):
            test, known = fold == number, fold != number
            scores = CalibrationScores.of_units(score[known], unit[known], sharp=True)
            inside[test] = scores.keeps(score[test][None], level)
            large[test] = _sizes(scores, classes, spread, test, level)
        held.append(float(np.average(inside, weights=weight)))
        size.append(float(np.average(large, weights=weight)))
    return HeldCoverage(list(_LEVELS), held, size, len(fold), of_shares, of_numbers)


def _each(units: list[GroupResults], part: str) -> NDArray[Any]:
    """Of all groups, fold after fold."""
    return np.concatenate([np.asarray(getattr(unit, part)) for unit in units])


def _scores(
    units: list[GroupResults], spread: NDArray[np.float64] | None, of_shares: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    if spread is not None:
        return np.abs(_each(units, "number") - _each(units, "number_predicted")) / spread, None
    proba = _each(units, "proba")
    if of_shares:
        return np.abs(_each(units, "shares") - proba).max(axis=1), None
    truth = _each(units, "truth")
    classes = class_scores(proba, "plain")
    return classes[np.arange(len(truth)), truth], classes


def _sizes(
    scores: CalibrationScores,
    classes: NDArray[Any] | None,
    spread: NDArray[np.float64] | None,
    test: NDArray[np.bool_],
    level: float,
) -> Any:
    if classes is None:
        half = scores.upper(np.zeros((1, 1)), np.ones((1, 1)), level)[0]
        return min(2.0 * half, 1.0) if spread is None else 2.0 * half * spread[test]
    return np.sum([scores.keeps(column[None], level) for column in classes[test].T], axis=0)
