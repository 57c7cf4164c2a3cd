"""What a solver returns: values, and the certificate of how good they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise.solvers.certificate import Certificate

__all__ = ["KernelSolution", "LinearSolution", "Solution"]


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Base of what the solvers return.

    Attributes
    ----------
    certificate : Certificate
    n_iter : int, default=0
        Iterations of the solver; 0 where it has none.
    status : str, default="optimal"
        Why it stopped: ``"optimal"``, ``"time limit"`` or ``"iteration limit"``.
    """

    certificate: Certificate
    n_iter: int = 0
    status: str = "optimal"

    @property
    def objective(self) -> float:
        """Value of the problem at the solution."""
        return self.certificate.primal


@dataclass(frozen=True, kw_only=True)
class LinearSolution(Solution):
    r"""Primal and dual values of :math:`\min c'x,\ l \le Ax \le u,\ \underline x \le x \le \bar x`.

    The dual value of the certificate is :math:`\sum_i y_i b_i + \sum_j d_j b_j` with the bound b on
    the side where each dual value pushes; the residual is the largest violation of a row or a
    bound, or the largest reduced cost (or dual of a row) that pushes against a bound that is not
    there.

    Attributes
    ----------
    x : ndarray of shape (n_columns,)
    row_dual : ndarray of shape (n_rows,)
        How fast the objective rises with each row's bound.
    reduced_cost : ndarray of shape (n_columns,)
    method : str
        What solved it: ``"primal"``, ``"dual"`` or ``"interior"``.
    certificate, n_iter, status
        As in :class:`Solution`.
    """

    x: NDArray[np.float64]
    row_dual: NDArray[np.float64]
    reduced_cost: NDArray[np.float64]
    method: str


@dataclass(frozen=True, kw_only=True)
class KernelSolution(Solution):
    """Weights of the rows of a Gram matrix, and a bias.

    Attributes
    ----------
    beta : ndarray of shape (n,) or (n, n_outputs)
    bias : float or ndarray of shape (n_outputs,)
    certificate, n_iter, status
        As in :class:`Solution`.
    """

    beta: NDArray[np.float64]
    bias: float | NDArray[np.float64]
