"""Boosting on group losses: engines agree, rounds can be continued, stopped and explained."""

import builtins
import logging
import pickle

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.datasets import make_friedman1

from groupwise import Groups
from groupwise.datasets import make_triangle_sessions
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor, GroupObjective, objective
from groupwise.io import load_model, save_model
from groupwise.losses import LOSS_NAMES, GroupMeanLoss, MajorityLoss, NoisyOrLoss, get_loss

ENGINES = ["lightgbm", "xgboost"]
both_engines = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(autouse=True)
def _needs_xgboost():
    pytest.importorskip("xgboost")


def make(engine="lightgbm", loss="majority", **options):
    options = {"n_estimators": 10, "n_threads": 1, "random_state": 0, **options}
    return GroupBoostClassifier(loss, engine=engine, **options)


def grid_data(seed=0, n_groups=60, n_classes=2):
    """Features of few values, so that every engine cuts at the same places."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 8, n_groups))
    X = rng.integers(0, 8, (len(groups), 5)).astype(float)
    y_group = rng.permutation(np.arange(n_groups) % n_classes)
    X[:, 0] += 2 * y_group[groups]
    mixed = rng.permutation(len(groups))
    return X[mixed], y_group[groups][mixed], groups[mixed]


# Engines.


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_engines_agree(loss):
    X, y, groups = grid_data()
    scores = [
        make(engine, loss).fit(X, y, groups=groups).decision_function(X) for engine in ENGINES
    ]
    assert np.std(scores[0]) > 0.1
    assert np.allclose(scores[0], scores[1], atol=2e-4)


@pytest.mark.parametrize("loss", ["majority", "majority_softmax", "proportions"])
def test_engines_agree_on_many_classes(loss):
    X, y, groups = grid_data(1, n_classes=3)
    scores = [
        make(engine, loss).fit(X, y, groups=groups).decision_function(X) for engine in ENGINES
    ]
    assert scores[0].shape == (len(X), 3)
    assert np.allclose(scores[0], scores[1], atol=2e-4)


def test_engines_agree_on_regression():
    X, y, groups = grid_data(2)
    fits = [
        GroupBoostRegressor("total", engine=engine, n_estimators=10, n_threads=1)
        .fit(X, y * 3.0, groups=groups)
        .predict(X)
        for engine in ENGINES
    ]
    assert np.allclose(*fits, atol=2e-4)


def test_first_round_by_hand():
    """One stump on one feature: the leaf is -G / (H + lambda), times the learning rate."""
    X = np.array([[0.0], [0.0], [1.0], [1.0], [1.0]])
    y, groups = np.array([0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1])
    model = make(n_estimators=1, max_depth=1, min_leaf_weight=0.0, reg_lambda=1.0).fit(
        X, y, groups=groups
    )
    start = np.log(3 / 2)
    assert np.allclose(model.trees_.init_score, start)
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


def test_single_rows_with_logistic_loss_are_plain_lightgbm():
    X, y, _ = grid_data(3)
    ours = make(loss="majority_softmax", n_estimators=20).fit(X, y)
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


@both_engines
def test_xgboost_missing_is_named(engine, monkeypatch):
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


# The plain callable.


def test_objective_in_lightgbm_train():
    X, y, groups = grid_data()
    model = make().fit(X, y, groups=groups)
    params = {"max_depth": 3, "num_leaves": 8, "learning_rate": 0.1, "lambda_l2": 1.0}
    params |= {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 1.0}
    params |= {"num_threads": 1, "verbosity": -1, "objective": objective("majority", groups, y)}
    start = np.full(len(X), model.trees_.init_score[0])
    booster = lgb.train(params, lgb.Dataset(X, init_score=start), 10)
    assert np.allclose(booster.predict(X) + start, model.decision_function(X))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_objective_in_xgboost_train(n_classes):
    xgb = pytest.importorskip("xgboost")
    X, y, groups = grid_data(n_classes=n_classes)
    model = make("xgboost").fit(X, y, groups=groups)
    params = {"max_depth": 3, "learning_rate": 0.1, "max_bin": 255, "base_score": 0.0}
    params |= {"nthread": 1, "verbosity": 0, "disable_default_eval_metric": True}
    if n_classes > 2:
        params |= {"num_class": n_classes, "objective": "multi:softprob"}
    start = model.trees_.start(len(X))
    data = xgb.DMatrix(X, y, base_margin=start)
    loss = objective("majority", groups, y, engine="xgboost")
    booster = xgb.train(params, data, 10, obj=loss)
    assert np.allclose(
        booster.predict(data, output_margin=True), model.decision_function(X), atol=1e-4
    )


def test_objective_many_classes_in_lightgbm_train():
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


# Rounds.


@both_engines
@pytest.mark.parametrize("n_classes", [2, 3])
def test_continuation_is_one_longer_fit(engine, n_classes):
    X, y, groups = grid_data(n_classes=n_classes)
    long = make(engine, n_estimators=14).fit(X, y, groups=groups)
    half = make(engine, n_estimators=6).fit(X, y, groups=groups)
    more = make(engine, n_estimators=8).fit(X, y, groups=groups, init_model=half)
    assert more.best_iteration_ == 14
    assert len(list(more.staged_decision_function(X))) == 14
    atol = 1e-9 if engine == "lightgbm" else 1e-5
    assert np.allclose(more.decision_function(X), long.decision_function(X), atol=atol)
    assert np.allclose(more.feature_importances_, long.feature_importances_, atol=1e-4)
    assert half.best_iteration_ == 6


def test_continuation_refuses_another_model():
    X, y, groups = grid_data()
    other = make().fit(X[:, :3], y, groups=groups)
    with pytest.raises(ValueError, match="3 features"):
        make().fit(X, y, groups=groups, init_model=other)
    with pytest.raises(ValueError, match="fitted GroupBoostClassifier"):
        make().fit(X, y, groups=groups, init_model=GroupBoostRegressor(n_threads=1).fit(X, y))
    renamed = make().fit(X, np.where(y == 1, "b", "a"), groups=groups)
    with pytest.raises(ValueError, match=r"classes \['a', 'b'\]"):
        make().fit(X, y, groups=groups, init_model=renamed)


@both_engines
def test_early_stopping_keeps_the_best_rounds(engine):
    X, y, groups = grid_data(4)
    model = make(
        engine, early_stopping=True, n_estimators=400, learning_rate=0.5, n_iter_no_change=5
    ).fit(X, y, groups=groups)
    valid = model.evals_result_["valid"]
    assert len(valid) < 400
    assert model.best_iteration_ == np.argmin(valid) + 1 == len(valid) - 5
    assert model.trees_.n_rounds == model.best_iteration_
    assert len(model.evals_result_["train"]) == len(valid)


@both_engines
def test_log_of_losses_is_the_loss_of_the_staged_scores(engine):
    X, y, groups = grid_data(5)
    X_val, y_val, groups_val = grid_data(6)
    model = make(engine).fit(X, y, groups=groups, X_val=X_val, y_val=y_val, groups_val=groups_val)
    for name, (rows, labels, ids) in {
        "train": (X, y, groups),
        "valid": (X_val, y_val, groups_val),
    }.items():
        encoded = Groups(ids)
        bound = MajorityLoss(4.0).bind(encoded.one_per_group(labels), encoded)
        expected = [bound.value(s) / len(ids) for s in model.staged_decision_function(rows)]
        assert np.allclose(model.evals_result_[name], expected, rtol=1e-4, atol=1e-6)
    assert model.best_iteration_ == 10  # looking on is not stopping
    assert model.evals_result_["train"] == sorted(model.evals_result_["train"], reverse=True)


def test_early_stopping_on_given_groups_and_shares():
    X, y, groups = grid_data(7)
    model = make(loss="proportions", early_stopping=True, n_estimators=200, learning_rate=0.3)
    model.fit(X[:150], y[:150], groups=groups[:150], X_val=X[150:], y_val=y[150:],
              groups_val=groups[150:])  # fmt: skip
    assert model.best_iteration_ < 200
    internal = make(loss="proportions", early_stopping=True, n_estimators=5).fit(
        X, y, groups=groups
    )
    assert len(internal.evals_result_["valid"]) <= 5


def test_callbacks_hear_and_stop():
    X, y, groups = grid_data()
    heard = []

    def stop_at_four(progress):
        heard.append(progress.losses["train"])
        return progress.n_rounds == 4

    model = make().fit(X, y, groups=groups, callbacks=[stop_at_four])
    assert model.best_iteration_ == 4
    assert heard == model.evals_result_["train"]


def test_verbose_logs(caplog):
    X, y, groups = grid_data()
    with caplog.at_level(logging.INFO, logger="groupwise.gbdt"):
        make(verbose=5).fit(X, y, groups=groups)
    assert [record.message.split(":")[0] for record in caplog.records] == ["round 5", "round 10"]


def test_nothing_to_split_on(caplog):
    X, y, groups = grid_data()
    with caplog.at_level(logging.INFO, logger="groupwise.gbdt"):
        model = make().fit(np.zeros_like(X), y, groups=groups)
    assert "no split is possible" in caplog.text
    assert model.best_iteration_ == 0
    assert np.allclose(model.decision_function(X), model.trees_.init_score)
    assert np.allclose(model.shap_values(X)[:, -1], model.trees_.init_score)
    assert model.feature_importances_.tolist() == [0.0] * 5
    assert list(model.staged_predict(X)) == []


@both_engines
def test_staged_ends_at_the_model(engine):
    X, y, groups = grid_data()
    model = make(engine).fit(X, y, groups=groups)
    *_, score = model.staged_decision_function(X)
    assert np.allclose(score, model.decision_function(X), atol=1e-5)
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert list(model.staged_score(X, y, groups))[-1] == model.score(X, y, groups=groups)


# Explanation.


@both_engines
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shap_values_sum_to_the_score(engine, sparse, n_classes):
    X, y, groups = grid_data(n_classes=n_classes)
    rows = csr_array(X) if sparse else X
    half = make(engine, n_estimators=4).fit(rows, y, groups=groups)
    model = make(engine, n_estimators=4).fit(rows, y, groups=groups, init_model=half)
    values = model.shap_values(rows)
    assert values.shape == ((len(X), 6) if n_classes == 2 else (len(X), 6, 3))
    assert np.allclose(values.sum(axis=1), model.decision_function(rows), atol=1e-4)
    assert np.isclose(model.feature_importances_.sum(), 1.0)
    assert model.feature_importances_.argmax() == 0


# Data.


def test_sparse_is_dense_for_lightgbm():
    X, y, groups = grid_data()
    dense = make().fit(X, y, groups=groups)
    sparse = make().fit(csr_array(X), y, groups=groups)
    assert np.allclose(dense.predict_proba(X), sparse.predict_proba(csr_array(X)))


@both_engines
def test_missing_values_and_names(engine):
    X, y, groups = grid_data()
    X[::7, 0] = np.nan
    table = pd.DataFrame(X, columns=list("abcde")).assign(session=groups)
    model = make(engine, group_column="session").fit(table, y)
    assert list(model.feature_names_in_) == list("abcde")
    assert model.score(table, y) > 0.6


@both_engines
def test_categories_by_position_and_name(engine):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 3)
    y = rng.integers(0, 2, 80)[groups]
    X = np.column_stack([rng.normal(size=240), np.where(y, rng.choice([1, 3, 5], 240), 
                         rng.choice([0, 2, 4], 240))])  # fmt: skip
    table = pd.DataFrame(X, columns=["a", "kind"])
    options = {"max_depth": 1, "n_estimators": 1, "learning_rate": 1.0}
    if engine == "lightgbm":
        options["engine_params"] = {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0}
    by_name = make(engine, categorical_features=["kind"], **options)
    by_place = make(engine, categorical_features=[1], **options)
    plain = make(engine, **options).fit(table, y, groups=groups)
    by_name.fit(table, y, groups=groups), by_place.fit(X, y, groups=groups)
    assert np.allclose(by_name.predict_proba(table), by_place.predict_proba(X))
    assert by_name.score(table, y, groups=groups) == 1.0  # one split on odd against even
    assert plain.score(table, y, groups=groups) < 1.0
    again = pickle.loads(pickle.dumps(by_name))
    assert np.array_equal(again.predict_proba(table), by_name.predict_proba(table))


@pytest.mark.parametrize(
    ("columns", "message"), [(["z"], "names 'z'"), ([9], "column 9"), ([-1], "column -1")]
)
def test_unknown_categories(columns, message):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match=message):
        make(categorical_features=columns).fit(X, y, groups=groups)


@both_engines
def test_monotone_constraints(engine):
    X, y, groups = grid_data()
    model = make(engine, monotone_constraints=[-1, 0, 0, 0, 0], max_leaves=4, n_estimators=30)
    model.fit(X, y, groups=groups)
    line = np.tile(X[:1], (20, 1))
    line[:, 0] = np.linspace(0, 12, 20)
    assert (np.diff(model.decision_function(line)) <= 1e-9).all()
    with pytest.raises(ValueError, match=r"one entry per feature \(5\)"):
        make(engine, monotone_constraints=[1]).fit(X, y, groups=groups)


@both_engines
def test_subsampling_is_seeded(engine):
    X, y, groups = grid_data()
    options = {"subsample": 0.5, "feature_fraction": 0.6}
    one, same, other = (
        make(engine, random_state=seed, **options).fit(X, y, groups=groups).decision_function(X)
        for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_weights_of_groups_repeat_them():
    X, y, groups = grid_data()
    twice = groups % 3 == 0
    weighted = make().fit(X, y, groups=groups, sample_weight=np.where(twice, 2.0, 1.0))
    repeated = make().fit(
        np.vstack([X, X[twice]]),
        np.append(y, y[twice]),
        groups=np.append(groups, groups[twice] + 1000),
    )
    assert np.allclose(weighted.decision_function(X), repeated.decision_function(X), atol=1e-5)


def test_rows_of_weight_zero_are_not_there():
    X, y, groups = grid_data()
    kept = np.arange(len(X)) % 4 != 0
    weighted = make().fit(X, y, groups=groups, sample_weight=kept.astype(float))
    left = make().fit(X[kept], y[kept], groups=groups[kept])
    assert np.array_equal(weighted.decision_function(X), left.decision_function(X))
    with pytest.raises(ValueError, match=r"positive on some row|non-zero"):
        make().fit(X, y, groups=groups, sample_weight=np.zeros(len(X)))
    with pytest.raises(GroupDataError, match="must not be negative; row 0"):
        make().fit(X, y, groups=groups, sample_weight=-np.ones(len(X)))


def test_row_order_does_not_matter():
    X, y, groups = grid_data()
    order = np.random.default_rng(1).permutation(len(X))
    one = make().fit(X, y, groups=groups)
    other = make().fit(X[order], y[order], groups=groups[order])
    assert np.allclose(one.decision_function(X), other.decision_function(X), atol=1e-5)


# What y means.


@pytest.mark.parametrize("loss", ["proportions", "proportions_squared"])
def test_labels_shares_and_counts_say_the_same(loss):
    X, _, groups = grid_data()
    y_row = (X[:, 1] > 3).astype(int)  # rows of a group differ
    encoded = Groups(groups)
    shares = encoded.spread(encoded.mean(np.eye(2)[y_row]))
    counts = pd.DataFrame(shares * encoded.spread(encoded.sizes)[:, None], columns=["no", "yes"])
    models = [make(loss=loss).fit(X, y, groups=groups) for y in (y_row, shares, counts)]
    assert models[2].classes_.tolist() == ["no", "yes"]
    for model in models[1:]:
        assert np.allclose(model.decision_function(X), models[0].decision_function(X), atol=1e-6)
    by_group = models[0].predict_groups_proba(X, groups=groups)
    assert np.allclose(by_group, encoded.mean(models[0].predict_proba(X)))
    expected = 1 - np.abs(by_group[:, 1] - encoded.mean(y_row)).mean()
    assert np.isclose(models[0].score(X, y_row, groups=groups), expected)
    assert np.isclose(models[2].score(X, counts, groups=groups), expected)
    held = models[1].fit(X, shares, groups=groups, X_val=X, y_val=shares, groups_val=groups)
    assert np.allclose(held.evals_result_["train"], held.evals_result_["valid"], rtol=1e-5)


def test_proportions_find_the_rows_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y_row = np.digitize(X[:, 0], [-0.5, 0.5])
    groups = np.repeat(np.arange(500), 6)
    for n_classes in (2, 3):
        labels = np.minimum(y_row, n_classes - 1)
        model = make(loss="proportions", n_estimators=60).fit(X, labels, groups=groups)
        assert np.mean(model.predict(X) == labels) > 0.95


def test_bad_tables_of_shares():
    X, groups = np.zeros((3, 1)), ["a", "a", "b"]
    with pytest.raises(GroupDataError, match="group 'b' of 1 rows holds"):
        make(loss="proportions").fit(X, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.1]], groups=groups)
    with pytest.raises(GroupDataError, match="same on every row of a group; group 'a'"):
        make(loss="proportions").fit(X, [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]], groups=groups)
    X, y, groups = grid_data()
    model = make(loss="proportions").fit(X, y, groups=groups)
    with pytest.raises(GroupDataError, match="3 classes, the model knows 2"):
        model.score(X[:1], [[0.5, 0.5, 0.0]])


def test_presence_predicts_by_its_own_probability():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 8)
    X = rng.normal(size=(1200, 2))
    hit = X[:, 0] > 1.3
    encoded = Groups(groups)
    y = encoded.spread(encoded.max(hit.astype(int)))
    for loss in ("presence", "presence_lse"):
        model = make(loss=loss, n_estimators=60).fit(X, y, groups=groups)
        assert model.score(X, y, groups=groups) > 0.95
    model = make(loss="presence", n_estimators=60).fit(X, y, groups=groups)
    by_hand = 1 - np.exp(encoded.sum(np.log(model.predict_proba(X)[:, 0])))
    assert np.allclose(model.predict_groups_proba(X, groups=groups)[:, 1], by_hand)
    assert np.mean(model.predict(X) == hit) > 0.95  # and the rows are found
    assert np.allclose(
        model.set_params(rule="any").predict_groups_proba(X, groups=groups)[:, 1],
        encoded.max(model.predict_proba(X)[:, 1]),
    )


def test_presence_is_binary():
    X, y, groups = grid_data(n_classes=3)
    with pytest.raises(ValueError, match="Only binary"):
        make(loss=NoisyOrLoss()).fit(X, y, groups=groups)
    assert not make(loss=NoisyOrLoss()).__sklearn_tags__().classifier_tags.multi_class


def test_majority_labels_agree_inside_groups():
    X, y, groups = grid_data()
    y = y.copy()
    y[0] = 1 - y[0]
    with pytest.raises(GroupDataError, match="same on every row"):
        make().fit(X, y, groups=groups)


def test_triangle_needs_the_groups():
    """Figure 1's toy: the naive labels mislead, the group loss is not misled."""
    train = make_triangle_sessions(300, random_state=1)
    test = make_triangle_sessions(200, random_state=2)
    options = {
        "loss": "majority_softmax",
        "n_estimators": 80,
        "learning_rate": 1.0,
        "rule": "majority",
    }
    group, naive = (
        make(gamma=gamma, **options)
        .fit(train.X, train.y, groups=train.groups)
        .score(test.X, test.y, groups=test.groups)
        for gamma in (np.inf, 0.0)
    )
    assert group > 0.94
    assert naive < 0.7


