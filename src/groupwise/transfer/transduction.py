"""Labels for unlabelled rows and a plane for all of them: the search behind TransductiveSVC."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from groupwise._typing import Rows
from groupwise.solvers.newton import Plane, fit_plane, plane_objective
from groupwise.transfer.density_ratio import stack

__all__ = ["Labelling", "Transduction", "best_parting"]

# Tolerance on the way, where only the order of the scores counts.
_ROUGH = 1e-2
_MAX_SWITCHES = 30
# The first stage of growing cost, in powers of four, at which the fraction may be estimated.
_PARTING = -4


@dataclass(frozen=True)
class Labelling:
    r"""A plane and the labels it goes with.

    Attributes
    ----------
    plane : Plane
    sign : ndarray of shape (n_unlabeled,)
        -1 or +1.
    objective : float
        :math:`\frac12\|w\|^2 + \sum_i c_i \xi_i^2 + C^* \sum_j \xi_j^2`.
    """

    plane: Plane
    sign: NDArray[np.float64]
    objective: float


@dataclass(frozen=True)
class Transduction:
    """The problem: labelled rows above unlabelled ones.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_labeled + n_unlabeled, n_features)
    n_labeled : int
    cost_unlabeled : float
        :math:`C^*` of each unlabelled row.
    tol : float
    """

    X: Rows
    n_labeled: int
    cost_unlabeled: float
    tol: float

    @property
    def n_unlabeled(self) -> int:
        return self.X.shape[0] - self.n_labeled

    def search(
        self,
        sign: NDArray[Any],
        cost: NDArray[Any],
        fraction: float,
        *,
        soft: bool = False,
        estimate: bool = False,
        last: Labelling | None = None,
    ) -> Labelling:
        """Let the unlabelled rows' cost grow from next to nothing, and the labels with it.

        Parameters
        ----------
        sign, cost : ndarray of shape (n_labeled,)
        fraction : float
            Share of positive labels.
        soft : bool
            Labels are probabilities that harden on the way: see :meth:`_soften`.
        estimate : bool
            Move the fraction to where the scores part (:func:`best_parting`), once: at 1/256 of the
            final cost, where rows do not yet keep their labels of themselves, or later, when the
            unlabelled rows together cost four times what the labelled ones do. If they never
            outweigh those, these know better.
        last : Labelling, default=None
            Of a similar problem: start from these labels, at a later stage.
        """
        if last is None:
            steps = np.arange(-7, 1)
            plane = fit_plane(self.X[: self.n_labeled], sign, cost, tol=_ROUGH).plane
            guess = _highest(self._unlabeled_score(plane), self._n_positive(fraction))
        else:
            steps, plane, guess = np.array([-4, -2, 0]), last.plane, last.sign
        for step in steps:
            level = self.cost_unlabeled * 4.0**step
            if soft:
                plane = self._soften(sign, cost, level, plane, fraction, 10.0 * 0.5 ** (step + 7))
                guess = _highest(self._unlabeled_score(plane), self._n_positive(fraction))
            plane, guess = self._switch(sign, cost, level, plane, guess, fraction)
            if estimate and _PARTING <= step < 0 and level * self.n_unlabeled >= 4.0 * cost.sum():
                plane, guess, fraction = self._part(sign, cost, level, plane, guess, fraction)
                estimate = False
        return self._finish(sign, cost, plane, guess)

    def _part(
        self,
        sign: NDArray[Any],
        cost: NDArray[Any],
        level: float,
        plane: Plane,
        guess: NDArray[Any],
        fraction: float,
    ) -> tuple[Plane, NDArray[Any], float]:
        """Move the fraction to where the scores part, until it stays; never to one side alone."""
        low, high = 0.5 * fraction, 0.5 * (1.0 + fraction)
        for _ in range(10):
            found = min(max(best_parting(self._unlabeled_score(plane)), low), high)
            if abs(found - fraction) * self.n_unlabeled < 1.0:
                break
            fraction = found
            plane, guess = self._switch(sign, cost, level, plane, guess, fraction)
        return plane, guess, fraction

    def _switch(
        self,
        sign: NDArray[Any],
        cost: NDArray[Any],
        level: float,
        plane: Plane,
        guess: NDArray[Any],
        fraction: float,
    ) -> tuple[Plane, NDArray[Any]]:
        """Joachims' loop: pairs of labels change places while that lowers the objective.

        For a fixed plane a pair is worth changing where the row labelled negative scores above the
        one labelled positive. Changing all such pairs leaves the highest scores positive, so one
        step moves many; the objective falls in every step.
        """
        all_cost = np.concatenate([cost, np.full(self.n_unlabeled, level)])
        for _ in range(_MAX_SWITCHES):
            plane = fit_plane(
                self.X, np.concatenate([sign, guess]), all_cost, start=plane, tol=_ROUGH
            ).plane
            better = _highest(self._unlabeled_score(plane), self._n_positive(fraction))
            if np.array_equal(better, guess):
                break
            guess = better
        return plane, guess

    def _soften(
        self,
        sign: NDArray[Any],
        cost: NDArray[Any],
        level: float,
        plane: Plane,
        fraction: float,
        temperature: float,
    ) -> Plane:
        r"""Deterministic annealing (Sindhwani, Keerthi and Chapelle 2006), one temperature.

        Every unlabelled row is positive with a probability :math:`p_j` that balances the loss
        against T times the entropy, :math:`p_j = 1/(1 + e^{-(g_j - \nu)/T})` with
        :math:`g_j = \ell(-f_j) - \ell(f_j)` and :math:`\nu` such that the mean is the fraction.
        """
        doubled = stack(self.X, self.X[self.n_labeled :])
        ones = np.ones(self.n_unlabeled)
        signs = np.concatenate([sign, ones, -ones])
        for _ in range(5):
            proba = self._probabilities(plane, fraction, temperature)
            costs = np.concatenate([cost, level * proba, level * (1.0 - proba)])
            plane = fit_plane(doubled, signs, costs, start=plane, tol=_ROUGH).plane
        return plane

    def _probabilities(self, plane: Plane, fraction: float, temperature: float) -> NDArray[Any]:
        score = self._unlabeled_score(plane)
        gain = np.maximum(1.0 + score, 0.0) ** 2 - np.maximum(1.0 - score, 0.0) ** 2
        gain /= temperature
        fraction = min(max(fraction, 0.5 / len(gain)), 1.0 - 0.5 / len(gain))

        def surplus(shift: float) -> float:
            return float(expit(gain - shift).mean() - fraction)

        return expit(gain - brentq(surplus, gain.min() - 50.0, gain.max() + 50.0))

    def _finish(
        self, sign: NDArray[Any], cost: NDArray[Any], plane: Plane, guess: NDArray[Any]
    ) -> Labelling:
        all_sign = np.concatenate([sign, guess])
        all_cost = np.concatenate([cost, np.full(self.n_unlabeled, self.cost_unlabeled)])
        plane = fit_plane(self.X, all_sign, all_cost, start=plane, tol=self.tol).plane
        return Labelling(plane, guess, plane_objective(self.X, all_sign, all_cost, plane))

    def _n_positive(self, fraction: float) -> int:
        """At least one row on either side, where there are two."""
        last = max(self.n_unlabeled - 1, 1)
        return int(min(max(round(fraction * self.n_unlabeled), 1), last))

    def _unlabeled_score(self, plane: Plane) -> NDArray[Any]:
        return plane.score(self.X)[self.n_labeled :]


def _highest(score: NDArray[Any], n_positive: int) -> NDArray[np.float64]:
    """+1 for the ``n_positive`` highest scores (earlier rows first among equals), -1 for others."""
    sign = np.full(len(score), -1.0)
    sign[np.argsort(-score, kind="stable")[:n_positive]] = 1.0
    return sign


def best_parting(score: NDArray[Any]) -> float:
    """Share of the upper part where two parts differ most: largest variance between them (Otsu)."""
    ordered = np.sort(score)
    n_rows = len(ordered)
    if n_rows < 2:
        return 0.5
    below = np.arange(1, n_rows)
    total = np.cumsum(ordered)
    gap = (total[-1] - total[:-1]) / (n_rows - below) - total[:-1] / below
    return float(1.0 - below[np.argmax(below * (n_rows - below) * gap**2)] / n_rows)
