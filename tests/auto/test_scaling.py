import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from groupwise.auto.scaling import (
    Scaling,
    cross_fitted,
    design_effect,
    is_worse,
    log_loss,
    mean_interval,
)


def some(n_classes, n=80, seed=0):
    rng = np.random.RandomState(seed)
    code = rng.randint(n_classes, size=n)
    score = rng.normal(size=(n, n_classes)) + np.eye(n_classes)[code]
    proba = np.exp(2 * score)
    return proba / proba.sum(axis=1, keepdims=True), np.eye(n_classes)[code]


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("penalty", [0.1, 10.0])
def test_scaling_minimises_its_cost(n_classes, penalty):
    proba, target = some(n_classes)

    def cost(weights):
        logs = log_softmax(weights[0] * np.log(proba) + weights[1:], axis=1)
        return -(target * logs).sum() + penalty / 2 * (
            (weights[0] - 1) ** 2 + (weights[1:] ** 2).sum()
        )

    found = Scaling.fit(proba, target, penalty=penalty)
    best = minimize(cost, np.r_[1.0, np.zeros(n_classes)], tol=1e-12)
    assert cost(np.r_[found.slope, found.bias]) <= best.fun + 1e-8
    np.testing.assert_allclose(found.slope, best.x[0], atol=1e-4)


def test_without_penalty_two_classes_are_logistic_regression():
    proba, target = some(2)
    log_odds = np.log(proba[:, 1] / proba[:, 0])
    plain = LogisticRegression(C=np.inf, tol=1e-10).fit(log_odds[:, None], target[:, 1])
    found = Scaling.fit(proba, target, penalty=1e-8)
    np.testing.assert_allclose(found.slope, plain.coef_[0, 0], rtol=1e-4)
    np.testing.assert_allclose(
        found.apply(proba)[:, 1], plain.predict_proba(log_odds[:, None])[:, 1], atol=1e-5
    )


def test_lines_left_out_of_many_do_not_make_it_more_cautious():
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=4000)
    score = y + rng.normal(size=4000)
    proba = np.column_stack([1 / (1 + np.exp(score)), 1 / (1 + np.exp(-score))])
    one = Scaling.fit(proba, np.eye(2)[y], penalty=500.0)
    both = Scaling.fit(np.repeat(proba, 2, axis=0), np.eye(2)[np.repeat(y, 2)], penalty=1000.0)
    np.testing.assert_allclose([both.slope, *both.bias], [one.slope, *one.bias])


def test_a_value_by_hand():
    # one probability for all: only the bias can help, and with a huge penalty nothing moves
    proba, target = np.full((4, 2), 0.5), np.eye(2)[[0, 0, 0, 1]]
    assert Scaling.fit(proba, target, penalty=1e9).apply(proba)[0].tolist() == pytest.approx(
        [0.5, 0.5]
    )
    free = Scaling.fit(proba, target, penalty=1e-9)
    assert free.apply(proba)[0] == pytest.approx([0.75, 0.25], abs=1e-5)
    np.testing.assert_allclose(
        log_loss(free.apply(proba), target).mean(), 0.5623351446188083, atol=1e-6
    )


def test_a_member_that_is_always_wrong_is_flattened_not_flipped():
    proba, target = some(2)
    found = Scaling.fit(proba[:, ::-1], target, penalty=1.0)
    assert found.slope == 0.0
    share = target.mean(axis=0)
    np.testing.assert_allclose(found.apply(proba)[0], share, atol=0.02)


def test_certain_and_wrong_stays_finite():
    target = np.eye(2)[[0, 1, 0, 1]]
    found = Scaling.fit(np.eye(2)[[0, 1, 1, 0]], target, penalty=1.0)
    assert np.isfinite(found.slope) and np.isfinite(log_loss(found.apply(target), target)).all()


def test_cross_fitted_values_know_nothing_of_their_own_fold():
    proba, target = some(2)
    fold = np.arange(80) % 4
    before = cross_fitted(proba, target, fold, penalty=1.0)
    flipped = target.copy()
    flipped[fold == 0] = flipped[fold == 0][:, ::-1]
    after = cross_fitted(proba, flipped, fold, penalty=1.0)
    np.testing.assert_array_equal(before[fold == 0], after[fold == 0])
    assert not np.allclose(before[fold == 1], after[fold == 1])


def test_intervals():
    mean, low, high = mean_interval(np.array([1.0] * 9 + [0.0, np.nan]))
    # Wilson (1927) for 9 of 10
    assert (mean, round(low, 3), round(high, 3)) == (0.9, 0.596, 0.982)
    mean, low, high = mean_interval(np.array([0.2, 0.4, 0.6]))
    half = 4.302652729911275 * 0.2 / np.sqrt(3)  # Student's quantile for two degrees of freedom
    assert (mean, low, high) == pytest.approx((0.4, 0.4 - half, 0.4 + half))
    weighted = mean_interval(np.array([0.0, 1.0]), np.array([3.0, 1.0]))
    assert weighted[0] == 0.25


def test_an_inflated_variance_is_that_of_fewer_values():
    some, twice = np.array([1.0] * 9 + [0.0]), np.array([1.0] * 18 + [0.0] * 2)
    assert mean_interval(twice, inflation=2.0) == pytest.approx(mean_interval(some))
    numbers = np.array([0.2, 0.4, 0.6])
    mean, low, high = mean_interval(numbers)
    wide = mean_interval(numbers, inflation=4.0)
    assert wide == pytest.approx((mean, mean - 2 * (mean - low), mean + 2 * (high - mean)))


def test_worse_by_standard_errors():
    loss = np.array([1.0, 2.0, 3.0])
    assert not is_worse(loss, loss, errors=1.0)
    assert is_worse(loss + 1.0, loss, errors=2.0)
    for unit in (1e-14, 1.0, 1e14):
        assert is_worse(unit * (loss + 1.0), unit * loss, errors=2.0)
    assert not is_worse(loss + np.array([1.0, -1.0, 1.0]), loss, errors=1.0)  # 1/3 by 2/3
    assert is_worse(loss + np.array([1.0, -0.1, 1.0]), loss, errors=1.0)


def test_design_effect():
    alone = np.array([1.0, 0.0, 0.0, 1.0, 0.3])
    assert design_effect(alone, np.arange(5)) == pytest.approx(1.0)
    copies = design_effect(np.repeat(alone, 4), np.repeat(np.arange(5), 4))
    assert copies == pytest.approx(4 * (5 / 4) / (20 / 19))
    assert design_effect(np.tile(alone[:2], 5), np.repeat(np.arange(5), 2)) == 1.0  # one of each
    assert design_effect(np.ones(12), np.repeat(np.arange(4), 3)) == 3.0
    missing = np.append(alone, np.nan)
    weights = np.array([1.0, 2.0, 3.0, 1.0, 1.0, 9.0])
    assert design_effect(missing, np.arange(6), weights) == pytest.approx(1.0)
