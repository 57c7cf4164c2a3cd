"""Contributions add up, to the score and to the group's answer; a good order is told from a bad."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise import (
    ConformalGroupClassifier,
    DPBoostClassifier,
    GroupBoostClassifier,
    GroupBoostRegressor,
    NaiveGroupClassifier,
    RelativeFeaturesClassifier,
    SBoostClassifier,
)
from groupwise.exceptions import GroupDataError
from groupwise.explain import (
    explain_groups,
    explain_rows,
    group_permutation_importance,
    removal_curves,
)
from groupwise.groups import Groups
from groupwise.proportions import GroupMeansClassifier, GroupMeansCoxRegressor


@pytest.fixture(scope="module")
def bags():
    """The first feature tells; a group is positive where a row's is large."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(60), rng.randint(1, 7, 60))
    X = rng.normal(size=(len(groups), 3))
    y_group = Groups(groups).max(X[:, 0]) > 1
    return X, y_group[groups].astype(int), groups


def fitted(model, bags):
    X, y, groups = bags
    return model.fit(X, y, groups=groups)


TREES = [
    GroupBoostClassifier("presence", n_estimators=10),
    GroupBoostClassifier("majority", n_estimators=10, engine="xgboost"),
    SBoostClassifier(n_estimators=10),
]


@pytest.mark.parametrize("model", TREES, ids=["lightgbm", "xgboost", "sboost"])
def test_contributions_of_trees_add_up_to_the_score(model, bags):
    if getattr(model, "engine", "") == "xgboost":
        pytest.importorskip("xgboost")
    X, _, _ = bags
    model = fitted(model, bags)
    found = explain_rows(model, X)
    assert found.method == "trees" and found.values.shape == X.shape
    assert np.abs(found.score_row - model.decision_function(X)).max() < 1e-6
    assert np.abs(found.values).mean(axis=0).argmax() == 0
    assert found.names[0] == "feature 0"


def test_contributions_of_three_classes_add_up(bags):
    X, _, groups = bags
    model = GroupBoostClassifier("majority_softmax", n_estimators=5)
    model.fit(X, groups % 3, groups=groups)
    found = explain_rows(model, X)
    assert found.values.shape == (*X.shape, 3)
    assert np.abs(found.score_row - model.decision_function(X)).max() < 1e-6
    told = found.top(1, code=np.zeros(len(X), int))
    assert told[0][0][0].startswith("feature") or told[0] == []
    with pytest.raises(ValueError, match="three or more classes"):
        found.top()


def test_contributions_of_a_linear_model_by_hand(bags):
    X, _, _ = bags
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fitted(NaiveGroupClassifier(LogisticRegression()), (table, *bags[1:]))
    found = explain_rows(model, table)
    assert found.method == "linear" and found.names == ["a", "b", "c"]
    by_hand = (X - X.mean(axis=0)) * model.estimator_.coef_[0]
    assert np.allclose(found.values, by_hand)
    assert np.allclose(found.score_row, model.decision_function(table))


def test_contributions_by_permutation_add_up_and_find_the_terms_of_a_sum(bags):
    X, _, _ = bags
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    model = fitted(NaiveGroupClassifier(linear), bags)
    found = explain_rows(model, X[:20], background=X, n_permutations=3, random_state=0)
    assert found.method == "permutation"
    assert np.abs(found.score_row - model.decision_function(X[:20])).max() < 1e-6
    # a sum over features: against one row every order has the same steps
    one, more = (
        explain_rows(model, X[:20], background=X[20:21], n_permutations=n, random_state=n)
        for n in (1, 3)
    )
    assert np.allclose(one.values, more.values)
    changed = np.tile(X[20], (20, 1))
    changed[:, 1] = X[:20, 1]
    step = model.decision_function(changed) - model.decision_function(X[20:21])
    assert np.allclose(one.values[:, 1], step)


def test_a_model_that_is_given_more_features_is_explained_by_those_it_was_fitted_to(bags):
    """In view of their group, as the model sees them."""
    X, _, groups = bags
    model = fitted(RelativeFeaturesClassifier(NaiveGroupClassifier(LogisticRegression())), bags)
    found = explain_rows(model, X, groups=groups, n_permutations=2, random_state=0)
    assert found.method == "permutation" and found.values.shape == X.shape
    score = model.decision_function(X, groups=groups)
    assert np.abs(found.score_row - score).max() < 1e-6
    alone = model.decision_function(X, groups=np.arange(len(X)))
    assert np.abs(score - alone).max() > 0.1
    with pytest.raises(GroupDataError, match="sees a row in view of its group: pass groups"):
        explain_rows(model, X)


