"""The truncated Newton method: by hand, against general methods, and by its certificate."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from groupwise.solvers.newton import LOSSES, Plane, fit_plane, plane_objective


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 6))
    sign = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1.0, -1.0)
    return X, sign, rng.uniform(0.1, 5.0, size=80)


def test_one_row_by_hand():
    # one row x = 1 with sign +1 and no intercept to speak of: min w^2/2 + c max(0, 1-w-b)^2 has
    # b = 1 - w for free, so w = 0
    plane = fit_plane(np.array([[1.0]]), np.array([1.0]), np.array([3.0]), tol=1e-12).plane
    np.testing.assert_allclose([plane.coef[0], plane.intercept], [0.0, 1.0], atol=1e-5)


def test_two_rows_by_hand():
    # x = -1, +1 with signs -1, +1: b = 0 and min w^2/2 + 2c (1-w)^2 has w = 4c/(1+4c)
    plane = fit_plane(
        np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0]), np.full(2, 0.75), tol=1e-12
    ).plane
    np.testing.assert_allclose([plane.coef[0], plane.intercept], [3 / 4, 0.0], atol=1e-9)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_slope_and_curvature_against_differences(loss):
    margin = np.linspace(-30, 30, 41) + 0.1
    parts = LOSSES[loss]
    step = 1e-6
    for value, slope in ((parts.value, parts.slope), (parts.slope, parts.curvature)):
        numerical = (value(margin + step) - value(margin - step)) / (2 * step)
        np.testing.assert_allclose(slope(margin), numerical, atol=1e-5)


@pytest.mark.parametrize("loss", sorted(LOSSES))
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_minimum_agrees_with_a_general_method(loss, kind, rows):
    X, sign, cost = rows

    def objective(v):
        return plane_objective(X, sign, cost, Plane(v[:-1], v[-1]), loss=loss)

    found = fit_plane(kind(X), sign, cost, loss=loss, tol=1e-8)
    proof, found = found.certificate, found.plane
    reference = minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-4})
    value = plane_objective(X, sign, cost, found, loss=loss)
    assert value <= reference.fun + 1e-6
    assert proof.primal == pytest.approx(value) and proof.is_optimal(1e-5)
    assert proof.dual <= reference.fun + 1e-6
    # the certificate: no gradient left
    slope = cost * sign * LOSSES[loss].slope(sign * found.score(X))
    assert np.linalg.norm(found.coef + X.T @ slope) < 1e-4
    assert abs(slope.sum()) < 1e-4


def test_agrees_with_scikit_learn(rows):
    X, sign, cost = rows
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(X, sign, sample_weight=cost)
    ours = fit_plane(X, sign, cost, loss="logistic", tol=1e-9).plane
    np.testing.assert_allclose(ours.coef, theirs.coef_[0], atol=1e-4)
    centred = X - X.mean(axis=0)
    svc = LinearSVC(C=1.0, tol=1e-10, max_iter=100000, intercept_scaling=1e3)
    svc.fit(centred, sign, sample_weight=cost)
    np.testing.assert_allclose(
        fit_plane(centred, sign, cost, tol=1e-10).plane.coef, svc.coef_[0], atol=1e-3
    )


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_any_start_leads_to_the_same_plane(loss, rows):
    X, sign, cost = rows
    cold = fit_plane(X, sign, cost, loss=loss, tol=1e-9).plane
    far = Plane(np.full(6, 50.0), -20.0)
    warm = fit_plane(X, sign, cost, loss=loss, start=far, tol=1e-9).plane
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-6)
    np.testing.assert_array_equal(far.coef, 50.0)  # the start is not written to


def test_no_convergence_is_an_error(rows, monkeypatch):
    from groupwise.solvers import newton

    monkeypatch.setattr(newton, "_MAX_NEWTON", 1)
    X, sign, cost = rows
    with pytest.raises(RuntimeError, match="did not reach"):
        fit_plane(X, sign, cost, tol=1e-12)
