import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from groupwise.transfer import (
    TrAdaBoostRegressor,
    TwoStageTrAdaBoostRegressor,
)
from groupwise.transfer.regression import adjusted_errors, weighted_median


def test_r2_round_by_hand():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    said = [[0, 0, 2, 2.5], [0.5, 1, 2, 3]]
    shown = []

    class Scripted(RegressorMixin, BaseEstimator):
        def fit(self, X, y, sample_weight=None):
            shown.append(sample_weight / sample_weight.sum())
            self.values_ = np.array(said[len(shown) - 1])
            return self

        def predict(self, X):
            return self.values_

    model = TrAdaBoostRegressor(Scripted(), n_estimators=2, target_domain="t").fit(
        np.zeros((4, 1)), y, domains=["s", "s", "t", "t"]
    )
    # round 1: errors 0 1 0 .5, D = 1; on the target (0 + .5)/2 = 1/4, beta_t = 1/3
    beta = 1 / (1 + np.sqrt(np.log(2)))
    weight = np.array([1, beta, 1, np.sqrt(3)])
    np.testing.assert_allclose(model.estimator_errors_, [1 / 4, 0.0], atol=1e-12)
    np.testing.assert_allclose(shown[1], weight / weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(model.estimator_weights_[0], np.log(3), rtol=1e-12)
    # both rounds vote, the second with ln(1e10): the median is its value
    np.testing.assert_allclose(model.predict(np.zeros((4, 1))), said[1])


def test_adjusted_errors_by_hand():
    residual = np.array([0.0, -1.0, 2.0])
    np.testing.assert_allclose(adjusted_errors(residual), [0, 0.5, 1])
    np.testing.assert_allclose(adjusted_errors(residual, "square"), [0, 0.25, 1])
    np.testing.assert_allclose(
        adjusted_errors(residual, "exponential"), 1 - np.exp([0, -0.5, -1.0])
    )
    np.testing.assert_array_equal(adjusted_errors(np.zeros(2)), 0.0)


def test_weighted_median_by_hand():
    values = np.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(weighted_median(values, np.ones(3)), [2.0, 2.0])
    np.testing.assert_array_equal(weighted_median(values, np.array([5.0, 1, 1])), [3.0, 1.0])


def test_r2_without_source_is_adaboost_r2_with_weights(regression_task):
    X, y, *_ = regression_task()
    model = TrAdaBoostRegressor(DecisionTreeRegressor(max_depth=2), n_estimators=4)
    model.fit(X, y, domains=np.zeros(len(y)))
    weight = np.full(len(y), 1 / len(y))
    for error, vote, fitted in zip(
        model.estimator_errors_, model.estimator_weights_, model.estimators_, strict=True
    ):
        e = adjusted_errors(y - fitted.predict(X))
        np.testing.assert_allclose(error, weight @ e, rtol=1e-9)
        beta = error / (1 - error)
        np.testing.assert_allclose(vote, -np.log(beta))
        weight *= beta ** (1 - e)  # Drucker's form
        weight /= weight.sum()
    np.testing.assert_allclose(model.row_weights_, weight, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_regressors_gain_from_a_source_that_is_half_right(seed, regression_task):
    X, y, domains, X_test, y_test = regression_task(seed)
    union = TrAdaBoostRegressor(n_estimators=15, random_state=0)
    union.fit(X, y, domains=np.zeros(len(y)))
    two_stage = TwoStageTrAdaBoostRegressor(
        n_estimators=5, n_steps=4, cv=3, target_domain="new", random_state=0
    ).fit(X, y, domains=domains)
    r2 = TrAdaBoostRegressor(n_estimators=15, target_domain="new", random_state=0)
    r2.fit(X, y, domains=domains)
    assert r2.history_["domain_mass"][-1, 1] < r2.history_["domain_mass"][0, 1]  # old loses weight
    baseline = union.score(X_test, y_test)
    assert two_stage.score(X_test, y_test) > baseline
    assert r2.score(X_test, y_test) > baseline


def test_r2_ends_at_an_error_of_one_half():
    X = np.zeros((4, 1))
    y = np.array([0.0, 0.0, 1.0, 0.5])
    one = np.zeros(4)
    model = TrAdaBoostRegressor(LinearRegression(), n_estimators=5).fit(X, y, domains=one)
    assert len(model.estimators_) == 1 or (model.estimator_errors_[1:] < 0.5).all()
    turns = [0.0, 1.0, 0.0, 1.0]
    flat = TrAdaBoostRegressor(n_estimators=5).fit(X, turns, domains=one)
    assert len(flat.estimators_) == 1  # e = 1 everywhere: the first is kept alone
    two = TwoStageTrAdaBoostRegressor(n_estimators=5).fit(X, turns, domains=one)
    assert len(two.estimators_) == 1


def test_perfect_fit_ends_the_run():
    X = np.arange(6.0)[:, None]
    for model in (
        TrAdaBoostRegressor(DecisionTreeRegressor(), n_estimators=5),
        TwoStageTrAdaBoostRegressor(DecisionTreeRegressor(), n_estimators=5),
    ):
        assert len(model.fit(X, X[:, 0], domains=np.zeros(6)).estimators_) == 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TrAdaBoostRegressor(n_estimators=0), "n_estimators"),
        (TrAdaBoostRegressor(loss="cubic"), "loss"),
        (TrAdaBoostRegressor(vote="one"), "vote"),
        (TwoStageTrAdaBoostRegressor(n_steps=1), "n_steps"),
        (TwoStageTrAdaBoostRegressor(cv=1), "cv"),
        (TrAdaBoostRegressor(KNeighborsRegressor()), "takes no sample_weight"),
    ],
)
def test_regressor_parameters_out_of_range(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(np.arange(6.0)[:, None], np.arange(6.0), domains=np.zeros(6))
