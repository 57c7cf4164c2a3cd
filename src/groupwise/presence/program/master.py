"""The linear program over ensemble weights: columns by price, margins and cuts beside them."""

import logging
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from groupwise.presence.program.disjunctions import Disjunctions
from groupwise.presence.program.pool import Pool
from groupwise.presence.program.pricing import Columns, DualLines, price_columns
from groupwise.solvers import LinearSolution, LiveProgram

__all__ = ["Generated", "Master", "Point"]

logger = logging.getLogger(__name__)

_ACTIVE = 1e-12


@dataclass(frozen=True)
class Point:
    """An optimum over the columns there are.

    Attributes
    ----------
    weight : ndarray of shape (n_columns,)
        The a of each column.
    slack : ndarray of shape (n_examples,)
        The xi of each example.
    margin_dual : ndarray of shape (n_margins,)
    cut_dual : ndarray of shape (n_cuts,)
    objective : float
    solution : LinearSolution
        Of the program as HiGHS holds it.
    """

    weight: NDArray[np.float64]
    slack: NDArray[np.float64]
    margin_dual: NDArray[np.float64]
    cut_dual: NDArray[np.float64]
    objective: float
    solution: LinearSolution


@dataclass(frozen=True)
class Generated:
    """The optimum over the pool, or how far column generation came.

    Attributes
    ----------
    point : Point
        Of the last restricted program.
    bound : float
        What the program over the whole pool cannot fall below: the objective over
        ``max(1, largest price)``.
    complete : bool
        Whether no column is left that would help.
    """

    point: Point
    bound: float
    complete: bool


