"""The partial likelihood by hand and by differences, and its optima by their conditions."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from groupwise.groups import Groups
from groupwise.losses import CoxLoss
from groupwise.solvers.cox import PartialLikelihood, fit_cox, fit_cox_from_zero_up

K = np.arange(24)
Z = np.column_stack([np.sin(1.0 * K), np.cos(2.0 * K), np.sin(3.0 * K + 1.0)])
TIME = (1.0 + (7 * K) % 24) * np.where(K % 3 == 2, -1, 1)
TIED = np.sign(TIME) * np.ceil(np.abs(TIME) / 4)


def test_ties_are_breslow_s_by_hand():
    """Two events at once have the same three at risk."""
    score = np.array([0.3, -0.2, 0.9])
    found = PartialLikelihood(score[:, None], np.array([1.0, 1.0, -2.0])).value(np.ones(1))
    assert found == pytest.approx(2 * np.log(np.exp(score).sum()) - 0.3 + 0.2, abs=1e-14)


@pytest.mark.parametrize("time", [TIME, TIED], ids=["all different", "ties"])
def test_derivatives(time):
    likelihood, coef = PartialLikelihood(Z, time), np.array([0.5, -1.0, 2.0])
    gradient, hessian = likelihood.gradient(coef), likelihood.hessian(coef)
    np.testing.assert_allclose(
        gradient, approx_fprime(coef, likelihood.value, 1e-7), rtol=1e-5, atol=1e-5
    )
    for place in range(3):
        slope = approx_fprime(coef, lambda c, p=place: likelihood.gradient(c)[p], 1e-7)
        np.testing.assert_allclose(hessian[place], slope, rtol=1e-5, atol=1e-5)
    # the other formulation in the library, up to a constant
    loss = CoxLoss().bind(time, Groups(K))
    score = Z @ coef
    np.testing.assert_allclose(gradient, Z.T @ loss.gradient(score), atol=1e-10)
    start = likelihood.value(np.zeros(3)) - loss.value(np.zeros(24))
    assert likelihood.value(coef) - loss.value(score) == pytest.approx(start, abs=1e-10)


@pytest.mark.parametrize("penalty", [0.1, 3.0])
def test_at_the_optimum_the_slope_is_nothing(penalty):
    likelihood = PartialLikelihood(Z, TIED)
    coef, _ = fit_cox(likelihood, penalty)
    np.testing.assert_allclose(likelihood.gradient(coef) + penalty * coef, 0, atol=1e-10)


@pytest.mark.parametrize("signs", [(1, 1, 1), (1, -1, 1), (-1, -1, -1)])
def test_from_zero_up_the_slope_is_nothing_or_leads_below(signs):
    """The conditions of Karush, Kuhn and Tucker; without active bounds the optimum of all."""
    likelihood = PartialLikelihood(Z * signs, TIME)
    free, _ = fit_cox(likelihood, 0.1)
    coef = fit_cox_from_zero_up(likelihood, 0.1)
    slope = likelihood.gradient(coef) + 0.1 * coef
    assert (coef >= 0).all() and (coef > 0).any()
    np.testing.assert_allclose(slope[coef > 0], 0, atol=1e-3)
    assert (slope[coef == 0] >= -1e-3).all()
    if (free > 0).all():
        np.testing.assert_allclose(coef, free, atol=1e-4)
