"""The error of held-out groups, against fitting without them."""

import numpy as np
import pytest

from groupwise import Groups
from groupwise.proportions.folds import draw_folds
from groupwise.proportions.manifold.problem import ManifoldSettings
from groupwise.proportions.manifold.selection import Grid, select


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("level", ["row", "group"])
def test_selection_for_new_rows_is_refitting_without_the_fold(level, loss, blobs):
    """One grid point, so that the unit of gamma1 can be matched fold by fold."""
    groups = Groups(blobs.groups)
    target = groups.one_per_group(blobs.y.to_numpy(float))
    target = target[:, 1:] - target[:, :1]
    base = ManifoldSettings(level, loss, random_state=0)
    grid = Grid.of("rbf", (0.7,), (0.0, 2.0), (0.5,))
    selection = select(base, blobs.X, groups, target, grid, goal="induction", cv=4)
    folds = draw_folds(blobs.X, groups, target, 4, 0)
    for r, rho in enumerate((0.0, 2.0)):
        total = 0.0
        for fold in folds:
            total += one_fold(base, blobs, groups, target, fold, rho)
        assert selection.error[0, r, 0] == pytest.approx(total / groups.n_groups, rel=1e-4)


def one_fold(base, data, groups, target, fold, rho):
    from dataclasses import replace

    from groupwise.kernels import Kernel, NeighbourGraph, fit_kernel
    from groupwise.solvers.interior import solve_l1
    from groupwise.solvers.least_squares import solve_l2

    kernel = fit_kernel("rbf", 0.7, data.X)
    assert isinstance(kernel, Kernel)
    keep = ~np.isin(groups.codes, fold)
    part = Groups(groups.codes[keep])
    K = kernel(data.X[keep], data.X[keep])
    A = (part.codes == np.arange(part.n_groups)[:, None]).astype(float)
    if base.level == "row":
        M = NeighbourGraph().laplacian(data.X[keep]).toarray()
    else:
        mean = A / part.sizes[:, None]
        gram = mean @ K @ mean.T
        squared = np.maximum(np.diag(gram)[:, None] + np.diag(gram)[None] - 2 * gram, 0)
        M = A.T @ NeighbourGraph().laplacian_of_distances(np.sqrt(squared)).toarray() @ A
    T = np.linalg.solve(np.eye(len(K)) + rho * M @ K, A.T)
    G = A @ K @ T
    gamma1 = 0.5 * np.trace(G) / len(G)
    sizes = part.sizes.astype(float)
    settings = replace(base, gamma1=gamma1, gamma2=rho * gamma1)
    b = target[part.names]
    if settings.loss == "l2":
        solution = solve_l2(G, b, gamma1, sizes)
        beta, bias = solution.beta[:, 0], solution.bias[0]
    else:
        solution = solve_l1(G, b[:, 0], gamma1, sizes, settings.epsilon)
        beta, bias = solution.beta, solution.bias
    held = ~keep
    predicted = groups.sum(np.where(held, kernel(data.X, data.X[keep]) @ T @ beta + bias, 0.0))
    return ((target[:, 0] - predicted)[fold] ** 2 / groups.sizes[fold]).sum()


def test_closed_form_selects_what_refitting_selects_without_graph(blobs):
    """For induction without graph, leaving one group out in closed form is honest, and exact."""
    groups = Groups(blobs.groups)
    target = groups.one_per_group(blobs.y.to_numpy(float))
    target = target[:, 1:] - target[:, :1]
    grid = Grid.of("rbf", (0.7,), (0.0,), (0.1,))
    selection = select(ManifoldSettings(), blobs.X, groups, target, grid, goal="induction", cv=5)
    settings = ManifoldSettings(width=0.7, gamma1=selection.gamma1)
    total = 0.0
    from groupwise.kernels import fit_kernel
    from groupwise.solvers.least_squares import solve_l2

    G = fit_kernel("rbf", 0.7, blobs.X).group_gram(blobs.X, groups)
    for i in range(groups.n_groups):
        rest = np.delete(np.arange(groups.n_groups), i)
        found = solve_l2(
            G[np.ix_(rest, rest)], target[rest], settings.gamma1, groups.sizes[rest] * 1.0
        )
        miss = target[i] - G[i, rest] @ found.beta - found.bias * groups.sizes[i]
        total += float(miss[0] ** 2) / groups.sizes[i]
    assert selection.error[0, 0, 0] == pytest.approx(total / groups.n_groups, rel=1e-6)
