"""The naive approach to shares: by hand, groups of one row."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from groupwise.groups import Groups
from groupwise.proportions import NaiveSharesClassifier


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    groups = Groups(np.repeat(np.arange(20), [3, 5] * 10))
    label = rng.randint(3, size=groups.n_rows)
    return rng.normal(size=(groups.n_rows, 2)) + label[:, None], label, groups


def test_a_leaf_has_the_mean_share_of_its_rows_groups_by_hand():
    """Of two groups at 0 with shares 1/2 and 1 (one and three rows): (1/2 + 3) / 4."""
    X = [[0.0], [9.0], [0.0], [0.0], [0.0], [9.0]]
    y, groups = [0, 1, 1, 1, 1, 0], [0, 0, 1, 1, 1, 2]
    tree = DecisionTreeClassifier(max_depth=1)
    clf = NaiveSharesClassifier(tree).fit(X, y, groups=groups)
    np.testing.assert_allclose(clf.predict_proba([[0.0], [9.0]])[:, 1], [3.5 / 4, 0.5 / 2])
    found = clf.predict_groups_proba([[0.0], [9.0]], groups=[7, 7])
    np.testing.assert_allclose(found[0, 1], (3.5 / 4 + 0.25) / 2)


def test_rows_alone_are_the_classifier_on_their_labels(rows):
    X, label, _ = rows
    plain = LogisticRegression(tol=1e-10)
    clf = NaiveSharesClassifier(plain).fit(X, label, groups=np.arange(len(X)))
    expected = LogisticRegression(tol=1e-10).fit(X, label).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(X), expected, atol=1e-6)


def test_counts_of_rows_and_shares_are_one(rows):
    X, label, groups = rows
    shares = groups.mean(np.eye(3)[label])[groups.codes]
    of_labels = NaiveSharesClassifier(random_state=0).fit(X, label, groups=groups)
    of_shares = NaiveSharesClassifier(random_state=0).fit(X, shares, groups=groups)
    np.testing.assert_allclose(of_labels.predict_proba(X), of_shares.predict_proba(X))


def test_a_classifier_without_probabilities(rows):
    X, label, groups = rows
    clf = NaiveSharesClassifier(LinearSVC()).fit(X, label, groups=groups)  # by its scores
    np.testing.assert_allclose(clf.predict_proba(X).sum(axis=1), 1.0)
    with pytest.raises(ValueError, match="sample_weight"):
        NaiveSharesClassifier(KNeighborsClassifier()).fit(X, label, groups=groups)
    with pytest.raises(ValueError, match="estimator must be"):
        NaiveSharesClassifier("trees").fit(X, label, groups=groups)
