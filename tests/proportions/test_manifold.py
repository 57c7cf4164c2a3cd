"""The estimators around the solvers: parents, selection, regression."""

import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV

import groupwise.kernels.gram as gram_module
from groupwise import Groups
from groupwise.model_selection import WholeGroupKFold, cross_validate
from groupwise.proportions import (
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
    ManifoldAOCRegressor,
    broadcast,
)
from groupwise.proportions.folds import draw_folds
from groupwise.proportions.manifold.problem import ManifoldSettings
from groupwise.proportions.manifold.selection import Grid, select
from groupwise.proportions.soft_labels import aggregate_targets


def test_groups_of_one_without_graph_are_kernel_ridge(blobs):
    model = ManifoldAOCClassifier(gamma1=0.3, fit_intercept=False).fit(blobs.X, blobs.y_row)
    sigma = model.function_.kernel.sigma
    parent = KernelRidge(alpha=0.3, kernel="rbf", gamma=0.5 / sigma**2)
    parent.fit(blobs.X, np.where(blobs.y_row == "yes", 1.0, -1.0))
    np.testing.assert_allclose(model.soft_labels(blobs.X), parent.predict(blobs.X), atol=1e-9)


def test_two_classes_as_one_output_or_two_are_the_same(blobs):
    """+-1 labels give the difference of the one-hot solutions."""
    binary = ManifoldAOCClassifier(gamma2=0.2).fit(blobs.X, blobs.y, groups=blobs.groups)
    from groupwise.proportions.manifold.problem import fit_manifold

    groups = Groups(blobs.groups)
    one_hot = fit_manifold(
        binary._settings(), blobs.X, groups, groups.one_per_group(blobs.y.to_numpy(float))
    )[1]
    np.testing.assert_allclose(
        binary.soft_labels(blobs.X), one_hot[:, 1] - one_hot[:, 0], atol=1e-9
    )


def test_group_shares_are_the_mean_soft_labels(blobs, iris):
    model = ManifoldAOCClassifier().fit(blobs.X, blobs.y, groups=blobs.groups)
    mean = Groups(blobs.groups).mean(model.soft_labels(blobs.X))
    shares = model.predict_groups_proba(blobs.X, groups=blobs.groups)
    np.testing.assert_allclose(shares[:, 1], np.clip((1 + mean) / 2, 0, 1))
    three = ManifoldAOCClassifier().fit(iris.X, iris.y, groups=iris.groups)
    assert three.soft_labels(iris.X).shape == (150, 3)


def test_soft_labels_where_nothing_was_learned():
    with pytest.warns(UserWarning, match="same shares"):
        model = ManifoldAOCClassifier().fit(np.eye(4), [0, 1, 0, 1], groups=[0, 0, 1, 1])
    with pytest.raises(AttributeError, match="no function was learned"):
        model.soft_labels(np.eye(4))


def test_parameters_are_checked(blobs):
    for wrong in (
        {"level": "bag"},
        {"loss": "l3"},
        {"gamma1": 0.0},
        {"gamma2": -1.0},
        {"epsilon": np.nan},
        {"kernel": "poly"},
        {"width": -1.0},
    ):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name} must be"):
            ManifoldAOCClassifier(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)
    for wrong in (
        {"goal": "fame"},
        {"cv": 1},
        {"widths": ()},
        {"rhos": (-1.0,)},
        {"lambdas": (0.0,)},
    ):
        (name,) = wrong
        with pytest.raises(ValueError, match=f"{name} must be"):
            ManifoldAOCClassifierCV(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)


def test_the_stated_limit_holds(blobs, monkeypatch):
    monkeypatch.setattr(gram_module, "MAX_DENSE", 50)
    fit = {"X": blobs.X, "y": blobs.y, "groups": blobs.groups}
    with pytest.raises(ValueError, match="120 x 120 rows, above the limit of 50"):
        ManifoldAOCClassifier(gamma2=0.1).fit(**fit)
    ManifoldAOCClassifier().fit(**fit)  # 24 groups
    ManifoldAOCClassifier(n_components=20, gamma2=0.1).fit(**fit)


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


