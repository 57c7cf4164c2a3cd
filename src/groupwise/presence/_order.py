"""An order of rows and groups that does not depend on how they were given."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise.groups import Groups

__all__ = ["Arranged", "arrange"]


class Arranged:
    """Rows sorted by group, and groups and rows by what they hold.

    Linear programs have many optima, and solvers find the one that the order leads to. In this
    order the same data give the same model, whatever the order of rows and the names of groups.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Position in the given data of each row.
    groups : Groups
        Of the rows in their new order; integers in order.
    group : ndarray of shape (n_groups,)
        Position in the given groups of each group.
    """

    def __init__(self, X: Any, y_row: NDArray[np.intp], groups: Groups):
        key = _row_key(X)
        by_key = np.lexsort((key, groups.codes))
        least = key[by_key][groups.offsets[:-1]]
        y_group = y_row[groups.first_rows]
        self.group = np.lexsort((groups.sizes, least, y_group))
        rank = np.empty(groups.n_groups, dtype=np.intp)
        rank[self.group] = np.arange(groups.n_groups)
        self.order = np.lexsort((key, rank[groups.codes]))
        self.groups = Groups(rank[groups.codes][self.order])


def arrange(X: Any, y_row: NDArray[np.intp], groups: Groups) -> Arranged:
    """Find the order."""
    return Arranged(X, y_row, groups)


def _row_key(X: Any) -> NDArray[np.float64]:
    """A number that differs between different rows, almost surely."""
    direction = np.random.RandomState(0).normal(size=X.shape[1])
    if issparse(X):
        return np.asarray(X @ direction)
    return (X * direction).sum(axis=1)
