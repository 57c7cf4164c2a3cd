import numpy as np
import pytest
from scipy.optimize import approx_fprime

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.losses import CoxLoss
from groupwise.metrics import concordance
from groupwise.proportions import GroupMeansCoxRegressor
from groupwise.proportions.group_means_cox import PartialLikelihood

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


def test_ties_are_breslow_s_by_hand():
    """Two events at once have the same three at risk."""
    score = np.array([0.3, -0.2, 0.9])
    found = PartialLikelihood(score[:, None], np.array([1.0, 1.0, -2.0])).value(np.ones(1))
    assert found == pytest.approx(2 * np.log(np.exp(score).sum()) - 0.3 + 0.2, abs=1e-14)


@pytest.mark.parametrize("time", [TIME, TIED], ids=["all different", "ties"])
def test_derivatives(time):
    likelihood, coef = PartialLikelihood(Z, time), np.array([0.5, -1.0, 2.0])
    gradient, hessian = likelihood.derivatives(coef)
    np.testing.assert_allclose(
        gradient, approx_fprime(coef, likelihood.value, 1e-7), rtol=1e-5, atol=1e-5
    )
    for place in range(3):
        slope = approx_fprime(coef, lambda c, p=place: likelihood.derivatives(c)[0][p], 1e-7)
        np.testing.assert_allclose(hessian[place], slope, rtol=1e-5, atol=1e-5)
    # the other formulation in the library, up to a constant
    loss = CoxLoss().bind(time, Groups(K))
    score = Z @ coef
    np.testing.assert_allclose(gradient, Z.T @ loss.gradient(score), atol=1e-10)
    start = likelihood.value(np.zeros(3)) - loss.value(np.zeros(24))
    assert likelihood.value(coef) - loss.value(score) == pytest.approx(start, abs=1e-10)


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
    slope, _ = PartialLikelihood(z[:, None], 1.0 + x).derivatives(model.coef_ * x.std())
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
