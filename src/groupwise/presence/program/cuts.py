"""Projected disjunctive cuts: separation by one live linear program per ambiguous example."""

import logging
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise.inputs import check_number
from groupwise.presence.program.master import Generated, Master, Point
from groupwise.solvers import LiveProgram

__all__ = ["CutSettings", "Relaxed", "max_embedding", "relax_by_cuts"]

logger = logging.getLogger(__name__)

_ACTIVE = 1e-9
_SMALL = 1e-6
_LARGE = 3e5


@dataclass(frozen=True)
class CutSettings:
    """How far the relaxation goes.

    Attributes
    ----------
    n_rounds : int
        Rounds of separation at most.
    n_reductions : int or None
        Certain margins that each disjunction is intersected with, the hardest ones; ``None``: all.
    max_disjuncts : int or None
        Larger groups keep their first cut, the maximum embedding.
    tol : float
        Least violation of a cut worth adding, and accuracy of the columns' prices.
    max_effort : float or None
        Rows times columns of all separation programs together; unlike a time limit it stops at the
        same place on every machine. 1e8 is some ten seconds.
    patience : int
        Rounds without progress of 0.1 % before it stops.
    """

    n_rounds: int = 10
    n_reductions: int | None = 60
    max_disjuncts: int | None = 16
    tol: float = 1e-6
    max_effort: float | None = 5e7
    patience: int = 3

    def __post_init__(self) -> None:
        check_number("cut_rounds", self.n_rounds, "[0, inf)", whole=True)
        check_number("n_reductions", self.n_reductions, "[0, inf)", whole=True, none=True)
        check_number("max_disjuncts", self.max_disjuncts, "[1, inf)", whole=True, none=True)
        check_number("tol", self.tol, "(0, inf)")
        check_number("max_effort", self.max_effort, "[0, inf]", none=True)


@dataclass(frozen=True)
class Relaxed:
    """The relaxation's optimum, the bound it proves, and how it got there.

    ``first`` holds the weights of the first round, those of the maximum embedding.
    """

    generated: Generated
    first: NDArray[np.float64]
    bound: float
    n_rounds: int
    n_active: int
    n_made: int


def max_embedding(master: Master) -> None:
    """The first cut of every ambiguous example: u = 1 shared among each disjunct's margins."""
    problem = master.problem
    size = np.bincount(problem.disjunct)
    for example in problem.ambiguous:
        first = problem.first_disjunct[example]
        disjuncts = np.arange(first, first + problem.n_disjuncts[example])
        margins = problem.margins_of(disjuncts)
        line = problem.disjunct[margins] - first
        weight = 1.0 / size[problem.disjunct[margins]]
        shape = (len(disjuncts), problem.n_margins)
        master.add_cut(csr_array((weight, (line, margins)), shape=shape), int(example))


