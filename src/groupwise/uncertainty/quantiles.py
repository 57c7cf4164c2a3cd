"""Conformal quantiles over exchangeable units: what is left when a share of them may be missed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CalibrationScores", "class_scores", "fewest_units", "poisson_binomial_spread"]

# Sums of weights that differ by less are equal.
_ROUNDING = 1e-9
# Numbers that are held at a time.
_BLOCK = 4_000_000


def fewest_units(coverage: float) -> int:
    """How many calibration units it takes to promise anything but the whole set.

    Examples
    --------
    >>> fewest_units(0.9), fewest_units(0.95)
    (9, 19)
    """
    return int(np.ceil(round(coverage / (1.0 - coverage), 9)))


@dataclass(frozen=True)
class CalibrationScores:
    r"""Scores of held-out groups or rows, the larger the stranger.

    Items (groups or rows) lie in units (groups, or coarser ids) that are exchangeable; the weights
    of a unit's items add up to 1. With a new item of weight :math:`w` at infinity, a value s is
    kept if

    .. math:: w + \sum_{i: s_i \ge s} w_i > \alpha \big(w + \sum_i w_i\big).

    With one item per unit this is :math:`s \le s_{(k)}`, :math:`k = \lceil (1 - \alpha)(G + 1)
    \rceil`. Several items per unit: Lee, Barber and Willett (2023), which makes the pooled
    distribution functions of Dunn, Wasserman and Ramdas (2023) exact. Weights other than 1 per
    unit: Tibshirani et al. (2019).

    Attributes
    ----------
    score : ndarray of shape (n_items,)
    weight : ndarray of shape (n_items,)
    fold : ndarray of shape (n_items,)
        Which model scored the item.
    code : ndarray of shape (n_items,)
        Its class.
    unit : ndarray of shape (n_items,)
    """

    score: NDArray[np.float64]
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]
    code: NDArray[np.intp]
    unit: NDArray[np.intp]

    def of_class(self, code: int) -> "CalibrationScores":
        """The items of one class."""
        kept = self.code == code
        unit = self.unit[kept]
        # a unit's items of this class share its weight again
        ratio = self.weight[kept] / self._share(self.unit)[kept]
        return CalibrationScores(
            self.score[kept], self._share(unit) * ratio, self.fold[kept], self.code[kept], unit
        )

    @staticmethod
    def _share(unit: NDArray[np.intp]) -> NDArray[np.float64]:
        return 1.0 / np.bincount(unit)[unit] if len(unit) else np.empty(0)

    @property
    def n_units(self) -> int:
        return len(np.unique(self.unit))

    @property
    def effective_size(self) -> float:
        """How many units of equal weight would say as much (Kish)."""
        by_unit = np.bincount(self.unit, self.weight) if len(self.unit) else np.zeros(1)
        square = float(np.sum(by_unit**2))
        return float(by_unit.sum() ** 2 / square) if square > 0 else 0.0

    def keeps(
        self, score_new: NDArray[Any], coverage: float, weight_new: NDArray[Any] | float = 1.0
    ) -> NDArray[np.bool_]:
        """Which new items are no stranger than the calibration items allow.

        Parameters
        ----------
        score_new : ndarray of shape (n_folds, n_new)
            By the model of each fold.
        coverage : float
            1 - alpha.
        weight_new : ndarray of shape (n_new,) or float, default=1.0
        """
        mass = np.zeros(score_new.shape[1])
        for fold, new in enumerate(score_new):
            inside = self.fold == fold
            order = np.argsort(self.score[inside])
            ascending = self.score[inside][order]
            from_here = np.append(np.cumsum(self.weight[inside][order][::-1])[::-1], 0.0)
            mass += from_here[np.searchsorted(ascending, new, side="left")]
        total = self.weight.sum() + weight_new
        return mass + weight_new - (1.0 - coverage) * total > _ROUNDING * total

    def upper(
        self,
        centre: NDArray[Any],
        spread: NDArray[Any],
        coverage: float,
    ) -> NDArray[np.float64]:
        """The least bound that a share of the calibration items keeps to; infinite without one.

        Parameters
        ----------
        centre, spread : ndarray of shape (n_folds, n_new)
            By the model of each fold; an item's bound is ``centre + score * spread``.
        coverage : float

        Returns
        -------
        bound : ndarray of shape (n_new,)
        """
        n_new = centre.shape[1]
        bound = np.full(n_new, np.inf)
        wanted = (coverage - _ROUNDING) * (self.weight.sum() + 1.0)
        step = max(1, _BLOCK // max(1, len(self.score)))
        for start in range(0, n_new, step):
            part = slice(start, start + step)
            value = centre[self.fold, part] + self.score[:, None] * spread[self.fold, part]
            order = np.argsort(value, axis=0)
            mass = np.cumsum(self.weight[order], axis=0)
            reached = mass >= wanted
            found = reached.any(axis=0)
            first = reached.argmax(axis=0)
            top = np.take_along_axis(np.take_along_axis(value, order, 0), first[None], 0)[0]
            bound[part] = np.where(found, top, np.inf)
        return bound


def class_scores(proba: NDArray[Any], conformity: str) -> NDArray[np.float64]:
    """How strange each class would be.

    Parameters
    ----------
    proba : ndarray of shape (..., n_classes)
    conformity : {"plain", "adaptive"}
        One less the probability; or the mass of the classes that are more probable and half of its
        own (Romano, Sesia and Candes 2020, with one half in place of a random number).

    Examples
    --------
    >>> class_scores(np.array([0.2, 0.5, 0.3]), "adaptive").round(3).tolist()
    [0.9, 0.25, 0.65]
    """
    if conformity == "plain":
        return 1.0 - proba
    order = np.argsort(-proba, axis=-1, kind="stable")
    ordered = np.take_along_axis(proba, order, -1)
    mass = np.cumsum(ordered, axis=-1) - 0.5 * ordered
    score = np.empty(proba.shape)
    np.put_along_axis(score, order, mass, -1)
    return score


def poisson_binomial_spread(
    proba_row: NDArray[Any], codes: NDArray[np.intp], sizes: NDArray[np.intp]
) -> NDArray[np.float64]:
    r"""Standard deviation of a group's share of each class, if rows are independent.

    .. math:: \sigma_g = \frac{1}{n_g} \sqrt{\sum_{i \in g} p_i (1 - p_i) + \tfrac14}

    The quarter is half a row's worth: a count of certain rows can still be off by rounding.
    """
    variance = proba_row * (1.0 - proba_row)
    total = np.column_stack(
        [np.bincount(codes, column, minlength=len(sizes)) for column in variance.T]
    )
    return np.sqrt(total + 0.25) / sizes[:, None]
