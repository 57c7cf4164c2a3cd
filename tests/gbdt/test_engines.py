"""Both engines grow the same trees on a group loss."""

import builtins

import lightgbm as lgb
import numpy as np
import pytest

from groupwise import HistTrees
from groupwise.gbdt import GroupBoostRegressor
from groupwise.losses import (
    LOSSES,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


@pytest.mark.parametrize("loss", LOSSES)
def test_engines_agree(loss, make, grid_data):
    X, y, groups = grid_data()
    if loss.startswith("reported_counts"):
        y = y * np.bincount(groups)[groups]
    scores = [
        make(engine, loss).fit(X, y, groups=groups).decision_function(X) for engine in ENGINES
    ]
    assert np.std(scores[0]) > 0.1
    assert np.allclose(scores[0], scores[1], atol=2e-4)


@pytest.mark.parametrize("loss", ["majority", "majority_softmax", "proportions"])
def test_engines_agree_on_many_classes(loss, make, grid_data):
    X, y, groups = grid_data(1, n_classes=3)
    scores = [
        make(engine, loss).fit(X, y, groups=groups).decision_function(X) for engine in ENGINES
    ]
    assert scores[0].shape == (len(X), 3)
    assert np.allclose(scores[0], scores[1], atol=2e-4)


def test_engines_agree_on_regression(grid_data):
    X, y, groups = grid_data(2)
    fits = [
        GroupBoostRegressor("total", engine=engine, n_estimators=10, trees=THIN)
        .fit(X, y * 3.0, groups=groups)
        .predict(X)
        for engine in ENGINES
    ]
    assert np.allclose(*fits, atol=2e-4)


def test_first_round_by_hand(make):
    """One stump on one feature: the leaf is -G / (H + lambda), times the learning rate."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    y, groups = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1])
    model = make(
        n_estimators=1, trees={"max_depth": 1, "min_leaf_weight": 0.0, "l2_regularization": 1.0}
    ).fit(X, y, groups=groups)
    start = np.log(3 / 2)
    assert np.allclose(model.ensemble_.init_score, start)
    # at the start a row of the positive group has weight e^(-start/2), of the other e^(start/2)
    term = np.where(y == 1, np.exp(-start / 2), np.exp(start / 2))
    weight = 5 * term / term.sum()
    left, right = weight[y == 0].sum(), weight[y == 1].sum()
    expected = np.where(
        y == 1,
        start + 0.1 * (right / 2) / (right / 4 + 1),
        start - 0.1 * (left / 2) / (left / 4 + 1),
    )
    assert np.allclose(model.decision_function(X), expected, atol=1e-6)


def test_single_rows_with_logistic_loss_are_plain_lightgbm(make, grid_data):
    X, y, _ = grid_data(3)
    ours = make(loss="majority_softmax", n_estimators=20).fit(X, y, groups=np.arange(len(X)))
    theirs = lgb.train(
        {
            "objective": "binary",
            "max_depth": 3,
            "num_leaves": 8,
            "learning_rate": 0.1,
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": 1.0,
            "lambda_l2": 1.0,
            "num_threads": 1,
            "verbosity": -1,
        },
        lgb.Dataset(X, y),
        20,
    )
    assert np.allclose(ours.decision_function(X), theirs.predict(X, raw_score=True), atol=1e-4)


def test_xgboost_missing_is_named(engine, monkeypatch, make, grid_data):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "xgboost":
            raise ImportError("no xgboost")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    X, y, groups = grid_data()
    if engine == "xgboost":
        with pytest.raises(ImportError, match=r"groupwise\[xgboost\]"):
            make(engine).fit(X, y, groups=groups)
    else:
        make(engine).fit(X, y, groups=groups)
