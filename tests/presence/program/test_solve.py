"""Bounds of the disjunctive program: every formulation against the others."""

import highspy
import numpy as np
import pytest
from scipy.optimize import linprog

from groupwise import Groups
from groupwise.datasets import make_presence_bags
from groupwise.presence import Stumps
from groupwise.presence.program import (
    CutSettings,
    Master,
    ProgramSettings,
    alternate,
    branch_and_bound,
    labelled_rows,
    present_rows,
    relax_by_cuts,
    relax_lifted,
    solve_program,
    witnesses_at,
)

ALL = {"n_reductions": None, "max_disjuncts": None, "max_effort": None}
TIGHT = CutSettings(n_rounds=500, tol=1e-9, patience=500, **ALL)
EXACT = ProgramSettings(exact=True, cuts=CutSettings(tol=1e-7, **ALL))


def problem_of(seed, *, n_groups=8, cost=0.5, noise=0.0, background=0, n_classes=2):
    """Random points in groups; with three classes a group's label is one of its rows' classes."""
    rng = np.random.RandomState(seed)
    sizes = rng.randint(1, 5, n_groups)
    groups = Groups(np.repeat(np.arange(n_groups), sizes))
    X = rng.normal(size=(groups.n_rows, 2)).round(1)
    y_group = np.arange(n_groups) % n_classes
    witness = groups.first_rows
    X[witness] += 1.5 * (y_group[:, None] - 0.5 * (n_classes - 1)) * [1.0, 0.5]
    whole = y_group == background
    candidates = np.eye(n_classes, dtype=bool)[y_group]
    return X, present_rows(candidates, groups, whole, cost)


def all_columns(problem, pool):
    """Value of every column of the pool on every margin."""
    H = pool.values(np.arange(len(pool.feature)))
    H = np.hstack([H, -H])
    return np.hstack([problem.code[:, [o]] * H[problem.row] for o in range(problem.n_outputs)])