class Separator:
    r"""The deepest projected cut of one example at a point, from a program that stays alive.

    Variables are the multipliers U of the example's disjuncts on their own margins and on certain
    margins, with :math:`r_k \ge (UG)_{dk}`, :math:`t_e \ge (UM)_{de}` and
    :math:`\theta \le \sum_r U_{dr}`; the violation is
    :math:`\theta - \sum_k a_k r_k - \sum_e \xi_e t_e` under :math:`\sum_{dr} U_{dr} \le n_d`. A new
    point only changes costs; new hypotheses are new rows, new certain margins new columns.
    """

    def __init__(self, master: Master, example: int):
        problem = master.problem
        first = problem.first_disjunct[example]
        self.master, self.example = master, example
        self.n_disjuncts = int(problem.n_disjuncts[example])
        self.program = LiveProgram()
        own = problem.margins_of(np.arange(first, first + self.n_disjuncts))
        self.line = problem.disjunct[own] - first  # of each multiplier
        self.margin = own
        self.multiplier = self.program.add_columns(np.zeros(len(own)))
        self.theta = self.program.add_columns([-1.0], lower=-np.inf)
        self.slack = self.program.add_columns([0.0])
        self.examples = np.array([example])
        self.hypotheses = np.empty(0, dtype=np.intp)
        self.r = np.empty(0, dtype=np.int32)
        d, n = self.n_disjuncts, self.program.n_columns
        rows = np.zeros((2 * d + 1, n))
        rows[self.line, self.multiplier] = 1.0  # theta <= sum of the line
        rows[:d, self.theta] = -1.0
        rows[d + self.line, self.multiplier] = -1.0  # slack >= sum of own multipliers
        rows[d : 2 * d, self.slack] = 1.0
        rows[2 * d, self.multiplier] = -1.0  # the normalisation
        lower = np.concatenate([np.zeros(2 * d), [-float(d)]])
        self.program.add_rows(rows, lower=lower)
        self._owner = np.full((self.program.n_rows, 2), -1)  # hypothesis and line of each row

    def cut(self, point: Point, margins: NDArray[np.intp], tol: float) -> csr_array | None:
        """Multipliers of the deepest cut at the point, or ``None`` if none is violated."""
        self._add_margins(np.setdiff1d(margins, self.margin))
        active = np.flatnonzero(point.weight > _ACTIVE)
        self._add_hypotheses(np.setdiff1d(active, self.hypotheses))
        self.program.set_costs(self.r, point.weight[self.hypotheses])
        self.program.set_costs(self.slack, point.slack[self.examples])
        # all costs are new: a large program is solved sooner from scratch, simplified
        solution = self.program.solve("dual", fresh=self.effort > _LARGE)
        if solution.objective > -tol:
            return None
        value = np.maximum(solution.x[self.multiplier], 0.0)
        kept = value > _SMALL * value.max()  # any multipliers are valid; tiny ones harm the numbers
        shape = (self.n_disjuncts, self.master.problem.n_margins)
        return csr_array((value[kept], (self.line[kept], self.margin[kept])), shape=shape)

    @property
    def effort(self) -> float:
        """Size of the program."""
        return float(self.program.n_rows) * self.program.n_columns

    def is_stale(self, point: Point) -> bool:
        """Whether most of its hypotheses have lost their weight, so that a new start is cheaper."""
        return bool((point.weight[self.hypotheses] > _ACTIVE).mean() < 0.5)

    def _add_hypotheses(self, new: NDArray[np.intp]) -> None:
        if not len(new):
            return
        d = self.n_disjuncts
        r = self.program.add_columns(np.zeros(len(new)), lower=-np.inf)
        rows = np.zeros((len(new) * d, self.program.n_columns))
        value = self.master.values[np.ix_(self.margin, new)]
        for at in range(len(new)):
            rows[at * d + self.line, self.multiplier] = -value[:, at]
            rows[at * d : (at + 1) * d, r[at]] = 1.0
        self.program.add_rows(rows, lower=0.0)
        owner = np.column_stack([np.repeat(new, d), np.tile(np.arange(d), len(new))])
        self._owner = np.concatenate([self._owner, owner])
        self.hypotheses = np.concatenate([self.hypotheses, new])
        self.r = np.concatenate([self.r, r])

    def _add_margins(self, new: NDArray[np.intp]) -> None:
        if not len(new):
            return
        d, problem = self.n_disjuncts, self.master.problem
        line, margin = np.repeat(np.arange(d), len(new)), np.tile(new, d)
        entries = np.zeros((self.program.n_rows, len(line)))
        entries[line, np.arange(len(line))] = 1.0
        entries[2 * d] = -1.0
        known = np.flatnonzero(self._owner[:, 0] >= 0)
        value = self.master.values[np.ix_(margin, self._owner[known, 0])].T
        entries[known] = np.where(self._owner[known, 1][:, None] == line, -value, 0.0)
        multiplier = self.program.add_columns(np.zeros(len(line)), entries=entries)
        examples = problem.example_of_margin[new]
        added = np.unique(examples)
        slack = self.program.add_columns(np.zeros(len(added)))
        rows = np.zeros((len(added) * d, self.program.n_columns))
        place = np.searchsorted(added, problem.example_of_margin[margin])
        rows[place * d + line, multiplier] = -1.0
        rows[np.arange(len(rows)), np.repeat(slack, d)] = 1.0
        self.program.add_rows(rows, lower=0.0)
        self._owner = np.concatenate([self._owner, np.full((len(rows), 2), -1)])
        self.line = np.concatenate([self.line, line])
        self.margin = np.concatenate([self.margin, margin])
        self.multiplier = np.concatenate([self.multiplier, multiplier])
        self.examples = np.concatenate([self.examples, added])
        self.slack = np.concatenate([self.slack, slack])


