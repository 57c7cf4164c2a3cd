"""What y says of a group: labels, presence, shares."""

import numpy as np
import pandas as pd
import pytest

from groupwise import Groups, HistTrees
from groupwise.datasets import make_triangle_sessions
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.losses import (
    NoisyOrLoss,
    SessionSoftmaxLoss,
)

ENGINES = ["lightgbm", "xgboost"]
THIN = HistTrees(n_jobs=1)


@pytest.mark.parametrize("loss", ["proportions", "proportions_squared"])
def test_labels_shares_and_counts_say_the_same(loss, make, grid_data):
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
    assert np.allclose(held.history_["train"], held.history_["valid"], rtol=1e-5)


def test_proportions_find_the_rows_labels(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    y_row = np.digitize(X[:, 0], [-0.5, 0.5])
    groups = np.repeat(np.arange(500), 6)
    for n_classes in (2, 3):
        labels = np.minimum(y_row, n_classes - 1)
        model = make(loss="proportions", n_estimators=60).fit(X, labels, groups=groups)
        assert np.mean(model.predict(X) == labels) > 0.95


def test_bad_tables_of_shares(make, grid_data):
    X, groups = np.zeros((3, 1)), ["a", "a", "b"]
    with pytest.raises(GroupDataError, match="group 'b' has 1 rows"):
        make(loss="proportions").fit(X, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.1]], groups=groups)
    with pytest.raises(GroupDataError, match="same on every row of a group; group 'a'"):
        make(loss="proportions").fit(X, [[0.5, 0.5], [0.0, 1.0], [0.5, 0.5]], groups=groups)
    X, y, groups = grid_data()
    model = make(loss="proportions").fit(X, y, groups=groups)
    with pytest.raises(GroupDataError, match="each of 2 classes"):
        model.score(X[:1], [[0.5, 0.5, 0.0]], groups=groups[:1])


def test_presence_predicts_by_its_own_probability(make):
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
        make(loss="presence", rule="any", n_estimators=60)
        .fit(X, y, groups=groups)
        .predict_groups_proba(X, groups=groups)[:, 1],
        encoded.max(model.predict_proba(X)[:, 1]),
    )


def test_presence_is_binary(make, grid_data):
    X, y, groups = grid_data(n_classes=3)
    with pytest.raises(ValueError, match="Only binary"):
        make(loss=NoisyOrLoss()).fit(X, y, groups=groups)
    assert not make(loss=NoisyOrLoss()).__sklearn_tags__().classifier_tags.multi_class


def test_majority_labels_agree_inside_groups(make, grid_data):
    X, y, groups = grid_data()
    y = y.copy()
    y[0] = 1 - y[0]
    with pytest.raises(GroupDataError, match="same on every row"):
        make().fit(X, y, groups=groups)


def test_triangle_needs_the_groups(make):
    """Figure 1's toy: the naive labels mislead, the group loss is not misled."""
    train = make_triangle_sessions(300, random_state=1)
    test = make_triangle_sessions(200, random_state=2)
    options = {
        "n_estimators": 80,
        "learning_rate": 1.0,
        "rule": "majority",
    }
    group, naive = (
        make(loss=SessionSoftmaxLoss(gamma), **options)
        .fit(train.X, train.y, groups=train.groups)
        .score(test.X, test.y, groups=test.groups)
        for gamma in (np.inf, 0.0)
    )
    assert group > 0.94
    assert naive < 0.7


def test_lost_groups_are_noticed(make, grid_data):
    X, y, groups = grid_data()
    with pytest.warns(GroupsLostWarning, match="got no groups"):
        make().fit(X, y)
    model = make().fit(X, y, groups=groups)
    with pytest.warns(GroupsLostWarning, match="asked without"):
        model.score(X, y)


def test_category_columns_are_split_on(make, engine):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 3)
    y = rng.integers(0, 2, 80)[groups]
    code = np.where(y, rng.choice([1, 3, 5], 240), rng.choice([0, 2, 4], 240))
    noise = rng.normal(size=240)
    table = pd.DataFrame({"a": noise, "kind": pd.Categorical(np.array(list("uvwxyz"))[code])})
    options = {"n_estimators": 1, "learning_rate": 1.0}
    if engine == "lightgbm":
        options["engine_params"] = {"min_data_per_group": 1, "cat_smooth": 0.0, "cat_l2": 0.0}
    named = make(engine, trees={"max_depth": 1}, **options).fit(table, y, groups=groups)
    coded = make(engine, trees={"max_depth": 1, "categorical_features": [1]}, **options)
    coded.fit(np.column_stack([noise, code]), y, groups=groups)
    assert named.score(table, y, groups=groups) == 1.0  # one split on odd against even
    assert np.array_equal(
        named.predict_proba(table), coded.predict_proba(np.column_stack([noise, code]))
    )
