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

    The w on the left supposes that all items of the new unit are as strange as this one. That is
    the worst case, and holds too often where units are few and have several items. With ``sharp``
    it is w times what units with an item there have there on average,
    :math:`\sum_u F_u(s)^2 / \sum_u F_u(s)`, where :math:`F_u(s)` is the share of unit u's items
    at or above s: 1 where a unit's items are alike (or alone), :math:`\alpha + (1 - \alpha)/n`
    where n of them are independent.

    Attributes
    ----------
    score : ndarray of shape (n_items,)
    weight : ndarray of shape (n_items,)
    fold : ndarray of shape (n_items,)
        Which model scored the item.
    code : ndarray of shape (n_items,)
        Its class.
    unit : ndarray of shape (n_items,)
    sharp : bool, default=False
        Whether the new unit's share is estimated: about 1 - alpha, where the worst case proves at
        least that.
    """

    score: NDArray[np.float64]
    weight: NDArray[np.float64]
    fold: NDArray[np.intp]
    code: NDArray[np.intp]
    unit: NDArray[np.intp]
    sharp: bool = False

    @classmethod
    def of_units(
        cls,
        score: NDArray[Any],
        unit: NDArray[np.intp],
        *,
        fold: NDArray[np.intp] | None = None,
        code: NDArray[np.intp] | None = None,
        ratio: NDArray[Any] | float = 1.0,
        sharp: bool = False,
    ) -> "CalibrationScores":
        """Items of units that count once each, times a ratio; by default one fold and class."""
        none, weight = np.zeros(len(score), np.intp), _shares(unit)
        return cls(
            score,
            weight * ratio,
            none if fold is None else fold,
            none if code is None else code,
            unit,
            sharp and bool(np.any(weight < 1.0)),
        )

    def of_class(self, code: int) -> "CalibrationScores":
        """The items of one class."""
        kept = self.code == code
        # a unit's items of this class share its weight again
        ratio = (self.weight / _shares(self.unit))[kept]
        return self.of_units(
            self.score[kept],
            self.unit[kept],
            fold=self.fold[kept],
            code=self.code[kept],
            ratio=ratio,
            sharp=self.sharp,
        )

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
        mass, square = np.zeros((2, score_new.shape[1]))
        for fold, new in enumerate(score_new):
            inside = np.flatnonzero(self.fold == fold)
            order = inside[np.argsort(-self.score[inside])]
            place = np.searchsorted(-self.score[order], -new, side="right")
            for total, sums in zip((mass, square), self._sums(order[:, None]), strict=True):
                total += np.append(0.0, sums)[place]
        return self._kept(mass, square, coverage, weight_new)

    def _sums(self, order: NDArray[np.intp]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sums over units of the share at or above an item, and of its square, by weight.

        Parameters
        ----------
        order : ndarray of shape (n_items, n)
            Positions of items, the strangest first.
        """
        weight = self.weight[order]
        mass = np.cumsum(weight, axis=0)
        if not self.sharp:
            return mass, mass
        unit = self.unit[order]
        whole = np.bincount(self.unit, self.weight)[unit]
        together = np.argsort(unit, axis=0, kind="stable")  # each unit's items, strangest first
        first = np.flatnonzero(np.diff(np.sort(unit[:, 0]), prepend=-1))
        running = np.cumsum(np.take_along_axis(weight, together, 0), axis=0)
        before = np.append(np.zeros_like(running[:1]), running, axis=0)[first]
        of_unit = np.empty_like(weight)
        n_items = np.diff([*first, len(order)])
        np.put_along_axis(of_unit, together, running - np.repeat(before, n_items, axis=0), 0)
        gain = np.divide((2.0 * of_unit - weight) * weight, whole, where=whole > 0, out=of_unit)
        return mass, np.cumsum(gain, axis=0)

    def _kept(
        self,
        mass: NDArray[Any],
        square: NDArray[Any],
        coverage: float,
        weight_new: NDArray[Any] | float,
    ) -> NDArray[np.bool_]:
        """Whether so much at or above an item is enough."""
        allowed = (1.0 - coverage + _ROUNDING) * (self.weight.sum() + weight_new)
        share = np.divide(square, mass, out=np.zeros_like(mass), where=mass > 0)
        # a new item that outweighs all that may be missed is always kept
        return (mass + share * weight_new > allowed) | (weight_new > allowed)

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
        if self._kept(np.zeros(1), np.zeros(1), coverage, 1.0)[0]:
            return bound
        step = max(1, _BLOCK // len(self.score))
        for start in range(0, n_new, step):
            part = slice(start, start + step)
            value = centre[self.fold, part] + self.score[:, None] * spread[self.fold, part]
            order = np.argsort(-value, axis=0)
            kept = self._kept(*self._sums(order), coverage, 1.0)
            bound[part] = np.where(kept, np.take_along_axis(value, order, 0), -np.inf).max(axis=0)
        return bound


def _shares(unit: NDArray[np.intp]) -> NDArray[np.float64]:
    """One over the number of items of the same unit."""
    return 1.0 / np.bincount(unit)[unit] if len(unit) else np.empty(0)


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
    if conformity == "plain":  # the others' sum: 1 - p is 0 long before they are
        return proba @ (1.0 - np.eye(proba.shape[-1]))
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
