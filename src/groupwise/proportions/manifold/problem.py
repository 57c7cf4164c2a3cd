r"""The four AOC-manifold algorithms as one problem (Chen et al. 2009).

.. math:: \min_{f, c} L(A f + c\,a, b) + \gamma_1 |f|^2 + \gamma_2 f' M f ,

with A the membership of rows in groups, a the groups' sizes and b what is known of them. M = R, the
Laplacian of the rows' graph, is the row level (eqs. 11, 12); :math:`M = A' R_b A` with the groups'
graph is the group level (eqs. 25, 26). In the kernel deformed by M there is one unknown per group.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import check_choice, check_flag, check_number
from groupwise.kernels import (
    FeaturePath,
    Kernel,
    LandmarkFeatures,
    NeighbourGraph,
    check_dense,
    deform,
    fit_kernel,
)
from groupwise.kernels.deformed import Whitening
from groupwise.solvers import solve_l1, solve_l2

__all__ = [
    "Expansion",
    "FeatureModel",
    "ManifoldSettings",
    "feature_smoothness",
    "fit_manifold",
    "kernel_features",
    "membership",
    "solve_in_features",
]


@dataclass(frozen=True)
class ManifoldSettings:
    """Which of the algorithms, and its parameters; see ``ManifoldAOCClassifier``."""

    level: str = "row"
    loss: str = "l2"
    kernel: str = "rbf"
    width: float = 1.0
    gamma1: float = 0.1
    gamma2: float = 0.0
    fit_intercept: bool = True
    epsilon: float = 0.1
    graph: NeighbourGraph | None = None
    n_components: int | None = None
    random_state: RandomState = None

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> "ManifoldSettings":
        """Of an estimator's parameters those that are settings, checked."""
        names = {field.name for field in fields(cls)}
        settings = cls(**{name: value for name, value in params.items() if name in names})
        settings.check()
        return settings

    def check(self) -> None:
        check_choice("level", self.level, ("row", "group"))
        check_choice("loss", self.loss, ("l2", "l1"))
        check_number("gamma1", self.gamma1, "(0, inf)")
        check_number("gamma2", self.gamma2, "[0, inf)")
        check_number("epsilon", self.epsilon, "[0, inf)")
        check_flag("fit_intercept", self.fit_intercept)
        check_number("n_components", self.n_components, "[1, inf)", whole=True, none=True)

    @property
    def rho(self) -> float:
        return self.gamma2 / self.gamma1

    @property
    def neighbours(self) -> NeighbourGraph:
        return NeighbourGraph() if self.graph is None else self.graph


@dataclass(frozen=True)
class Expansion:
    """f(x) = sum of weights times kernel values with the training rows, plus a bias."""

    kernel: Kernel
    rows: Rows
    weights: NDArray[Any]
    bias: NDArray[Any]

    def values(self, X: Rows) -> NDArray[Any]:
        """Values (n_rows, n_outputs)."""
        return self.kernel.times(X, self.rows, self.weights) + self.bias


@dataclass(frozen=True)
class FeatureModel:
    """f(x) = weights times kernel features, plus a bias."""

    features: LandmarkFeatures
    weights: NDArray[Any]
    bias: NDArray[Any]

    def expansion(self) -> Expansion:
        """The same function as weights of the landmarks: smaller, and quicker to evaluate."""
        return Expansion(
            self.features.kernel,
            self.features.landmarks,
            self.features.dual(self.weights),
            self.bias,
        )

    def values(self, X: Rows) -> NDArray[Any]:
        """Values (n_rows, n_outputs)."""
        return self.features.times(X, self.weights) + self.bias


def fit_manifold(
    settings: ManifoldSettings, X: Rows, groups: Groups, target_group: NDArray[Any]
) -> tuple[Expansion, NDArray[Any]]:
    """Solve, exactly or on landmarks.

    Parameters
    ----------
    settings : ManifoldSettings
    X : {array, sparse matrix} of shape (n_rows, n_features)
    groups : Groups
    target_group : ndarray of shape (n_groups, n_outputs)
        b: what the outputs of a group's rows should sum to.

    Returns
    -------
    model : Expansion
    values_row : ndarray of shape (n_rows, n_outputs)
        The solution on the training rows.
    """
    kernel = fit_kernel(settings.kernel, settings.width, X)
    if settings.n_components is not None:
        model = _on_landmarks(settings, kernel, X, groups, target_group).expansion()
        return model, model.values(X)
    if settings.level == "row" and settings.gamma2 > 0:
        return _exact_rows(settings, kernel, X, groups, target_group)
    model = _exact_groups(settings, kernel, X, groups, target_group)
    return model, model.values(X)


def membership(groups: Groups) -> csr_array:
    """A of eq. (1): (n_groups, n_rows), one where the row belongs to the group."""
    return csr_array(
        (np.ones(groups.n_rows), groups.order, groups.offsets),
        shape=(groups.n_groups, groups.n_rows),
    )


def _exact_rows(
    settings: ManifoldSettings, kernel: Kernel, X: Rows, groups: Groups, target_group: NDArray[Any]
) -> tuple[Expansion, NDArray[Any]]:
    check_dense(groups.n_rows, "rows")
    gram = kernel(X, X)
    laplacian = settings.neighbours.laplacian(X)
    deformed = deform(gram, laplacian, settings.rho, membership(groups))
    beta, bias = _solve(settings, deformed.gram_group, target_group, groups)
    alpha = deformed.spread @ beta
    return Expansion(kernel, X, alpha, bias), gram @ alpha + bias


