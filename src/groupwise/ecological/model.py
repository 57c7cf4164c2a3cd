"""The normal model of the rates of all units, fitted by their marginal likelihood.

z_i ~ N(w_i Gamma, Sigma), Sigma = exp(A) with A a symmetric matrix, so that any A will do; where
the table lies outside the simplices the density is multiplied by kappa
(:mod:`groupwise.ecological.tables`). The score of a unit is the mean score of this density over
draws of z_i given the margins, less its mean over draws that know no margins (Fisher's identity,
for the density and for its constant); that of log kappa is whether the table is outside. The sum of
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
# s sqrt(2). Log kappa is N(0, 3^2): from nearly none on the boundary to many more than a normal
# distribution has beyond it.
_LOG_VARIANCE, _WIDTH, _TIED, _BOUNDARY = np.log(2 * 0.1**2), 1.0, 0.5, 3.0
_MEAN, _SLOPE = np.sqrt(2) * np.array([0.5, 0.1])
# The longest step of an entry of A, and of one of Gamma.
_LONGEST, _LONGEST_MEAN = 0.5, 0.1

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]


class RateModel:
    """Parameters, and their information.

    Parameters
    ----------
    design : ndarray of shape (n_units, n_terms)
        A constant, then standardised covariates.
    start : ndarray of shape (dim,)
        Rates that are the district's in every row category.
    log_kappa : float, default=0.0
        At the start; minus infinity stays what it is.

    Attributes
    ----------
    coefficients : ndarray of shape (n_terms, dim)
        Gamma.
    values, vectors : ndarray of shape (dim,), (dim, dim)
        Eigenvalues of Sigma, and its eigenvectors as columns.
    log_kappa : float
        How much the boundary counts.
    """

    def __init__(self, design: Array, start: Array, log_kappa: float = 0.0) -> None:
        self.design = design
        self.dim = len(start)
        self.coefficients = np.zeros((design.shape[1], self.dim))
        self.coefficients[0] = start
        self.prior_mean = self.coefficients.copy()
        self.values = np.full(self.dim, np.exp(_LOG_VARIANCE))
        self.vectors = np.eye(self.dim)
        self.log_kappa = log_kappa
        self.upper = np.triu_indices(self.dim)
        sd = np.repeat([_MEAN, _SLOPE], [1, design.shape[1] - 1])
        spread = np.where(self.upper[0] == self.upper[1], _WIDTH, _TIED)
        sd = np.r_[np.repeat(sd, self.dim), spread, _BOUNDARY]
        self.prior_precision = 1 / sd**2
        self.seen = np.zeros((len(self.prior_precision), len(self.prior_precision)))

    @property
    def mean(self) -> Array:
        """Of every unit, (n_units, dim)."""
        return np.asarray(self.design @ self.coefficients)

    @property
    def sigma(self) -> Array:
        """Of all rates, (dim, dim)."""
        return np.asarray((self.vectors * self.values) @ self.vectors.T)

    def improve(
        self, z: Array, outside: Flags, apart: tuple[Array, Flags, Array], rate: float
    ) -> None:
        """One step of scoring.

        Parameters
        ----------
        z : ndarray of shape (n_draws, n_units, dim)
            Draws of the rates given the margins.
        outside : ndarray of bool of shape (n_draws, n_units)
            Whether the table lies on the boundary.
        apart : tuple
            The same, of tables that know no margins, and the weights of these draws,
            (n_draws, n_units).
        rate : float
            Part of the step that is taken, and weight of these draws in the information.
        """
        halves = [
            self._scores(*self._moments(z[half], outside[half], np.ones(outside[half].shape)))
            for half in (slice(0, None, 2), slice(1, None, 2))
        ]
        of_constant = self._moments(*apart)
        total = 0.5 * (halves[0] + halves[1]) - self._scores(*of_constant)
        # single units have too few draws of their own to tell the constant's score
        common = self._scores(*(each.mean(axis=0, keepdims=True) for each in of_constant))
        cross = (halves[0] - common).T @ (halves[1] - common)
        self.seen += rate * (0.5 * (cross + cross.T) - self.seen)
        step = np.linalg.solve(self.information, total.sum(axis=0) + self._prior_score())
        step *= rate
        cut = self.coefficients.size
        longest = np.abs(step[:cut]).max() / _LONGEST_MEAN, np.abs(step[cut:]).max() / _LONGEST
        moved = self._moved(step / max(1.0, *longest))
        self.coefficients, self.values, self.vectors, self.log_kappa = moved

    @property
    def information(self) -> Array:
        """What the margins say of the parameters, and the prior.

        The two halves of the draws have errors of their own, so that their product is unbiased
        but can have negative eigenvalues, which count as zero.
        """
        values, vectors = np.linalg.eigh(self.seen)
        seen = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return np.asarray(seen + np.diag(self.prior_precision))

    def draws(self, n_draws: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Means (n_draws, n_units, dim), Sigmas and log kappas, as uncertain as known."""
        root = np.linalg.cholesky(self.information)
        steps = np.linalg.solve(root.T, rng.standard_normal((len(root), n_draws))).T
        drawn = [self._moved(step) for step in steps]
        mean = np.stack([self.design @ coefficients for coefficients, _, _, _ in drawn])
        sigma = np.stack([(u * values) @ u.T for _, values, u, _ in drawn])
        return mean, sigma, np.array([log_kappa for _, _, _, log_kappa in drawn])

    def _moments(self, z: Array, outside: Flags, weight: Array) -> tuple[Array, Array, Array]:
        """Mean residual over its variance and mean product of these, along eigenvectors."""
        y = ((z - self.mean) @ self.vectors / self.values).transpose(1, 2, 0)
        weight = weight / weight.sum(axis=0)
        weighted = y * weight.T[:, None, :]
        return (
            weighted.sum(axis=2),
            weighted @ y.transpose(0, 2, 1),
            (weight * outside).sum(axis=0),
        )

    def _scores(self, first: Array, second: Array, outside: Array) -> Array:
        """Derivative of each unit's log-density, (n_units, n_parameters).

        With l the eigenvalues of Sigma, a change E of A along the eigenvectors changes Sigma by
        F * E, F_jk = (l_j - l_k) / (log l_j - log l_k).
        """
        of_mean = self.design[:, :, None] * (first @ self.vectors.T)[:, None, :]
        j, k = self.upper
        of_sigma = 0.5 * self._divided() * (second - np.diag(1 / self.values))
        of_sigma = np.broadcast_to(of_sigma, (len(self.design), self.dim, self.dim))
        twice = np.where(j == k, 1.0, 2.0)
        of_kappa = np.broadcast_to(outside[:, None], (len(self.design), 1))
        return np.hstack([of_mean.reshape(len(of_mean), -1), of_sigma[:, j, k] * twice, of_kappa])

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
        of_kappa = -self.log_kappa if np.isfinite(self.log_kappa) else 0.0
        return np.r_[of_mean, off, of_kappa] * self.prior_precision

    def _moved(self, step: Array) -> tuple[Array, Array, Array, float]:
        """Coefficients, eigenvalues, eigenvectors and log kappa after a step of all parameters."""
        cut = self.coefficients.size
        change = np.zeros((self.dim, self.dim))
        change[self.upper] = step[cut:-1]
        change = change + np.triu(change, 1).T + np.diag(np.log(self.values))
        log, turned = np.linalg.eigh(change)
        coefficients = self.coefficients + step[:cut].reshape(self.coefficients.shape)
        values = np.exp(np.clip(log, -20.0, 5.0))
        return coefficients, values, self.vectors @ turned, self.log_kappa + float(step[-1])
