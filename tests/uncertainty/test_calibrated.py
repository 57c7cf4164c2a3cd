"""Probabilities of groups before and after, and labels that are probably wrong."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit

from groupwise import CalibratedGroupClassifier, GroupBoostClassifier, NaiveGroupClassifier
from groupwise.exceptions import GroupDataError
from groupwise.model_selection import WholeGroupKFold, WholeGroupShuffleSplit
from groupwise.uncertainty import find_label_issues, rank_label_issues
from groupwise.uncertainty.calibrated import IsotonicScaling
from tests.uncertainty.conftest import make_groups


def log_loss(proba, y):
    return -np.mean(np.log(np.maximum(proba[np.arange(len(y)), y], 1e-9)))


def calibration_error(proba, y, n_bins=10):
    top, right = proba.max(axis=1), proba.argmax(axis=1) == y
    place = np.minimum((top * n_bins).astype(int), n_bins - 1)
    gaps = [abs((top - right)[place == b].sum()) for b in range(n_bins)]
    return sum(gaps) / len(y)


@pytest.mark.parametrize("n_groups", [80, 400])
def test_overconfident_groups_are_put_right(n_groups):
    X, y, groups = make_groups(n_groups, seed=0)
    inner = GroupBoostClassifier("presence", n_estimators=30)  # noisy-or of a wrong model
    clf = CalibratedGroupClassifier(inner, cv=3, random_state=0).fit(X, y, groups=groups)
    assert isinstance(clf.scaling_, IsotonicScaling) == (n_groups >= 200)
    X_new, y_new, g_new = make_groups(500, seed=1)
    truth = y_new[np.unique(g_new, return_index=True)[1]]
    before = inner.fit(X, y, groups=groups).predict_groups_proba(X_new, g_new)
    after = clf.predict_groups_proba(X_new, g_new)
    assert log_loss(after, truth) < log_loss(before, truth)
    assert calibration_error(after, truth) < calibration_error(before, truth)
    assert clf.held_out_proba_.shape == (n_groups, 2)


def test_isotonic_curves_by_hand():
    proba = np.column_stack([1 - np.array([0.1, 0.2, 0.8, 0.9]), [0.1, 0.2, 0.8, 0.9]])
    scaling = IsotonicScaling.fit(proba, np.eye(2)[[0, 1, 0, 1]])
    found = scaling.apply(proba)[:, 1]
    assert np.allclose(found, [0.1, 0.5, 0.5, 0.9])  # pooled in the middle, half a group from 0
    three = np.full((6, 3), 1 / 3)
    even = IsotonicScaling.fit(three, np.eye(3)[[0, 0, 0, 1, 1, 2]]).apply(three)
    assert np.allclose(even, [1 / 2, 1 / 3, 1 / 6])


def test_confident_learning_by_hand():
    proba = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.1, 0.9], [0.3, 0.7]])
    # means: class 0 over the first three 0.6, class 1 over the last two 0.8
    found = rank_label_issues(
        proba, np.array([0, 0, 0, 1, 1]), np.array(["a", "b"]), np.arange(5), np.ones(5, int)
    )
    first = found.table.iloc[0]
    assert (first["group"], first["given"], first["suggested"]) == (2, "a", "b")
    belief = found.table.set_index("group")["belief"]
    assert belief.index.tolist() == [2, 4, 3, 1, 0]
    assert np.allclose(belief, [0.2 / 0.6, 0.7 / 0.8, 0.9 / 0.8, 0.7 / 0.6, 0.9 / 0.6])
    assert found.table.set_index("group")["issue"].to_dict() == {
        0: False, 1: False, 2: True, 3: False, 4: False,
    }  # fmt: skip
    assert found.n_issues == 1
    expected = pd.DataFrame([[2, 1], [0, 1]], index=["a", "b"], columns=["a", "b"])
    assert np.array_equal(found.counts, expected)  # the last group is sure of neither


def test_an_issue_is_what_is_confident_not_what_is_likeliest():
    proba = np.array([[0.8, 0.1, 0.1], [0.9, 0.1, 0.0], [0.4, 0.35, 0.25], [0.5, 0.2, 0.3]])
    # means 0.85, 0.35 and 0.3: of the last group no class is sure but its own
    found = rank_label_issues(
        proba, np.array([0, 0, 1, 2]), np.arange(3), np.arange(4), np.ones(4, int)
    )
    by_group = found.table.set_index("group")
    assert not by_group["issue"].any()
    assert by_group.loc[[0, 2, 3], "suggested"].tolist() == [1, 0, 0]


def test_rare_labels_at_random_are_found_in_the_best_order():
    rng = np.random.RandomState(0)
    true = rng.choice(3, 4000, p=[0.7, 0.2, 0.1])
    seen = np.eye(3)[true] * 2 + rng.normal(size=(4000, 3))
    proba = np.exp(2 * seen) * [0.7, 0.2, 0.1]
    proba /= proba.sum(axis=1, keepdims=True)
    flipped = rng.uniform(size=4000) < 0.1
    given = np.where(flipped, (true + rng.randint(1, 3, 4000)) % 3, true)
    found = rank_label_issues(proba, given, np.arange(3), np.arange(4000), np.ones(4000, int))
    n = int(flipped.sum())
    best = flipped[np.argsort(proba[np.arange(4000), given])[:n]].mean()
    # the odds of an error fall in the exact probability of the label; no list is much better
    assert flipped[found.table["group"].head(n)].mean() > best - 0.02


def test_flipped_labels_come_first(plain):
    cv = WholeGroupKFold(3, n_repeats=2, random_state=0)
    found = []
    for seed in (5, 6, 7, 8):
        X, y, groups = make_groups(200, seed=seed, effect=0.3)
        flipped = np.random.RandomState(0).permutation(200)[:20]
        wrong = np.where(np.isin(groups, flipped), 1 - y, y)
        drawn = find_label_issues(plain, X, wrong, groups=groups, random_state=0).table
        steady = find_label_issues(plain, X, wrong, groups=groups, cv=cv).table
        lists = (drawn["group"].head(20), steady["group"].head(20), drawn["group"][drawn["issue"]])
        found.append([np.isin(one, flipped).mean() for one in lists])
    drawn, steady, suspected = np.mean(found, axis=0)
    assert drawn > 0.65 and steady > 0.65  # chance: 0.1
    assert suspected > 0.4
    with pytest.raises(ValueError, match="must test every group"):
        find_label_issues(plain, X, wrong, groups=groups, cv=WholeGroupShuffleSplit(1))
    coarse = find_label_issues(plain, X, wrong, groups=groups, keep_whole=groups // 2, cv=3)
    assert len(coarse.table) == 200


def test_labels_nobody_can_vouch_for(plain):
    X, _, groups = make_groups(10, seed=0)
    with pytest.raises(GroupDataError, match="one class only"):
        find_label_issues(plain, X, np.zeros(len(X)), groups=groups)
    with pytest.raises(GroupDataError, match="no other group"):
        find_label_issues(plain, X, (groups == 3).astype(int), groups=groups)


def test_equal_probabilities_doubt_no_label():
    half, told = np.full((10, 2), 0.5), (np.arange(10), np.ones(10, int))
    y, classes = np.repeat([0, 1], 5), np.array(["a", "b"])
    for proba in (half, np.tile([0.7, 0.3], (10, 1))):
        one = rank_label_issues(proba, y, classes, *told)
        other = rank_label_issues(proba[:, ::-1], 1 - y, classes[::-1], *told)
        assert one.n_issues == other.n_issues
    assert rank_label_issues(half, y, classes, *told).n_issues == 0


def test_a_splitter_of_places_keeps_users_whole():
    """The rows are asked about in an order of their own; the folds are those of the caller."""
    rng = np.random.RandomState(0)
    user = rng.permutation(np.repeat(np.arange(20), 6))
    groups = np.arange(120)
    y = rng.randint(2, size=20)[user]  # of the user, and nothing else tells it
    X = np.column_stack([user == number for number in range(20)]).astype(float)
    model = CalibratedGroupClassifier(
        NaiveGroupClassifier(LogisticRegression(C=100.0)), cv=PredefinedSplit(user % 5)
    ).fit(X, y, groups=groups, keep_whole=user)
    said = model.held_out_proba_[np.arange(120), y]
    assert said.mean() < 0.6  # what is known of other users says nothing of one
