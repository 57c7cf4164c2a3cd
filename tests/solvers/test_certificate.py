"""One certificate for five solvers: each proves itself optimal, and is wrong to be beaten."""

import numpy as np
import pytest

from groupwise.solvers import (
    Certificate,
    LiveProgram,
    Solution,
    Violation,
    fit_plane,
    minimise,
    solve_l1,
    solve_l2,
)


def test_gap_by_hand():
    proof = Certificate(primal=20.0, dual=19.0)
    assert (proof.gap, proof.relative_gap) == (1.0, 0.05)
    assert proof.is_optimal(0.05) and not proof.is_optimal(0.04)
    small = Certificate(primal=0.02, dual=0.01)
    assert small.relative_gap == pytest.approx(0.01)  # below one the gap itself counts
    assert not Certificate(1.0, 1.0, residual=0.1).is_optimal(0.05)


class _Hinge:
    """The mean hinge loss, as an oracle."""

    def __init__(self, sign):
        self.sign, self.n_units = sign, len(sign)

    def worst(self, score_row):
        wrong = self.sign * score_row < 1.0
        return Violation(float(wrong.mean()), np.where(wrong, self.sign, 0.0) / len(wrong))


def _problem(seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(30, 4))
    return X, np.where(X[:, 0] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)


def _linear_program():
    program = LiveProgram()
    program.add_columns([1.0, 2.0])
    program.add_rows([[1.0, 1.0], [1.0, 3.0]], lower=[3.0, 5.0])
    return program.solve()


def _plane(loss):
    X, sign = _problem()
    return fit_plane(X, sign, np.ones(30), loss=loss, tol=1e-9)


def _cuts():
    X, sign = _problem()
    return minimise(X, _Hinge(sign), 0.5, tol=1e-7, max_cuts=500)


def _l1():
    X, sign = _problem()
    return solve_l1(X @ X.T, sign, 0.1, np.ones(30), 0.05)


def _l2(bias_weight):
    X, sign = _problem()
    return solve_l2(X @ X.T, np.column_stack([sign, X[:, 1]]), 0.1, bias_weight)


@pytest.mark.parametrize(
    "solve",
    [
        _linear_program,
        lambda: _plane("squared_hinge"),
        lambda: _plane("logistic"),
        _cuts,
        _l1,
        lambda: _l2(None),
        lambda: _l2(np.arange(1.0, 31.0)),
    ],
    ids=["live", "newton", "newton-logistic", "cutting_planes", "interior", "l2", "l2-bias"],
)
def test_every_solver_proves_itself_optimal(solve):
    solution = solve()
    assert isinstance(solution, Solution) and solution.status == "optimal"
    assert solution.certificate.is_optimal(1e-6)
    assert solution.objective == solution.certificate.primal


@pytest.mark.parametrize("bias", [True, False])
def test_no_weights_beat_the_dual_value_of_least_squares(bias):
    rng = np.random.RandomState(1)
    Z, b, a = rng.normal(size=(12, 5)), rng.normal(size=(12, 2)), rng.randint(1, 5, size=12) * 1.0
    gram = Z @ Z.T
    found = solve_l2(gram, b, 0.3, a if bias else None)

    def primal(beta, c):
        error = gram @ beta + a[:, None] * c - b
        return (error**2).sum() + 0.3 * (beta * (gram @ beta)).sum()

    assert primal(found.beta, found.bias) == pytest.approx(found.objective)
    for _ in range(50):
        beta = found.beta + 0.1 * rng.normal(size=found.beta.shape)
        c = found.bias + bias * 0.1 * rng.normal(size=2)
        assert primal(beta, c) >= found.certificate.dual - 1e-9
