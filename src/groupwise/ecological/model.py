"""The truncated normal model of the rates of all units, fitted by their marginal likelihood.

z_i ~ N(w_i Gamma, Sigma), Sigma = exp(A) with A a symmetric matrix, so that any A will do, given
that the table lies inside the simplices (:mod:`groupwise.ecological.tables`). The score of a unit
is the mean score of the normal density over draws of z_i given the margins, less its mean over
draws that know no margins (Fisher's identity, for the density and for its constant); the sum of
outer products of these scores, from two halves of the draws, estimates the information (Berndt et
al. 1974). Steps of scoring with fresh draws go to the maximum; the inverse information is the
uncertainty that is left.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["RateModel"]

# Prior, in rates: they scatter by about 0.1 (exp(1/2) times more or less at one standard
# deviation); two rates are tied by a correlation whose Fisher transform is N(0, 0.5^2), as King's
# (1997); their mean lies within 0.5 or so of the district's shares, slopes of standardised
# covariates within 0.1. A rate that scatters by s has a contrast of two columns that scatters by
# s sqrt(2).
_LOG_VARIANCE, _WIDTH, _TIED = np.log(2 * 0.1**2), 1.0, 0.5
_MEAN, _SLOPE = 0.5 * np.sqrt(2), 0.1 * np.sqrt(2)
# The longest step of an entry of A, and of one of Gamma.
_LONGEST, _LONGEST_MEAN = 0.5, 0.1

Array = NDArray[np.float64]


class RateModel:
    """Parameters, and their information.

    Parameters
    ----------
    design : ndarray of shape (n_units, n_terms)
        A constant, then standardised covariates.
    start : ndarray of shape (dim,)
        Rates that are the district's in every row category.

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms, dim)
        Gamma.
    values, vectors : ndarray of shape (dim,), (dim, dim)
        Eigenvalues of Sigma, and its eigenvectors as columns.
    """

    def __init__(self, design: Array, start: Array) -> None:
        self.design = design
        self.dim = len(start)
        self.coefficients = np.zeros((design.shape[1], self.dim))
        self.coefficients[0] = start
        self.prior_mean = self.coefficients.copy()
        self.values = np.full(self.dim, np.exp(_LOG_VARIANCE))
        self.vectors = np.eye(self.dim)
        self.upper = np.triu_indices(self.dim)
        sd = np.r_[_MEAN, np.full(design.shape[1] - 1, _SLOPE)]
        spread = np.where(self.upper[0] == self.upper[1], _WIDTH, _TIED)
        self.prior_precision = np.r_[np.repeat(1 / sd**2, self.dim), 1 / spread**2]
        self.seen = np.zeros((len(self.prior_precision), len(self.prior_precision)))

    @property
    def mean(self) -> Array:
        """Of every unit, (n_units, dim)."""
        return np.asarray(self.design @ self.coefficients)

    @property
    def sigma(self) -> Array:
        """Of all rates, (dim, dim)."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def improve(self, z: Array, apart: Array, rate: float) -> None:
        """One step of scoring.

        Parameters
        ----------
        z : ndarray of shape (n_draws, n_units, dim)
            Draws of the rates given the margins.
        apart : ndarray of shape (n_draws, n_units, dim)
            The same, of tables that know no margins.
        rate : float
            Part of the step that is taken, and weight of these draws in the information.
        """
        halves = [self._scores(*self._moments(half)) for half in (z[::2], z[1::2])]
        of_constant = self._moments(apart)
        total = 0.5 * (halves[0] + halves[1]) - self._scores(*of_constant)
        # single units have too few draws of their own to tell the constant's score
        common = self._scores(*(each.mean(axis=0, keepdims=True) for each in of_constant))
        cross = (halves[0] - common).T @ (halves[1] - common)
        self.seen += rate * (0.5 * (cross + cross.T) - self.seen)
        step = np.linalg.solve(self.information, total.sum(axis=0) + self._prior_score())
        step *= rate
        cut = self.coefficients.size
        longest = np.abs(step[:cut]).max() / _LONGEST_MEAN, np.abs(step[cut:]).max() / _LONGEST
        self.coefficients, self.values, self.vectors = self._moved(step / max(1.0, *longest))

    @property
    def information(self) -> Array:
        """What the margins say of the parameters, and the prior.

        The two halves of the draws have errors of their own, so that their product is unbiased
        but can have negative eigenvalues, which count as zero.
        """
        values, vectors = np.linalg.eigh(self.seen)
        seen = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(seen + np.diag(self.prior_precision))

    def draws(self, n_draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Means (n_draws, n_units, dim) and Sigmas (n_draws, dim, dim), as uncertain as known."""
        root = np.linalg.cholesky(self.information)
        steps = np.linalg.solve(root.T, rng.standard_normal((len(root), n_draws))).T
        drawn = [self._moved(step) for step in steps]
        mean = np.stack([self.design @ coefficients for coefficients, _, _ in drawn])
        return mean, np.stack([(u * values) @ u.T for _, values, u in drawn])

    def _moments(self, z: Array) -> tuple[Array, Array]:
        """Mean residual over its variance and mean product of these, along eigenvectors."""
        y = (z - self.mean) @ self.vectors / self.values
        y = y.transpose(1, 2, 0)
        return y.mean(axis=2), y @ y.transpose(0, 2, 1) / len(z)

    def _scores(self, first: Array, second: Array) -> Array:
        """Derivative of each unit's log-density, (n_units, n_parameters).

        With l the eigenvalues of Sigma, a change E of A along the eigenvectors changes Sigma by
        F * E, F_jk = (l_j - l_k) / (log l_j - log l_k).
        """
        of_mean = self.design[:, :, None] * (first @ self.vectors.T)[:, None, :]
        j, k = self.upper
        of_sigma = 0.5 * self._divided() * (second - np.diag(1 / self.values))
        of_sigma = np.broadcast_to(of_sigma, (len(self.design), self.dim, self.dim))
        twice = np.where(j == k, 1.0, 2.0)
        return np.hstack([of_mean.reshape(len(of_mean), -1), of_sigma[:, j, k] * twice])

    def _divided(self) -> Array:
        log = np.log(self.values)
        gap = log[:, None] - log
        small = np.abs(gap) < 1e-6
        middle = np.exp(0.5 * (log[:, None] + log))
        return np.where(
            small,
            middle,
            (self.values[:, None] - self.values) / np.where(small, 1.0, gap),
        )

    def _prior_score(self) -> Array:
        of_mean = (self.prior_mean - self.coefficients).ravel()
        # A is diagonal in its own eigenvectors
        off = np.diag(_LOG_VARIANCE - np.log(self.values))[self.upper]
        return np.r_[of_mean, off] * self.prior_precision

    def _moved(self, step: Array) -> tuple[Array, Array, Array]:
        """Coefficients, eigenvalues and eigenvectors after a step of all parameters."""
        cut = self.coefficients.size
        change = np.zeros((self.dim, self.dim))
        change[self.upper] = step[cut:]
        change = change + np.triu(change, 1).T + np.diag(np.log(self.values))
        log, turned = np.linalg.eigh(change)
        coefficients = self.coefficients + step[:cut].reshape(self.coefficients.shape)
        return coefficients, np.exp(np.clip(log, -20.0, 5.0)), self.vectors @ turned
