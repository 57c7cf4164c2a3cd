from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import check_grad

from groupwise import Groups
from groupwise.losses import SessionLoss


def random_case(seed, n_rows=20, n_groups=6):
    rng = np.random.default_rng(seed)
    return Groups(rng.integers(0, n_groups, n_rows)), rng.normal(size=n_rows)


def test_value_by_hand():
    # groups {0, 1} and {2}, gamma 1: e^{-(z0+z1)/2} (e^{-z0} + e^{-z1}) + e^{-2 z2}
    z = np.array([1.0, -1.0, 0.5])
    log_value, weight = SessionLoss(Groups([0, 0, 1]), 1.0).log_value_and_weights(z)
    value = np.exp(-1.0) + np.exp(1.0) + np.exp(-1.0)
    assert np.isclose(log_value, np.log(value))
    pair = np.exp(-1.0) + np.exp(1.0)
    d = np.array([np.exp(-1.0) + pair / 2, np.exp(1.0) + pair / 2, 2 * np.exp(-1.0)])
    np.testing.assert_allclose(weight, d / (2 * value))


@pytest.mark.parametrize("gamma", [0.0, 0.7, 4.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_are_the_negative_gradient(gamma, seed):
    groups, z = random_case(seed)
    loss = SessionLoss(groups, gamma)

    def log_value(margin):
        return loss.log_value_and_weights(margin)[0]

    def gradient(margin):  # d log L = -D / L, and D sums to (1 + gamma) L
        return -(1 + gamma) * loss.log_value_and_weights(margin)[1]

    assert check_grad(log_value, gradient, z) < 1e-6


@pytest.mark.long
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(-1e6, 1e6)), min_size=1),
    st.sampled_from([0.0, 1.0, 4.0, 1000.0]),
)
def test_finite_for_all_finite_margins(rows, gamma):
    ids, z = map(np.array, zip(*rows, strict=True))
    log_value, weight = SessionLoss(Groups(ids), gamma).log_value_and_weights(z)
    assert np.isfinite(log_value)
    assert (weight >= 0).all()
    assert np.isclose(weight.sum(), 1)


@pytest.mark.parametrize("seed", range(3))
def test_gamma_zero_is_the_exponential_loss(seed):
    groups, z = random_case(seed)
    log_value, weight = SessionLoss(groups, 0.0).log_value_and_weights(z)
    assert np.isclose(log_value, np.log(np.exp(-z).sum()))
    np.testing.assert_allclose(weight, np.exp(-z) / np.exp(-z).sum())


def test_convex_along_lines():
    groups, z = random_case(5)
    d = np.random.default_rng(6).normal(size=len(z))
    loss = SessionLoss(groups, 4.0)
    along = [np.exp(loss.log_value_and_weights(z + t * d)[0]) for t in np.linspace(-2, 2, 41)]
    assert (np.diff(along, 2) > 0).all()


def test_weights_are_exact_in_rational_arithmetic():
    """With z = -log of whole numbers and gamma = m, every exponential is a whole number."""
    rows = {0: [2, 3], 1: [5, 1]}  # e^{-z}
    z = -np.log([2, 3, 5, 1])
    groups = Groups([0, 0, 1, 1])
    gamma = 2  # e^{-gamma zbar} = product of the group's two numbers
    value, weights = Fraction(0), []
    for numbers in rows.values():
        scale = numbers[0] * numbers[1]
        total = sum(numbers)
        value += scale * total
        weights += [Fraction(scale * (2 * n + gamma * total), 2) for n in numbers]
    expected = [float(w / ((1 + gamma) * value)) for w in weights]
    log_value, weight = SessionLoss(groups, float(gamma)).log_value_and_weights(z)
    np.testing.assert_allclose(weight, expected, rtol=1e-14)
    assert np.isclose(np.exp(log_value), float(value), rtol=1e-14)
