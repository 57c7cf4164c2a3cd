"""Features over bins, and networks on them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from groupwise import load_model, save_model
from groupwise.nets import GroupNetClassifier, GroupNetRegressor, fit_folds
from groupwise.nets.piecewise import PiecewiseLinear

SMALL = {"encoder": (8,), "epochs": 4, "n_members": 2, "random_state": 0, "device": "cpu"}


@pytest.fixture(scope="module")
def bags():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(24), rng.integers(1, 6, size=24))
    X = rng.normal(size=(len(groups), 3))
    X[:, 2] = rng.random(len(groups)) < 0.05  # rare: stays as it is
    return X, (np.arange(24) % 2)[groups], groups


def test_passed_bins_by_hand():
    X = np.array([[0.0], [1.0], [3.0], [7.0], [15.0]])
    bins = PiecewiseLinear.fit(X, 4)
    assert_array_equal(bins.low, [0, 1, 3, 7])
    assert_array_equal(bins.width, [1, 2, 4, 8])
    new = np.array([[-2.0], [0.5], [5.0], [11.0], [99.0]])
    expected = [[0, 0, 0, 0], [0.5, 0, 0, 0], [1, 1, 0.5, 0], [1, 1, 1, 0.5], [1, 1, 1, 1]]
    assert_array_equal(bins.encode(new), expected)


def test_passed_bins_add_up_to_the_value():
    X = np.random.default_rng(0).standard_cauchy((200, 5))
    bins = PiecewiseLinear.fit(X, 8)
    assert bins.is_bin.all()
    total = np.add.reduceat(bins.encode(X) * bins.width, np.arange(0, 40, 8), axis=1)
    assert_allclose(total + X.min(axis=0), X, rtol=1e-9, atol=1e-9)


def test_features_of_few_values_stay_as_they_are():
    X = np.column_stack([np.full(40, 3.0), np.arange(40) % 2, np.arange(40) == 0, np.arange(40)])
    bins = PiecewiseLinear.fit(X, 4)
    assert_array_equal(bins.column, [0, 1, 2, 3, 3, 3, 3])
    assert_array_equal(bins.encode(X)[:, :3], X[:, :3])


def test_far_values_and_narrow_bins_are_finite():
    X = np.array([[0.0], [5e-324], [1e-323], [1e100]])
    assert np.isfinite(PiecewiseLinear.fit(X, 3).encode(-X)).all()


@pytest.mark.parametrize("pooling", [None, "attention"])
def test_a_network_over_bins_is_one_on_the_encoded_table(bags, pooling):
    X, y, groups = bags
    plain = {**SMALL, "pooling": pooling}
    model = GroupNetClassifier("presence", n_bins=4, **plain).fit(X, y, groups=groups)
    bins = PiecewiseLinear.fit(X, 4)
    Z = bins.encode(X)
    other = GroupNetClassifier("presence", **plain).fit(Z, y, groups=groups)
    assert_array_equal(model.decision_function(X, groups), other.decision_function(Z, groups))
    assert model.n_features_in_ == 3


def test_bins_of_regression_and_of_rows_without_labels(bags):
    X, y, groups = bags
    more = X + 10.0
    model = GroupNetRegressor(n_bins=4, **SMALL)
    model.fit(X, y.astype(float), groups=groups, X_unlabeled=more)
    assert_allclose(model.ensemble_.bins.low, PiecewiseLinear.fit(np.vstack([X, more]), 4).low)
    assert np.isfinite(model.predict(X, groups)).all()


def test_bins_go_into_model_files(bags, tmp_path):
    X, y, groups = bags
    model = GroupNetClassifier("presence", n_bins=4, **SMALL).fit(X, y, groups=groups)
    save_model(model, tmp_path / "model.skops")
    again = load_model(tmp_path / "model.skops")
    assert_array_equal(again.predict_proba(X, groups), model.predict_proba(X, groups))


def test_folds_find_bins_in_their_training_rows_alone(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", n_bins=4, **SMALL)
    first = fit_folds(model, X, y, groups=groups, cv=3)[0]
    moved = X.copy()
    moved[first.test] *= 100.0
    same = fit_folds(model, moved, y, groups=groups, cv=3)[0]
    assert_array_equal(first.test, same.test)
    assert_array_equal(
        first.model.decision_function(X, groups), same.model.decision_function(X, groups)
    )


def test_bins_of_known_test_rows_are_those_of_all_rows(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", n_bins=4, **SMALL)
    for fold in fit_folds(model, X, y, groups=groups, cv=3, test_rows_known=True):
        assert_array_equal(fold.model.ensemble_.bins.low, PiecewiseLinear.fit(X, 4).low)


def test_images_have_no_bins(bags):
    _, y, groups = bags
    images = np.zeros((len(y), 1, 2, 2))
    torch = pytest.importorskip("torch")
    model = GroupNetClassifier("presence", **SMALL | {"encoder": torch.nn.Flatten()}, n_bins=4)
    with pytest.raises(ValueError, match="n_bins is for tables in memory"):
        model.fit(images, y, groups=groups)


def test_folds_over_bins_at_once_are_the_folds_alone():
    """Their bins differ in number: what is narrower has zeros behind it."""
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(24), rng.integers(1, 6, size=24))
    X = np.column_stack([rng.normal(size=len(groups)), rng.poisson(3.0, size=len(groups))])
    y = (np.arange(24) % 2)[groups]
    plain = SMALL | {"n_members": 1, "dropout": 0.0, "epochs": 15}
    model = GroupNetClassifier("presence", n_bins=8, pooling="mean_max", **plain)
    folds = fit_folds(model, X, y, groups=groups, cv=4)
    parts = fit_folds(model, X, y, groups=groups, cv=4, networks_at_once=1)
    assert len({len(fold.model.ensemble_.bins.low) for fold in folds}) > 1
    for one, other in zip(folds, parts, strict=True):
        assert_array_equal(one.model.ensemble_.bins.low, other.model.ensemble_.bins.low)
    for fold in (folds[0], parts[0]):  # the first has the seeds of a fit by itself
        train = fold.train
        alone = GroupNetClassifier(**model.get_params(deep=False))
        alone.fit(X[train], y[train], groups=groups[train])
        assert_allclose(
            fold.model.decision_function(X, groups),
            alone.decision_function(X, groups),
            rtol=1e-3,
            atol=1e-4,
        )


def test_folds_over_bins_without_a_hidden_layer(bags):
    X, y, groups = bags
    model = GroupNetClassifier("presence", n_bins=4, **SMALL | {"encoder": ()})
    for fold in fit_folds(model, X, y, groups=groups, cv=3):
        assert np.isfinite(fold.model.decision_function(X, groups)).all()
