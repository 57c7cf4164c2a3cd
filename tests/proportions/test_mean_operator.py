"""Logistic regression from a mean operator, and the three ways to estimate one."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.linear_model import LogisticRegression

from groupwise.proportions import (
    EasyLLPClassifier,
    LaplacianMeanMapClassifier,
    MeanMapClassifier,
    MLPAOCClassifier,
    SVMAOCClassifier,
)
from groupwise.proportions.mean_operator import fit_logistic


@pytest.mark.parametrize(
    "model", [MeanMapClassifier, EasyLLPClassifier, LaplacianMeanMapClassifier]
)
def test_mean_operators_of_groups_of_one_are_logistic_regression(model, iris):
    options = {"graph_weight": 1e-7} if model is LaplacianMeanMapClassifier else {}
    ours = model(C=0.5, **options).fit(iris.X, iris.y_row, groups=np.arange(150))
    phi = ours.function_.features.transform(iris.X)
    theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=5000).fit(phi, iris.y_row)
    np.testing.assert_allclose(ours.predict_proba(iris.X), theirs.predict_proba(phi), atol=2e-4)


def test_logistic_gradient_is_the_derivative():
    """At the optimum all derivatives of the objective vanish."""
    rng = np.random.RandomState(0)
    phi, operator = rng.normal(size=(20, 3)), rng.normal(size=(2, 3))
    count = np.array([8.0, 12.0])
    w, b = fit_logistic(phi, operator, count, 0.7)

    def value(packed):
        weights, bias = packed[:6].reshape(3, 2), packed[6:]
        score = phi @ weights + bias
        log_sum = np.log(np.exp(score).sum(axis=1)).sum()
        fit = log_sum - (weights * operator.T).sum() - bias @ count
        return fit + (weights**2).sum() / 1.4

    gradient = approx_fprime(np.r_[w.ravel(), b], value, 1e-6)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-4)


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