@pytest.mark.parametrize("goal", ["induction", "transduction"])
@pytest.mark.parametrize("n_components", [None, 40])
def test_what_is_chosen_is_what_is_fitted(goal, n_components, blobs):
    model = ManifoldAOCClassifierCV(
        goal=goal,
        widths=(0.5, 1.0),
        rhos=(0.0, 1.0),
        lambdas=(0.01, 0.1),
        n_components=n_components,
        random_state=0,
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    again = ManifoldAOCClassifier(
        width=model.width_,
        gamma1=model.gamma1_,
        gamma2=model.gamma2_,
        n_components=n_components,
        random_state=0,
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    np.testing.assert_allclose(
        model.predict_proba(blobs.X), again.predict_proba(blobs.X), atol=1e-6
    )
    assert model.error_.shape == (2, 2, 2)


@pytest.mark.parametrize("level", ["row", "group"])
def test_l1_and_group_level_can_be_selected_too(level, blobs):
    model = ManifoldAOCClassifierCV(
        level, "l1", goal="transduction", widths=(1.0,), rhos=(0.0, 1.0), lambdas=(0.1,), cv=3
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    assert (model.transduction_ == blobs.y_row).mean() > 0.9
    linear = ManifoldAOCClassifierCV(level, kernel="linear", rhos=(0.0,))
    assert linear.fit(blobs.X, blobs.y, groups=blobs.groups).error_.shape == (1, 1, 17)


def test_search_and_cross_validation_of_scikit_learn_work_on_groups(blobs):
    import sklearn

    cv = WholeGroupKFold(3, stratify=False, random_state=0)
    scores = cross_validate(
        ManifoldAOCClassifier(), blobs.X, blobs.y_row, groups=blobs.groups, cv=cv
    )
    assert scores["test_score"].min() > 0.8
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(ManifoldAOCClassifier(), {"gamma1": [0.1, 1e4]}, cv=cv)
        search.fit(blobs.X, blobs.y_row, groups=blobs.groups)
    assert search.best_params_ == {"gamma1": 0.1}


def regression_data():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(120, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    return X, y, rng.randint(30, size=120)


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_regression_from_values_means_and_totals(loss):
    X, y, groups = regression_data()
    encoded = Groups(groups)
    mean_row = encoded.spread(encoded.mean(y))
    total = pd.Series(encoded.sum(y), index=encoded.names)
    options = {"gamma1": 1e-3, "epsilon": 0.01}
    one = ManifoldAOCRegressor("row", loss, **options).fit(X, y, groups=groups)
    other = ManifoldAOCRegressor("row", loss, **options).fit(X, mean_row, groups=groups)
    third = ManifoldAOCRegressor("row", loss, target="total", **options)
    third.fit(X, broadcast(total, groups), groups=groups)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-6)
    np.testing.assert_allclose(one.predict(X), third.predict(X), atol=1e-6)
    assert np.corrcoef(one.predict(X), y)[0, 1] > 0.95
    np.testing.assert_allclose(one.transduction_, one.predict(X), atol=1e-9)
    np.testing.assert_allclose(
        third.predict_groups(X, groups=groups), encoded.sum(third.predict(X))
    )
    np.testing.assert_allclose(one.predict_groups(X, groups), encoded.mean(one.predict(X)))
    assert one.score(X, y, groups=groups) > 0.95
    assert third.score(X, broadcast(total, groups), groups=groups) > 0.95


def test_regression_of_groups_of_one_is_kernel_ridge():
    X, y, _ = regression_data()
    model = ManifoldAOCRegressor(gamma1=0.2, fit_intercept=False).fit(X, y)
    parent = KernelRidge(alpha=0.2, kernel="rbf", gamma=0.5 / model.function_.kernel.sigma**2)
    np.testing.assert_allclose(model.predict(X), parent.fit(X, y).predict(X), atol=1e-9)


def test_regression_takes_ids_from_a_column():
    X, y, groups = regression_data()
    table = pd.DataFrame(X, columns=["a", "b"]).assign(g=groups)
    inside = ManifoldAOCRegressor(group_column="g").fit(table, y)
    apart = ManifoldAOCRegressor().fit(X, y, groups=groups)
    np.testing.assert_allclose(inside.predict(table), apart.predict(X))
    assert inside.score(table, y) == pytest.approx(apart.score(X, y, groups=groups))
    with pytest.raises(ValueError, match="requires y"):
        ManifoldAOCRegressor().fit(X, None)


def test_targets_by_hand(blobs, iris):
    from groupwise.proportions.inputs import check_aggregates

    data = check_aggregates(ManifoldAOCClassifier(), blobs.X, blobs.y, blobs.groups)
    np.testing.assert_array_equal(
        aggregate_targets(data)[:, 0], data.counts_group[:, 1] - data.counts_group[:, 0]
    )
    data = check_aggregates(ManifoldAOCClassifier(), iris.X, iris.y, iris.groups)
    assert aggregate_targets(data).shape == (30, 3)
