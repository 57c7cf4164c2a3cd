"""Relax, choose witnesses, search: the disjunctive program from both sides."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from groupwise.presence._branch import branch_and_bound
from groupwise.presence._cuts import CutSettings, Relaxed, relax_by_cuts
from groupwise.presence._disjunctions import Disjunctions
from groupwise.presence._lifted import relax_lifted
from groupwise.presence._master import Master
from groupwise.presence._pool import AskedPool, Pool
from groupwise.presence._witness import Incumbent, alternate, better, witnesses_at

__all__ = ["Settings", "Solved", "solve"]

_RELAXATIONS = ("cuts", "lifted", "embedding")


@dataclass(frozen=True)
class Settings:
    """How hard to try; see :class:`groupwise.presence.DPBoostClassifier`."""

    relaxation: str = "cuts"
    exact: bool = False
    n_starts: int = 0
    cut_rounds: int = 10
    n_reductions: int | None = 60
    max_disjuncts: int | None = 16
    max_effort: float | None = 5e7
    tol: float = 1e-6

    def __post_init__(self) -> None:
        if self.relaxation not in _RELAXATIONS:
            raise ValueError(f"relaxation must be one of {_RELAXATIONS}, got {self.relaxation!r}")
        if self.exact and self.relaxation == "lifted":
            raise ValueError("exact=True searches with relaxation='cuts' or 'embedding'")
        for name in ("n_starts", "cut_rounds"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be at least 0, got {getattr(self, name)!r}")

    def cuts(self) -> CutSettings:
        return CutSettings(
            n_rounds=0 if self.relaxation == "embedding" else self.cut_rounds,
            n_reductions=self.n_reductions,
            max_disjuncts=self.max_disjuncts,
            max_effort=self.max_effort,
            tol=self.tol,
        )


@dataclass(frozen=True)
class Solved:
    """The best model, the program it is a column set of, and what is proven of it."""

    master: Master
    incumbent: Incumbent
    bound: float
    n_made: int
    n_active: int
    n_nodes: int
    duality_gap: float


def solve(
    problem: Disjunctions,
    pool: Pool | AskedPool,
    settings: Settings,
    rng: np.random.RandomState,
    deadline: float = np.inf,
) -> Solved:
    """Bounds from both sides.

    Parameters
    ----------
    problem : Disjunctions
    pool : Pool or AskedPool
    settings : Settings
    rng : RandomState
        Draws the random starts.
    deadline : float
        On the clock of ``time.monotonic``.
    """
    if settings.exact and isinstance(pool, AskedPool):
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
    if isinstance(pool, AskedPool):
        bound = _bound_over_given(master, bound)
    return Solved(
        master=master,
        incumbent=incumbent,
        bound=min(bound, incumbent.cost),
        n_made=relaxed.n_made,
        n_active=relaxed.n_active,
        n_nodes=n_nodes,
        duality_gap=point.solution.gap,
    )


def _relax(
    problem: Disjunctions, pool: Pool | AskedPool, settings: Settings, deadline: float
) -> tuple[Master, Relaxed]:
    master = Master(problem, pool)
    if settings.relaxation == "lifted":
        lifted, relaxed = relax_lifted(problem, pool, tol=settings.tol, deadline=deadline)
        if len(lifted.columns):
            master.add_columns(lifted.columns)
        return master, relaxed
    return master, relax_by_cuts(master, settings.cuts(), deadline=deadline)


def _choose_witnesses(
    master: Master, relaxed: Relaxed, settings: Settings, rng: Any, deadline: float
) -> Incumbent:
    """Alternation from the optima with and without cuts and from random witnesses; the cheapest."""
    problem, weight = master.problem, relaxed.generated.point.weight
    start = witnesses_at(master, weight)
    here = Incumbent(weight, master.cost_of(weight), start, relaxed.generated.complete)
    if not len(problem.ambiguous):
        return here
    starts = [start]
    if relaxed.n_made:
        starts.append(witnesses_at(master, relaxed.first))
    for _ in range(settings.n_starts):
        draw = rng.uniform(size=problem.n_examples)
        starts.append(problem.first_disjunct + (draw * problem.n_disjuncts).astype(np.intp))
    found = here
    for witness in starts:
        found = better(found, alternate(master, witness, tol=settings.tol, deadline=deadline))
    return found


def _bound_over_given(master: Master, bound: float) -> float:
    """The relaxation's bound once more, over all hypotheses that have been given since."""
    return min(bound, master.solve().objective)
