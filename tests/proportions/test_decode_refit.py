"""Mean-operator start, decoded labels and a classifier, in turn."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from groupwise import Groups
from groupwise.datasets.aggregates import make_aggregates
from groupwise.inputs import ShareRows
from groupwise.proportions import DecodeRefitClassifier, MeanMapClassifier
from groupwise.proportions.decode_refit import mean_map_scores


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(600, centers=3, n_features=3, cluster_std=3.0, random_state=1)
    return scale(X), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_start_is_the_mean_map(blobs, n_classes):
    X, y = blobs
    X, y = scale(X[y < n_classes]), y[y < n_classes]
    codes = np.random.default_rng(0).integers(0, 3, len(X)) + 3 * (y == 1)
    groups = Groups(codes)
    data = ShareRows(X, groups, groups.sum(np.eye(n_classes)[y]), np.arange(n_classes))
    score = mean_map_scores(X, data, 0.5)
    other = MeanMapClassifier(0.5, kernel="linear").fit(X, y, groups=codes)
    proba = np.exp(score - score.max(axis=1, keepdims=True))
    proba /= proba.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, other.predict_proba(X), atol=1e-3)


def test_known_labels_give_the_estimator_itself(blobs):
    X, y = blobs
    clf = DecodeRefitClassifier(LogisticRegression()).fit(X, y, groups=np.arange(len(X)))
    np.testing.assert_allclose(
        clf.predict_proba(X), LogisticRegression().fit(X, y).predict_proba(X)
    )
    assert clf.n_iter_ == 1


def test_few_rows_have_one_thread(blobs, counts_threads):
    """On a busy machine each of 100 trees of eleven fits waits for the second."""
    X, y = blobs
    clf = DecodeRefitClassifier(counts_threads()).fit(X, y, groups=np.arange(len(X)) // 60)
    clf.predict(X)
    assert set(counts_threads.seen) == {1}


def test_large_groups_tell_rows_apart(blobs):
    X, y = blobs
    d = make_aggregates(X, y, size=100, randomness=0.7, random_state=0)
    clf = DecodeRefitClassifier(LogisticRegression()).fit(d.X, d.y, groups=d.groups)
    known = LogisticRegression().fit(X, y).score(X, y)
    assert (clf.predict(X) == y).mean() > known - 0.05


def test_labels_that_are_fitted_have_the_counts(blobs):
    """A tree without limits repeats the labels it is given."""
    X, y = blobs
    groups = np.arange(len(X)) // 60
    clf = DecodeRefitClassifier(DecisionTreeClassifier(random_state=0), max_iter=2)
    clf.fit(X, y, groups=groups)
    known = Groups(groups).sum(np.eye(3)[y])
    np.testing.assert_array_equal(Groups(groups).sum(np.eye(3)[clf.transduction_]), known)


def test_a_class_of_one_row():
    X = np.linspace(0, 1, 40)[:, None]
    y = (X[:, 0] > 0.99).astype(int)
    clf = DecodeRefitClassifier(LogisticRegression(), max_iter=3).fit(X, y, groups=X[:, 0] > 0.5)
    assert clf.predict_transductive()[-1] == 1


def test_refusals(blobs):
    with pytest.raises(ValueError, match="LinearSVC has no predict_proba"):
        DecodeRefitClassifier(LinearSVC()).fit(*blobs)
    with pytest.raises(ValueError, match="max_iter"):
        DecodeRefitClassifier(max_iter=0).fit(*blobs)
