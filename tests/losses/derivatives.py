"""Derivatives of a bound loss against numerical ones."""

import numpy as np


def check_derivatives_of_classes(bound, score):
    """The gradient, and a curvature that is nowhere below the Hessian; ``score`` by class."""
    gradient, curvature = bound.gradient_and_curvature(score)
    steps = (1e-5 * np.eye(score.size)).reshape(-1, *score.shape)
    numerical = [(bound.value(score + s) - bound.value(score - s)) / 2e-5 for s in steps]
    assert np.allclose(gradient.ravel(), numerical, atol=1e-6)
    assert np.allclose(gradient.sum(axis=1), 0, atol=1e-12)  # shifts of a row change nothing
    hessian = np.array(
        [((bound.gradient(score + s) - bound.gradient(score - s)) / 2e-5).ravel() for s in steps]
    )
    gap = np.diag(curvature.ravel()) - (hessian + hessian.T) / 2
    assert np.linalg.eigvalsh(gap).min() > -1e-6
