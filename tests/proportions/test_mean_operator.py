"""Logistic regression from a mean operator, and the three ways to estimate one."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from groupwise.kernels import LandmarkFeatures
from groupwise.proportions import (
    AlternatingMeanMapClassifier,
    EasyLLPClassifier,
    LaplacianMeanMapClassifier,
    MeanMapClassifier,
    MLPAOCClassifier,
    SVMAOCClassifier,
    mean_operator,
)
from groupwise.proportions.mean_operator import fit_logistic


@pytest.mark.parametrize(
    "model",
    [
        MeanMapClassifier,
        EasyLLPClassifier,
        LaplacianMeanMapClassifier,
        AlternatingMeanMapClassifier,
    ],
)
def test_mean_operators_of_groups_of_one_are_logistic_regression(model, iris):
    options = {"graph_weight": 1e-7} if model is LaplacianMeanMapClassifier else {}
    ours = model(C=0.5, **options).fit(iris.X, iris.y_row, groups=np.arange(150))
    phi = LandmarkFeatures.fit(ours.function_.kernel, iris.X).transform(iris.X)
    theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(phi, iris.y_row)
    np.testing.assert_allclose(ours.predict_proba(iris.X), theirs.predict_proba(phi), atol=2e-4)


def test_logistic_gradient_is_the_derivative():
    """At the optimum all derivatives of the objective vanish."""
    rng = np.random.RandomState(0)
    phi, pull = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    operator, count = pull.T @ phi, np.array([8.0, 12.0])
    a, b, score = fit_logistic(lambda weights: phi @ (phi.T @ weights), pull, count, 0.7)
    w = phi.T @ a
    np.testing.assert_allclose(score, phi @ w + b)

    def value(packed):
        weights, bias = packed[:6].reshape(3, 2), packed[6:]
        score = phi @ weights + bias
        log_sum = np.log(np.exp(score).sum(axis=1)).sum()
        fit = log_sum - (weights * operator.T).sum() - bias @ count
        return fit + (weights**2).sum() / 1.4

    gradient = approx_fprime(np.r_[w.ravel(), b], value, 1e-6)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-4)


@pytest.mark.parametrize("model", [MeanMapClassifier(), LaplacianMeanMapClassifier(C=10.0)])
def test_kernel_values_and_features_of_all_rows_are_one_model(model, iris):
    """Products of rows as they are, or by a factor of them: the same space."""
    groups = np.arange(150) // 5
    exact = model.fit(iris.X, iris.y_row, groups=groups).predict_proba(iris.X)
    by_features = clone(model).set_params(n_components=150).fit(iris.X, iris.y_row, groups=groups)
    np.testing.assert_allclose(by_features.predict_proba(iris.X), exact, atol=1e-5)


def test_too_few_steps_warn(monkeypatch, iris):
    monkeypatch.setattr(mean_operator, "_MAX_ITER", 3)
    with pytest.warns(ConvergenceWarning, match="no minimum after 3 steps"):
        MeanMapClassifier().fit(iris.X, iris.y_row, groups=np.arange(150) // 5)


def test_mean_operator_parameters_are_checked(blobs):
    for model, message in (
        (MeanMapClassifier(C=0), "C must"),
        (LaplacianMeanMapClassifier(graph_weight=0), "graph_weight must"),
        (SVMAOCClassifier(C=-1), "C must"),
        (SVMAOCClassifier("guess"), "method must"),
        (SVMAOCClassifier(n_restarts=-1), "n_restarts must"),
        (MLPAOCClassifier(loss="hinge"), "loss must"),
        (MLPAOCClassifier(epochs=0), "epochs must"),
        (MLPAOCClassifier((0,)), "hidden_layer_sizes must"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(blobs.X, blobs.y, groups=blobs.groups)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_alternation_falls_and_its_labels_have_the_counts(iris, n_classes):
    rows = iris.y_row < n_classes
    X, y = iris.X[rows], iris.y_row[rows]
    groups = np.arange(len(y)) % 8
    clf = AlternatingMeanMapClassifier(C=0.1).fit(X, y, groups=groups)
    assert (np.diff(clf.history_["value"]) <= 1e-9).all()
    assert clf.n_iter_ < clf.max_iter  # the labels stay
    again = clf.predict_transductive()
    for group in range(8):
        assert np.array_equal(
            np.bincount(again[groups == group], minlength=n_classes),
            np.bincount(y[groups == group], minlength=n_classes),
        )
    # where the labels stay, the scores are those of logistic regression on them
    phi = LandmarkFeatures.fit(clf.function_.kernel, X).transform(X)
    # which has one plane for two classes: half the penalty of two that differ by it
    C = 0.2 if n_classes == 2 else 0.1
    parent = LogisticRegression(C=C, tol=1e-8, max_iter=5000).fit(phi, again)
    np.testing.assert_allclose(clf.predict_proba(X), parent.predict_proba(phi), atol=2e-3)
