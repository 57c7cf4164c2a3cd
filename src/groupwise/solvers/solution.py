"""What a solve hands back: values, and the proof that they are optimal."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Solution"]


@dataclass(frozen=True)
class Solution:
    r"""Primal and dual values of :math:`\min c'x,\ l \le Ax \le u,\ \underline x \le x \le \bar x`.

    Attributes
    ----------
    x : ndarray of shape (n_columns,)
    row_dual : ndarray of shape (n_rows,)
        How fast the objective rises with each row's bound.
    reduced_cost : ndarray of shape (n_columns,)
    objective : float
        :math:`c'x`.
    dual_objective : float
        The bound that the dual values prove, :math:`\sum_i y_i b_i + \sum_j d_j b_j` with the bound
        b on the side where each dual value pushes.
    primal_residual, dual_residual : float
        Largest violation of a row or a bound; largest reduced cost, or dual of a row, that pushes
        against a bound that is not there.
    method : str
        What solved it: ``"primal"``, ``"dual"`` or ``"interior"``.
    why : str
        Why it stopped: ``"optimal"``, ``"time limit"`` or ``"iteration limit"``.
    n_iterations : int
    """

    x: NDArray[np.float64]
    row_dual: NDArray[np.float64]
    reduced_cost: NDArray[np.float64]
    objective: float
    dual_objective: float
    primal_residual: float
    dual_residual: float
    method: str
    why: str
    n_iterations: int

    @property
    def gap(self) -> float:
        """Objective less dual objective, over the larger of one and the objective."""
        return abs(self.objective - self.dual_objective) / max(1.0, abs(self.objective))

    @property
    def bound(self) -> float:
        """What no feasible point can fall below: the dual objective."""
        return self.dual_objective

    def is_certified(self, tol: float = 1e-6) -> bool:
        """Whether residuals and gap prove the values optimal to this accuracy."""
        return max(self.gap, self.primal_residual, self.dual_residual) <= tol
