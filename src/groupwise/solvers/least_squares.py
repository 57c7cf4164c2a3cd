r"""Penalised least squares of sums, and what leaving one of them out costs.

.. math:: \min_{f, c} |A f + c\,a - b|^2 + \alpha |f|^2_K

has with :math:`G = A K A'` the solution (bias c free, a its coefficients)

.. math:: \begin{pmatrix} G + \alpha I & a \\ a' & 0 \end{pmatrix}
          \begin{pmatrix} \beta \\ c \end{pmatrix} = \begin{pmatrix} b \\ 0 \end{pmatrix},
          \qquad f = K A'\beta .

Without bias the border is dropped, which is eq. (16) of Chen et al. (2009). With P the upper left
block of the matrix's inverse, the error of a model that never saw sum i is
:math:`b_i - \hat b_i^{(-i)} = \beta_i / P_{ii}`. The dual value of any :math:`\beta` with
:math:`a'\beta = 0` is :math:`2\alpha\, b'\beta - \alpha^2 |\beta|^2 - \alpha\, \beta' G \beta`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, eigh

from groupwise.solvers.certificate import Certificate
from groupwise.solvers.solution import KernelSolution

__all__ = ["GramSpectrum", "solve_l2"]

Floats = NDArray[np.float64]


def solve_l2(
    gram: Floats, target: Floats, alpha: float, bias_weight: Floats | None
) -> KernelSolution:
    """Solve for all outputs at once; the certificate is of their sum.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        G.
    target : ndarray of shape (n, n_outputs)
        b, one column per output.
    alpha : float
        Weight of the norm.
    bias_weight : ndarray of shape (n,) or None
        a, how often the bias counts in each sum; ``None``: no bias.

    Returns
    -------
    solution : KernelSolution
    """
    system = gram.copy()
    system[np.diag_indices_from(system)] += alpha
    factor = cho_factor(system, overwrite_a=True, check_finite=False)
    beta = cho_solve(factor, target, check_finite=False)
    bias = np.zeros(target.shape[1])
    if bias_weight is not None:
        toward = cho_solve(factor, bias_weight, check_finite=False)
        bias = (bias_weight @ beta) / (bias_weight @ toward)
        beta = beta - toward[:, None] * bias
    proof = _certify(gram, target, alpha, bias_weight, beta, bias)
    return KernelSolution(beta=beta, bias=bias, certificate=proof)


def _certify(
    gram: Floats,
    target: Floats,
    alpha: float,
    bias_weight: Floats | None,
    beta: Floats,
    bias: Floats,
) -> Certificate:
    fit = gram @ beta
    norm = alpha * float((beta * fit).sum())
    dual = 2.0 * alpha * float((target * beta).sum()) - alpha**2 * float((beta**2).sum()) - norm
    if bias_weight is None:
        return Certificate(float(((fit - target) ** 2).sum()) + norm, dual)
    error = fit + bias_weight[:, None] * bias - target
    residual = np.abs(bias_weight @ beta) / np.abs(bias_weight[:, None] * beta).sum(axis=0).clip(1)
    return Certificate(float((error**2).sum()) + norm, dual, float(residual.max()))


@dataclass(frozen=True)
class GramSpectrum:
    r"""Eigenvectors of G: every :math:`\alpha` at the price of one.

    :math:`G = E \Lambda E'`; directions beyond the columns of E have the eigenvalue zero.

    Attributes
    ----------
    vectors : ndarray of shape (n, rank)
        E.
    values : ndarray of shape (rank,)
    """

    vectors: Floats
    values: Floats

    @classmethod
    def of_factor(cls, Z: Floats) -> "GramSpectrum":
        """From any Z with G = Z Z', through the smaller of Z Z' and Z'Z."""
        n, n_columns = Z.shape
        if n <= n_columns:
            values, vectors = eigh(Z @ Z.T, check_finite=False, driver="evd")
            return cls(vectors, np.maximum(values, 0.0))
        values, right = eigh(Z.T @ Z, check_finite=False, driver="evd")
        keep = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
        return cls(Z @ (right[:, keep] / np.sqrt(values[keep])), values[keep])

    @property
    def mean_diagonal(self) -> float:
        """Mean of the diagonal of G: the unit in which alpha is comparable over problems."""
        return float(self.values.sum() / len(self.vectors))

    def _inverse_times(self, right: Floats, alpha: Floats) -> Floats:
        """(G + alpha)^-1 right, (n_alphas, n, n_columns)."""
        inside = self.vectors.T @ right
        gap = 1.0 / (self.values + alpha[:, None]) - 1.0 / alpha[:, None]
        return self.vectors @ (gap[:, :, None] * inside) + right / alpha[:, None, None]

    def solve(
        self, target: Floats, alpha: Floats, bias_weight: Floats | None
    ) -> tuple[Floats, Floats]:
        """Weights (n_alphas, n, n_outputs) and biases (n_alphas, n_outputs)."""
        beta = self._inverse_times(target, alpha)
        if bias_weight is None:
            return beta, np.zeros((len(alpha), target.shape[1]))
        toward = self._inverse_times(bias_weight[:, None], alpha)[:, :, 0]
        bias = np.einsum("g,kgc->kc", bias_weight, beta) / (toward @ bias_weight)[:, None]
        return beta - toward[:, :, None] * bias[:, None, :], bias

    def left_out_residuals(
        self, target: Floats, alpha: Floats, bias_weight: Floats | None
    ) -> Floats:
        """Target minus the prediction of the model fitted to all other sums.

        Parameters
        ----------
        target : ndarray of shape (n, n_outputs)
        alpha : ndarray of shape (n_alphas,)
        bias_weight : ndarray of shape (n,) or None
            ``None``: no bias.

        Returns
        -------
        residual : ndarray of shape (n_alphas, n, n_outputs)
        """
        beta, _ = self.solve(target, alpha, bias_weight)
        gap = 1.0 / (self.values + alpha[:, None]) - 1.0 / alpha[:, None]
        diagonal = gap @ (self.vectors**2).T + 1.0 / alpha[:, None]
        if bias_weight is not None:
            toward = self._inverse_times(bias_weight[:, None], alpha)[:, :, 0]
            diagonal = diagonal - toward**2 / (toward @ bias_weight)[:, None]
        return beta / diagonal[:, :, None]
