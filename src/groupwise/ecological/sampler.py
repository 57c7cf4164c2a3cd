"""Draws of the tables of all units, given their margins, by Gibbs sampling.

The model is King's (1997), for any number of rows and columns and with the finite size of units.
Written without the redundant last column (orthonormal contrasts H of the columns, theta = 1/C +
H z), the rates of unit i, z_i in R^D with D = n_rows (n_columns - 1), are

    z_i ~ N(w_i Gamma, Sigma),    q_i ~ N(z_i, V_i),    q_i inside the simplices,

with w_i a constant and the covariates, and V_i the variance of shares among as many people as
there are in each row category. The margins fix all linear combinations of q_i but those along the
2 x 2 minors of its table. Every step below is an exact conditional draw:

1. q_i along minors taken at random, as many as a table has degrees of freedom: a normal variable cut off at the bounds, z_i integrated out;
2. z_i given q_i;
3. what lies outside the simplices: with the tables that were turned down on the way to each q_i
   (drawn from the model until one lies inside), Gamma and Sigma have the conditionals of a plain
   normal sample, so that the truncated density needs no constant;
4. Gamma (normal) and Sigma (inverse Wishart, by Bartlett's decomposition).

Several chains run side by side, as one axis of all arrays: their agreement can be told, and small
tables cost little more than with one chain.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import ndtr, ndtri

from groupwise.ecological.margins import Margins, divide

__all__ = ["RateSampler"]

# Prior: rates scatter by about 0.1 (one degree of freedom beyond what makes it proper), their mean
# lies within 0.5 or so of the district's shares, coefficients of standardised covariates are small.
_SPREAD, _EXTRA, _MEAN, _SLOPE = 0.1, 2, 0.5, 0.1
# Tries per unit and sweep to land inside the simplices; a prior mean far outside needs more, and
# then the tries that are counted are these.
_TRIES, _AT_ONCE = 50, 5
# Variance that stands for "nothing known" of a row category without people.
_VAGUE = 1e6

Array = NDArray[np.float64]


class RateSampler:
    """The state of the chains.

    Parameters
    ----------
    margins : Margins
    covariates : ndarray of shape (n_units, n_covariates)
        Standardised.
    n_chains : int
    rng : numpy Generator

    Attributes
    ----------
    counts : ndarray of shape (n_chains, n_units, n_rows, n_columns)
        People in each cell.
    """

    def __init__(
        self, margins: Margins, covariates: Array, n_chains: int, rng: np.random.Generator
    ) -> None:
        self.rng = rng
        self.rows = margins.rows
        self.n_rows, self.n_columns = margins.rows.shape[1], margins.columns.shape[1]
        self.contrasts = helmert(self.n_columns).T  # (n_columns, n_columns - 1)
        self.dim = self.n_rows * (self.n_columns - 1)
        self.design = np.column_stack([np.ones(len(self.rows)), covariates])
        self.peopled = self.rows > 0
        overall = margins.columns.sum(axis=0) / margins.columns.sum()
        self.noise_root = self._noise_root(overall)
        self.noise_scale = np.sqrt(divide(np.full(1, float(margins.counted)), self.rows))
        self.noise = self._noise()
        self.minors = self._minors()
        # a rate that scatters by s has a contrast of two columns that scatters by s sqrt(2)
        self.prior_scatter = 2 * _SPREAD**2 * np.eye(self.dim)
        self.prior_mean = np.zeros((self.design.shape[1], self.dim))
        self.prior_mean[0] = np.tile(overall @ self.contrasts, self.n_rows)
        sd = np.r_[_MEAN, np.full(covariates.shape[1], _SLOPE)] * np.sqrt(2)
        self.prior_precision = np.repeat(1 / sd**2, self.dim)
        self._start(margins, n_chains)

    def _start(self, margins: Margins, n_chains: int) -> None:
        """Rows alike; every other chain at Goodman's rates, so that agreement says something."""
        size = margins.sizes[:, None]
        x, t = divide(margins.rows, size), divide(margins.columns, size)
        self.counts = np.repeat((self.rows[:, :, None] * t[:, None, :])[None], n_chains, axis=0)
        self.sigma = np.repeat(self.prior_scatter[None], n_chains, axis=0)
        self.coefficients = np.repeat(self.prior_mean[None], n_chains, axis=0)
        goodman = np.clip(np.linalg.lstsq(x, t, rcond=None)[0], 0.0, 1.0)
        self.coefficients[::2, 0] = (goodman @ self.contrasts).ravel()

    def sweep(self) -> None:
        """Draw everything once."""
        mean = self.design @ self.coefficients
        precision = np.linalg.inv(self.sigma[:, None] + self.noise)
        root = np.linalg.cholesky(self.sigma)
        self._move_cells(mean, precision)
        z = self._latent(mean, precision, root)
        self._draw_model(*self._moments(z, *self._turned_down(mean, root)))

    def _noise_root(self, overall: Array) -> Array:
        """Root of the variance of one person; the district's shares stand for unknown rates."""
        within = self.contrasts.T @ (np.diag(overall) - np.outer(overall, overall)) @ self.contrasts
        values, vectors = np.linalg.eigh(within)
        return np.asarray(vectors * np.sqrt(np.clip(values, 0.0, None)))

    def _noise(self) -> Array:
        """V of every unit, block by block."""
        width = self.n_columns - 1
        one = self.noise_root @ self.noise_root.T
        noise = np.zeros((len(self.rows), self.dim, self.dim))
        for r in range(self.n_rows):
            block = slice(r * width, (r + 1) * width)
            noise[:, block, block] = self.noise_scale[:, r, None, None] ** 2 * one
            noise[~self.peopled[:, r], block, block] = _VAGUE * np.eye(width)
        return noise

    def _minors(self) -> list[tuple[list[int], list[int], Array]]:
        """Rows, columns, and the change of q when one person of each row changes columns."""
        each = divide(np.ones(1), self.rows)
        found = []
        for a, b in combinations(range(self.n_rows), 2):
            for c, d in combinations(range(self.n_columns), 2):
                step = self.contrasts[c] - self.contrasts[d]
                change = np.zeros((len(self.rows), self.n_rows, self.n_columns - 1))
                change[:, a] = each[:, a, None] * step
                change[:, b] = -each[:, b, None] * step
                found.append(([a, b], [c, d], change.reshape(-1, self.dim)))
        return found

    def _rates(self) -> Array:
        """q, (n_chains, n_units, dim); zero, without weight, where a row category has nobody."""
        q = divide(self.counts, self.rows[:, :, None]) @ self.contrasts
        return np.asarray(q.reshape(*q.shape[:2], self.dim))

    def _move_cells(self, mean: Array, precision: Array) -> None:
        n_free = (self.n_rows - 1) * (self.n_columns - 1)
        minors = [self.minors[m] for m in self.rng.permutation(len(self.minors))[:n_free]]
        change = np.stack([minor[2] for minor in minors], axis=-1)
        stiff = precision @ change
        curvature = (change * stiff).sum(axis=-2)
        pull = _times(precision, self._rates() - mean)
        for m, (rows, columns, _) in enumerate(minors):
            slope = (change[..., m] * pull).sum(axis=-1)
            plus = self.counts[:, :, rows, columns]
            minus = self.counts[:, :, rows, columns[::-1]]
            least, most = -plus.min(axis=-1), minus.min(axis=-1)
            free = self.peopled[:, rows].all(axis=1) & (most > least)
            variance = 1 / np.where(free, curvature[..., m], 1.0)
            moved = self._truncated(-slope * variance, np.sqrt(variance), least, most)
            moved = np.where(free, moved, 0.0)[..., None]
            self.counts[:, :, rows, columns] = np.maximum(plus + moved, 0.0)
            self.counts[:, :, rows, columns[::-1]] = np.maximum(minus - moved, 0.0)
            pull += moved * stiff[..., m]

    def _truncated(self, mean: Array, sd: Array, low: Array, high: Array) -> Array:
        """Normal variables between limits, by the lower tail, where probabilities are exact."""
        a, b = (low - mean) / sd, (high - mean) / sd
        flip = a + b > 0
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        u = 1 - self.rng.random(mean.shape)
        below = ndtr(a)
        x = ndtri(below + u * (ndtr(b) - below))
        # far out, where probabilities are too small for a float, the tail is exponential
        x = np.clip(np.where(b < -35, b + np.log(u) / np.maximum(-b, 35.0), x), a, b)
        return np.clip(mean + sd * np.where(flip, -x, x), low, high)

    def _noisy(self, z: Array, scale: Array) -> Array:
        """q given z: shares among finitely many people."""
        normal = self.rng.standard_normal(z.shape).reshape(*z.shape[:-1], self.n_rows, -1)
        return np.asarray(z + (scale[..., None] * (normal @ self.noise_root.T)).reshape(z.shape))

    def _latent(self, mean: Array, precision: Array, root: Array) -> Array:
        """z given q: a draw from the model, moved by how far its q is off."""
        z = mean + self.rng.standard_normal(mean.shape) @ root.transpose(0, 2, 1)
        off = self._rates() - self._noisy(z, self.noise_scale)
        return np.asarray(z + _times(precision, off) @ self.sigma)

    def _turned_down(
        self, mean: Array, root: Array
    ) -> tuple[Array, NDArray[np.intp], NDArray[np.intp]]:
        """Rates z whose table fell outside the simplices, with their chains and units."""
        chain, unit = (place.ravel() for place in np.indices(mean.shape[:2]))
        rates, chains, units = [], [], []
        for _ in range(_TRIES // _AT_ONCE):
            shape = (len(unit), self.dim, _AT_ONCE)
            z = mean[chain, unit, :, None] + root[chain] @ self.rng.standard_normal(shape)
            z = z.transpose(2, 0, 1)
            q = self._noisy(z, self.noise_scale[unit])
            share = q.reshape(*z.shape[:2], self.n_rows, -1) @ self.contrasts.T
            out = ((share < -1 / self.n_columns).any(axis=3) & self.peopled[unit]).any(axis=2)
            before_the_first_inside = np.logical_and.accumulate(out)
            place = np.nonzero(before_the_first_inside)[1]
            rates.append(z[before_the_first_inside])
            chains.append(chain[place])
            units.append(unit[place])
            left = before_the_first_inside[-1]
            chain, unit = chain[left], unit[left]
            if not len(unit):
                break
        return np.vstack(rates), np.concatenate(chains), np.concatenate(units)

    def _moments(
        self, z: Array, outside: Array, chain: NDArray[np.intp], unit: NDArray[np.intp]
    ) -> tuple[Array, Array, Array, NDArray[np.intp]]:
        """Of each chain: w'w, w'z, z'z and the number of z, inside and outside."""
        ww, wz, zz, n = [], [], [], []
        for k, inside in enumerate(z):
            own = chain == k
            more, design = outside[own], self.design[unit[own]]
            ww.append(self.design.T @ self.design + design.T @ design)
            wz.append(self.design.T @ inside + design.T @ more)
            zz.append(inside.T @ inside + more.T @ more)
            n.append(len(inside) + len(more))
        return np.stack(ww), np.stack(wz), np.stack(zz), np.array(n)

    def _draw_model(self, ww: Array, wz: Array, zz: Array, n: NDArray[np.intp]) -> None:
        """Gamma and Sigma given rates z that are a plain normal sample."""
        inverse = np.linalg.inv(self.sigma)
        size = self.prior_precision.size
        precision = np.einsum("kab,kij->kaibj", ww, inverse).reshape(-1, size, size)
        precision += np.diag(self.prior_precision)
        right = (wz @ inverse).reshape(-1, size) + self.prior_precision * self.prior_mean.ravel()
        root = np.linalg.cholesky(precision)
        half = np.linalg.solve(root, right[..., None]) + self.rng.standard_normal((*right.shape, 1))
        drawn = np.linalg.solve(root.transpose(0, 2, 1), half)
        self.coefficients = b = drawn.reshape(self.coefficients.shape)
        cross = b.transpose(0, 2, 1) @ wz
        scatter = zz - cross - cross.transpose(0, 2, 1) + b.transpose(0, 2, 1) @ ww @ b
        self._draw_sigma(self.prior_scatter * _EXTRA + scatter, self.dim + 1 + _EXTRA + n)

    def _draw_sigma(self, scatter: Array, freedom: NDArray[np.intp]) -> None:
        """Inverse Wishart: if L L' = scatter, Sigma = L (A A')^-1 L', A triangular (Bartlett)."""
        a = np.tril(self.rng.standard_normal(scatter.shape), -1)
        place = np.arange(self.dim)
        a[:, place, place] = np.sqrt(self.rng.chisquare(freedom[:, None] - place))
        half = np.linalg.solve(a, np.linalg.cholesky(scatter).transpose(0, 2, 1))
        self.sigma = half.transpose(0, 2, 1) @ half


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])
