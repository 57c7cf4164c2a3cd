"""Cutting planes: the quadratic program against another solver, and the certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize

from groupwise.measures.separation import (
    AccuracyOracle,
)
from groupwise.solvers.cutting_planes import SimplexQP, minimise


@pytest.mark.parametrize("seed", range(3))
def test_simplex_program_against_scipy(seed):
    rng = np.random.default_rng(seed)
    vectors, loss = rng.normal(size=(12, 5)), rng.uniform(size=12)  # more vectors than dimensions
    vectors[7] = vectors[3]
    qp = SimplexQP(2.0)
    for i in range(12):
        qp.add(vectors[:i] @ vectors[i], vectors[i] @ vectors[i], loss[i])
        value = qp.solve(1e-12)
    assert (qp.alpha >= 0).all() and qp.alpha.sum() == pytest.approx(2.0)
    other = minimize(
        lambda a: 0.5 * np.sum((a @ vectors) ** 2) - loss @ a,
        np.full(12, 0.1),
        jac=lambda a: vectors @ (a @ vectors) - loss,
        bounds=[(0, None)] * 12,
        constraints={"type": "ineq", "fun": lambda a: 2.0 - a.sum()},
        options={"ftol": 1e-14, "maxiter": 200},
    )
    assert value == pytest.approx(-other.fun, abs=1e-8)


def test_a_run_cut_short_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    oracle = AccuracyOracle(X[:, 0] + rng.normal(size=60) > 0)
    short = minimise(X, oracle, 1.0, tol=1e-6, max_cuts=3)
    whole = minimise(X, oracle, 1.0, tol=1e-6, max_cuts=1000)
    assert (short.status, short.n_iter) == ("iteration limit", 3)
    assert whole.status == "optimal" and whole.n_iter > 3
    assert short.certificate.dual <= whole.objective <= short.objective


def test_rounding_ends_a_run_that_no_bound_moves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(48, 3))
    X[1, 0] = 1e20
    found = minimise(X, AccuracyOracle(X[:, 1] > 0), 0.1, tol=1e-3, max_cuts=2000)
    assert found.n_iter < 500 and np.isfinite(found.coef).all()


def test_an_accuracy_beyond_rounding_ends_at_the_first_support_that_comes_again(monkeypatch):
    rng = np.random.default_rng(0)
    qp, solved = SimplexQP(1000.0), []
    equality = SimplexQP._equality
    monkeypatch.setattr(
        SimplexQP, "_equality", lambda self, rows: solved.append(1) or equality(self, rows)
    )
    vectors, loss = rng.normal(size=(40, 5)), rng.uniform(size=40)
    for i in range(40):
        qp.add(vectors[:i] @ vectors[i], vectors[i] @ vectors[i], loss[i])
        qp.solve(0.0)
    assert len(solved) < 10 * 40
    gradient = qp.loss - qp.gram @ qp.alpha
    assert 1000.0 * gradient.max() - qp.alpha @ gradient < 1e-5