class Master:
    r"""Column generation for :math:`\min \sum_k a_k + \sum_i C_i \xi_i` under margins and cuts.

    HiGHS holds the dual, which has few rows and whose columns all have two bounds:

    .. math:: \max \sum_r u_r + \sum_c \theta_c d_c \quad
              \sum_r u_r G_{rk} + \sum_c d_c r_{ck} \le 1 \ [a_k], \quad
              \sum_{r \in i} u_r + \sum_c t_{ci} d_c \le C_i \ [\xi_i]

    A new hypothesis is a new row, so the dual simplex method goes on from the last basis; a margin
    or a cut is switched on and off by its upper bound, and two-sided columns keep the basis dual
    feasible. The row of an example is only made where its bound on u does not do.
    """

    def __init__(self, problem: Disjunctions, pool: Pool, *, n_new: int = 20):
        self.problem = problem
        self.pool = pool
        self.n_new = n_new
        self.program = LiveProgram()
        self.columns = Columns.none()
        self._values = np.empty((problem.n_margins, 64))
        self._lp_row = np.empty(0, dtype=np.int32)  # of each hypothesis
        self._lp_example = np.full(problem.n_examples, -1, dtype=np.int32)  # row of each example
        self._lp_margin = np.full(problem.n_margins, -1, dtype=np.int32)  # column of each margin
        self._on = np.zeros(problem.n_margins, dtype=bool)
        self._lp_cut = np.empty(0, dtype=np.int32)  # column of each cut
        self._cut_example = np.empty(0, dtype=np.intp)
        self._cuts_on = True
        self._cut_upper = np.empty(0)
        self._cut_line = np.zeros(1, dtype=np.intp)  # bounds of the cuts' lines
        self._cut_lines = csr_array((0, problem.n_margins))
        self._method = "dual"
        many = np.bincount(problem.example_of_margin, minlength=problem.n_examples) > 1
        self._need_rows(np.flatnonzero(many))
        self.switch_on(problem.certain)

    @property
    def values(self) -> NDArray[np.float64]:
        """What each column adds to each margin, (n_margins, n_columns)."""
        return self._values[:, : len(self.columns)]

    @property
    def n_cuts(self) -> int:
        return len(self._lp_cut)

    def cost_of(self, weight: NDArray[np.float64]) -> float:
        """The true objective at given weights: an upper bound."""
        return float(weight.sum()) + self.problem.slack_cost(self.values @ weight)

    def switch_on(self, margins: NDArray[np.intp]) -> None:
        """Ask for these margins, adding their columns where they are new."""
        self._on[margins] = True
        upper = self.problem.cost[self.problem.example_of_margin[margins]]
        new = self._lp_margin[margins] < 0
        self.program.set_upper(self._lp_margin[margins[~new]], upper[~new])
        if new.any():
            added = margins[new]
            entries = np.zeros((self.program.n_rows, len(added)))
            entries[self._lp_row] = self.values[added].T
            example = self._lp_example[self.problem.example_of_margin[added]]
            has_row = np.flatnonzero(example >= 0)
            entries[example[has_row], has_row] = 1.0
            cost = np.full(len(added), -1.0)
            self._lp_margin[added] = self.program.add_columns(
                cost, upper=upper[new], entries=entries
            )

    def switch_off(self, margins: NDArray[np.intp]) -> None:
        """Ask for these margins no longer."""
        self._on[margins] = False
        columns = self._lp_margin[margins]
        self.program.set_upper(columns[columns >= 0], 0.0)

    def _need_rows(self, examples: NDArray[np.intp]) -> None:
        """Make the rows of examples on whose slack more than one column draws."""
        new = examples[self._lp_example[examples] < 0]
        if not len(new):
            return
        place = np.full(self.problem.n_examples, -1)
        place[new] = np.arange(len(new))
        entries = np.zeros((len(new), self.program.n_columns))
        there = np.flatnonzero(self._lp_margin >= 0)
        at = place[self.problem.example_of_margin[there]]
        entries[at[at >= 0], self._lp_margin[there[at >= 0]]] = 1.0
        self._lp_example[new] = self.program.add_rows(entries, upper=self.problem.cost[new])

    def add_cut(self, lines: csr_array, example: int) -> None:
        r"""Add the projected disjunctive cut of multipliers U (disjuncts of a group, n_margins).

        .. math:: \sum_k a_k \max_d (U G)_{dk} + \sum_e \xi_e \max_d (U M)_{de}
                  \ge \min_d \sum_r U_{dr}
        """
        slack = (lines @ self.problem.to_examples).max(axis=0).toarray().ravel()
        touched = np.flatnonzero(slack)
        self._need_rows(touched)
        entries = np.zeros((self.program.n_rows, 1))
        entries[self._lp_row, 0] = (lines @ self.values).max(axis=0)
        entries[self._lp_example[touched], 0] = slack[touched]
        # a cut without own multipliers follows from certain margins and is never violated
        upper = float(self.problem.cost[example] / slack[example])
        column = self.program.add_columns(
            [-float(lines.sum(axis=1).min())], upper=upper, entries=entries
        )
        self._method = "primal"  # new columns leave the basis primal feasible
        self._lp_cut = np.concatenate([self._lp_cut, column])
        self._cut_upper = np.append(self._cut_upper, upper)
        self._cut_example = np.append(self._cut_example, example)
        self._cut_line = np.append(self._cut_line, self._cut_line[-1] + lines.shape[0])
        self._cut_lines = csr_array(vstack([self._cut_lines, lines]))

    def use_cuts(self, on: bool) -> None:
        """Switch all cuts on or off."""
        self._cuts_on = on
        self.program.set_upper(self._lp_cut, self._cut_upper if on else 0.0)

    def add_columns(self, columns: Columns) -> None:
        """Let hypotheses into the program, at weight zero."""
        value_row = self.pool.values(columns.number) * columns.sign
        value = self.problem.code[:, columns.output] * value_row[self.problem.row]
        entries = np.zeros((len(columns), self.program.n_columns))
        there = np.flatnonzero(self._lp_margin >= 0)
        entries[:, self._lp_margin[there]] = value[there].T
        if self.n_cuts:
            lines = self._cut_lines @ value
            entries[:, self._lp_cut] = np.maximum.reduceat(lines, self._cut_line[:-1], axis=0).T
        rows = self.program.add_rows(entries, upper=1.0)
        self._lp_row = np.concatenate([self._lp_row, rows])
        n_old = len(self.columns)
        if n_old + len(columns) > self._values.shape[1]:
            grown = np.empty((len(value), 2 * n_old + len(columns)))
            grown[:, :n_old] = self.values
            self._values = grown
        self._values[:, n_old : n_old + len(columns)] = value
        self.columns = self.columns.then(columns)

    def solve(self) -> Point:
        """Solve over the columns there are."""
        solution = self.program.solve(self._method)
        self._method = "dual"
        there = np.flatnonzero(self._lp_margin >= 0)
        margin_dual = np.zeros(self.problem.n_margins)
        margin_dual[there] = solution.x[self._lp_margin[there]]
        return Point(
            weight=np.maximum(-solution.row_dual[self._lp_row], 0.0),
            slack=self._slack(solution),
            margin_dual=margin_dual,
            cut_dual=solution.x[self._lp_cut],
            objective=-solution.objective,
            solution=solution,
        )

    def _slack(self, solution: LinearSolution) -> NDArray[np.float64]:
        """The dual of each example's row and of the bounds that stand for it."""
        slack = np.zeros(self.problem.n_examples)
        has_row = np.flatnonzero(self._lp_example >= 0)
        slack[has_row] = -solution.row_dual[self._lp_example[has_row]]
        on = np.flatnonzero(self._on)
        at_bound = np.maximum(-solution.reduced_cost[self._lp_margin[on]], 0.0)
        np.add.at(slack, self.problem.example_of_margin[on], at_bound)
        if self._cuts_on and self.n_cuts:
            at_bound = np.maximum(-solution.reduced_cost[self._lp_cut], 0.0)
            # the bound is the example's row over its coefficient, C / upper
            share = at_bound * self._cut_upper / self.problem.cost[self._cut_example]
            np.add.at(slack, self._cut_example, share)
        return np.maximum(slack, 0.0)

    def generate(
        self, tol: float = 1e-7, *, deadline: float = np.inf, n_rounds: int = 10_000
    ) -> Generated:
        """Add columns until no price exceeds one (Demiriz, Bennett and Shawe-Taylor 2002)."""
        bound = 0.0
        for _ in range(n_rounds):
            point = self.solve()
            price, columns = self.price(point, tol)
            bound = max(bound, point.objective / max(1.0, price))
            if not len(columns):
                return Generated(point, bound, complete=True)
            if time.monotonic() > deadline:
                break
            self.add_columns(columns)
        return Generated(point, bound, complete=False)

    def price(self, point: Point, tol: float) -> tuple[float, Columns]:
        """Largest price of the pool, and the best columns above one, if any."""
        duals, margin = self._dual_lines(point), self.values @ point.weight
        return price_columns(self.problem, self.pool, duals, margin, tol=tol, n_new=self.n_new)

    def _dual_lines(self, point: Point) -> DualLines:
        """Duals of the margins as one line, then the lines of every cut with a dual."""
        first = csr_array(point.margin_dual[None])
        active = np.flatnonzero(point.cut_dual > _ACTIVE)
        if not len(active):
            return DualLines(first, np.zeros(1, dtype=np.intp), np.empty(0))
        sizes = np.diff(self._cut_line)[active]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        chosen = np.repeat(self._cut_line[active] - bounds[:-1], sizes) + np.arange(bounds[-1])
        lines = csr_array(vstack([first, self._cut_lines[chosen]]))
        return DualLines(lines, bounds, point.cut_dual[active])
