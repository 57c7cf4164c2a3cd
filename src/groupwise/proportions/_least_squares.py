r"""The L2 forms in as many unknowns as there are groups, and what leaving one group out costs.

.. math:: \min_{f, c} |A f + c\,a - b|^2 + \gamma_1 |f|^2_{\tilde K}

has the solution (bias c free, a the groups' sizes)

.. math:: \begin{pmatrix} G + \gamma_1 I & a \\ a' & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ c \end{pmatrix} = \begin{pmatrix} b \\ 0 \end{pmatrix},
          \qquad f(x) = \sum_i \alpha_i k(x_i, x) + c, \quad \alpha = T\beta .

Without bias the border is dropped, which is eq. (16) of Chen et al. (2009). With P the upper left
block of the matrix's inverse, the error of a model that never saw group i is
:math:`b_i - \hat b_i^{(-i)} = \beta_i / P_{ii}`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

__all__ = ["GroupSpectrum", "solve_l2"]


def solve_l2(
    gram_group: NDArray[Any],
    target_group: NDArray[Any],
    gamma1: float,
    sizes: NDArray[Any] | None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Group weights and bias.

    Parameters
    ----------
    gram_group : ndarray of shape (n_groups, n_groups)
        G.
    target_group : ndarray of shape (n_groups, n_outputs)
        b, one column per output.
    gamma1 : float
    sizes : ndarray of shape (n_groups,) or None
        a; ``None``: no bias.

    Returns
    -------
    beta : ndarray of shape (n_groups, n_outputs)
    bias : ndarray of shape (n_outputs,)
    """
    system = gram_group.copy()
    system[np.diag_indices_from(system)] += gamma1
    factor = cho_factor(system, overwrite_a=True, check_finite=False)
    beta = cho_solve(factor, target_group, check_finite=False)
    if sizes is None:
        return beta, np.zeros(target_group.shape[1])
    toward = cho_solve(factor, sizes, check_finite=False)
    bias = (sizes @ beta) / (sizes @ toward)
    return beta - toward[:, None] * bias, bias


@dataclass(frozen=True)
class GroupSpectrum:
    r"""Eigenvectors of G: every :math:`\gamma_1` at the price of one.

    :math:`G = E \Lambda E'`; directions beyond the columns of E have the eigenvalue zero.

    Attributes
    ----------
    vectors : ndarray of shape (n_groups, rank)
        E.
    values : ndarray of shape (rank,)
    """

    vectors: NDArray[Any]
    values: NDArray[Any]

    @classmethod
    def of_factor(cls, Z: NDArray[Any]) -> "GroupSpectrum":
        """From any Z with G = Z Z', through the smaller of Z Z' and Z'Z."""
        n_groups, n_columns = Z.shape
        if n_groups <= n_columns:
            values, vectors = eigh(Z @ Z.T, check_finite=False, driver="evd")
            return cls(vectors, np.maximum(values, 0.0))
        values, right = eigh(Z.T @ Z, check_finite=False, driver="evd")
        keep = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
        return cls(Z @ (right[:, keep] / np.sqrt(values[keep])), values[keep])

    @property
    def mean_diagonal(self) -> float:
        """Mean of the diagonal of G: the unit in which gamma1 is comparable over problems."""
        return float(self.values.sum() / len(self.vectors))

    def _inverse_times(self, right: NDArray[Any], gamma1: NDArray[Any]) -> NDArray[Any]:
        """(G + gamma1)^-1 right, (n_gammas, n_groups, n_columns)."""
        inside = self.vectors.T @ right
        gap = 1.0 / (self.values + gamma1[:, None]) - 1.0 / gamma1[:, None]
        return self.vectors @ (gap[:, :, None] * inside) + right / gamma1[:, None, None]

    def solve(
        self, target_group: NDArray[Any], gamma1: NDArray[Any], sizes: NDArray[Any] | None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Group weights (n_gammas, n_groups, n_outputs) and biases (n_gammas, n_outputs)."""
        beta = self._inverse_times(target_group, gamma1)
        if sizes is None:
            return beta, np.zeros((len(gamma1), target_group.shape[1]))
        toward = self._inverse_times(sizes[:, None], gamma1)[:, :, 0]
        bias = np.einsum("g,kgc->kc", sizes, beta) / (toward @ sizes)[:, None]
        return beta - toward[:, :, None] * bias[:, None, :], bias

    def left_out_residuals(
        self, target_group: NDArray[Any], gamma1: NDArray[Any], sizes: NDArray[Any] | None
    ) -> NDArray[Any]:
        """Target minus the prediction of the model fitted to all other groups.

        Parameters
        ----------
        target_group : ndarray of shape (n_groups, n_outputs)
        gamma1 : ndarray of shape (n_gammas,)
        sizes : ndarray of shape (n_groups,) or None
            ``None``: no bias.

        Returns
        -------
        residual : ndarray of shape (n_gammas, n_groups, n_outputs)
        """
        beta, _ = self.solve(target_group, gamma1, sizes)
        gap = 1.0 / (self.values + gamma1[:, None]) - 1.0 / gamma1[:, None]
        diagonal = gap @ (self.vectors**2).T + 1.0 / gamma1[:, None]
        if sizes is not None:
            toward = self._inverse_times(sizes[:, None], gamma1)[:, :, 0]
            diagonal = diagonal - toward**2 / (toward @ sizes)[:, None]
        return beta / diagonal[:, :, None]