def test_lost_groups_are_noticed():
    X, y, groups = grid_data()
    model = make().fit(X, y)
    with pytest.warns(GroupsLostWarning):
        model.predict_groups(X, groups=groups)


# Regression.


def test_regression_on_means_and_totals():
    X, y_row = make_friedman1(3000, random_state=0)
    groups = np.repeat(np.arange(600), 5)
    encoded = Groups(groups)
    mean = encoded.spread(encoded.mean(y_row))
    options = {"n_estimators": 200, "n_threads": 1}
    by_mean = GroupBoostRegressor("mean", **options).fit(X, mean, groups=groups)
    by_total = GroupBoostRegressor("total", **options).fit(X, 5 * mean, groups=groups)
    assert np.allclose(by_mean.predict(X), by_total.predict(X), atol=1e-4)
    assert np.corrcoef(by_mean.predict(X), y_row)[0, 1] > 0.8  # the rows' own numbers are found
    assert np.allclose(
        by_total.predict_groups(X, groups=groups), 5 * by_mean.predict_groups(X, groups=groups),
        atol=1e-3,
    )  # fmt: skip
    assert by_mean.score(X, mean, groups=groups) > 0.9
    *_, last = by_mean.staged_score(X, mean, groups)
    assert np.isclose(last, by_mean.score(X, mean, groups=groups))
    *_, last = by_mean.staged_predict(X)
    assert np.allclose(last, by_mean.predict(X))
    assert by_mean.shap_values(X[:5]).sum(axis=1) == pytest.approx(by_mean.predict(X[:5]))