def relax_by_cuts(
    master: Master, settings: CutSettings, *, deadline: float = np.inf, target: float = np.inf
) -> Relaxed:
    """Rounds of column generation and cuts until no cut is violated, or as the settings say.

    ``target`` is an upper bound at which the relaxation has nothing left to prove.
    """
    max_embedding(master)
    separation = _Separation(master, settings, deadline)
    bounds: list[float] = []
    while True:
        generated = master.generate(settings.tol, deadline=deadline)
        if not bounds:
            first = generated.point.weight
        bounds.append(max([generated.bound, *bounds[-1:]]))
        logger.info("cut round %d: bound %.6f", len(bounds), bounds[-1])
        stalled = (
            len(bounds) > settings.patience and bounds[-1] < 1.001 * bounds[-1 - settings.patience]
        )
        if stalled or len(bounds) > settings.n_rounds or bounds[-1] >= target * (1.0 - 1e-9):
            break
        if separation.is_spent() or not separation.add_cuts(generated.point):
            break
    dual = generated.point.cut_dual[len(master.problem.ambiguous) :]
    n_active = int((dual > _ACTIVE).sum())
    return Relaxed(generated, first, bounds[-1], len(bounds), n_active, len(dual))


class _Separation:
    """The separators of all examples, and what they may spend."""

    def __init__(self, master: Master, settings: CutSettings, deadline: float):
        self.master, self.settings, self.deadline = master, settings, deadline
        self.separators: dict[int, Separator] = {}
        self.effort = 0.0
        self._in_vain: set[int] = set()  # violated, but inside their hull when last tried

    def is_spent(self) -> bool:
        most = self.settings.max_effort
        return (most is not None and self.effort >= most) or time.monotonic() > self.deadline

    def add_cuts(self, point: Point) -> int:
        """Add a cut for every example whose disjunction the point violates; how many."""
        margin = self.master.values @ point.weight
        hardest = self._hardest(margin, point)
        violated = self._violated(margin, point)
        promising = [e for e in violated if e not in self._in_vain]
        n_added = self._try(promising, point, hardest)
        if not n_added:  # before giving up, those that gave nothing last time
            n_added = self._try([e for e in violated if e in self._in_vain], point, hardest)
        return n_added

    def _try(self, examples: list[int], point: Point, hardest: NDArray[np.intp]) -> int:
        n_added = 0
        for example in examples:
            if self.is_spent():
                break
            separator = self.separators.get(example)
            if separator is None or separator.is_stale(point):
                separator = self.separators[example] = Separator(self.master, example)
            lines = separator.cut(point, hardest, self.settings.tol)
            self.effort += separator.effort
            if lines is None:
                self._in_vain.add(example)
                continue
            self._in_vain.discard(example)
            self.master.add_cut(lines, example)
            n_added += 1
        return n_added

    def _violated(self, margin: NDArray[np.float64], point: Point) -> list[int]:
        """Examples none of whose disjuncts holds at the point, the most violated first."""
        problem = self.master.problem
        reached = problem.best(margin)[1] + point.slack
        violated = problem.ambiguous[reached[problem.ambiguous] < 1.0 - self.settings.tol]
        if self.settings.max_disjuncts is not None:
            violated = violated[problem.n_disjuncts[violated] <= self.settings.max_disjuncts]
        return [int(e) for e in violated[np.argsort(reached[violated], kind="stable")]]

    def _hardest(self, margin: NDArray[np.float64], point: Point) -> NDArray[np.intp]:
        """The certain margins with least to spare; among equals those with the largest duals."""
        problem, most = self.master.problem, self.settings.n_reductions
        certain = problem.certain
        if most is None or len(certain) <= most:
            return certain
        spare = margin[certain] + point.slack[problem.example_of_margin[certain]]
        order = np.lexsort((-point.margin_dual[certain], spare.round(6)))
        return certain[order[:most]]
