"""Draws of all units' tables, given their margins and the model of their rates.

Written without the redundant column (orthonormal contrasts H of the columns, rate = 1/C + H z), the
rates of unit i, z_i in R^D with D = n_rows (n_columns - 1), are

    z_i ~ N(m_i, Sigma),    y_i ~ N(z_i, V_i),    q_i = nearest to y_i in the simplices,

with V_i the variance of shares among as many people as there are in each row category. A y_i
outside the simplices counts kappa times what its density says: with kappa = 0 there is none (King
1997), with kappa = 1 all that a normal distribution has beyond the boundary lies on it (Tobin
1958). Kappa is learnt in tables of two by two and 0 in larger ones, where cells are empty because
few people are in a row, whatever the rates.

The margins fix all linear combinations of q_i but those along the 2 x 2 minors of its table. Along
a minor q_i is a normal variable up to its bounds, where a cell is empty. From there, in a table of
two by two, y goes on along that cell's slack s > 0: y = H'(q - s). Slack is orthogonal to the edge
where the cell is empty, so that a unit of it has (1 - 1/2) / |v| times the volume of a person that
moves, v being what one person changes of the cell's rate. Many chains run side by side, as the
first axis of all arrays.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import helmert

from groupwise.ecological.lines import draw_on_line, truncated_normal
from groupwise.ecological.margins import Margins, divide

__all__ = ["TableSampler"]

# Tries per unit until a draw is accepted; where fewer than one in fifty is, the last try stands
# for the others.
_TRIES, _AT_ONCE = 50, 5
# How much wider than the model the other half of the draws is, where rates may lie on the boundary.
_WIDER = 3.0
# People of a minor's four cells when one more is in each of the first two.
_SIGNS = np.array([1.0, 1.0, -1.0, -1.0])
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
    slack : ndarray of shape (n_chains, n_units, n_rows, n_columns)
        How far below zero the rate of an empty cell would be.
    has_boundary : bool
        Whether rates can lie on the boundary.
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
        self.has_boundary = self.n_rows == self.n_columns == 2
        # a column without people in a unit is empty in both rows
        empty = self.peopled[:, :, None] & (margins.columns == 0)[:, None, :] & self.has_boundary
        self.slack = np.repeat(np.where(empty, 0.1, 0.0)[None], n_chains, axis=0)

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
        """Rows and columns of four cells; change of y per person, and per slack of each cell.

        One person more in each of the first two cells is one less in each of the others.
        """
        each = divide(np.ones(1), self.rows)
        found = []
        for a, b in combinations(range(self.n_rows), 2):
            for c, d in combinations(range(self.n_columns), 2):
                rows, columns = [a, b, a, b], [c, d, d, c]
                step = self.contrasts[c] - self.contrasts[d]
                ways = np.zeros((len(self.rows), 5, self.n_rows, self.n_columns - 1))
                ways[:, 0, a] = each[:, a, None] * step
                ways[:, 0, b] = -each[:, b, None] * step
                ways[:, [1, 2, 3, 4], rows] = -self.contrasts[columns]
                found.append((rows, columns, ways.reshape(-1, 5, self.dim)))
        return found

    def sweep(
        self, mean: Array, sigma: Array, log_kappa: Array, n_sweeps: int = 1
    ) -> tuple[Array, NDArray[np.bool_]]:
        """Move all tables.

        Parameters
        ----------
        mean : ndarray of shape (n_chains or 1, n_units, dim)
        sigma : ndarray of shape (n_chains or 1, dim, dim)
        log_kappa : ndarray of shape (n_chains or 1,)
        n_sweeps : int, default=1

        Returns
        -------
        z : ndarray of shape (n_chains, n_units, dim)
            The rates behind the tables.
        outside : ndarray of bool of shape (n_chains, n_units)
            Whether y lies outside the simplices.
        """
        precision: Array = np.linalg.inv(sigma[:, None] + self.noise).astype(float)
        pull = _times(precision, self._latent_shares() - mean)
        for _ in range(n_sweeps):
            if self.has_boundary:
                self._move_with_slack(pull, precision, log_kappa[:, None])
                self._move_slack(pull, precision)
            else:
                self._move_people(pull, precision)
        outside: NDArray[np.bool_] = self.slack.max(axis=(2, 3)) > 0
        return self._latent(mean, sigma, precision), outside

    def _latent_shares(self) -> Array:
        """y, (n_chains, n_units, dim); zero, without weight, where a row category has nobody."""
        y = (divide(self.counts, self.rows[:, :, None]) - self.slack) @ self.contrasts
        return np.asarray(y.reshape(*y.shape[:2], self.dim))

    def _move_people(self, pull: Array, precision: Array) -> None:
        """Along as many minors, taken at random, as a table has degrees of freedom."""
        n_free = (self.n_rows - 1) * (self.n_columns - 1)
        for minor in self.rng.permutation(len(self.minors))[:n_free]:
            rows, columns, ways = self.minors[minor]
            change = ways[:, 0]
            stiff = _times(precision, change)
            curvature = (change * stiff).sum(axis=-1)
            slope = (change * pull).sum(axis=-1)
            cells = self.counts[:, :, rows, columns]
            least, most = -cells[..., :2].min(axis=-1), cells[..., 2:].min(axis=-1)
            free = self.peopled[:, rows].all(axis=1) & (most > least)
            variance = 1 / np.where(free, curvature, 1.0)
            moved = truncated_normal(-slope * variance, np.sqrt(variance), least, most, self.rng)
            moved = np.where(free, moved, 0.0)[..., None]
            self.counts[:, :, rows, columns] = np.maximum(cells + moved * _SIGNS, 0.0)
            pull += moved * stiff

    def _move_with_slack(self, pull: Array, precision: Array, log_kappa: Array) -> None:
        """Two by two: people along the only minor, and the slack of the cell that is empty."""
        rows, columns, ways = self.minors[0]
        stiff = ways @ precision
        cells, slack = self.counts[:, :, rows, columns], self.slack[:, :, rows, columns]
        hit = np.stack([cells[..., 1] < cells[..., 0], 2 + (cells[..., 3] < cells[..., 2])])
        ends = np.stack([-np.minimum(cells[..., 0], cells[..., 1]),
                         np.minimum(cells[..., 2], cells[..., 3])])  # fmt: skip
        free = self.peopled.all(axis=1) & (ends[1] > ends[0])
        curve = stiff @ ways.transpose(0, 2, 1)
        slope = _times(ways, pull) - _times(curve[..., 1:], slack)  # at the table without slack
        diagonal = np.where(self.peopled[:, rows], np.einsum("cuii->cui", curve)[..., 1:], 1.0)
        volume = 0.5 * np.where(self.peopled, self.rows, 1.0)[:, rows]
        moved, beyond, part = draw_on_line(
            slope[..., 0],
            np.where(free, curve[..., 0, 0], 1.0),
            np.where(free, ends, [[[0.0]], [[1.0]]]),
            _of(slope[..., 1:], hit) + ends * _of(curve[..., 0, 1:], hit),
            _of(diagonal, hit),
            np.log(_of(volume, hit)) + log_kappa,
            self.rng,
        )
        moved = np.where(free, moved, 0.0)
        now = np.maximum(cells + moved[..., None] * _SIGNS, 0.0)
        at = np.where(part == 2, hit[1], hit[0])[..., None] == np.arange(4)
        at &= (free & (part > 0))[..., None]
        now[at] = 0.0
        new = np.where(free[..., None], np.where(at, beyond[..., None], 0.0), slack)
        self.counts[:, :, rows, columns] = now
        self.slack[:, :, rows, columns] = new
        change = np.concatenate([moved[..., None], new - slack], axis=-1)
        pull += (change[..., None, :] @ stiff)[..., 0, :]

    def _move_slack(self, pull: Array, precision: Array) -> None:
        """Where a column is empty, the slacks of both rows, one after the other."""
        several = (self.slack > 0).sum(axis=(2, 3)) > 1
        if not several.any():
            return
        for r, c in np.ndindex(2, 2):
            chain, unit = np.nonzero(several & (self.slack[:, :, r, c] > 0))
            way = -self.contrasts[c, 0]
            stiff = way * precision[chain % len(precision), unit, r]
            curvature = stiff[:, r] * way
            old = self.slack[chain, unit, r, c]
            middle = old - pull[chain, unit, r] * way / curvature
            zero, far = np.zeros(len(old)), np.full(len(old), np.inf)
            new = truncated_normal(middle, 1 / np.sqrt(curvature), zero, far, self.rng)
            new = np.maximum(new, 1e-12)  # zero would say that the cell has people
            pull[chain, unit] += (new - old)[:, None] * stiff
            self.slack[chain, unit, r, c] = new

    def _noisy(self, z: Array, scale: Array) -> Array:
        """Draw y given z: shares among finitely many people."""
        normal = self.rng.standard_normal(z.shape).reshape(*z.shape[:-1], self.n_rows, -1)
        return np.asarray(z + (scale[..., None] * (normal @ self.noise_root.T)).reshape(z.shape))

    def _latent(self, mean: Array, sigma: Array, precision: Array) -> Array:
        """Draw z given y: a draw from the model, moved by how far its y is off."""
        y = self._latent_shares()
        root = np.linalg.cholesky(sigma)
        z = mean + self.rng.standard_normal(y.shape) @ root.transpose(0, 2, 1)
        off = y - self._noisy(z, self.noise_scale)
        return np.asarray(z + _times(precision, off) @ sigma)

    def apart(
        self, mean: Array, sigma: Array, log_kappa: float, n_draws: int
    ) -> tuple[Array, NDArray[np.bool_], Array]:
        """Units drawn without their margins.

        Parameters
        ----------
        mean : ndarray of shape (n_units, dim)
        sigma : ndarray of shape (dim, dim)
        log_kappa : float
        n_draws : int

        Returns
        -------
        z : ndarray of shape (n_draws, n_units, dim)
            Rates.
        outside : ndarray of bool of shape (n_draws, n_units)
        weight : ndarray of shape (n_draws, n_units)
            Of the draws of a unit; they sum to 1, and some may be negative.
        """
        if self.has_boundary:
            return self._apart_with_boundary(mean, sigma, log_kappa, n_draws)
        root = np.linalg.cholesky(sigma)
        unit = np.tile(np.arange(len(mean)), n_draws)
        place = np.arange(len(unit))
        found = np.empty((len(unit), self.dim))
        for _ in range(_TRIES // _AT_ONCE):
            z = mean[unit] + self.rng.standard_normal((_AT_ONCE, len(unit), self.dim)) @ root.T
            refused = self._is_outside(self._noisy(z, self.noise_scale[unit]), unit)
            first = np.argmin(refused, axis=0), np.arange(len(unit))  # of those accepted, or 0
            found[place] = z[first]
            left = refused.all(axis=0)
            place, unit = place[left], unit[left]
            if not len(unit):
                break
        shape = n_draws, len(mean)
        return found.reshape(*shape, self.dim), np.zeros(shape, bool), np.full(shape, 1 / n_draws)

    def _apart_with_boundary(
        self, mean: Array, sigma: Array, log_kappa: float, n_draws: int
    ) -> tuple[Array, NDArray[np.bool_], Array]:
        """By importance, half of y from a wider distribution: also tables that few draws have.

        With r the distance of y in standard deviations, D dimensions and the other half c times as
        wide, y has the weight 1 / (1/2 + 1/2 c^-D exp(r^2 (1 - 1/c^2) / 2)), at most 2, times kappa
        outside. A mean with such weights is off by a / n for n draws: twice it less the mean over
        both halves of the draws is not.
        """
        covariance = sigma + self.noise
        root: Array = np.linalg.cholesky(covariance).astype(float)
        wider = np.where(np.arange(n_draws) % 2 == 0, 1.0, _WIDER)[:, None, None]
        normal = wider * self.rng.standard_normal((n_draws, *mean.shape))
        y = mean + _times(root, normal)
        z = mean + self.rng.standard_normal(y.shape) @ np.linalg.cholesky(sigma).T
        off = y - self._noisy(z, self.noise_scale)
        z += _times(np.linalg.inv(covariance).astype(float), off) @ sigma
        outside = self._is_outside(y, np.arange(len(mean)))
        farther = 0.5 * (1 - _WIDER**-2) * (normal**2).sum(axis=-1) - self.dim * np.log(_WIDER)
        log_weight = np.where(outside, log_kappa, 0.0) - np.logaddexp(0.0, farther)
        weight = np.exp(log_weight - log_weight.max(axis=0))
        halves = weight.reshape(2, n_draws // 2, -1)
        halves = (halves / halves.sum(axis=1, keepdims=True)).reshape(weight.shape)
        return z, outside, 2 * weight / weight.sum(axis=0) - 0.5 * halves

    def _is_outside(self, y: Array, unit: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether y, (n, n_units, dim), leaves the simplex of a row category that has people."""
        share = y.reshape(*y.shape[:2], self.n_rows, -1) @ self.contrasts.T
        below = (share < -1 / self.n_columns).any(axis=3)
        return np.asarray((below & self.peopled[unit]).any(axis=2))


def _times(matrices: Array, vectors: Array) -> Array:
    return np.asarray((matrices @ vectors[..., None])[..., 0])


def _of(values: Array, hit: NDArray[np.intp]) -> Array:
    """Values of the cells that are empty first at either end, (2, n_chains, n_units)."""
    values = np.broadcast_to(values, (*hit.shape[1:], values.shape[-1]))
    return np.stack([np.take_along_axis(values, h[..., None], axis=-1)[..., 0] for h in hit])
