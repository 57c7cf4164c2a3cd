"""Draws of all units' tables, given their margins and the model of their rates.

Written without the redundant column (orthonormal contrasts H of the columns, rate = 1/C + H z), the
rates of unit i, z_i in R^D with D = n_rows (n_columns - 1), are

    z_i ~ N(m_i, Sigma),    q_i ~ N(z_i, V_i),    q_i inside the simplices,

with V_i the variance of shares among as many people as there are in each row category. The
margins fix all linear combinations of q_i but those along the 2 x 2 minors of its table; along a
minor q_i is a normal variable cut off at the bounds. Many chains run side by side, as the first
axis of all arrays.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert
from scipy.special import ndtr, ndtri

from groupwise.ecological.margins import Margins, divide

__all__ = ["TableSampler"]

# Tries per unit to land inside the simplices; where fewer than one in fifty does, the last try
# stands for the others.
_TRIES, _AT_ONCE = 50, 5
# Variance that stands for "nothing known" of a row category without people.
_VAGUE = 1e6

Array = NDArray[np.float64]


class TableSampler:
    """The state of the chains.

    Parameters
    ----------
    margins : Margins
    n_chains : int
    rng : numpy Generator

    Attributes
    ----------
    counts : ndarray of shape (n_chains, n_units, n_rows, n_columns)
        People in each cell.
    """

    def __init__(self, margins: Margins, n_chains: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.rows = margins.rows
        self.n_rows, self.n_columns = margins.rows.shape[1], margins.columns.shape[1]
        self.contrasts = helmert(self.n_columns).T  # (n_columns, n_columns - 1)
        self.dim = self.n_rows * (self.n_columns - 1)
        self.peopled = self.rows > 0
        self.noise_root = self._noise_root(margins.columns.sum(axis=0) / margins.columns.sum())
        self.noise_scale = np.sqrt(divide(np.full(1, float(margins.counted)), self.rows))
        self.noise = self._noise()
        self.minors = self._minors()
        share = divide(margins.columns, margins.sizes[:, None])
        alike = self.rows[:, :, None] * share[:, None, :]
        self.counts = np.repeat(alike[None], n_chains, axis=0)

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

    def sweep(self, mean: Array, sigma: Array, n_sweeps: int = 1) -> Array:
        """Move all tables; the rates behind them are returned, (n_chains, n_units, dim).

        Parameters
        ----------
        mean : ndarray of shape (n_chains or 1, n_units, dim)
        sigma : ndarray of shape (n_chains or 1, dim, dim)
        n_sweeps : int, default=1
        """
        precision: Array = np.linalg.inv(sigma[:, None] + self.noise).astype(float)
        pull = _times(precision, self._rates() - mean)
        for _ in range(n_sweeps):
            self._move_people(pull, precision)
        return self._latent(mean, sigma, precision)

    def _rates(self) -> Array:
        """q, (n_chains, n_units, dim); zero, without weight, where a row category has nobody."""
        q = divide(self.counts, self.rows[:, :, None]) @ self.contrasts
        return np.asarray(q.reshape(*q.shape[:2], self.dim))

    def _move_people(self, pull: Array, precision: Array) -> None:
        """Along as many minors, taken at random, as a table has degrees of freedom."""
        n_free = (self.n_rows - 1) * (self.n_columns - 1)
        minors = [self.minors[m] for m in self.rng.permutation(len(self.minors))[:n_free]]
        for rows, columns, change in minors:
            stiff = _times(precision, change)
            curvature = (change * stiff).sum(axis=-1)
            slope = (change * pull).sum(axis=-1)
            plus = self.counts[:, :, rows, columns]
            minus = self.counts[:, :, rows, columns[::-1]]
            least, most = -plus.min(axis=-1), minus.min(axis=-1)
            free = self.peopled[:, rows].all(axis=1) & (most > least)
            variance = 1 / np.where(free, curvature, 1.0)
            moved = self._truncated(-slope * variance, np.sqrt(variance), least, most)
            moved = np.where(free, moved, 0.0)[..., None]
            self.counts[:, :, rows, columns] = np.maximum(plus + moved, 0.0)
            self.counts[:, :, rows, columns[::-1]] = np.maximum(minus - moved, 0.0)
            pull += moved * stiff

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
        """Draw q given z: shares among finitely many people."""
        normal = self.rng.standard_normal(z.shape).reshape(*z.shape[:-1], self.n_rows, -1)
        return np.asarray(z + (scale[..., None] * (normal @ self.noise_root.T)).reshape(z.shape))

    def _latent(self, mean: Array, sigma: Array, precision: Array) -> Array:
        """Draw z given q: a draw from the model, moved by how far its q is off."""
        q = self._rates()
        root = np.linalg.cholesky(sigma)
        z = mean + self.rng.standard_normal(q.shape) @ root.transpose(0, 2, 1)
        off = q - self._noisy(z, self.noise_scale)
        return np.asarray(z + _times(precision, off) @ sigma)

    def inside(self, mean: Array, sigma: Array, n_draws: int) -> Array:
        """Rates of units drawn without their margins, tables inside the simplices, (n_draws, ...).

        Parameters
        ----------
        mean : ndarray of shape (n_units, dim)
        sigma : ndarray of shape (dim, dim)
        n_draws : int
        """
        root = np.linalg.cholesky(sigma)
        unit = np.tile(np.arange(len(mean)), n_draws)
        place = np.arange(len(unit))
        found = np.empty((len(unit), self.dim))
        for _ in range(_TRIES // _AT_ONCE):
            z = mean[unit] + self.rng.standard_normal((_AT_ONCE, len(unit), self.dim)) @ root.T
            q = self._noisy(z, self.noise_scale[unit])
            share = q.reshape(*z.shape[:2], self.n_rows, -1) @ self.contrasts.T
            out = ((share < -1 / self.n_columns).any(axis=3) & self.peopled[unit]).any(axis=2)
            first = np.argmin(out, axis=0)  # of those inside, or 0
            found[place] = z[first, np.arange(len(unit))]
            left = out.all(axis=0)
            place, unit = place[left], unit[left]
            if not len(unit):
                break
        return found.reshape(n_draws, len(mean), self.dim)


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])
