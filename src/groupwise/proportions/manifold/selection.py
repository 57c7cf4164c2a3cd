"""Kernel width and penalties chosen by what held-out groups say; no row labels needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr
from scipy.sparse import csr_array
from sklearn.utils import check_random_state

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import check_choice
from groupwise.kernels import FeaturePath, LandmarkFeatures, fit_kernel
from groupwise.kernels.deformed import Whitening
from groupwise.kernels.features import quadratic
from groupwise.proportions.folds import Splitter, make_folds
from groupwise.proportions.manifold.problem import (
    Expansion,
    ManifoldSettings,
    membership,
    solve_in_features,
)
from groupwise.solvers import GramSpectrum, solve_l1

__all__ = [
    "LAMBDAS",
    "RHOS",
    "Grid",
    "Selection",
    "chosen",
    "fit_selected",
    "select",
]

# A kernel that is narrow for rows never seen is not for rows that the graph joins to others.
_WIDTHS = {
    "induction": tuple(float(w) for w in np.geomspace(0.5, 4.0, 7)),
    "transduction": tuple(float(w) for w in np.geomspace(0.25, 2.0, 7)),
}
#: Ratios gamma2 / gamma1 to choose from.
RHOS = (0.0, 0.1, 1.0, 10.0, 100.0, 1000.0)
#: Values of gamma1 to choose from, in units of the mean diagonal of the groups' Gram matrix.
LAMBDAS = tuple(float(x) for x in np.geomspace(1e-6, 1e2, 17))

# Pivots of the kernel matrix below this are rounding errors.
_TOLERANCE = 1e-13


@dataclass(frozen=True)
class Grid:
    """What to choose from.

    Attributes
    ----------
    widths : ndarray
        Kernel widths in medians of the distance between rows.
    rhos : ndarray
        Ratios gamma2 / gamma1.
    lambdas : ndarray
        gamma1 in units of the mean diagonal of the groups' deformed Gram matrix.
    """

    widths: NDArray[Any]
    rhos: NDArray[Any]
    lambdas: NDArray[Any]

    @classmethod
    def of(cls, kernel: str, widths: ArrayLike, rhos: ArrayLike, lambdas: ArrayLike) -> "Grid":
        """Check and build; a linear kernel has no width."""
        grid = cls(*(np.asarray(values, dtype=float) for values in (widths, rhos, lambdas)))
        for name, values in (("widths", grid.widths), ("lambdas", grid.lambdas)):
            if values.ndim != 1 or len(values) == 0 or not (values > 0).all():
                raise ValueError(f"{name} must be a list of numbers > 0, got {values.tolist()!r}")
        if grid.rhos.ndim != 1 or len(grid.rhos) == 0 or not (grid.rhos >= 0).all():
            raise ValueError(f"rhos must be a list of numbers >= 0, got {grid.rhos.tolist()!r}")
        return replace(grid, widths=np.ones(1)) if kernel == "linear" else grid

    @classmethod
    def for_goal(
        cls,
        goal: str,
        kernel: str,
        widths: ArrayLike | None,
        rhos: ArrayLike,
        lambdas: ArrayLike,
    ) -> "Grid":
        """The same; where no widths are given, those that suit the goal."""
        check_choice("goal", goal, tuple(_WIDTHS))
        return cls.of(kernel, _WIDTHS[goal] if widths is None else widths, rhos, lambdas)


@dataclass(frozen=True)
class Selection:
    """The chosen parameters and the error at all of them.

    Attributes
    ----------
    width, gamma1, gamma2 : float
    error : ndarray of shape (n_widths, n_rhos, n_lambdas)
        Mean squared error of held-out groups' sums over their sizes.
    best : GridPoint
        What a fit of the chosen model starts from.
    """

    width: float
    gamma1: float
    gamma2: float
    error: NDArray[Any]
    best: "GridPoint"


@dataclass(frozen=True)
class _Problem:
    """What does not change over the grid."""

    settings: ManifoldSettings
    X: Rows
    groups: Groups
    target_group: NDArray[Any]
    folds: list[NDArray[np.intp]] | None
    rebuild: bool

    @property
    def sizes(self) -> NDArray[np.float64]:
        return self.groups.sizes.astype(float)

    @cached_property
    def row_graphs(self) -> "list[tuple[NDArray[np.intp] | slice, csr_array]]":
        """Of all rows, then without each fold's: the rows and the Laplacian of their graph."""
        parts: list[NDArray[np.intp] | slice] = [slice(None)]
        for held_out in (self.folds or []) if self.rebuild else []:
            inside = np.ones(self.groups.n_groups, dtype=bool)
            inside[held_out] = False
            parts.append(np.flatnonzero(inside[self.groups.codes]))
        return [(rows, self.settings.neighbours.laplacian(self.X[rows])) for rows in parts]


