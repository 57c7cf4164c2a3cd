r"""Examples that hold if one of several sets of margins holds: the data of a disjunctive program.

Example i asks for one of its disjuncts d, and a disjunct for all of its margins r:

.. math:: \xi_i \ge 0, \quad \bigvee_{d \in i} \bigwedge_{r \in d}
          \Big[ \sum_o e_{ro} f_o(x_r) + \xi_i \ge 1 \Big]

Two classes have one output f and e = -1 or +1; more classes have one output each, and the disjunct
"row x has class y" has the margins f_y(x) - f_c(x) of all other classes c.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise.groups import Groups

__all__ = ["Disjunctions", "example_cost", "labelled_rows", "present_rows"]


@dataclass(frozen=True)
class Disjunctions:
    """Margins in disjuncts in examples, each sorted.

    Attributes
    ----------
    row : ndarray of shape (n_margins,)
        The row of X that a margin is about.
    code : ndarray of shape (n_margins, n_outputs)
        How the outputs count in it.
    disjunct : ndarray of shape (n_margins,)
    example : ndarray of shape (n_disjuncts,)
    cost : ndarray of shape (n_examples,)
        C of each example.
    n_rows : int
    """

    row: NDArray[np.intp]
    code: NDArray[np.float64]
    disjunct: NDArray[np.intp]
    example: NDArray[np.intp]
    cost: NDArray[np.float64]
    n_rows: int

    @property
    def n_margins(self) -> int:
        return len(self.row)

    @property
    def n_examples(self) -> int:
        return len(self.cost)

    @property
    def n_outputs(self) -> int:
        return self.code.shape[1]

    @cached_property
    def n_disjuncts(self) -> NDArray[np.intp]:
        """Disjuncts of each example."""
        return np.bincount(self.example, minlength=self.n_examples)

    @cached_property
    def ambiguous(self) -> NDArray[np.intp]:
        """The examples with more than one disjunct."""
        return np.flatnonzero(self.n_disjuncts > 1)

    @cached_property
    def example_of_margin(self) -> NDArray[np.intp]:
        return self.example[self.disjunct]

    @cached_property
    def certain(self) -> NDArray[np.intp]:
        """The margins of examples with one disjunct."""
        return np.flatnonzero(self.n_disjuncts[self.example_of_margin] == 1)

    @cached_property
    def first_margin(self) -> NDArray[np.intp]:
        """The first margin of each disjunct."""
        return np.searchsorted(self.disjunct, np.arange(len(self.example)))

    @cached_property
    def first_disjunct(self) -> NDArray[np.intp]:
        """The first disjunct of each example."""
        return np.searchsorted(self.example, np.arange(self.n_examples))

    @cached_property
    def to_examples(self) -> csr_array:
        """Sums margins to examples, (n_margins, n_examples)."""
        return _indicator(self.example_of_margin, self.n_examples)

    @cached_property
    def to_rows(self) -> list[csr_array]:
        """Of each output: turns weights of margins into weights of rows, (n_margins, n_rows)."""
        place = _indicator(self.row, self.n_rows)
        return [csr_array(place.multiply(self.code[:, [o]])) for o in range(self.n_outputs)]

    def margins(self, score_row: NDArray[np.float64]) -> NDArray[np.float64]:
        """Value of each margin for scores (n_rows, n_outputs)."""
        return (self.code * score_row[self.row]).sum(axis=1)

    def of_disjuncts(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Least margin of each disjunct."""
        return np.minimum.reduceat(margin, self.first_margin)

    def best(self, margin: NDArray[np.float64]) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Of each example its best disjunct (the first one among equals) and that one's margin."""
        value = self.of_disjuncts(margin)
        top = np.maximum.reduceat(value, self.first_disjunct)
        candidate = np.where(value == top[self.example], np.arange(len(value)), len(value))
        return np.minimum.reduceat(candidate, self.first_disjunct), top

    def slack_cost(self, margin: NDArray[np.float64]) -> float:
        """Cost of all examples that fall short of margin 1."""
        return float(self.cost @ np.maximum(1.0 - self.best(margin)[1], 0.0))

    def margins_of(self, disjuncts: NDArray[np.intp]) -> NDArray[np.intp]:
        """The margins of some disjuncts."""
        chosen = np.zeros(len(self.example), dtype=bool)
        chosen[disjuncts] = True
        return np.flatnonzero(chosen[self.disjunct])


def _indicator(codes: NDArray[np.intp], n: int) -> csr_array:
    ones = np.ones(len(codes))
    return csr_array((ones, codes, np.arange(len(codes) + 1)), shape=(len(codes), n))


def _build(
    row: NDArray[np.intp],
    label: NDArray[np.intp],
    example: NDArray[np.intp],
    cost: NDArray[np.float64],
    n_classes: int,
    n_rows: int,
) -> Disjunctions:
    """Disjuncts "this row has this label", sorted by example."""
    if n_classes == 2:
        code = np.where(label == 1, 1.0, -1.0)[:, None]
        return Disjunctions(row, code, np.arange(len(row)), example, cost, n_rows)
    other = np.array([[c for c in range(n_classes) if c != y] for y in range(n_classes)])[label]
    n_other = n_classes - 1
    code = np.zeros((len(row) * n_other, n_classes))
    at = np.arange(len(code))
    code[at, np.repeat(label, n_other)] = 1.0
    code[at, other.ravel()] = -1.0
    disjunct = np.repeat(np.arange(len(row)), n_other)
    return Disjunctions(row[disjunct], code, disjunct, example, cost, n_rows)


def example_cost(nu: float, C: float | None, n_examples: int) -> float:
    """C, or 1 / (nu n)."""
    return 1.0 / (nu * n_examples) if C is None else float(C)


def labelled_rows(y_row: NDArray[np.intp], cost: float, n_classes: int) -> Disjunctions:
    """Every row an example of its own: LPBoost."""
    n_rows = len(y_row)
    every = np.arange(n_rows)
    return _build(every, y_row, every, np.full(n_rows, cost), n_classes, n_rows)


def present_rows(
    candidates: NDArray[np.bool_],
    groups: Groups,
    whole: NDArray[np.bool_],
    cost: float,
    *,
    whole_cost: str = "group",
) -> Disjunctions:
    """Groups of which at least one row has one of the candidate classes.

    Parameters
    ----------
    candidates : ndarray of shape (n_groups, n_classes)
    groups : Groups
        In order: the rows lie sorted by group.
    whole : ndarray of shape (n_groups,)
        Groups all of whose rows are examples of their own.
    cost : float
        Of a group.
    whole_cost : {"group", "row"}
        Whether the rows of a whole group share its cost, cost / size each, or have it each.
    """
    n_classes = candidates.shape[1]
    starts_example = groups.spread(whole).copy()
    starts_example[groups.first_rows] = True
    example_row = np.cumsum(starts_example) - 1
    shared = whole & (whole_cost == "group")
    cost_group = np.where(shared, cost / groups.sizes, cost)
    row, label = np.nonzero(groups.spread(candidates))
    return _build(
        row,
        label,
        example_row[row],
        groups.spread(cost_group)[starts_example],
        n_classes,
        groups.n_rows,
    )
