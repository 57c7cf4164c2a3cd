"""Checked training data of any kind, in an order that depends on what they hold alone."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.auto.canonical_order import canonical_order, named_by_place
from groupwise.groups import Groups
from groupwise.preparation import Unprepared

__all__ = ["Problem", "Split", "in_canonical_order"]

#: Training and held-out rows of a fold.
Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Problem:
    """Checked training data of any kind.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Categories as codes.
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, the group's shares, or the group's number.
    groups : Groups
        Named 0, 1, ...
    n_classes : int
        0 for numbers.
    categories : tuple of int
        Columns of ``X`` that hold codes of categories.
    domains : ndarray of shape (n_rows,), default=None
        Codes; the target's is 0.
    keep_whole : ndarray of shape (n_rows,), default=None
        Coarser ids that no fold divides.
    unprepared : Unprepared, default=None
        The rows before a preparation that every fold learns for itself; ``X`` is what comes of it
        on all rows.
    place : ndarray of shape (n_rows,), default=None
        Of each row among those of the caller, whose splitter may go by it.
    """

    X: Rows
    y: NDArray[Any]
    groups: Groups
    n_classes: int
    categories: tuple[int, ...] = ()
    domains: NDArray[np.intp] | None = None
    keep_whole: NDArray[np.intp] | None = None
    unprepared: Unprepared | None = None
    place: NDArray[np.intp] | None = None

    @property
    def n_rows(self) -> int:
        return self.groups.n_rows

    @property
    def numbers(self) -> tuple[int, ...]:
        """Columns of ``X`` that are no categories."""
        return tuple(c for c in range(self.X.shape[1]) if c not in self.categories)

    @property
    def n_features(self) -> int:
        """How many columns there are where every category has one."""
        table: Any = self.X
        of_categories = [len(np.unique(table[:, column])) for column in self.categories]
        return len(self.numbers) + sum(of_categories)

    @property
    def undivided(self) -> NDArray[np.intp]:
        """What no fold divides: the coarser ids of the rows, or their groups."""
        return self.groups.codes if self.keep_whole is None else self.keep_whole

    def whole_of_groups(self) -> dict[int, int] | None:
        """The coarser id of each group by its name, where there are such."""
        if self.keep_whole is None:
            return None
        ids = self.keep_whole[self.groups.first_rows]
        return dict(zip(self.groups.names.tolist(), ids.tolist(), strict=True))

    def take(self, rows: NDArray[np.intp]) -> "Problem":
        """The same for some of the rows; groups keep their names."""
        rest = None if self.unprepared is None else self.unprepared.take(rows)
        return self.take_as(rows, self.X[rows], self.categories, rest)

    def take_as(
        self,
        rows: NDArray[np.intp],
        X: Rows,
        categories: tuple[int, ...],
        unprepared: Unprepared | None = None,
    ) -> "Problem":
        """The same for some of the rows, with these features."""
        return replace(
            self,
            X=X,
            y=self.y[rows],
            categories=categories,
            groups=Groups(self.groups.names[self.groups.codes[rows]]),
            domains=None if self.domains is None else self.domains[rows],
            keep_whole=None if self.keep_whole is None else self.keep_whole[rows],
            unprepared=unprepared,
            place=None if self.place is None else self.place[rows],
        )


def in_canonical_order(problem: Problem) -> tuple[Problem, NDArray[np.intp]]:
    """Rows and groups in the order in which folds are drawn and members fitted.

    Returns
    -------
    ordered : Problem
    group : ndarray of shape (n_groups,)
        Position in the given groups of each group.
    """
    order, group = canonical_order(problem.X, problem.y, problem.groups, problem.domains)
    ordered = problem.take(order)
    ordered = replace(ordered, groups=Groups(named_by_place(ordered.groups.codes)), place=order)
    if ordered.keep_whole is None:
        return ordered, group
    return replace(ordered, keep_whole=named_by_place(ordered.keep_whole)), group