def select(
    settings: ManifoldSettings,
    X: Rows,
    groups: Groups,
    target_group: NDArray[Any],
    grid: Grid,
    *,
    goal: str,
    cv: "int | Splitter",
) -> Selection:
    r"""Choose width, rho and gamma1.

    The L2 forms leave one group out at a time in closed form where that is honest: always for
    transduction, and for induction where there is no graph. Otherwise whole groups are held out in
    folds. For induction, the graph of a fold is made without its held-out rows: a graph that holds
    them favours kernels too narrow for rows never seen.

    Parameters
    ----------
    settings : ManifoldSettings
    X : {array, sparse matrix} of shape (n_rows, n_features)
    groups : Groups
    target_group : ndarray of shape (n_groups, n_outputs)
    grid : Grid
    goal : {"induction", "transduction"}
    cv : int or splitter
        As in :func:`make_folds`.

    Returns
    -------
    selection : Selection
    """
    with_graph = bool((grid.rhos > 0).any())
    folds = None
    if settings.loss == "l1" or (goal == "induction" and with_graph):
        folds = make_folds(cv, X, groups, target_group, settings.random_state)
    problem = _Problem(settings, X, groups, target_group, folds, rebuild=goal == "induction")
    error = np.empty((len(grid.widths), len(grid.rhos), len(grid.lambdas)))
    best: GridPoint | None = None
    for w, width in enumerate(grid.widths):
        for r, at in enumerate(_along_rho(problem, float(width), grid)):
            error[w, r] = at.error
            if best is None or at.error.min() < best.error.min():
                best = at
    assert best is not None
    gamma1 = float(grid.lambdas[best.error.argmin()] * best.unit)
    return Selection(best.width, gamma1, best.rho * gamma1, error, best)


def fit_selected(
    selection: Selection,
    settings: ManifoldSettings,
    X: Rows,
    groups: Groups,
    target_group: NDArray[Any],
) -> tuple[Expansion, NDArray[Any]]:
    """Fit with what was chosen, from what the selection left; the function and its row values."""
    best = selection.best
    model = solve_in_features(
        chosen(settings, selection), best.features.map, best.whitening, best.Z, groups, target_group
    )
    if best.features.phi is None:
        return model.expansion(), model.values(X)
    return model.expansion(), best.features.phi @ model.weights + model.bias


@dataclass(frozen=True)
class GridPoint:
    """What one width and rho come to: the error at every lambda, and what a fit needs."""

    width: float
    rho: float
    error: NDArray[Any]
    unit: float
    features: "KernelFeatures"
    whitening: Whitening
    Z: NDArray[Any]


def _along_rho(problem: _Problem, width: float, grid: Grid) -> Iterator[GridPoint]:
    features = KernelFeatures(problem, width, with_graph=bool((grid.rhos > 0).any()))
    whole_path = features.path(None)
    fold_paths = [
        whole_path if not problem.rebuild else features.path(number)
        for number in range(len(problem.folds or []))
    ]
    for rho in grid.rhos:
        whitening = whole_path.at(rho)
        Z = whitening.apply(features.sums)
        if problem.folds is None:
            error = _left_out(problem, Z, grid.lambdas)
        else:
            error = np.zeros(len(grid.lambdas))
            for held_out, path in zip(problem.folds, fold_paths, strict=True):
                Z_fold = path.at(rho).apply(features.sums) if path is not whole_path else Z
                error += _held_out(problem, Z_fold, held_out, grid.lambdas)
            error /= sum(len(fold) for fold in problem.folds)
        unit = float((Z**2).sum() / len(Z))
        yield GridPoint(width, float(rho), error, unit, features, whitening, Z)