def test_category_columns_are_explained_too(bags):
    X, y, groups = bags
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["kind"] = pd.Categorical(np.array(["x", "y"])[np.arange(len(X)) % 2])
    model = NaiveGroupClassifier(GaussianNB()).fit(table, y, groups=groups)
    found = explain_rows(model, table[:10], background=table, n_permutations=2, random_state=0)
    assert found.values.shape == (10, 4) and found.names[-1] == "kind"
    assert np.abs(found.score_row - model.decision_function(table[:10])).max() < 1e-6
    linear = NaiveGroupClassifier(LogisticRegression()).fit(table, y, groups=groups)
    assert explain_rows(linear, table).names == ["a", "b", "c", "kind=x", "kind=y"]
    trees = GroupBoostClassifier(n_estimators=3).fit(table, y, groups=groups)
    wrapped = ConformalGroupClassifier(trees, cv=2, random_state=0).fit(table, y, groups=groups)
    found = explain_rows(wrapped, table)
    assert (found.method, found.names) == ("trees", ["a", "b", "c", "kind"])


FORMS = [
    (GroupBoostClassifier("presence", n_estimators=10), "noisy-or", "probability"),
    (GroupBoostClassifier(n_estimators=10), "score", "log-odds"),
    (GroupBoostClassifier(n_estimators=10, rule="mean"), "mean", "probability"),
    (GroupBoostClassifier(n_estimators=10, rule="any"), "maximum", "probability"),
    (NaiveGroupClassifier(GaussianNB()), "vote", "probability"),
    (DPBoostClassifier(), "maximum", "probability"),
    (GroupMeansClassifier(), "mean", "probability"),
]


@pytest.mark.parametrize(("model", "method", "scale"), FORMS, ids=lambda v: str(v)[:24])
def test_shares_of_rows_add_up_to_the_groups_answer(model, method, scale, bags):
    X, _, groups = bags
    model = fitted(model, bags)
    proba = model.predict_groups_proba(X, groups)
    for label in (0, 1):
        found = explain_groups(model, X, groups, label=label)
        assert (found.method, found.scale, found.adds_up) == (method, scale, True)
        answer = proba[:, label]
        if scale == "log-odds":
            answer = np.log(answer / (1 - answer))
        assert np.allclose(found.value_group, answer, atol=1e-6)
        assert np.abs(found.base + found.groups.sum(found.share_row) - answer).max() < 1e-6


def test_what_has_no_closed_form_is_asked_row_by_row(bags):
    X, _, groups = bags
    model = fitted(GroupBoostClassifier("presence_lse", n_estimators=10), bags)
    found = explain_groups(model, X, groups)
    assert found.method == "first-and-last" and not found.adds_up
    answer = model.predict_groups_proba(X, groups)[:, 1]
    alone = model.predict_groups_proba(X, np.arange(len(X)))[:, 1]
    for row in (0, 7, 30):
        rest = (groups == groups[row]) & (np.arange(len(X)) != row)
        without = 0.5
        if rest.any():
            without = model.predict_groups_proba(X[rest], groups[rest])[0, 1]
        steps = alone[row] - 0.5, answer[groups[row]] - without
        assert np.isclose(found.share_row[row], np.mean(steps))
    # of one or two rows these are Shapley's values, which add up
    small = found.groups.sizes <= 2
    assert small.any() and not small.all()
    assert np.allclose((0.5 + found.groups.sum(found.share_row))[small], answer[small])
    order = np.random.RandomState(0).permutation(len(X))
    moved = explain_groups(model, X[order], groups[order])
    assert np.allclose(moved.share_row, found.share_row[order])


@pytest.mark.parametrize("target", ["mean", "total"])
def test_shares_of_a_number(target, bags):
    X, _, groups = bags
    y = Groups(groups).spread(Groups(groups).sum(X[:, 0]))
    model = GroupBoostRegressor(target, n_estimators=5).fit(X, y, groups=groups)
    found = explain_groups(model, X, groups)
    assert found.scale == "number"
    assert np.allclose(found.groups.sum(found.share_row), model.predict_groups(X, groups))
    assert explain_rows(model, X).method == "trees"


def test_deleting_the_rows_that_matter_lowers_the_probability(bags):
    X, y, groups = bags
    model = fitted(GroupBoostClassifier("presence", n_estimators=20), bags)
    kept = np.isin(groups, np.unique(groups[y == 1])) & (Groups(groups).sizes[groups] > 3)
    X, groups = X[kept], groups[kept]
    shares = explain_groups(model, X, groups).share_row
    good = removal_curves(model, X, groups, share_row=shares, n_steps=5)
    bad = removal_curves(model, X, groups, share_row=-shares, n_steps=5)
    n_groups = len(np.unique(groups))
    assert good.deletion.shape == good.insertion.shape == (n_groups, 5)
    assert np.allclose(good.deletion[:, 0], model.predict_groups_proba(X, groups)[:, 1])
    assert np.allclose(good.insertion[:, -1], good.deletion[:, 0])
    assert good.deletion_area < bad.deletion_area
    assert good.insertion_area > bad.insertion_area
    with pytest.raises(ValueError, match="one number per row"):
        removal_curves(model, X, groups, share_row=shares[:-1])