def test_regression_of_single_rows_is_plain_lightgbm():
    X, y, _ = grid_data(3)
    target = y + 0.1 * X[:, 1]
    ours = GroupBoostRegressor(n_estimators=20, n_threads=1).fit(X, target)
    params = {"max_depth": 3, "num_leaves": 8, "learning_rate": 0.1, "lambda_l2": 1.0}
    params |= {"min_data_in_leaf": 1, "min_data_in_bin": 1, "min_sum_hessian_in_leaf": 1.0}
    params |= {"num_threads": 1, "verbosity": -1, "objective": "regression"}
    theirs = lgb.train(params, lgb.Dataset(X, target), 20)
    assert np.allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


def test_regression_early_stopping_validation_and_continuation():
    X, y_row = make_friedman1(800, noise=2.0, random_state=0)
    groups = np.repeat(np.arange(200), 4)
    encoded = Groups(groups)
    mean = encoded.spread(encoded.mean(y_row))
    table = pd.DataFrame(X).rename(columns=str).assign(shop=groups)
    options = {"group_column": "shop", "n_threads": 1, "random_state": 0}
    stopped = GroupBoostRegressor(
        early_stopping=True, n_estimators=500, learning_rate=0.3, **options
    )
    stopped.fit(table, mean)
    assert stopped.best_iteration_ < 500
    given = GroupBoostRegressor(n_estimators=20, **options)
    given.fit(table[:400], mean[:400], X_val=table[400:], y_val=mean[400:])
    assert len(given.evals_result_["valid"]) == 20
    more = GroupBoostRegressor(n_estimators=20, **options)
    more.fit(table[:400], mean[:400], init_model=given)
    whole = GroupBoostRegressor(n_estimators=40, **options).fit(table[:400], mean[:400])
    assert np.allclose(more.predict(table), whole.predict(table))
    with pytest.raises(ValueError, match="X_val needs y_val"):
        given.fit(table, mean, X_val=table)
    with pytest.raises(GroupDataError, match="same on every row"):
        given.fit(table, y_row)
    assert isinstance(GroupMeanLoss(), GroupMeanLoss)


