"""Estimates of how much denser the target is than the source, at the source's rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.sparse import vstack as sparse_vstack
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from groupwise._typing import Rows
from groupwise.kernels import Kernel
from groupwise.kernels.gram import half_gram, half_times
from groupwise.solvers.newton import fit_plane

__all__ = ["KLIEP", "KernelMeanMatching", "LogisticRatio", "stack"]


def stack(first: Rows, second: "Rows | None") -> Rows:
    """Rows below each other, sparse if either is; ``None`` adds nothing."""
    if second is None:
        return first
    if issparse(first) or issparse(second):
        return sparse_vstack([first, second], format="csr")
    return np.concatenate([first, second])


@dataclass(frozen=True)
class LogisticRatio:
    r"""Logistic regression of target against source: :math:`\frac{n_s}{n_t} e^{f(x)}`.

    Bickel, Brückner and Scheffer (2007), the two-step form. The two sides have the same total
    weight in the fit, so :math:`e^{f(x)}` is the ratio itself.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the penalty; rows have mean weight 1.
    """

    C: float = 1.0

    def ratio(self, X_source: Rows, X_target: Rows) -> NDArray[np.float64]:
        n_source, n_target = X_source.shape[0], X_target.shape[0]
        sign = np.repeat([-1.0, 1.0], [n_source, n_target])
        half = 0.5 * self.C * (n_source + n_target)
        cost = np.repeat([half / n_source, half / n_target], [n_source, n_target])
        plane = fit_plane(stack(X_source, X_target), sign, cost, loss="logistic").plane
        score = plane.score(X_source)
        return np.exp(score - score.max())


@dataclass(frozen=True)
class KLIEP:
    r"""Kullback-Leibler importance estimation (Sugiyama et al. 2008).

    The ratio :math:`\sum_l a_l k(x, c_l)`, a >= 0, with Gaussian kernels at target rows maximises
    :math:`\sum_{target} \ln \hat r(x)` under
    :math:`\frac{1}{n_s} \sum_{source} \hat r(x) = 1`. This is a mixture with unknown shares,
    solved by its EM steps, which only ever go up.

    Parameters
    ----------
    gamma : float, default=None
        Of the kernel :math:`e^{-\gamma \|x - c\|^2}`; ``None``: 1 over the median squared distance.
    n_centers : int, default=100
        Target rows that carry a kernel, evenly spaced in their order.
    max_iter : int, default=500
    """

    gamma: float | None = None
    n_centers: int = 100
    max_iter: int = 500

    def ratio(self, X_source: Rows, X_target: Rows) -> NDArray[np.float64]:
        centers = X_target[_spaced(X_target.shape[0], self.n_centers)]
        gamma = _median_gamma(X_target) if self.gamma is None else self.gamma
        at_target = rbf_kernel(X_target, centers, gamma=gamma)
        at_source = rbf_kernel(X_source, centers, gamma=gamma)
        norm = np.maximum(at_source.mean(axis=0), np.finfo(float).tiny)
        share = np.full(len(norm), 1.0 / len(norm))  # of a_l times norm_l
        parts = at_target / norm
        for _ in range(self.max_iter):
            mixed = np.maximum(parts @ share, np.finfo(float).tiny)
            following = share * (parts / mixed[:, None]).mean(axis=0)
            following /= following.sum()
            if np.abs(following - share).max() < 1e-8:
                break
            share = following
        return at_source @ (share / norm)


@dataclass(frozen=True)
class KernelMeanMatching:
    r"""Kernel mean matching (Huang et al. 2007).

    Weights in [0, B] whose weighted source mean in feature space is nearest the target's,

    .. math:: \min_b \tfrac12 b^T K b - \kappa^T b, \quad
              \kappa_i = \tfrac{n_s}{n_t} \sum_j k(x_i, x_j^{target}), \quad
              \left|\tfrac{1}{n_s} \textstyle\sum b_i - 1\right| \le e,

    with a Gaussian kernel, by projected gradient steps with momentum from b = 1. The target's mean
    is that of a sample, and its squared distance from the mean of the distribution has the
    expectation :math:`(1 - \bar k) / n_t`, with :math:`\bar k` the mean kernel value between
    different rows of it. Steps end where the means are as near as that (the discrepancy principle
    of Morozov): beyond it few rows get all the weight, to match what chance brought into the
    sample.

    Holds the kernel matrix of the source rows in memory, in single precision, which changes less
    than one more step does.

    Parameters
    ----------
    gamma : float, default=None
        As for :class:`KLIEP`.
    bound : float, default=1000.0
        B.
    slack : float, default=None
        e; ``None``: :math:`(\sqrt{n_s} - 1)/\sqrt{n_s}`, the paper's choice.
    tol : float, default=None
        Squared distance of the means to stop at; ``None``: as above, 0: the solution itself, or
        ``max_iter`` steps.
    max_iter : int, default=500
    """

    gamma: float | None = None
    bound: float = 1000.0
    slack: float | None = None
    tol: float | None = None
    max_iter: int = 500

    def ratio(self, X_source: Rows, X_target: Rows) -> NDArray[np.float64]:
        n_source, n_target = X_source.shape[0], X_target.shape[0]
        gamma = _median_gamma(X_target) if self.gamma is None else self.gamma
        gaussian = Kernel("rbf", float(np.sqrt(0.5 / gamma)))
        kernel = half_gram(gaussian, X_source, np.float32)
        pull = rbf_kernel(X_source, X_target, gamma=gamma).sum(axis=1) * (n_source / n_target)
        root = np.sqrt(n_source)
        slack = (root - 1.0) / root if self.slack is None else self.slack
        low, high = n_source * (1.0 - slack), n_source * (1.0 + slack)
        beta = np.ones(n_source)
        near = half_times(kernel, beta)  # K beta
        step = 1.0 / float(near.max())  # of a row: 1 at least
        square = _mean_of_pairs(gaussian, X_target)
        own = (square * n_target - 1.0) / max(n_target - 1, 1)  # of different rows
        tol = max(1.0 - own, 0.0) / n_target if self.tol is None else self.tol
        ahead, near_ahead, momentum = beta, near, 1.0
        for _ in range(self.max_iter):
            if (beta @ near - 2.0 * (pull @ beta)) / n_source**2 + square <= tol:
                break
            following = _project(ahead - step * (near_ahead - pull), self.bound, low, high)
            if np.abs(following - beta).max() < 1e-7:
                break
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            further = (momentum - 1.0) / faster
            ahead = following + further * (following - beta)
            near_ahead = half_times(kernel, ahead)
            near = (near_ahead + further * near) / (1.0 + further)
            beta, momentum = following, faster
        return beta


def _mean_of_pairs(kernel: Kernel, X: Rows) -> float:
    """Mean kernel value over all pairs of rows."""
    n_rows = X.shape[0]
    return float(kernel.times(X, X, np.full(n_rows, 1.0 / n_rows)).mean())


def _project(point: NDArray[Any], bound: float, low: float, high: float) -> NDArray[Any]:
    """The nearest point with entries in [0, bound] and a sum in [low, high]."""
    clipped = np.clip(point, 0.0, bound)
    total = clipped.sum()
    if low <= total <= high:
        return clipped
    goal = low if total < low else high
    left, right = (point - bound).min() - 1.0, point.max() + 1.0
    for _ in range(80):  # the sum falls with the shift: bisection
        shift = 0.5 * (left + right)
        if np.clip(point - shift, 0.0, bound).sum() > goal:
            left = shift
        else:
            right = shift
    return np.clip(point - right, 0.0, bound)


def _median_gamma(X: Rows) -> float:
    """1 over the median squared distance of up to 500 rows."""
    rows = X[_spaced(X.shape[0], 500)]
    squared = euclidean_distances(rows, squared=True)
    off = squared[np.triu_indices(len(squared), 1)]
    median = float(np.median(off)) if len(off) else 1.0
    return 1.0 / median if median > 0 else 1.0


def _spaced(n_rows: int, n_wanted: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, n_wanted)).astype(np.intp))
