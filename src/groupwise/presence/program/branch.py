"""Branch and bound over witnesses, every node a set of bounds on one live program."""

import heapq
import itertools
import logging
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise.presence.program.master import Generated, Master
from groupwise.presence.program.witness import Incumbent, alternate, better, witnesses_at

__all__ = ["Searched", "branch_and_bound"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Searched:
    """The best model found, the bound that is proven, and the number of nodes."""

    incumbent: Incumbent
    bound: float
    n_nodes: int


def branch_and_bound(
    master: Master,
    incumbent: Incumbent,
    *,
    tol: float = 1e-6,
    deadline: float = np.inf,
    n_nodes: int = 1_000_000,
) -> Searched:
    """Best node first: fix the witness of the example that is violated most.

    A node is a list of disjuncts that are asked for; its bound is that of the relaxation with their
    margins switched on. It stops at a relative gap of ``tol``, at the deadline, or after
    ``n_nodes``, and the bound returned is proven in each case.
    """
    search = _Search(master, incumbent, tol, deadline)
    open_nodes: list[tuple[float, int, tuple[int, ...]]] = []
    tie = itertools.count()
    fixed: tuple[int, ...] | None = ()
    proven = -np.inf
    while fixed is not None:
        branch = search.node(fixed)
        if branch is not None:
            bound, children = branch
            for child in children:
                heapq.heappush(open_nodes, (bound, next(tie), (*fixed, int(child))))
        if search.n_nodes >= n_nodes or time.monotonic() > deadline:
            break
        fixed = None
        while open_nodes and fixed is None:
            proven, _, fixed = heapq.heappop(open_nodes)
            if proven >= search.ceiling:
                search.left = min(search.left, proven)
                open_nodes.clear()  # the best open node is no better than what we have
                fixed = None
        if fixed is not None and search.n_nodes % 500 == 0:
            logger.info("node %d: %.6f to %.6f", search.n_nodes, proven, search.incumbent.cost)
    search.switch(())
    left = min([search.left, search.incumbent.cost, *(node[0] for node in open_nodes)])
    return Searched(search.incumbent, left, search.n_nodes)


class _Search:
    def __init__(self, master: Master, incumbent: Incumbent, tol: float, deadline: float):
        self.master, self.incumbent, self.tol, self.deadline = master, incumbent, tol, deadline
        self.n_nodes = 0
        self.left = np.inf  # least bound of nodes that were given up: no better, or out of time
        self._on: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    @property
    def ceiling(self) -> float:
        """Bounds from here on are of no interest."""
        return self.incumbent.cost * (1.0 - self.tol)

    def switch(self, fixed: tuple[int, ...]) -> None:
        """Ask for the margins of exactly these disjuncts."""
        wanted = self.master.problem.margins_of(np.array(fixed, dtype=np.intp))
        self.master.switch_off(np.setdiff1d(self._on, wanted))
        self.master.switch_on(np.setdiff1d(wanted, self._on))
        self._on = wanted

    def node(self, fixed: tuple[int, ...]) -> tuple[float, NDArray[np.intp]] | None:
        """Bound of a node and the disjuncts to branch on; ``None`` if it is settled."""
        self.n_nodes += 1
        self.switch(fixed)
        problem = self.master.problem
        generated = self.master.generate(self.tol, deadline=self.deadline)
        if generated.bound >= self.ceiling or not generated.complete:
            self.left = min(self.left, generated.bound)
            return None
        weight = generated.point.weight
        margin = self.master.values @ weight
        self._improve(generated, fixed)
        short = 1.0 - problem.best(margin)[1] - generated.point.slack
        short[problem.example[list(fixed)]] = 0.0
        ambiguous = problem.ambiguous
        example = ambiguous[int(short[ambiguous].argmax())]
        if short[example] <= 1e-9 or generated.bound >= self.ceiling:
            self.left = min(self.left, generated.bound)
            return None
        first = problem.first_disjunct[example]
        children = np.arange(first, first + problem.n_disjuncts[example])
        value = problem.of_disjuncts(margin)[children]
        return generated.bound, children[np.argsort(-value, kind="stable")]

    def _improve(self, generated: Generated, fixed: tuple[int, ...]) -> None:
        """Take the node's weights as a model, and now and then their witnesses as a start."""
        weight = generated.point.weight
        witness = witnesses_at(self.master, weight)
        here = Incumbent(weight, self.master.cost_of(weight), witness, generated.complete)
        improved = here.cost < self.incumbent.cost - 1e-9
        self.incumbent = better(self.incumbent, here)
        if improved or self.n_nodes % 100 == 1:
            witness[self.master.problem.example[list(fixed)]] = list(fixed)
            self.switch(())
            found = alternate(self.master, witness, tol=self.tol, deadline=self.deadline)
            self.incumbent = better(self.incumbent, found)
