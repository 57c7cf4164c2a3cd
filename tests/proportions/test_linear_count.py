"""The linear count likelihood."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

from groupwise import Groups
from groupwise.datasets.aggregates import make_aggregates
from groupwise.losses.proportions import CountLikelihoodLoss
from groupwise.proportions import LinearCountClassifier
from groupwise.proportions.count_likelihood import minimise_counts


@pytest.fixture(scope="module")
def blobs():
    X, y = make_blobs(240, centers=3, n_features=4, cluster_std=4.0, random_state=3)
    return scale(X), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_as_groups_are_logistic_regression(blobs, n_classes):
    X, y = blobs
    X, y = scale(X[y < n_classes]), y[y < n_classes]
    clf = LinearCountClassifier((2.0,)).fit(X, y, groups=np.arange(len(X)))
    other = LogisticRegression(C=0.5, tol=1e-8, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), other.predict_proba(X), atol=2e-4)


def test_the_solution_is_stationary(blobs):
    """The gradient against a numerical one at the start, and zero at the end."""
    X, y = blobs
    X, y = X[y < 2], y[y < 2]
    groups = Groups(np.arange(len(X)) // 8)
    share = groups.mean((y == 1).astype(float))
    loss = CountLikelihoodLoss().bind(np.column_stack([1 - share, share]), groups)
    weights, bias, value = minimise_counts(X, loss, 0.1 * np.ones((4, 1)), np.zeros(1), 0.7)

    def total(w):
        return loss.value(X @ w[:4] + w[4]) + 0.35 * float((w[:4] ** 2).sum())

    def gradient(w):
        row = loss.gradient(X @ w[:4] + w[4])
        return np.r_[X.T @ row + 0.7 * w[:4], row.sum()]

    assert check_grad(total, gradient, np.full(5, 0.3)) < 1e-4
    end = np.r_[weights[:, 0], bias]
    assert np.abs(gradient(end)).max() < 1e-2
    np.testing.assert_allclose(value, loss.value(X @ weights[:, 0] + bias))


def test_two_classes_and_three_of_which_one_has_no_rows_agree(blobs):
    X, y = blobs
    X, y = X[y < 2], y[y < 2]
    groups = np.arange(len(X)) // 5
    two = LinearCountClassifier((1.0,)).fit(X, y, groups=groups)
    counts = np.stack([(y == k).astype(float) for k in range(3)], axis=1)
    table = Groups(groups).spread(Groups(groups).sum(counts))
    three = LinearCountClassifier((1.0,), classes=[0, 1, 2]).fit(X, table, groups=groups)
    np.testing.assert_allclose(three.predict_proba(X)[:, :2], two.predict_proba(X))


def test_flipping_the_classes_flips_the_answer(blobs):
    X, y = blobs
    X, y = X[y < 2], y[y < 2]
    groups = np.arange(len(X)) // 6
    first, second = (
        LinearCountClassifier((0.1, 1.0, 10.0), random_state=0).fit(X, label, groups=groups)
        for label in (y, 1 - y)
    )
    assert first.alpha_ in (0.1, 1.0, 10.0) and first.held_out_loss_.shape == (3,)
    proba = second.predict_proba(X)[:, ::-1]
    np.testing.assert_allclose(first.predict_proba(X), proba, atol=5e-3)


def test_rows_are_found_from_counts(blobs):
    X, y = blobs
    d = make_aggregates(X[:120], y[:120], size=6, randomness=1.0, random_state=0)
    clf = LinearCountClassifier((1.0,)).fit(d.X, d.y, groups=d.groups)
    supervised = LogisticRegression().fit(X, y).score(X, y)
    assert (clf.predict(X) == y).mean() > supervised - 0.1


def test_sparse_rows_are_only_divided():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (120, 6)) * 3.0
    y = (X[:, 0] + rng.normal(size=120) > 1).astype(int)
    groups = np.arange(120) // 4
    dense = LinearCountClassifier((1.0,)).fit(X, y, groups=groups)
    sparse = LinearCountClassifier((1.0,)).fit(csr_array(X), y, groups=groups)
    np.testing.assert_allclose(
        sparse.predict_proba(csr_array(X)), dense.predict_proba(X), atol=5e-3
    )
    for model in (dense, sparse):  # each may be asked about the other's kind of table
        np.testing.assert_allclose(model.predict_proba(csr_array(X)), model.predict_proba(X))


def test_a_bad_penalty_is_refused(blobs):
    with pytest.raises(ValueError, match="alphas"):
        LinearCountClassifier((0.0,)).fit(*blobs)
    with pytest.raises(ValueError, match="alphas"):
        LinearCountClassifier(()).fit(*blobs)
