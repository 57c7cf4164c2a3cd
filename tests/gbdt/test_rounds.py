"""Rounds can be continued, watched, stopped in time and staged."""

import logging

import numpy as np
import pandas as pd
import pytest

from groupwise import Groups, HistTrees
from groupwise.gbdt import GroupBoostRegressor
from groupwise.losses import (
    MajorityLoss,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_continuation_is_one_longer_fit(engine, n_classes, make, grid_data):
    X, y, groups = grid_data(n_classes=n_classes)
    long = make(engine, n_estimators=14).fit(X, y, groups=groups)
    half = make(engine, n_estimators=6).fit(X, y, groups=groups)
    more = make(engine, n_estimators=8).fit(X, y, groups=groups, init_model=half)
    assert more.n_iter_ == 14
    assert len(list(more.staged_decision_function(X))) == 14
    atol = 1e-9 if engine == "lightgbm" else 1e-5
    assert np.allclose(more.decision_function(X), long.decision_function(X), atol=atol)
    assert np.allclose(more.feature_importances_, long.feature_importances_, atol=1e-4)
    assert half.n_iter_ == 6


def test_continuation_refuses_another_model(make, grid_data):
    X, y, groups = grid_data()
    other = make().fit(X[:, :3], y, groups=groups)
    with pytest.raises(ValueError, match="3 features"):
        make().fit(X, y, groups=groups, init_model=other)
    with pytest.raises(ValueError, match="fitted GroupBoostClassifier"):
        other = GroupBoostRegressor(trees=THIN).fit(X, y, groups=groups)
        make().fit(X, y, groups=groups, init_model=other)
    renamed = make().fit(X, np.where(y == 1, "b", "a"), groups=groups)
    with pytest.raises(ValueError, match=r"classes \['a', 'b'\]"):
        make().fit(X, y, groups=groups, init_model=renamed)


def test_early_stopping_keeps_the_best_rounds(engine, make, grid_data):
    X, y, groups = grid_data(4)
    model = make(
        engine, early_stopping=True, n_estimators=400, learning_rate=0.5, n_iter_no_change=5
    ).fit(X, y, groups=groups)
    valid = model.history_["valid"]
    assert len(valid) < 400
    assert model.n_iter_ == np.argmin(valid) + 1 == len(valid) - 5
    assert model.ensemble_.n_rounds == model.n_iter_
    assert len(model.history_["train"]) == len(valid)


def test_log_of_losses_is_the_loss_of_the_staged_scores(engine, make, grid_data):
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
        assert np.allclose(model.history_[name], expected, rtol=1e-4, atol=1e-6)
    assert model.n_iter_ == 10  # looking on is not stopping
    assert model.history_["train"] == sorted(model.history_["train"], reverse=True)


def test_early_stopping_on_given_groups_and_shares(make, grid_data):
    X, y, groups = grid_data(7)
    model = make(loss="proportions", early_stopping=True, n_estimators=200, learning_rate=0.3)
    model.fit(X[:150], y[:150], groups=groups[:150], X_val=X[150:], y_val=y[150:],
              groups_val=groups[150:])  # fmt: skip
    assert model.n_iter_ < 200
    internal = make(loss="proportions", early_stopping=True, n_estimators=5).fit(
        X, y, groups=groups
    )
    assert len(internal.history_["valid"]) <= 5


def test_callbacks_hear_and_stop(make, grid_data):
    X, y, groups = grid_data()
    heard = []

    def stop_at_four(progress):
        heard.append(progress.losses["train"])
        return progress.n_rounds == 4

    model = make().fit(X, y, groups=groups, callbacks=[stop_at_four])
    assert model.n_iter_ == 4
    assert heard == model.history_["train"]
    numpys = [lambda progress: np.int64(progress.n_rounds) == 3]  # a bool of numpy's
    assert make().fit(X, y, groups=groups, callbacks=numpys).n_iter_ == 3


def test_verbose_logs(caplog, make, grid_data):
    X, y, groups = grid_data()
    with caplog.at_level(logging.INFO, logger="groupwise.gbdt"):
        make(verbose=5).fit(X, y, groups=groups)
    assert [record.message.split(":")[0] for record in caplog.records] == ["round 5", "round 10"]


def test_nothing_to_split_on(caplog, make, grid_data):
    X, y, groups = grid_data()
    with caplog.at_level(logging.INFO, logger="groupwise.gbdt"):
        model = make().fit(np.zeros_like(X), y, groups=groups)
    assert "no split is possible" in caplog.text
    assert model.n_iter_ == 0
    assert np.allclose(model.decision_function(X), model.ensemble_.init_score)
    assert np.allclose(model.shap_values(X)[:, -1], model.ensemble_.init_score)
    assert model.feature_importances_.tolist() == [0.0] * 5
    assert list(model.staged_predict(X)) == []


def test_staged_ends_at_the_model(engine, make, grid_data):
    X, y, groups = grid_data()
    model = make(engine).fit(X, y, groups=groups)
    *_, score = model.staged_decision_function(X)
    assert np.allclose(score, model.decision_function(X), atol=1e-5)
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert list(model.staged_score(X, y, groups))[-1] == model.score(X, y, groups=groups)


def test_a_fit_that_fails_leaves_the_model_as_it_was(make, grid_data):
    X, y, groups = grid_data()
    model = make(n_estimators=3).fit(X, y, groups=groups)
    before, classes = model.predict_proba(X), model.classes_

    def stop(*_):
        raise MemoryError

    with pytest.raises(MemoryError):
        model.fit(X[:, :2], np.where(y == 1, "b", "a"), groups=groups, callbacks=[stop])
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert model.classes_ is classes


def test_trees_of_other_columns_are_not_continued(make, grid_data):
    X, y, groups = grid_data()
    table = pd.DataFrame(X, columns=[f"x{place}" for place in range(X.shape[1])])
    first = make(n_estimators=3).fit(table, y, groups=groups)
    with pytest.raises(ValueError, match="in another order"):
        make().fit(table[table.columns[::-1]], y, groups=groups, init_model=first)
    kinds = np.array(["u", "v"])[np.arange(len(table)) % 2]
    one, other = (table.assign(kind=pd.Categorical(kinds, list(c))) for c in ("uv", "vu"))
    first.fit(one, y, groups=groups)
    with pytest.raises(ValueError, match="with other categories"):
        make().fit(other, y, groups=groups, init_model=first)