def _exact_groups(
    settings: ManifoldSettings, kernel: Kernel, X: Rows, groups: Groups, target_group: NDArray[Any]
) -> Expansion:
    """Group level, or no graph term: nothing larger than the groups' own Gram matrix."""
    gram_group = kernel.group_gram(X, groups)
    if settings.gamma2 == 0:
        beta, bias = _solve(settings, gram_group, target_group, groups)
        return Expansion(kernel, X, beta[groups.codes], bias)
    laplacian = settings.neighbours.laplacian_of_distances(_mean_distance(gram_group, groups))
    deformed = deform(gram_group, laplacian, settings.rho, eye_array(groups.n_groups).tocsr())
    beta, bias = _solve(settings, deformed.gram_group, target_group, groups)
    return Expansion(kernel, X, (deformed.spread @ beta)[groups.codes], bias)


def _mean_distance(gram_group: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """Distances between the groups' mean embeddings.

    The distance of *sums*, which eq. (27) suggests, is ruled by the groups' sizes; where all sizes
    are equal the two give the same graph.
    """
    mean = gram_group / np.outer(groups.sizes, groups.sizes)
    squared = mean.diagonal()[:, None] + mean.diagonal()[None, :] - 2.0 * mean
    return np.sqrt(np.maximum(squared, 0.0))


def _solve(
    settings: ManifoldSettings, gram_group: NDArray[Any], target_group: NDArray[Any], groups: Groups
) -> tuple[NDArray[Any], NDArray[Any]]:
    sizes = groups.sizes.astype(float) if settings.fit_intercept else None
    if settings.loss == "l2":
        solution = solve_l2(gram_group, target_group, settings.gamma1, sizes)
        return solution.beta, np.asarray(solution.bias)
    solutions = [
        solve_l1(gram_group, column, settings.gamma1, sizes, settings.epsilon)
        for column in target_group.T
    ]
    beta = np.column_stack([solution.beta for solution in solutions])
    return beta, np.array([solution.bias for solution in solutions])


def _on_landmarks(
    settings: ManifoldSettings, kernel: Kernel, X: Rows, groups: Groups, target_group: NDArray[Any]
) -> FeatureModel:
    rng = check_random_state(settings.random_state)
    features = LandmarkFeatures.sample(kernel, X, int(settings.n_components or 0), rng)
    sums = features.group_sums(X, groups)
    path = FeaturePath(feature_smoothness(settings, features, X, groups, sums))
    whitening = path.at(settings.rho)
    Z = whitening.apply(sums)
    return solve_in_features(settings, features, whitening, Z, groups, target_group)


def solve_in_features(
    settings: ManifoldSettings,
    features: LandmarkFeatures,
    whitening: Whitening,
    Z: NDArray[Any],
    groups: Groups,
    target_group: NDArray[Any],
) -> FeatureModel:
    """Solve where G = Z Z', Z the groups' sums of whitened features."""
    if settings.loss == "l2" and Z.shape[1] < Z.shape[0]:
        whitened, bias = _solve_primal(settings, Z, target_group, groups)
    else:
        check_dense(groups.n_groups, "groups")
        beta, bias = _solve(settings, Z @ Z.T, target_group, groups)
        whitened = Z.T @ beta
    return FeatureModel(features, whitening.weights(whitened), bias)


def kernel_features(
    kernel: Kernel, X: Rows, n_components: int | None, random_state: RandomState
) -> tuple[LandmarkFeatures, NDArray[np.float64]]:
    """Features on so many landmarks (``None``: all rows), and their values on X."""
    if n_components is None:
        return LandmarkFeatures.fit_transform(kernel, X)
    rng = check_random_state(random_state)
    features = LandmarkFeatures.sample(kernel, X, n_components, rng)
    return features, features.transform(X)


def feature_smoothness(
    settings: ManifoldSettings,
    features: LandmarkFeatures,
    X: Rows,
    groups: Groups,
    sums: NDArray[Any],
) -> NDArray[Any]:
    """Phi' M Phi at the level of the settings; not computed where no graph is asked for."""
    if settings.gamma2 == 0:
        return np.zeros((0, 0))
    if settings.level == "row":
        return features.smoothness(X, settings.neighbours.laplacian(X))
    laplacian = settings.neighbours.laplacian(sums / groups.sizes[:, None])
    return sums.T @ (laplacian @ sums)


def _solve_primal(
    settings: ManifoldSettings, Z: NDArray[Any], target_group: NDArray[Any], groups: Groups
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Least squares in the features: fewer of them than groups."""
    n_columns = Z.shape[1]
    left = Z
    if settings.fit_intercept:
        left = np.hstack([Z, groups.sizes[:, None].astype(float)])
    system = left.T @ left
    penalised = np.arange(n_columns)
    system[penalised, penalised] += settings.gamma1
    solution = np.linalg.solve(system, left.T @ target_group)
    if settings.fit_intercept:
        return solution[:-1], solution[-1]
    return solution, np.zeros(target_group.shape[1])
