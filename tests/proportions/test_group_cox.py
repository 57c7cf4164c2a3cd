import numpy as np
import pytest

from groupwise.exceptions import GroupDataError
from groupwise.metrics import concordance
from groupwise.proportions import GroupMeansCoxRegressor, GroupStatisticsCoxRegressor
from groupwise.solvers.cox import PartialLikelihood

K = np.arange(24)
Z = np.column_stack([np.sin(1.0 * K), np.cos(2.0 * K), np.sin(3.0 * K + 1.0)])
TIME = (1.0 + (7 * K) % 24) * np.where(K % 3 == 2, -1, 1)
TIED = np.sign(TIME) * np.ceil(np.abs(TIME) / 4)


def fitted(alpha, time, X=Z):
    return GroupMeansCoxRegressor(alpha).fit(X, time, groups=np.arange(len(X)))


def test_two_groups_by_hand():
    """(1/2) [log(e^b + e^-b) - b] + (alpha/2) b^2 is least where alpha = (1 - tanh b) / (2 b)."""
    X, groups = [[3.0], [5.0], [-1.0], [1.0]], ["a", "a", "b", "b"]  # means 4 and 0: z = 1 and -1
    model = GroupMeansCoxRegressor(1.0 - np.tanh(0.5)).fit(X, [1.0, 1.0, 2.0, 2.0], groups=groups)
    assert model.coef_[0] == pytest.approx(0.5 / 2.0, abs=1e-12)
    assert model.center_.tolist() == [2.0]
    np.testing.assert_allclose(model.predict(X), [0.25, 0.75, -0.75, -0.25], atol=1e-12)
    np.testing.assert_allclose(model.predict_groups(X, groups=groups), [0.5, -0.5], atol=1e-12)
    assert model.score(X, [1.0, 1.0, 2.0, 2.0], groups) == 1.0


@pytest.mark.parametrize(
    ("penalizer", "known"),
    [
        (0.1, [0.28126932136561855, 0.41975501570358315, 0.05607652560948104]),
        (1.0, [0.09833037047158531, 0.16970445713076557, 0.005319451141151943]),
    ],
)
def test_lifelines_says_the_same(penalizer, known):
    """lifelines 0.30.3, CoxPHFitter(penalizer=...) on standardised columns.

    It divides by the standard deviation with n - 1 once more, so that its penalty is n / (n - 1)
    of ours.
    """
    model = fitted(penalizer * 24 / 23, TIME)
    np.testing.assert_allclose(model.coef_ * Z.std(axis=0), known, atol=1e-6)


@pytest.mark.parametrize(
    ("alpha", "known"),
    [
        (0.1, [0.2063709204287038, 0.4331677129918423, 0.09504608765154346]),
        (1.0, [0.0744673109102934, 0.1818309042490359, 0.02543849295328116]),
    ],
)
def test_statsmodels_says_the_same_of_ties(alpha, known):
    """statsmodels 0.15.0, PHReg(ties="breslow").fit_regularized(alpha=..., L1_wt=0)."""
    np.testing.assert_allclose(fitted(alpha, TIED).coef_ * Z.std(axis=0), known, atol=1e-8)


def test_units_of_features_do_not_matter():
    one, other = fitted(1.0, TIME), fitted(1.0, TIME, 1000 * Z - 5)
    np.testing.assert_allclose(one.predict(Z), other.predict(1000 * Z - 5), atol=1e-10)


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1.0])
def test_separated_events_have_finite_coefficients(alpha):
    x = np.arange(20.0)
    model = fitted(alpha, 1.0 + x, -x[:, None])
    assert np.isfinite(model.coef_).all() and concordance(1.0 + x, model.predict(-x[:, None])) == 1
    # at the optimum: the gradient is nothing
    z = -(x - x.mean()) / x.std()
    slope = PartialLikelihood(z[:, None], 1.0 + x).gradient(model.coef_ * x.std())
    assert slope[0] + 20 * alpha * model.coef_[0] * x.std() == pytest.approx(0, abs=1e-9)


def test_constants_say_nothing():
    model = fitted(1.0, TIME, np.column_stack([Z, np.full(24, 3.7)]))
    assert model.coef_[3] == 0.0
    np.testing.assert_allclose(model.coef_[:3], fitted(1.0, TIME).coef_, atol=1e-12)


def test_what_is_refused():
    with pytest.raises(GroupDataError, match="times must not be zero"):
        fitted(1.0, np.where(K == 3, 0.0, TIME))
    with pytest.raises(GroupDataError, match="none of 24 groups had the event"):
        fitted(1.0, -np.abs(TIME))
    with pytest.raises(ValueError, match="alpha"):
        fitted(0.0, TIME)
    with pytest.raises(GroupDataError, match="'a'"):
        GroupMeansCoxRegressor().fit([[0.0], [1.0]], [1.0, 2.0], groups=["a", "a"])


def in_groups_of_four(rng, of_rows):
    """100 groups whose hazard is that of their rows' numbers, as ``of_rows`` takes them."""
    X, groups = rng.normal(size=(400, 2)), np.repeat(np.arange(100), 4)
    return X, groups, rng.exponential(np.exp(-2 * of_rows(X[:, 0].reshape(100, 4), axis=1)))


def test_means_alone_are_cox_on_means():
    X, groups, time = in_groups_of_four(np.random.default_rng(0), np.mean)
    one = GroupMeansCoxRegressor(0.1).fit(X, time[groups], groups=groups)
    other = GroupStatisticsCoxRegressor(0.1, statistics=("mean",))
    other.fit(X, time[groups], groups=groups)
    np.testing.assert_array_equal(other.coef_, one.coef_)
    np.testing.assert_allclose(other.predict(X), one.predict(X), atol=1e-14)
    np.testing.assert_allclose(other.predict_groups(X, groups), one.predict_groups(X, groups))


def test_the_largest_values_are_cox_on_these():
    rng = np.random.default_rng(0)
    X, groups, time = in_groups_of_four(rng, np.max)
    largest = X.reshape(100, 4, 2).max(axis=1)
    alone = GroupMeansCoxRegressor(0.1).fit(largest, time, groups=np.arange(100))
    model = GroupStatisticsCoxRegressor(0.1, statistics=("max",))
    model.fit(X, time[groups], groups=groups)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-14)
    np.testing.assert_allclose(model.predict_groups(X, groups), alone.predict(largest))
    np.testing.assert_allclose(model.predict(X), alone.predict(X))  # a row is a group of one
    assert model.score(X, time[groups], groups) == alone.score(largest, time, np.arange(100))


def test_of_risks_of_the_worst_row_statistics_say_more():
    rng = np.random.default_rng(1)
    X, groups, time = in_groups_of_four(rng, np.max)
    new, names, later = in_groups_of_four(rng, np.max)
    means, statistics = (
        model.fit(X, time[groups], groups=groups).score(new, later[names], names)
        for model in (GroupMeansCoxRegressor(), GroupStatisticsCoxRegressor())
    )
    assert statistics > means + 0.05


def test_statistics_that_there_are_not():
    with pytest.raises(ValueError, match="statistics must be some of"):
        GroupStatisticsCoxRegressor(statistics=("median",)).fit(Z, TIME, groups=K)
