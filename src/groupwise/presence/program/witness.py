"""Upper bounds: pick a witness for every ambiguous example, solve, pick again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise.presence.program.master import Master

__all__ = ["Incumbent", "alternate", "better", "witnesses_at"]


@dataclass(frozen=True)
class Incumbent:
    """A feasible model.

    Attributes
    ----------
    weight : ndarray of shape (n_columns,)
        Of the columns there were when it was found.
    cost : float
        Its true objective: an upper bound.
    witness : ndarray of shape (n_examples,)
        The disjunct that carries each example.
    complete : bool
        Whether column generation had finished when it was found.
    """

    weight: NDArray[np.float64]
    cost: float
    witness: NDArray[np.intp]
    complete: bool = True


def witnesses_at(master: Master, weight: NDArray[np.float64]) -> NDArray[np.intp]:
    """The best disjunct of every example at given weights."""
    return master.problem.best(master.values[:, : len(weight)] @ weight)[0]


def better(one: Incumbent | None, other: Incumbent) -> Incumbent:
    """The cheaper one; the first among equals."""
    return other if one is None or other.cost < one.cost - 1e-12 else one


def alternate(
    master: Master,
    witness: NDArray[np.intp],
    *,
    tol: float = 1e-6,
    n_rounds: int = 50,
    deadline: float = np.inf,
) -> Incumbent:
    """LPBoost with the witnesses as certain examples, and new witnesses, until they repeat.

    The cost never rises: the old weights with the new witnesses cost no more than with the old
    ones. Cuts are switched off meanwhile.
    """
    problem = master.problem
    master.use_cuts(False)
    found = None
    for _ in range(n_rounds):
        on = problem.margins_of(witness[problem.ambiguous])
        master.switch_on(on)
        generated = master.generate(tol, deadline=deadline)
        master.switch_off(on)
        weight = generated.point.weight
        margin = master.values @ weight
        of_disjunct = problem.of_disjuncts(margin)
        best, top = problem.best(margin)
        # another witness has to be better, not as good: that would go round in circles
        moved = np.where(top > of_disjunct[witness] + 1e-7, best, witness)
        candidate = Incumbent(weight, master.cost_of(weight), moved, generated.complete)
        improved = found is None or candidate.cost < found.cost - 1e-9
        found = better(found, candidate)
        if not improved or np.array_equal(moved, witness):
            break
        witness = moved
    master.use_cuts(True)
    assert found is not None  # n_rounds is at least one
    return found
