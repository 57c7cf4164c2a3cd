"""The likelihood of counts: its optimum, its parent."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from groupwise.kernels import LandmarkFeatures, fit_kernel
from groupwise.proportions import (
    KernelCountClassifier,
    ManifoldAOCClassifierCV,
)


def test_count_likelihood_is_at_a_stationary_point_below_its_start(blobs):
    model = KernelCountClassifier(
        goal="transduction", widths=(1.0,), rhos=(0.0, 1.0), alphas=(0.1, 1.0), cv=3
    )
    model.fit(blobs.X, blobs.y, groups=blobs.groups)
    assert model.alpha_ in (0.1, 1.0)
    assert model.held_out_loss_.shape == (2,)
    least_squares = ManifoldAOCClassifierCV(
        goal="transduction", widths=(1.0,), rhos=(0.0, 1.0)
    ).fit(blobs.X, blobs.y, groups=blobs.groups)
    assert count_loss(model, blobs) <= count_loss(least_squares, blobs)
    assert model.neg_log_likelihood_ == pytest.approx(count_loss(model, blobs), rel=1e-6)


def count_loss(model, data):
    """Negative log-likelihood of the counts, by enumeration through convolution."""
    total = 0.0
    counts = data.y.to_numpy()
    for g in np.unique(data.groups):
        rows = np.flatnonzero(data.groups == g)
        distribution = np.ones(1)
        for p in model.transduction_proba_[rows, 1]:
            distribution = np.convolve(distribution, [1 - p, p])
        total -= np.log(distribution[counts[rows[0], 1]])
    return total


def test_count_likelihood_of_groups_of_one_is_kernel_logistic_regression(blobs):
    model = KernelCountClassifier(widths=(1.0,), rhos=(0.0,), alphas=(0.2,))
    model.fit(blobs.X, blobs.y_row, groups=np.arange(len(blobs.X)))
    kernel = fit_kernel("rbf", 1.0, blobs.X)
    _, phi = LandmarkFeatures.fit_transform(kernel, blobs.X)
    unit = (phi**2).sum() / len(phi)
    parent = LogisticRegression(C=1 / (0.2 * unit), tol=1e-8, max_iter=5000)
    parent.fit(phi, blobs.y_row)
    np.testing.assert_allclose(model.predict_proba(blobs.X), parent.predict_proba(phi), atol=2e-3)


def test_parameters_of_the_count_likelihood_are_checked(blobs):
    for wrong, message in (
        ({"alphas": ()}, "alphas"),
        ({"cv": 1}, "cv"),
        ({"goal": "fame"}, "goal"),
    ):
        with pytest.raises(ValueError, match=message):
            KernelCountClassifier(**wrong).fit(blobs.X, blobs.y, groups=blobs.groups)
