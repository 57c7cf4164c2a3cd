"""The paper's relaxation: duplicated weights, columns inside, parallel reductions outside."""

import logging
import time
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from groupwise.presence.program.cuts import Relaxed
from groupwise.presence.program.disjunctions import Disjunctions
from groupwise.presence.program.master import Generated, Point
from groupwise.presence.program.pool import Pool
from groupwise.presence.program.pricing import Columns, DualLines, price_columns
from groupwise.solvers import LinearSolution, LiveProgram

__all__ = ["Lifted", "relax_lifted"]

logger = logging.getLogger(__name__)

_ACTIVE = 1e-9


@dataclass
class _Reduction:
    """A certain margin asked of one disjunct: its row in the program."""

    disjunct: int
    margin: int
    row: int


@dataclass
class _Shares:
    """Of one pair of ambiguous and certain example: how the slack is shared among disjuncts."""

    row: int
    column: dict[int, int] = field(default_factory=dict)


class Lifted:
    r"""The lifted linear program of Andrews and Hofmann (2003), grown by columns and rows.

    Columns: :math:`\xi_j` of certain examples, :math:`\eta^d` and :math:`\xi_i^d` of the disjuncts
    of ambiguous ones, :math:`a_k` and a copy :math:`a_k^d` for every disjunct. Rows, in the
    order they come: (b), (m), (c), then (e) with every hypothesis and (s), (p) with
    every reduction.
    """

    def __init__(self, problem: Disjunctions, pool: Pool, *, n_new: int = 5):
        self.problem, self.pool, self.n_new = problem, pool, n_new
        self.columns = Columns.none()
        self.values = np.empty((problem.n_margins, 0))
        self.program = LiveProgram()
        self.ambiguous = problem.ambiguous
        many = problem.n_disjuncts[problem.example] > 1
        self.disjuncts = np.flatnonzero(many)
        self.margins = np.flatnonzero(many[problem.disjunct])
        self.owner = np.searchsorted(self.ambiguous, problem.example[self.disjuncts])
        self.reductions: list[_Reduction] = []
        self._shares: dict[tuple[int, int], _Shares] = {}
        self._a = np.empty(0, dtype=np.int32)
        self._copies = np.empty((len(self.disjuncts), 0), dtype=np.int32)
        self._start()

    def _start(self) -> None:
        problem, program = self.problem, self.program
        certain, n = problem.certain, len(self.disjuncts)
        self._xi = program.add_columns(problem.cost)
        self._eta = program.add_columns(np.zeros(n))
        self._own = program.add_columns(problem.cost[problem.example[self.disjuncts]])
        rows = np.zeros((len(certain), program.n_columns))
        rows[np.arange(len(certain)), problem.example_of_margin[certain]] = 1.0
        self._b = program.add_rows(rows, lower=1.0)
        local = np.searchsorted(self.disjuncts, problem.disjunct[self.margins])
        rows = np.zeros((len(self.margins), program.n_columns))
        at = np.arange(len(rows))
        rows[at, self._own[local]] = 1.0
        rows[at, self._eta[local]] = -1.0
        self._m = program.add_rows(rows, lower=0.0)
        rows = np.zeros((len(self.ambiguous), program.n_columns))
        rows[self.owner, self._eta] = 1.0
        program.add_rows(rows, lower=1.0, upper=1.0)

    def add_columns(self, columns: Columns) -> None:
        """A hypothesis comes with its copies for all disjuncts, and an equality per example."""
        problem, program = self.problem, self.program
        value_row = self.pool.values(columns.number) * columns.sign
        value = problem.code[:, columns.output] * value_row[problem.row]
        n_disjuncts = len(self.disjuncts)
        for at in range(len(columns)):
            entries = np.zeros((program.n_rows, 1 + n_disjuncts))
            entries[self._b, 0] = value[problem.certain, at]
            local = np.searchsorted(self.disjuncts, problem.disjunct[self.margins])
            entries[self._m, 1 + local] = value[self.margins, at]
            for reduction in self.reductions:
                entries[reduction.row, 1 + reduction.disjunct] = value[reduction.margin, at]
            cost = np.concatenate([[1.0], np.zeros(n_disjuncts)])
            new = program.add_columns(cost, entries=entries)
            rows = np.zeros((len(self.ambiguous), program.n_columns))
            rows[:, new[0]] = 1.0
            rows[self.owner, new[1:]] = -1.0
            program.add_rows(rows, lower=0.0, upper=0.0)
            self._a = np.append(self._a, new[0])
            self._copies = np.column_stack([self._copies, new[1:]])
        self.values = np.hstack([self.values, value])
        self.columns = self.columns.then(columns)

    def generate(self, tol: float, deadline: float) -> tuple[LinearSolution, float, bool]:
        """Columns inside: the optimum with the rows there are, and its bound."""
        bound, method = 0.0, "dual"
        while True:
            solution = self.program.solve(method)
            price, columns = self._price(solution, tol)
            bound = max(bound, solution.objective / max(1.0, price))
            if not len(columns) or time.monotonic() > deadline:
                return solution, bound, not len(columns)
            self.add_columns(columns)
            method = "primal"

    def _price(self, solution: LinearSolution, tol: float) -> tuple[float, Columns]:
        """S(k), with the equalities' duals eliminated: a maximum over each example's disjuncts."""
        problem, dual = self.problem, solution.row_dual
        line = np.concatenate(
            [
                np.zeros(len(problem.certain), np.intp),
                1 + np.searchsorted(self.disjuncts, problem.disjunct[self.margins]),
                [1 + r.disjunct for r in self.reductions],
            ]
        )
        margin = np.concatenate(
            [problem.certain, self.margins, [r.margin for r in self.reductions]]
        ).astype(np.intp)
        rows = np.concatenate([self._b, self._m, [r.row for r in self.reductions]]).astype(np.intp)
        shape = (1 + len(self.disjuncts), problem.n_margins)
        lines = csr_array((np.maximum(dual[rows], 0.0), (line, margin)), shape=shape)
        bounds = np.searchsorted(self.owner, np.arange(len(self.ambiguous) + 1))
        scale = np.ones(len(self.ambiguous))
        duals, now = DualLines(lines, bounds, scale), self.values @ solution.x[self._a]
        return price_columns(problem, self.pool, duals, now, tol=tol, n_new=self.n_new)

    def violated(self, solution: LinearSolution, tol: float) -> list[tuple[int, int, float]]:
        """Reductions (disjunct, certain margin) of pairs whose slack does not cover them."""
        problem, certain = self.problem, self.problem.certain
        if not len(certain):
            return []
        copies = solution.x[self._copies]
        short = solution.x[self._eta][:, None] - copies @ self.values[certain].T
        example = problem.example_of_margin[certain]
        start = np.flatnonzero(np.r_[True, example[1:] != example[:-1]])
        worst = np.maximum(np.maximum.reduceat(short, start, axis=1), 0.0)
        first = np.searchsorted(self.owner, np.arange(len(self.ambiguous)))
        needed = np.add.reduceat(worst, first, axis=0)
        over = needed - solution.x[self._xi[example[start]]]
        pair = (over > tol)[self.owner][
            :, np.repeat(np.arange(len(start)), np.diff(np.r_[start, len(certain)]))
        ]
        d, at = np.nonzero(pair & (short > tol))
        known = {(r.disjunct, r.margin) for r in self.reductions}
        out = [
            (int(i), int(certain[j]), float(short[i, j]))
            for i, j in zip(d, at, strict=True)
            if (int(i), int(certain[j])) not in known
        ]
        return sorted(out, key=lambda found: -found[2])

    def add_reductions(self, chosen: list[tuple[int, int, float]]) -> None:
        """Rows (p), with the shares of slack and rows (s) they need."""
        for disjunct, margin, _ in chosen:
            example = int(self.problem.example_of_margin[margin])
            share = self._share(disjunct, example)
            row = np.zeros((1, self.program.n_columns))
            row[0, self._copies[disjunct]] = self.values[margin]
            row[0, share] = 1.0
            row[0, self._eta[disjunct]] = -1.0
            at = int(self.program.add_rows(row, lower=0.0)[0])
            self.reductions.append(_Reduction(disjunct, margin, at))

    def _share(self, disjunct: int, example: int) -> int:
        """Column of the part of a certain example's slack that one disjunct uses."""
        key = int(self.owner[disjunct]), example
        if key not in self._shares:
            row = np.zeros((1, self.program.n_columns))
            row[0, self._xi[example]] = 1.0
            self._shares[key] = _Shares(int(self.program.add_rows(row, lower=0.0)[0]))
        shares = self._shares[key]
        if disjunct not in shares.column:
            entries = np.zeros((self.program.n_rows, 1))
            entries[shares.row] = -1.0
            shares.column[disjunct] = int(self.program.add_columns([0.0], entries=entries)[0])
        return shares.column[disjunct]

    def point(self, solution: LinearSolution) -> Point:
        """The optimum in terms of weights and slacks."""
        problem = self.problem
        slack = solution.x[self._xi].copy()
        slack[self.ambiguous] = np.bincount(self.owner, solution.x[self._own])
        margin_dual = np.zeros(problem.n_margins)
        margin_dual[problem.certain] = solution.row_dual[self._b]
        return Point(
            weight=np.maximum(solution.x[self._a], 0.0),
            slack=slack,
            margin_dual=margin_dual,
            cut_dual=np.empty(0),
            objective=solution.objective,
            solution=solution,
        )


def relax_lifted(
    problem: Disjunctions,
    pool: Pool,
    *,
    tol: float = 1e-6,
    n_rows: int = 50,
    n_rounds: int = 1000,
    reductions: bool = True,
    deadline: float = np.inf,
) -> tuple[Lifted, Relaxed]:
    """The algorithm of section 3.3: columns inside, the most violated reductions outside."""
    lifted = Lifted(problem, pool)
    best, rounds = 0.0, 0
    while True:
        solution, bound, complete = lifted.generate(tol, deadline)
        if rounds == 0:
            first = lifted.point(solution).weight
        best, rounds = max(best, bound), rounds + 1
        logger.info("row round %d: bound %.6f", rounds, best)
        if not reductions or rounds > n_rounds or time.monotonic() > deadline:
            break
        chosen = lifted.violated(solution, tol)[:n_rows]
        if not chosen:
            break
        lifted.add_reductions(chosen)
    rows = np.array([r.row for r in lifted.reductions], dtype=np.intp)
    n_active = int((solution.row_dual[rows] > _ACTIVE).sum())
    generated = Generated(lifted.point(solution), best, complete)
    return lifted, Relaxed(generated, first, best, rounds, n_active, len(rows))
