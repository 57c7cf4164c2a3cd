"""Features seen from inside the group, and classifiers that are given them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from groupwise import (
    NaiveGroupClassifier,
    RelativeFeaturesClassifier,
)
from groupwise.datasets.users import make_users
from groupwise.exceptions import GroupDataError, GroupsLostWarning
from groupwise.io import load_model, save_model
from groupwise.measures import BoostedRowsClassifier, ExpectedMeasureClassifier
from groupwise.relative import add_relative_features

TREES = BoostedRowsClassifier(n_estimators=10, n_jobs=1, random_state=3)
NAIVE = NaiveGroupClassifier(LogisticRegression(), rule="mean")
USERS = make_users(30, n_rows=20, random_state=0)
NEW = make_users(12, n_rows=20, random_state=1)


def test_standard_scores():
    X = np.array([[1.0, 5.0], [3.0, 5.0], [7.0, 2.0]], np.float32)
    both = add_relative_features(X, ["a", "a", "b"])
    assert both.dtype == np.float32
    np.testing.assert_allclose(both[:, 2:], [[-1, 0], [1, 0], [0, 0]])
    assert (add_relative_features(X, None)[:, 2:] == 0).all()
    shifted = add_relative_features(X + np.array([[10.0], [10.0], [0.0]]), ["a", "a", "b"])
    np.testing.assert_allclose(shifted[:, 2:], both[:, 2:], atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 12345.678])
def test_a_constant_of_many_rows_has_no_score_in_any_order(value):
    """The sum of a hundred thousand is off by more than one rounding."""
    X = np.full((200_000, 1), value)
    for ids in (np.arange(200_000) % 2, np.arange(200_000) // 100_000):
        found = add_relative_features(X, ids, ("score", "difference"))
        np.testing.assert_array_equal(found[:, 1:], 0.0)


def test_what_little_differs_beside_a_large_mean_is_seen():
    steps = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = add_relative_features(1e9 + 1e-4 * steps, np.zeros(4, int), ("score", "difference"))
    np.testing.assert_allclose(found[:, 2:], 1e-4 * (steps - 1.5), rtol=5e-3)
    np.testing.assert_allclose(found[:, 1:2], (steps - 1.5) / np.sqrt(1.25), rtol=5e-3)


def test_scores_do_not_depend_on_the_unit():
    X = np.array([[1.0], [3.0], [np.nan], [2.0]])
    expected = np.sqrt(1.5) * np.array([[-1.0], [1.0], [np.nan], [0.0]])
    for unit in (1e-170, 1.0, 1e49):
        found = add_relative_features(X * unit, np.zeros(4, int))
        np.testing.assert_allclose(found[:, 1:], expected, rtol=1e-14)


def test_differences_and_means_in_the_order_asked_for():
    X = np.array([[1.0], [3.0], [8.0]])
    both = add_relative_features(X, ["a", "a", "b"], ("mean", "difference"))
    np.testing.assert_array_equal(both, [[1.0, 2.0, -1.0], [3.0, 2.0, 1.0], [8.0, 8.0, 0.0]])


def test_missing_values_count_for_nothing_and_stay_missing():
    X = np.array([[1.0, np.nan], [3.0, np.nan], [np.nan, np.nan], [4.0, 1.0]])
    groups = ["a", "a", "a", "b"]
    got = add_relative_features(X, groups, ("score", "difference", "mean"))[:, 2:]
    known = [[-1.0, -1.0, 2.0], [1.0, 1.0, 2.0], [np.nan, np.nan, 2.0], [0.0, 0.0, 4.0]]
    np.testing.assert_array_equal(got[:, ::2], known)
    assert np.isnan(got[:3, 1::2]).all()
    np.testing.assert_array_equal(got[3, 1::2], [0.0, 0.0, 1.0])


def test_a_constant_group_differs_from_nothing_whatever_its_size():
    """The mean of three times 0.1 is not 0.1 in floating point."""
    for value in (0.1, 1e9 + 0.1, 1e-20, 1e40):
        X = np.full((3, 1), value)
        assert (add_relative_features(X, ["a"] * 3, ("score", "difference"))[:, 1:] == 0).all()


def test_a_groups_shift_is_nothing_to_differences():
    X, groups = np.random.RandomState(0).normal(size=(20, 3)), np.arange(20) % 4
    shift = np.random.RandomState(1).normal(scale=50.0, size=(4, 3))[groups]
    usual = add_relative_features(X, groups, ("difference",))[:, 3:]
    shifted = add_relative_features(X + shift, groups, ("difference",))[:, 3:]
    np.testing.assert_allclose(shifted, usual, atol=1e-12)


def test_scores_have_no_unit():
    X = np.random.RandomState(0).normal(size=(20, 3))
    groups = np.arange(20) % 4
    usual = add_relative_features(X, groups)[:, 3:]
    for unit in (1e-30, 1e30):
        np.testing.assert_allclose(add_relative_features(unit * X, groups)[:, 3:], usual)


def test_what_cannot_be_meant_is_refused():
    for relative in ("score", (), ("rank",)):
        with pytest.raises(ValueError, match="relative must be some of"):
            add_relative_features([[1.0]], ["a"], relative)
    with pytest.raises(ValueError, match=r"X .*holds 1e\+200"):
        add_relative_features([[1e200]], ["a"])


@pytest.mark.parametrize("relative", [("difference",), ("score", "mean")])
def test_it_is_its_estimator_on_relative_features(relative, sessions):
    told = {"groups": sessions.groups}
    X = add_relative_features(sessions.X, sessions.groups, relative)
    clf = RelativeFeaturesClassifier(NAIVE, relative=relative).fit(sessions.X, sessions.y, **told)
    by_hand = NAIVE.fit(X, sessions.y, **told)
    for question in ("predict", "predict_proba", "decision_function", "predict_groups"):
        np.testing.assert_array_equal(
            getattr(clf, question)(sessions.X, **told), getattr(by_hand, question)(X, **told)
        )
    np.testing.assert_array_equal(
        clf.predict_groups_proba(sessions.X, **told), by_hand.predict_groups_proba(X, **told)
    )
    assert clf.score(sessions.X, sessions.y, **told) == by_hand.score(X, sessions.y, **told)


def test_rows_alone_are_those_of_the_estimator():
    alone = np.arange(len(USERS.y))
    clf = RelativeFeaturesClassifier(TREES).fit(USERS.X, USERS.y, groups=alone)
    assert clf.relative_ == ()
    np.testing.assert_array_equal(
        clf.predict_proba(NEW.X, groups=NEW.groups),
        TREES.fit(USERS.X, USERS.y).predict_proba(NEW.X),
    )
    with pytest.warns(GroupsLostWarning):
        clf.fit(USERS.X, USERS.y)


def test_a_score_is_that_of_the_estimator_inside():
    """The mean F1 of users, not the share of groups whose class is right."""
    clf = RelativeFeaturesClassifier(TREES).fit(USERS.X, USERS.y, groups=USERS.groups)
    both = add_relative_features(NEW.X, NEW.groups, ("difference",))
    assert clf.score(NEW.X, NEW.y, NEW.groups) == clf.estimator_.score(both, NEW.y, NEW.groups)


def test_it_serves_inside_others():
    inner = RelativeFeaturesClassifier(TREES)
    clf = ExpectedMeasureClassifier(inner, strength=np.inf, random_state=0)
    clf.fit(USERS.X, USERS.y, groups=USERS.groups)
    assert clf.estimator_.relative_ == ("difference",)
    assert clf.score(NEW.X, NEW.y, groups=NEW.groups) > 0.0


def test_groups_are_asked_for_and_matter():
    clf = RelativeFeaturesClassifier(TREES).fit(USERS.X, USERS.y, groups=USERS.groups)
    with pytest.raises(GroupDataError, match="pass groups"):
        clf.predict(NEW.X)
    alone = clf.predict_proba(NEW.X, groups=np.arange(len(NEW.y)))
    assert (clf.predict_proba(NEW.X, groups=NEW.groups) != alone).any()


def test_missing_values_sparse_rows_and_categories():
    told = {"groups": USERS.groups}
    holed = np.where(np.random.RandomState(0).rand(*USERS.X.shape) < 0.2, np.nan, USERS.X)
    clf = RelativeFeaturesClassifier(TREES).fit(holed, USERS.y, **told)
    assert np.isfinite(clf.predict_proba(NEW.X, groups=NEW.groups)).all()
    with pytest.raises(ValueError, match="NaN"):
        RelativeFeaturesClassifier(NAIVE).fit(holed, USERS.y, **told)
    few = np.where(USERS.X > 1.0, USERS.X, 0.0)
    said = [clf.fit(X, USERS.y, **told).predict_proba(X, **told) for X in (few, csr_matrix(few))]
    np.testing.assert_array_equal(*said)
    table = pd.DataFrame(USERS.X, columns=[f"x{k}" for k in range(USERS.X.shape[1])])
    table["where"] = pd.Categorical(np.where(USERS.X[:, 0] > 0, "north", "south"))
    clf.fit(table, USERS.y, **told)
    assert clf.estimator_.n_features_in_ == 2 * (USERS.X.shape[1] + 2)
    assert len(clf.predict(table, **told)) == len(table)


def test_a_model_file(tmp_path):
    clf = RelativeFeaturesClassifier(TREES).fit(USERS.X, USERS.y, groups=USERS.groups)
    save_model(clf, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    np.testing.assert_array_equal(
        again.predict_proba(NEW.X, groups=NEW.groups), clf.predict_proba(NEW.X, groups=NEW.groups)
    )


def test_a_classifier_that_knows_no_groups_is_refused():
    with pytest.raises(TypeError, match="fits groups, got LogisticRegression"):
        RelativeFeaturesClassifier(LogisticRegression()).fit(USERS.X, USERS.y)


def test_what_is_no_relative_feature_is_refused():
    with pytest.raises(ValueError, match="relative must be some of"):
        RelativeFeaturesClassifier(TREES, relative=("rank",)).fit(USERS.X, USERS.y)