def big_m(problem, pool, ceiling):
    """HiGHS's own branch and bound on the big-M form, with all columns."""
    G = all_columns(problem, pool)
    n_columns, n_d = G.shape[1], len(problem.example)
    M = (1.0 + ceiling) * 2
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("mip_rel_gap", 1e-9)
    for c in [*np.ones(n_columns), *problem.cost]:
        highs.addVar(0.0, highspy.kHighsInf)
        highs.changeColCost(highs.getNumCol() - 1, c)
    for _ in range(n_d):
        highs.addVar(0.0, 1.0)
        highs.changeColIntegrality(highs.getNumCol() - 1, highspy.HighsVarType.kInteger)
    z = n_columns + problem.n_examples
    for r in range(problem.n_margins):
        index = [
            *range(n_columns),
            n_columns + problem.example_of_margin[r],
            z + problem.disjunct[r],
        ]
        highs.addRow(1.0 - M, highspy.kHighsInf, len(index), index, [*G[r], 1.0, -M])
    for e in range(problem.n_examples):
        index = z + np.flatnonzero(problem.example == e)
        highs.addRow(1.0, 1.0, len(index), index, np.ones(len(index)))
    highs.run()
    return highs.getInfo().objective_function_value


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_all_formulations_fit_together(seed):
    X, problem = problem_of(seed, cost=[0.3, 0.6, 1.0][seed % 3], background=[0, None][seed // 3])
    pool = Stumps(5).bind(X)
    plain = relax_by_cuts(Master(problem, pool), CutSettings(n_rounds=0, tol=1e-9))
    cuts = relax_by_cuts(Master(problem, pool), TIGHT)
    lifted = relax_lifted(problem, pool, tol=1e-9)[1]
    bare = relax_lifted(problem, pool, tol=1e-9, reductions=False)[1]
    exact = solve_program(problem, pool, EXACT, np.random.RandomState(0))
    rough = solve_program(problem, pool, ProgramSettings(), np.random.RandomState(0))
    mip = big_m(problem, pool, exact.incumbent.cost)
    assert plain.bound == pytest.approx(bare.bound, abs=1e-7)  # the maximum embedding is the hull
    assert cuts.bound == pytest.approx(lifted.bound, abs=1e-7)
    assert plain.bound <= cuts.bound + 1e-7 and cuts.bound <= mip + 1e-6
    assert exact.incumbent.cost == pytest.approx(mip, abs=1e-6)
    assert exact.bound == pytest.approx(mip, abs=1e-6)
    assert rough.bound <= mip + 1e-6 <= rough.incumbent.cost + 2e-6
    for relaxed in (plain, cuts, lifted, bare):
        assert relaxed.generated.point.solution.certificate.is_optimal(1e-6)
        assert relaxed.generated.complete


def test_parallel_reductions_tighten_the_bound():
    d = make_presence_bags(8, positive_single=0.0, random_state=0)
    groups = Groups(d.groups)
    y_group = d.y[groups.first_rows]
    problem = present_rows(np.eye(2, dtype=bool)[y_group], groups, y_group == 0, 0.5)
    pool = Stumps(8).bind(d.X)
    plain = relax_by_cuts(Master(problem, pool), CutSettings(n_rounds=0))
    cuts = relax_by_cuts(Master(problem, pool), TIGHT)
    lifted = relax_lifted(problem, pool, tol=1e-9)[1]
    assert (plain.bound, cuts.bound, lifted.bound) == pytest.approx((3.0, 4.0, 4.0))
    assert 0 < cuts.n_active <= cuts.n_made and 0 < lifted.n_active <= lifted.n_made


@pytest.mark.parametrize("n_classes", [2, 3])
def test_column_generation_reaches_the_program_with_all_columns(n_classes):
    rng = np.random.RandomState(1)
    X, y = rng.normal(size=(30, 2)), np.arange(30) % n_classes
    X[:, 0] += y
    problem, pool = labelled_rows(y, 0.3, n_classes), Stumps().bind(X)
    G = all_columns(problem, pool)
    A = np.hstack([G, problem.to_examples.toarray()])
    cost = np.concatenate([np.ones(G.shape[1]), problem.cost])
    expected = linprog(cost, A_ub=-A, b_ub=-np.ones(len(A))).fun
    master = Master(problem, pool, n_new=3)
    generated = master.generate(1e-9)
    assert generated.point.objective == pytest.approx(expected, abs=1e-7)
    assert generated.bound == pytest.approx(expected, abs=1e-7)
    assert master.cost_of(generated.point.weight) == pytest.approx(expected, abs=1e-7)
    assert len(master.columns) < G.shape[1] / 2
    assert generated.point.solution.certificate.is_optimal(1e-7)
    # strong duality of the boosting program itself
    assert generated.point.margin_dual.sum() == pytest.approx(expected, abs=1e-7)


def test_the_bound_holds_at_any_time():
    X, problem = problem_of(3, n_groups=16)
    pool = Stumps().bind(X)
    best = Master(problem, pool).generate(1e-9).point.objective
    master, bounds = Master(problem, pool, n_new=1), []
    for _ in range(6):
        bounds.append(master.generate(1e-9, n_rounds=1).bound)
    assert all(0 < bound <= best + 1e-9 for bound in bounds)
    assert not master.generate(1e-9, n_rounds=1).complete or bounds[-1] == pytest.approx(best)


def test_three_classes_and_candidates_are_the_same_program():
    """Cuts, lifted, exact and HiGHS agree where disjuncts have several margins each."""
    X, problem = problem_of(5, n_groups=6, n_classes=3, background=None, cost=0.6)
    assert problem.n_outputs == 3 and (np.bincount(problem.disjunct) == 2).all()
    pool = Stumps(3).bind(X)
    cuts = relax_by_cuts(Master(problem, pool), TIGHT)
    exact = solve_program(problem, pool, EXACT, np.random.RandomState(0))
    mip = big_m(problem, pool, exact.incumbent.cost)
    lifted = relax_lifted(problem, pool, tol=1e-9)[1]
    assert cuts.bound <= lifted.bound + 1e-7 <= mip + 1e-6
    assert exact.bound == pytest.approx(mip, abs=1e-6)
    assert exact.incumbent.cost == pytest.approx(mip, abs=1e-6)


def test_a_search_stopped_early_still_proves_its_bound():
    d = make_presence_bags(20, positive_single=0.0, random_state=1)
    groups = Groups(d.groups)
    y_group = d.y[groups.first_rows]
    problem = present_rows(np.eye(2, dtype=bool)[y_group], groups, y_group == 0, 0.2)
    pool = Stumps(8).bind(d.X)
    master = Master(problem, pool)
    relaxed = relax_by_cuts(master, CutSettings(n_rounds=0))
    start = alternate(master, witnesses_at(master, relaxed.generated.point.weight))
    best = solve_program(problem, pool, EXACT, np.random.RandomState(0)).incumbent.cost
    short = branch_and_bound(master, start, n_nodes=3)
    assert short.n_nodes == 3
    assert relaxed.bound - 1e-9 <= short.bound <= best + 1e-6 <= short.incumbent.cost + 2e-6


def test_slacks_are_the_duals_of_what_is_switched_on():
    """Weights and slacks explain the objective, also after margins were on and off again."""
    X, problem = problem_of(2, n_groups=14, cost=0.4)
    master = Master(problem, Stumps(6).bind(X))
    relaxed = relax_by_cuts(master, TIGHT)
    alternate(master, witnesses_at(master, relaxed.generated.point.weight))
    for point in (relaxed.generated.point, master.generate(1e-9).point):
        total = point.weight.sum() + problem.cost @ point.slack
        assert total == pytest.approx(point.objective, abs=1e-7)