def test_huber_resists_an_outlier():
    X, y_row = make_friedman1(500, random_state=0)
    groups = np.repeat(np.arange(250), 2)
    encoded = Groups(groups)
    mean_group = encoded.mean(y_row)
    mean_group[::25] += 500
    mean = encoded.spread(mean_group)
    clean = np.arange(250) % 25 != 0
    errors = [
        np.abs(
            GroupBoostRegressor(huber_delta=delta, n_threads=1)
            .fit(X, mean, groups=groups)
            .predict_groups(X, groups=groups)
            - mean_group
        )[clean].mean()
        for delta in (None, 1.0)
    ]
    assert errors[1] < 0.2 * errors[0]


# Parameters and files.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_estimators": 0}, "n_estimators"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"engine": "catboost"}, "engine must be"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"gamma": -1.0}, "gamma"),
        ({"rule": "coin"}, "rule must be"),
    ],
)
def test_bad_parameters(options, message):
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match=message):
        GroupBoostClassifier(**options).fit(X, y, groups=groups)


def test_bad_regression_target():
    with pytest.raises(ValueError, match="target must be"):
        GroupBoostRegressor("median").fit(np.zeros((2, 1)), [0.0, 1.0])


def test_validation_needs_labels():
    X, y, groups = grid_data()
    with pytest.raises(ValueError, match="X_val needs y_val"):
        make().fit(X, y, groups=groups, X_val=X)
    with pytest.raises(GroupDataError, match="not among the classes"):
        make().fit(X, y, groups=groups, X_val=X, y_val=y + 1, groups_val=groups)