def test_importance_of_features_for_held_out_groups(bags):
    X, y, groups = bags
    table = pd.DataFrame(X, columns=["tells", "noise", "more noise"])
    model = GroupBoostClassifier("presence", n_estimators=10)
    found = group_permutation_importance(
        model, table, y, groups=groups, cv=3, n_repeats=2, random_state=0
    ).table
    assert found["feature"][0] == "tells"
    assert found["low"][0] > 0.0
    assert (found["low"] <= found["importance"]).all()
    assert (found["high"] >= found["importance"]).all()
    ready = fitted(model, bags)
    again = group_permutation_importance(ready, X, y, groups=groups, cv=None, n_repeats=1)
    assert again.loss_group.shape == (60, 3)


def test_bad_questions_are_refused(bags):
    X, _, groups = bags
    model = fitted(NaiveGroupClassifier(GaussianNB()), bags)
    with pytest.raises(ValueError, match="label must be one of"):
        explain_groups(model, X, groups, label="maybe")
    with pytest.raises(ValueError, match="n_permutations"):
        explain_rows(model, X, n_permutations=0)
    with pytest.raises(ValueError, match="NaN"):
        explain_rows(model, np.where(X > 1, np.nan, X))


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_shap_takes_the_booster(bags, engine, n_classes):
    shap = pytest.importorskip("shap", reason="shap is not installed: its explainers are not asked")
    X, y, groups = bags
    if n_classes == 3:
        y = np.arange(60)[groups] % 3
    loss = "presence" if n_classes == 2 else "majority"
    model = GroupBoostClassifier(loss, engine=engine, n_estimators=5).fit(X, y, groups=groups)
    found = shap.TreeExplainer(model.booster_)
    ours = explain_rows(model, X)
    assert np.allclose(found.shap_values(X), ours.values, atol=1e-5)
    base = np.asarray(found.expected_value) + model.ensemble_.init_score
    assert np.allclose(base, ours.base[0], atol=1e-5)


def test_a_continued_model_has_several_boosters(bags):
    X, y, groups = bags
    model = GroupBoostClassifier("presence", n_estimators=2).fit(X, y, groups=groups)
    assert model.booster_ is model.ensemble_.parts[0].booster
    longer = GroupBoostClassifier("presence", n_estimators=2)
    longer.fit(X, y, groups=groups, init_model=model)
    with pytest.raises(AttributeError, match="2 boosters"):
        longer.booster_  # noqa: B018
    assert explain_rows(longer, X).method == "trees"


def test_many_rows_are_all_explained(bags):
    X, y, groups = bags
    model = GroupBoostClassifier("presence", n_estimators=3).fit(X, y, groups=groups)
    many = np.tile(X, (25, 1))  # more than are looked at to find out what computes the score
    found = explain_rows(model, many)
    assert found.method == "trees"
    assert np.abs(found.score_row - model.decision_function(many)).max() < 1e-6
    assert np.array_equal(found.values, np.tile(explain_rows(model, X).values, (25, 1)))


def test_importance_knows_the_classes_of_a_table_by_their_names(bags):
    X, _, groups = bags
    encoded = Groups(groups)
    share = encoded.spread(1 / (1 + np.exp(-3 * encoded.mean(X[:, 0]))))
    table = pd.DataFrame({"a": 1 - share, "b": share})
    model = GroupMeansClassifier().fit(X, table, groups=groups)
    one, other = (
        group_permutation_importance(model, X, each, groups=groups, random_state=0).table
        for each in (table, table[["b", "a"]])
    )
    pd.testing.assert_frame_equal(one, other)
    assert one["importance"].iloc[0] > 0.05


def test_importance_for_survival_times_is_of_their_order(bags):
    X, _, groups = bags
    encoded = Groups(groups)
    time = np.random.RandomState(0).exponential(np.exp(-3 * encoded.mean(X[:, 0])))
    model = GroupMeansCoxRegressor().fit(X, encoded.spread(time), groups=groups)
    found = [
        group_permutation_importance(
            model, X, encoded.spread(unit * time), groups=groups, random_state=0
        ).table
        for unit in (1.0, 100.0)
    ]
    assert found[0]["feature"].iloc[0] == "feature 0" and found[0]["importance"].iloc[0] > 0.05
    pd.testing.assert_frame_equal(found[0], found[1])
