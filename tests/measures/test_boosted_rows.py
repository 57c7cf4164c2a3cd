"""LightGBM on rows: parameters, the order of groups, weights, category columns."""

import numpy as np
import pandas as pd
import pytest

from groupwise.datasets.users import make_users
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.measures import BoostedRowsClassifier


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": "hinge"}, "loss must be"),
        ({"n_estimators": 0}, "n_estimators must be"),
        ({"max_leaf_nodes": 1}, "max_leaf_nodes must be"),
        ({"max_features": 1.5}, "max_features must be"),
        ({"balance_groups": "yes"}, "balance_groups must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
    ],
)
def test_parameters_of_boosted_rows_are_checked(changed, message):
    with pytest.raises(ValueError, match=message):
        BoostedRowsClassifier(**changed).fit([[0.0], [1.0]], [0, 1])


def test_lambdarank_orders_groups():
    u = make_users(40, n_rows=50, positive=0.2, random_state=2)
    shuffled = np.random.default_rng(0).permutation(len(u.y))
    X, y, groups = u.X[shuffled], u.y[shuffled], u.groups[shuffled]
    clf = BoostedRowsClassifier(
        "lambdarank", measure="ndcg", n_estimators=30, n_jobs=1, balance_groups=True
    ).fit(X, y, groups=groups)
    assert clf.score(X, y, groups=groups) > 0.8
    with pytest.raises(ValueError, match="Only binary"):
        BoostedRowsClassifier("lambdarank").fit(X, np.arange(len(y)) % 3, groups=groups)


def test_balanced_groups_count_once():
    """A group a hundred times over, weighed by 1/m, counts as one that is there once."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    groups = np.repeat([0, 1], 100)
    big = np.concatenate([np.arange(100), np.tile(np.arange(100, 200), 5)])
    options = {"n_estimators": 5, "n_jobs": 1, "balance_groups": True, "min_samples_leaf": 1}
    clf = BoostedRowsClassifier(max_leaf_nodes=4, random_state=0, **options)
    one = clf.fit(X, y, groups=groups).predict_proba(X)
    many = clf.fit(X[big], y[big], groups=groups[big]).predict_proba(X)
    assert np.abs(one - many).mean() < 0.02


def test_groups_matter_to_some_losses_only():
    u = make_users(4, n_rows=30, random_state=0)
    BoostedRowsClassifier(n_estimators=2, n_jobs=1).fit(u.X, u.y)  # the same model, no warning
    for options in ({"loss": "lambdarank"}, {"balance_groups": True}):
        with pytest.warns(GroupsLostWarning):
            BoostedRowsClassifier(n_estimators=2, n_jobs=1, **options).fit(u.X, u.y)


@pytest.mark.parametrize("loss", ["logistic", "lambdarank"])
def test_trees_split_on_categories_of_a_table(loss):
    """Whether a row is positive depends on its category, in no order of the codes."""
    rng = np.random.default_rng(0)
    code = rng.integers(8, size=600)
    y = np.isin(code, [0, 3, 5, 6]).astype(int)
    table = pd.DataFrame({"noise": rng.normal(size=600), "kind": pd.Categorical(code)})
    clf = BoostedRowsClassifier(
        loss, n_estimators=3, max_leaf_nodes=2, max_features=1.0, n_jobs=1, random_state=0
    ).fit(table, y, groups=np.arange(600) // 20)
    score = clf.decision_function(table)
    assert score[y == 1].min() > score[y == 0].max()  # one split per tree suffices
    names = clf.ensemble_.booster.dump_model()["tree_info"][0]["tree_structure"]
    assert names["decision_type"] == "=="


def test_balanced_groups_of_one_size_are_those_that_are_not_balanced():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(8000, 3)), np.repeat([0, 1], 4000)
    y = (X[:, 0] + rng.normal(size=8000) > 3).astype(int)
    plain, balanced = (
        BoostedRowsClassifier(n_estimators=20, balance_groups=each, random_state=0)
        .fit(X, y, groups=groups)
        .decision_function(X)
        for each in (False, True)
    )
    np.testing.assert_allclose(balanced, plain)
    assert np.ptp(plain) > 1


def test_more_rows_than_can_be_ranked_are_refused_by_the_group_s_name():
    X, y = np.zeros((10_003, 1)), np.arange(10_003) % 2
    groups = np.where(np.arange(10_003) < 10_001, "large", "small")
    with pytest.raises(GroupDataError, match=r"up to 10,000 rows; group 'large' has 10,001"):
        BoostedRowsClassifier(loss="lambdarank").fit(X, y, groups=groups)
