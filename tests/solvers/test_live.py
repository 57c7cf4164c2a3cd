import numpy as np
import pytest
from scipy.optimize import linprog

from groupwise.solvers import LiveProgram, SolverError


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["primal", "dual", "interior"])
def test_a_grown_program_is_the_program_built_at_once(seed, method):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0, 1, size=(12, 9)), rng.uniform(1, 2, 12)
    cost = rng.uniform(1, 2, 9)
    program = LiveProgram()
    program.add_columns(cost[:4])
    program.add_rows(A[:5, :4], lower=b[:5])
    program.solve(method)
    program.add_columns(cost[4:], entries=A[:5, 4:])
    program.solve(method)
    program.add_rows(A[5:], lower=b[5:])
    solution = program.solve(method)
    expected = linprog(cost, A_ub=-A, b_ub=-b)
    assert solution.objective == pytest.approx(expected.fun, abs=1e-7)
    assert solution.certificate.is_optimal(1e-6)
    assert solution.certificate.dual == pytest.approx(expected.fun, abs=1e-6)
    np.testing.assert_allclose(program.recompute(solution), 0.0, atol=1e-7)


def test_rows_and_columns_are_switched_by_bounds_and_costs():
    program = LiveProgram()
    x = program.add_columns([1.0, 3.0])
    row = program.add_rows([[1.0, 1.0], [0.0, 1.0]], lower=[2.0, 1.0])
    assert program.solve().objective == 4.0
    program.set_row_lower(row[1:], -np.inf)
    assert program.solve().objective == 2.0
    program.set_upper(x[:1], 0.0)
    assert program.solve().objective == 6.0
    program.set_costs(x[1:], 1.5)
    solution = program.solve("primal", fresh=True)
    assert solution.objective == 3.0 and solution.row_dual.tolist() == [1.5, 0.0]
    assert solution.reduced_cost.tolist() == [-0.5, 0.0]


def test_a_stalled_method_hands_over_and_the_solution_says_so():
    rng = np.random.default_rng(0)
    A = rng.uniform(0, 1, size=(40, 30))
    program = LiveProgram(iteration_limit=1)
    program.add_columns(np.ones(30))
    program.add_rows(A, lower=1.0)
    solution = program.solve()
    assert solution.method == "interior" and solution.status == "optimal"
    assert solution.certificate.is_optimal(1e-5)
    assert solution.objective == pytest.approx(linprog(np.ones(30), -A, -np.ones(40)).fun)


def test_programs_without_optimum_are_errors():
    program = LiveProgram()
    program.add_columns([-1.0])
    with pytest.raises(SolverError, match="0 rows and 1 columns"):
        program.solve()
    program.add_rows([[1.0], [1.0]], lower=[2.0, -np.inf], upper=[np.inf, 1.0])
    with pytest.raises(SolverError, match="Infeasible"):
        program.solve()


def test_shapes_and_methods_are_checked():
    program = LiveProgram()
    program.add_columns([1.0, 1.0])
    with pytest.raises(ValueError, match=r"shape \(1, 2\), got \(1, 3\)"):
        program.add_rows([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"shape \(0, 1\), got \(2, 1\)"):
        program.add_columns([1.0], entries=[[1.0], [1.0]])
    with pytest.raises(ValueError, match="'newton'"):
        program.solve("newton")


def test_time_is_a_reason_to_stop():
    rng = np.random.default_rng(0)
    program = LiveProgram()
    program.add_columns(np.ones(200))
    program.add_rows(rng.uniform(0, 1, size=(300, 200)), lower=1.0)
    assert program.solve(time_limit=0.0).status == "time limit"
    assert program.solve().status == "optimal"
