"""Platt's scaling: optimal, of the right order, and finite."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from groupwise.presence.platt import platt_scaling


def targets(y):
    n = np.bincount(y, minlength=2)
    return np.where(y == 1, (n[1] + 1) / (n[1] + 2), 1 / (n[0] + 2))


@pytest.mark.parametrize("seed", range(3))
def test_no_other_slope_and_intercept_are_likelier(seed):
    """The derivatives vanish, and scikit-learn's logistic regression agrees."""
    rng = np.random.RandomState(seed)
    y = (rng.uniform(size=60) < 0.3).astype(int)
    score = -5.0 + 0.1 * rng.normal(size=60) + 0.15 * y
    slope, intercept = platt_scaling(score, y)
    target = targets(y)
    miss = expit(slope * score + intercept) - target
    assert abs(miss.sum()) < 1e-5
    assert abs(miss @ (score + 5.0)) < 1e-5
    other = LogisticRegression(C=1e10, tol=1e-10, max_iter=1000).fit(
        np.tile(10 * (score + 5.0), 2)[:, None],
        np.repeat([1, 0], 60),
        sample_weight=np.r_[target, 1 - target],
    )
    np.testing.assert_allclose(slope, 10 * other.coef_[0, 0], rtol=1e-4)
    np.testing.assert_allclose(intercept - 5 * slope, other.intercept_[0], rtol=1e-4)


def test_scores_that_separate_or_say_nothing():
    y = np.array([0, 0, 0, 1, 1])
    score = np.array([-2.0, -1.9, -1.8, -1.2, -1.1])
    slope, intercept = platt_scaling(score, y)
    proba = expit(slope * score + intercept)
    assert ((proba > 0.5) == y).all()
    assert (proba.max(), proba.min()) == (pytest.approx(3 / 4, abs=0.05), pytest.approx(0.2, abs=0.05))
    slope, intercept = platt_scaling(-score, y)  # the wrong way round: not turned
    assert slope > 0
    proba = expit(-slope * score + intercept)
    np.testing.assert_allclose(proba, targets(y).mean(), atol=0.01)
    slope, intercept = platt_scaling(np.full(5, 7.0), y)
    assert expit(slope * 7.0 + intercept) == pytest.approx(targets(y).mean())