class KernelFeatures:
    """Kernel features of all rows at one width, and the smoothness of any part of the groups."""

    def __init__(self, problem: _Problem, width: float, *, with_graph: bool):
        self._problem, self._with_graph = problem, with_graph
        settings, X = problem.settings, problem.X
        kernel = fit_kernel(settings.kernel, width, X)
        self.phi: NDArray[Any] | None = None
        if settings.n_components is None:
            self.map, self.phi = LandmarkFeatures.fit_transform(kernel, X, tolerance=_TOLERANCE)
            self.sums = membership(problem.groups) @ self.phi
        else:
            rng = check_random_state(settings.random_state)
            self.map = LandmarkFeatures.sample(kernel, X, settings.n_components, rng)
            self.sums = self.map.group_sums(X, problem.groups)
            if with_graph and settings.level == "row":
                self.phi = self.map.transform(X)
        self._basis: NDArray[Any] | None = None
        n_groups, n_features = self.sums.shape
        if settings.level == "group" and n_groups < n_features:
            # a group's graph stays among the sums: in their own space everything is small
            self._basis, inside = qr(self.sums.T, mode="economic", check_finite=False)
            self.sums = inside.T

    def path(self, fold: int | None) -> FeaturePath:
        """The deformed kernel with a graph of all groups (or their rows), or without a fold's."""
        if not self._with_graph:
            return FeaturePath(np.zeros((0, 0)), self._basis)
        problem = self._problem
        if problem.settings.level == "group":
            part = np.arange(problem.groups.n_groups)
            if fold is not None:
                assert problem.folds is not None
                part = np.delete(part, problem.folds[fold])
            sums = self.sums[part]
            laplacian = problem.settings.neighbours.laplacian(sums / problem.sizes[part, None])
            return FeaturePath(sums.T @ (laplacian @ sums), self._basis)
        assert self.phi is not None
        rows, laplacian = problem.row_graphs[0 if fold is None else fold + 1]
        return FeaturePath(quadratic(self.phi[rows], laplacian))


def _left_out(problem: _Problem, Z: NDArray[Any], lambdas: NDArray[Any]) -> NDArray[Any]:
    spectrum = GramSpectrum.of_factor(Z)
    sizes = problem.sizes
    residual = spectrum.left_out_residuals(
        problem.target_group,
        lambdas * max(spectrum.mean_diagonal, np.finfo(float).tiny),
        sizes if problem.settings.fit_intercept else None,
    )
    return (residual**2 / sizes[:, None]).sum(axis=2).mean(axis=1)


def _held_out(
    problem: _Problem, Z: NDArray[Any], held_out: NDArray[np.intp], lambdas: NDArray[Any]
) -> NDArray[Any]:
    """Sum over the held-out groups of their squared error over their size, for every lambda."""
    train = np.delete(np.arange(len(Z)), held_out)
    sizes, target = problem.sizes, problem.target_group
    Z_train, Z_test = Z[train], Z[held_out]
    unit = max(float((Z_train**2).sum() / len(train)), np.finfo(float).tiny)
    fit = _fit_l1 if problem.settings.loss == "l1" else _fit_l2
    predicted = fit(problem, Z_train, Z_test, sizes[train], target[train], lambdas * unit)
    bias_part = predicted.bias[:, None, :] * sizes[held_out][:, None]
    residual = target[held_out] - predicted.values - bias_part
    return (residual**2 / sizes[held_out][:, None]).sum(axis=(1, 2))


@dataclass(frozen=True)
class _HeldOutValues:
    """Predicted sums without bias (n_lambdas, n_held_out, n_outputs), and biases."""

    values: NDArray[Any]
    bias: NDArray[Any]


def _fit_l2(
    problem: _Problem,
    Z: NDArray[Any],
    Z_test: NDArray[Any],
    sizes: NDArray[Any],
    target: NDArray[Any],
    gammas: NDArray[Any],
) -> _HeldOutValues:
    spectrum = GramSpectrum.of_factor(Z)
    beta, bias = spectrum.solve(target, gammas, sizes if problem.settings.fit_intercept else None)
    return _HeldOutValues((Z_test @ Z.T) @ beta, bias)


def _fit_l1(
    problem: _Problem,
    Z: NDArray[Any],
    Z_test: NDArray[Any],
    sizes: NDArray[Any],
    target: NDArray[Any],
    gammas: NDArray[Any],
) -> _HeldOutValues:
    settings = problem.settings
    gram, cross = Z @ Z.T, Z_test @ Z.T
    free = sizes if settings.fit_intercept else None
    solved = [
        [solve_l1(gram, column, gamma, free, settings.epsilon) for column in target.T]
        for gamma in gammas
    ]
    beta = np.array([np.column_stack([s.beta for s in line]) for line in solved])
    return _HeldOutValues(cross @ beta, np.array([[s.bias for s in line] for line in solved]))


def chosen(settings: ManifoldSettings, selection: Selection) -> ManifoldSettings:
    """The settings with what was selected."""
    return replace(
        settings, width=selection.width, gamma1=selection.gamma1, gamma2=selection.gamma2
    )
