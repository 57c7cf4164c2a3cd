r"""The kernel deformed by a graph: smooth functions become short (Sindhwani et al. 2005).

With K the Gram matrix, M a penalty matrix and :math:`\rho = \gamma_2/\gamma_1`, minimising
:math:`\gamma_1 |f|^2 + \gamma_2 f' M f` is minimising :math:`\gamma_1` times the norm of

.. math:: \tilde K = K - K (I + \rho M K)^{-1} \rho M K .

Only its sums over groups are needed, :math:`G = A \tilde K A' = A K T`, with
:math:`T = (I + \rho M K)^{-1} A'`; and :math:`\alpha = T \beta` are the weights of the rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, lu_factor, lu_solve, solve_triangular

from groupwise.exceptions import solving

__all__ = ["DeformedGram", "FeaturePath", "Whitening", "deform"]


@dataclass(frozen=True)
class DeformedGram:
    """G and T of the module's formulas.

    Attributes
    ----------
    gram_group : ndarray of shape (n_groups, n_groups)
        G.
    spread : ndarray of shape (n, n_groups)
        T: from one weight per group to the weights of what the kernel is between.
    """

    gram_group: NDArray[Any]
    spread: NDArray[Any]


def deform(gram: NDArray[Any], penalty: Any, rho: float, membership: Any) -> DeformedGram:
    """Deform a kernel; one LU factorisation, no pseudo-inverse and no product K M K.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
    penalty : sparse array of shape (n, n)
        M, symmetric and positive semi-definite.
    rho : float
    membership : sparse array of shape (n_groups, n)
        A.

    Returns
    -------
    deformed : DeformedGram
    """
    system = rho * (penalty @ gram)
    system[np.diag_indices_from(system)] += 1.0
    with solving():
        factor = lu_factor(system, overwrite_a=True, check_finite=False)
    spread = lu_solve(factor, membership.T.toarray(), overwrite_b=True, check_finite=False)
    gram_group = (membership @ gram) @ spread
    return DeformedGram(0.5 * (gram_group + gram_group.T), spread)


class FeaturePath:
    r"""The deformed kernel in feature space, for any number of :math:`\rho`.

    With :math:`K = \Phi\Phi'`, :math:`S = \Phi' M \Phi` (formed once) and the Cholesky factor
    :math:`I + \rho S = L L'` (one for every :math:`\rho`),

    .. math:: G(\rho) = Z Z', \qquad Z = A \Phi L^{-T} .

    Parameters
    ----------
    smoothness : ndarray of shape (n_features, n_features)
        S.
    basis : ndarray of shape (n_all_features, n_features), default=None
        Where S and the sums are given in an orthonormal basis of a part of the features, that
        basis.
    """

    def __init__(self, smoothness: NDArray[Any], basis: NDArray[Any] | None = None):
        self._smoothness, self._basis = smoothness, basis

    def at(self, rho: float) -> "Whitening":
        """What turns group sums of features into Z."""
        if rho == 0.0:
            return Whitening(None, self._basis)
        system = rho * self._smoothness
        system[np.diag_indices_from(system)] += 1.0
        # The transpose of a symmetric matrix is itself, in the order that LAPACK wants.
        with solving():
            factor = cho_factor(system.T, lower=True, overwrite_a=True, check_finite=False)[0]
        return Whitening(factor, self._basis)


@dataclass(frozen=True)
class Whitening:
    """L and the basis of :class:`FeaturePath`; ``None`` is the identity."""

    lower: NDArray[Any] | None
    basis: NDArray[Any] | None = None

    def apply(self, sums: NDArray[Any]) -> NDArray[Any]:
        """Z from ``A Phi``: (n, n_features) to (n, n_features)."""
        if self.lower is None:
            return sums
        return solve_triangular(self.lower, sums.T, lower=True, check_finite=False).T

    def weights(self, whitened: NDArray[Any]) -> NDArray[Any]:
        """Weights of the features from weights of the columns of Z."""
        if self.lower is not None:
            whitened = solve_triangular(
                self.lower, whitened, lower=True, trans=1, check_finite=False
            )
        return whitened if self.basis is None else self.basis @ whitened
