"""Relax, choose witnesses, search: the disjunctive program from both sides."""

from dataclasses import dataclass, field, replace

import numpy as np

from groupwise.inputs import check_choice, check_flag, check_number
from groupwise.presence.program.branch import branch_and_bound
from groupwise.presence.program.cuts import CutSettings, Relaxed, relax_by_cuts
from groupwise.presence.program.disjunctions import Disjunctions
from groupwise.presence.program.lifted import relax_lifted
from groupwise.presence.program.master import Master
from groupwise.presence.program.pool import Pool
from groupwise.presence.program.witness import Incumbent, alternate, better, witnesses_at
from groupwise.solvers import Certificate

__all__ = ["ProgramSettings", "SolvedProgram", "solve_program"]

_RELAXATIONS = ("cuts", "lifted", "embedding")
_SOLUTIONS = ("witnesses", "relaxation")


@dataclass(frozen=True)
class ProgramSettings:
    """How hard to try; see :class:`groupwise.presence.DPBoostClassifier`.

    Attributes
    ----------
    relaxation : {"cuts", "lifted", "embedding"}
    solution : {"witnesses", "relaxation"}
    exact : bool
    n_restarts : int
    cuts : CutSettings
        What the relaxation may cost; its ``tol`` is that of the whole program.
    """

    relaxation: str = "cuts"
    solution: str = "witnesses"
    exact: bool = False
    n_restarts: int = 0
    cuts: CutSettings = field(default_factory=CutSettings)

    def __post_init__(self) -> None:
        check_choice("relaxation", self.relaxation, _RELAXATIONS)
        check_choice("solution", self.solution, _SOLUTIONS)
        check_flag("exact", self.exact)
        if self.exact and self.relaxation == "lifted":
            raise ValueError("exact=True searches with relaxation='cuts' or 'embedding'")
        if self.exact and self.solution == "relaxation":
            raise ValueError("exact=True searches for witnesses: solution must be 'witnesses'")
        check_number("n_restarts", self.n_restarts, "[0, inf)", whole=True)

    @property
    def tol(self) -> float:
        return self.cuts.tol


@dataclass(frozen=True)
class SolvedProgram:
    """The best model, the program it is a column set of, and what is proven of it.

    Attributes
    ----------
    master : Master
    incumbent : Incumbent
    bound : float
        No model costs less.
    n_made, n_active : int
        Cuts or reductions made, and those with a dual value at the end.
    n_nodes : int
        Of the search; 0 without.
    certificate : Certificate
        Of the relaxation's last linear program.
    """

    master: Master
    incumbent: Incumbent
    bound: float
    n_made: int
    n_active: int
    n_nodes: int
    certificate: Certificate


def solve_program(
    problem: Disjunctions,
    pool: Pool,
    settings: ProgramSettings,
    rng: np.random.RandomState,
    deadline: float = np.inf,
) -> SolvedProgram:
    """Bounds from both sides.

    Parameters
    ----------
    problem : Disjunctions
    pool : Pool
    settings : ProgramSettings
    rng : RandomState
        Draws the random starts.
    deadline : float
        On the clock of ``time.monotonic``.
    """
    if settings.exact and not pool.is_complete:
        raise ValueError(
            "exact=True needs a pool that can be searched whole: Stumps, Balls or FixedPool"
        )
    master, relaxed = _relax(problem, pool, settings, deadline)
    point = relaxed.generated.point
    incumbent = _choose_witnesses(master, relaxed, settings, rng, deadline)
    bound, n_nodes = relaxed.bound, 0
    if settings.exact and len(problem.ambiguous):
        searched = branch_and_bound(master, incumbent, tol=settings.tol, deadline=deadline)
        incumbent, n_nodes = searched.incumbent, searched.n_nodes
        bound = max(bound, searched.bound)
    if not pool.is_complete:
        bound = _bound_over_given(master, bound)
    return SolvedProgram(
        master=master,
        incumbent=incumbent,
        bound=min(bound, incumbent.cost),
        n_made=relaxed.n_made,
        n_active=relaxed.n_active,
        n_nodes=n_nodes,
        certificate=point.solution.certificate,
    )


def _relax(
    problem: Disjunctions, pool: Pool, settings: ProgramSettings, deadline: float
) -> tuple[Master, Relaxed]:
    master = Master(problem, pool)
    if settings.relaxation == "lifted":
        lifted, relaxed = relax_lifted(problem, pool, tol=settings.tol, deadline=deadline)
        if len(lifted.columns):
            master.add_columns(lifted.columns)
        return master, relaxed
    cuts = settings.cuts
    if settings.relaxation == "embedding":
        cuts = replace(cuts, n_rounds=0)
    return master, relax_by_cuts(master, cuts, deadline=deadline)


def _choose_witnesses(
    master: Master,
    relaxed: Relaxed,
    settings: ProgramSettings,
    rng: np.random.RandomState,
    deadline: float,
) -> Incumbent:
    """Alternation from the optima with and without cuts and from random witnesses; the cheapest."""
    problem, weight = master.problem, relaxed.generated.point.weight
    start = witnesses_at(master, weight)
    here = Incumbent(weight, master.cost_of(weight), start, relaxed.generated.complete)
    if not len(problem.ambiguous) or settings.solution == "relaxation":
        return here
    starts = [start]
    if relaxed.n_made:
        starts.append(witnesses_at(master, relaxed.first))
    for _ in range(settings.n_restarts):
        draw = rng.uniform(size=problem.n_examples)
        starts.append(problem.first_disjunct + (draw * problem.n_disjuncts).astype(np.intp))
    found = here
    for witness in starts:
        found = better(found, alternate(master, witness, tol=settings.tol, deadline=deadline))
    return found


def _bound_over_given(master: Master, bound: float) -> float:
    """The relaxation's bound once more, over all hypotheses that have been given since."""
    return min(bound, master.solve().objective)