@both_engines
@pytest.mark.parametrize("loss", ["majority", NoisyOrLoss(), "proportions"])
def test_model_files(engine, loss, tmp_path):
    X, y, groups = grid_data()
    model = make(engine, loss).fit(X, y, groups=groups)
    expected = model.predict_groups_proba(X, groups=groups)
    model.predict(X)  # wakes the booster, which must not get into the file
    loaded = load_model(save_model(model, tmp_path / "model.skops"))
    assert np.array_equal(loaded.predict_groups_proba(X, groups=groups), expected)
    assert loaded.get_params()["loss"] == loss
    assert pickle.loads(pickle.dumps(model)).trees_.parts[0]._booster is None


def test_engine_params_reach_the_engine():
    X, y, groups = grid_data()
    model = make(engine_params={"max_depth": 1, "num_leaves": 2}).fit(X, y, groups=groups)
    trees = model.trees_.parts[0].booster.trees_to_dataframe()
    assert trees["node_depth"].max() == 2
    assert "num_class: 1" in model.trees_.parts[0].text


def test_probabilities_are_the_link_of_the_scores():
    X, y, groups = grid_data()
    model = make().fit(X, y, groups=groups)
    assert np.allclose(model.predict_proba(X)[:, 1], expit(model.decision_function(X)))
    assert get_loss("majority").proba(np.zeros(1)).tolist() == [[0.5, 0.5]]
