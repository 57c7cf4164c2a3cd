"""Fitting the likelihood of counts in the features of a deformed kernel."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import ShareRows, whole_counts
from groupwise.kernels import FeaturePath, LandmarkFeatures, fit_kernel
from groupwise.kernels.deformed import Whitening
from groupwise.losses.base import BoundLoss
from groupwise.losses.proportions import CountLikelihoodLoss
from groupwise.proportions.manifold import ManifoldSettings, feature_smoothness, kernel_features
from groupwise.proportions.soft_labels import SLOPE, aggregate_targets
from groupwise.solvers import solve_l2

__all__ = [
    "CountProblem",
    "choose_alpha",
    "fit_counts",
    "minimise_counts",
    "row_scores",
    "rows_of",
]

_MAX_STEPS = 200


@dataclass(frozen=True)
class CountProblem:
    """Features of all rows, in which the penalty is the plain norm.

    Attributes
    ----------
    features : LandmarkFeatures
    whitening : Whitening
        From kernel features to those of the deformed kernel.
    phi : ndarray of shape (n_rows, n_features)
    gamma1 : float
        Of the least squares start.
    unit : float
        Mean diagonal of the deformed kernel.
    """

    features: LandmarkFeatures
    whitening: Whitening
    phi: NDArray[np.float64]
    gamma1: float
    unit: float

    @classmethod
    def build(cls, settings: ManifoldSettings, data: ShareRows) -> "CountProblem":
        kernel = fit_kernel(settings.kernel, settings.width, data.X)
        features, phi = kernel_features(
            kernel, data.X, settings.n_components, settings.random_state
        )
        sums = data.groups.sum(phi)
        smoothness = feature_smoothness(settings, features, data.X, data.groups, sums)
        whitening = FeaturePath(smoothness).at(settings.rho)
        phi = np.ascontiguousarray(whitening.apply(phi))
        unit = float((phi**2).sum() / len(phi))
        return cls(features, whitening, phi, settings.gamma1, max(unit, np.finfo(float).tiny))


def fit_counts(
    problem: CountProblem, data: ShareRows, part: NDArray[np.intp], alpha: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Fit to some of the groups.

    Returns
    -------
    weights : ndarray of shape (n_features, n_outputs)
    bias : ndarray of shape (n_outputs,)
    loss : float
        Negative log-likelihood of these groups' counts.
    """
    rows, groups = rows_of(data.groups, part)
    phi = problem.phi[rows]
    shares = whole_counts(data.counts_group)[part] / data.sizes[part, None]
    loss = CountLikelihoodLoss().bind(shares, groups, n_classes=data.n_classes)
    start = _start(problem, data, part, groups.sum(phi))
    return minimise_counts(phi, loss, *start, alpha * problem.unit)


def minimise_counts(
    phi: Rows,
    loss: BoundLoss,
    weights: NDArray[np.float64],
    bias: NDArray[np.float64],
    penalty: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Scores linear in features, by L-BFGS from a start.

    Parameters
    ----------
    phi : {array, sparse matrix} of shape (n_rows, n_features)
    loss : BoundLoss
        Of the rows' scores.
    weights : ndarray of shape (n_features, n_outputs)
    bias : ndarray of shape (n_outputs,)
    penalty : float
        Half of it times the squared norm of the weights is added.

    Returns
    -------
    weights, bias : ndarray
    loss : float
        Without the penalty.
    """
    shape = weights.shape

    def value_and_gradient(packed: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w, c = _unpack(packed, shape)
        score = phi @ w + c
        gradient = loss.gradient(row_scores(score)).reshape(score.shape)
        value = loss.value(row_scores(score)) + 0.5 * penalty * float((w**2).sum())
        both = [(phi.T @ gradient + penalty * w).ravel(), gradient.sum(axis=0)]
        return value, np.concatenate(both)

    found = minimize(
        value_and_gradient,
        np.concatenate([weights.ravel(), bias]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS},
    )
    weights, bias = _unpack(found.x, shape)
    return weights, bias, float(found.fun - 0.5 * penalty * (weights**2).sum())


def choose_alpha(
    problem: CountProblem,
    data: ShareRows,
    folds: list[NDArray[np.intp]],
    alphas: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Negative log-likelihood of held-out counts per group, for each penalty alpha."""
    everything = np.arange(data.groups.n_groups)
    counts = whole_counts(data.counts_group)
    total = np.zeros(len(alphas))
    for held_out in folds:
        rows, groups = rows_of(data.groups, held_out)
        shares = counts[held_out] / data.sizes[held_out, None]
        loss = CountLikelihoodLoss().bind(shares, groups, n_classes=data.n_classes)
        for k, alpha in enumerate(alphas):
            train = np.setdiff1d(everything, held_out)
            weights, bias, _ = fit_counts(problem, data, train, float(alpha))
            total[k] += loss.value(row_scores(problem.phi[rows] @ weights + bias))
    return total / sum(len(fold) for fold in folds)


def rows_of(groups: Groups, part: NDArray[np.intp]) -> tuple[NDArray[np.intp], Groups]:
    """The rows of some groups, and their grouping with groups in the order of ``part``."""
    place = np.full(groups.n_groups, -1)
    place[part] = np.arange(len(part))
    rows = np.flatnonzero(place[groups.codes] >= 0)
    return rows, Groups(place[groups.codes[rows]])


def _start(
    problem: CountProblem, data: ShareRows, part: NDArray[np.intp], sums: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least squares solution, soft labels turned to log-odds."""
    target = aggregate_targets(data)[part]
    start = solve_l2(sums @ sums.T, target, problem.gamma1, data.sizes[part])
    return SLOPE * (sums.T @ start.beta), SLOPE * np.asarray(start.bias)


def _unpack(
    packed: NDArray[np.float64], shape: tuple[int, int]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return packed[: -shape[1]].reshape(shape), packed[-shape[1] :]


def row_scores(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """One column as a vector, as losses of two classes take it."""
    return score[:, 0] if score.shape[1] == 1 else score
