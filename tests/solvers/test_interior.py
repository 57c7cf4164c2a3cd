"""The L1 solver: its certificate, its parent, and its two methods against each other."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

import groupwise.solvers.interior as interior
from groupwise.solvers.interior import solve_l1


@pytest.mark.parametrize("gamma1", [1e-4, 1e-2, 1.0, 100.0])
@pytest.mark.parametrize("with_bias", [True, False])
def test_l1_proves_itself_optimal(gamma1, with_bias):
    rng = np.random.RandomState(3)
    F = rng.normal(size=(40, 12))
    G, b = F @ F.T, 4 * F[:, 0] + rng.normal(size=40)
    sizes = rng.randint(1, 9, size=40).astype(float) if with_bias else None
    solution = solve_l1(G, b, gamma1, sizes, 0.1)
    assert solution.certificate.is_optimal(1e-9) and solution.certificate.relative_gap >= -1e-12
    assert np.abs(solution.beta).max() <= 0.5 / gamma1 * (1 + 1e-12)
    if with_bias:
        assert abs(sizes @ solution.beta) <= 1e-8 * np.abs(solution.beta).sum()


def test_l1_without_bias_is_the_mirrored_svr():
    """Data and its mirror image have no use for an intercept."""
    rng = np.random.RandomState(2)
    F = rng.normal(size=(15, 6))
    G, b = F @ F.T, F[:, 0] + 2.0
    ours = solve_l1(G, b, 0.1, None, 0.05)
    both = np.block([[G, -G], [-G, G]])
    svr = SVR(kernel="precomputed", C=2.5, epsilon=0.05, tol=1e-10).fit(both, np.r_[b, -b])
    np.testing.assert_allclose(G @ ours.beta, svr.predict(both)[:15], atol=1e-5)


def test_an_unfinished_l1_solution_is_not_passed_off_as_one(monkeypatch):
    monkeypatch.setattr(interior, "_MAX_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        solve_l1(np.eye(4), np.arange(4.0), 0.1, None, 0.1)


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_corrected_support_vectors_and_the_interior_point_method_agree(equal, epsilon, monkeypatch):
    rng = np.random.default_rng(int(10 * epsilon))
    m = 40
    sizes = np.full(m, 7.0) if equal else rng.integers(5, 12, size=m).astype(float)
    rows = rng.normal(size=(m, 8)) * np.sqrt(sizes)[:, None]
    G, b = rows @ rows.T, np.round(sizes * rng.uniform(-1, 1, size=m))
    gamma1 = 0.05 * np.diag(G).mean()
    quick = solve_l1(G, b, gamma1, sizes, epsilon)
    refused = SimpleNamespace(gap=1.0)
    monkeypatch.setattr(interior, "_by_support_vectors", lambda *problem: refused)
    other = solve_l1(G, b, gamma1, sizes, epsilon)
    assert quick.certificate.is_optimal(1e-9) and other.certificate.is_optimal(1e-9)
    np.testing.assert_allclose(quick.objective, other.objective, rtol=1e-8)
    np.testing.assert_allclose(G @ quick.beta, G @ other.beta, atol=1e-5)


def test_l1_of_nothing_to_fit():
    solution = solve_l1(np.eye(4), np.zeros(4), 0.1, np.ones(4), 0.1)
    np.testing.assert_array_equal(solution.beta, 0.0)
