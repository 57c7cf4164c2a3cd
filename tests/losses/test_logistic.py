"""The quick logistic functions against scipy's, and groups far from zero."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from scipy.special import log_softmax as scipy_log_softmax

from groupwise import Groups
from groupwise.losses import NoisyOrLoss, SmoothMaxLoss
from groupwise.losses.layout import GroupedLayout
from groupwise.losses.logistic import log_softmax, sigmoid, softplus

SCORES = np.concatenate([np.linspace(-630.0, 630.0, 1001), [-1e-300, 0.0, 1e-12]])


def test_sigmoid_and_softplus_are_exact_on_both_sides():
    proba, other = sigmoid(SCORES)
    np.testing.assert_allclose(proba, expit(SCORES), rtol=1e-13)
    np.testing.assert_allclose(other, expit(-SCORES), rtol=1e-13)
    np.testing.assert_allclose(softplus(SCORES), np.logaddexp(0.0, SCORES), rtol=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e308])
def test_any_finite_score_is_a_number(scale):
    score = scale * np.array([-1.0, 0.0, 1.0])
    assert np.isfinite(sigmoid(score)).all()
    assert np.isfinite(softplus(score)).all()


def test_log_softmax():
    score = 50.0 * np.random.default_rng(0).normal(size=(4, 300))
    np.testing.assert_allclose(log_softmax(score), scipy_log_softmax(score, axis=0), atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3])  # one top for all, and one for each run
def test_terms_of_runs(scale):
    groups = Groups([0, 0, 0, 1, 2, 2])
    runs = GroupedLayout(groups)
    values = scale * np.array([0.1, 0.7, -0.2, 5.0, -3.0, -3.5])
    term, _ = runs.exp(values)
    share, log_sum = term / runs.spread(runs.sum(term)), runs.logsumexp(values)
    for i in range(3):
        rows = groups.codes == i
        np.testing.assert_allclose(share[rows], softmax(values[rows]), atol=1e-15)
        np.testing.assert_allclose(log_sum[i], np.logaddexp.reduce(values[rows]), rtol=1e-14)


@pytest.mark.parametrize("low", [-600.0, -650.0, -710.0, -5000.0, -1e8])
def test_noisy_or_far_below_zero_shares_the_gradient_out(low):
    """With A tiny the positive group's gradient is -p_j / A: the softmax of the scores."""
    score = low + np.array([0.0, 1.0, -2.0])
    both = np.concatenate([score, [0.3, low]])  # and a group that holds a row far below
    bound = NoisyOrLoss().bind(np.array([1, 1]), Groups([0, 0, 0, 1, 1]))
    gradient, curvature = bound.gradient_and_curvature(both)
    np.testing.assert_allclose(gradient[:3], -softmax(score), rtol=1e-12)
    np.testing.assert_allclose(gradient[3:], [-expit(-0.3), 0.0], atol=1e-15)
    assert (curvature > 0).all()


def test_groups_of_one_row_share_nothing():
    bound = SmoothMaxLoss().bind(np.array([1, 0]), Groups([0, 1]))
    np.testing.assert_allclose(bound.gradient(np.array([0.5, 2.0])), [-expit(-0.5), expit(2.0)])
