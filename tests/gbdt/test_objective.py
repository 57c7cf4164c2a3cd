"""Group losses as plain callables in the engines' own training functions."""

import lightgbm as lgb
import numpy as np
import pytest

from groupwise import Groups, HistTrees
from groupwise.gbdt import GroupObjective, objective
from groupwise.losses import (
    GroupMeanLoss,
    MajorityLoss,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


def test_objective_in_lightgbm_train(make, grid_data):
    X, y, groups = grid_data()
    model = make().fit(X, y, groups=groups)
    params = {"max_depth": 3, "num_leaves": 8, "learning_rate": 0.1, "lambda_l2": 1.0}
    params |= {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 1.0}
    params |= {"num_threads": 1, "verbosity": -1, "objective": objective("majority", groups, y)}
    start = np.full(len(X), model.ensemble_.init_score[0])
    booster = lgb.train(params, lgb.Dataset(X, init_score=start), 10)
    assert np.allclose(booster.predict(X) + start, model.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_in_xgboost_train(n_classes, make, grid_data):
    xgb = pytest.importorskip("xgboost")
    X, y, groups = grid_data(n_classes=n_classes)
    model = make("xgboost").fit(X, y, groups=groups)
    params = {"max_depth": 3, "learning_rate": 0.1, "max_bin": 255, "base_score": 0.0}
    params |= {"nthread": 1, "verbosity": 0, "disable_default_eval_metric": True}
    if n_classes > 2:
        params |= {"num_class": n_classes, "objective": "multi:softprob"}
    start = model.ensemble_.start(len(X))
    data = xgb.DMatrix(X, y, base_margin=start)
    loss = objective("majority", groups, y, engine="xgboost")
    booster = xgb.train(params, data, 10, obj=loss)
    assert np.allclose(
        booster.predict(data, output_margin=True), model.decision_function(X), atol=1e-4
    )


def test_objective_many_classes_in_lightgbm_train(grid_data):
    X, y, groups = grid_data(n_classes=3)
    params = {"num_class": 3, "verbosity": -1, "num_threads": 1, "max_depth": 2}
    params["objective"] = objective("majority", groups, y)
    booster = lgb.train(params, lgb.Dataset(X), 20)
    assert np.mean(booster.predict(X).argmax(axis=1) == y) > 0.5


@pytest.mark.parametrize("target", ["mean", "total"])
def test_objective_for_regression(target):
    groups, y = [0, 0, 1], np.array([4.0, 4.0, 1.0])
    gradient, curvature = objective(target, groups, y)(np.zeros(3))
    assert gradient.tolist() == ([-4, -4, -1] if target == "mean" else [-2, -2, -1])
    assert gradient.dtype == np.float32
    assert curvature.tolist() == [1, 1, 1]


def test_objective_with_weights_and_shares():
    shares = np.array([[0.5, 0.5], [0.5, 0.5], [0.0, 1.0]])
    loss = objective("proportions", ["a", "a", "b"], shares, sample_weight=[2.0, 2.0, 1.0])
    gradient, curvature = loss(np.zeros(3), None)
    assert np.allclose(gradient, [0, 0, -0.5], atol=1e-7)
    assert np.allclose(curvature, [0.5, 0.5, 0.25])


def test_objective_engine_name():
    bound = MajorityLoss().bind(np.array([0, 1]), Groups([0, 1]))
    with pytest.raises(ValueError, match="engine must be"):
        GroupObjective(bound, "catboost")


def test_objective_of_a_huber_loss():
    gradient, _ = objective(GroupMeanLoss(delta=1.5), [0, 0, 1], [4.0, 4.0, 1.0])(np.zeros(3))
    assert gradient.tolist() == [-1.5, -1.5, -1.0]
