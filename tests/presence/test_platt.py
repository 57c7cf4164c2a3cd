"""Platt's scaling: optimal, of the right order, and finite."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from groupwise.presence.platt import platt_scaling


@pytest.mark.parametrize("seed", range(3))
def test_no_other_slope_and_intercept_are_likelier(seed):
    """The derivatives vanish: of the likelihood and of 3/2 log a ** 2 + b ** 2 / 20."""
    rng = np.random.RandomState(seed)
    y = (rng.uniform(size=60) < 0.3).astype(int)
    score = -2.0 + 0.5 * rng.normal(size=60) + 0.8 * y
    slope, intercept = platt_scaling(score, y)
    miss = expit(slope * score + intercept) - y
    assert abs(miss.sum() + 0.1 * intercept) < 1e-4
    assert abs(slope * (miss @ score) + 3 * np.log(slope)) < 1e-4


def test_of_many_groups_it_is_logistic_regression():
    rng = np.random.RandomState(0)
    y = (rng.uniform(size=50_000) < 0.3).astype(int)
    score = -2.0 + 0.5 * rng.normal(size=len(y)) + 0.8 * y
    slope, intercept = platt_scaling(score, y)
    other = LogisticRegression(C=1e10, tol=1e-10).fit(score[:, None], y)
    np.testing.assert_allclose(slope, other.coef_[0, 0], rtol=0.01)
    np.testing.assert_allclose(intercept, other.intercept_[0], rtol=0.01)
    assert expit(slope * score + intercept).mean() == pytest.approx(y.mean(), abs=1e-3)


def test_few_groups_hardly_move_it_and_the_order_stays():
    y = np.array([0, 0, 1])
    score = np.array([-2.0, -1.0, 1.0])
    slope, intercept = platt_scaling(score, y)
    assert slope == pytest.approx(1.0, abs=0.3)
    assert intercept == pytest.approx(0.0, abs=0.5)
    many = np.tile(score, 200)
    assert 0 < platt_scaling(-many, np.tile(y, 200))[0] < 0.05  # the wrong way round: not turned
    slope, intercept = platt_scaling(many, np.tile(y, 200))  # the classes apart: finite
    assert ((slope * score + intercept > 0) == y).all()
    assert slope < 20
