"""An order of rows and groups that does not depend on how they were given."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise._typing import Rows
from groupwise.groups import Groups

__all__ = ["CanonicalOrder", "canonical_order"]


@dataclass(frozen=True)
class CanonicalOrder:
    """Rows sorted by group, and groups and rows by what they hold.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Position in the given data of each row.
    groups : Groups
        Of the rows in their new order; integers in order.
    group : ndarray of shape (n_groups,)
        Position in the given groups of each group.
    """

    order: NDArray[np.intp]
    groups: Groups
    group: NDArray[np.intp]


def canonical_order(X: Rows, y_row: NDArray[np.intp], groups: Groups) -> CanonicalOrder:
    """Order rows and groups by what they hold.

    Linear programs have many optima, and solvers find the one that the order leads to. In this
    order the same data give the same model, whatever the order of rows and the names of groups.

    Parameters
    ----------
    X : array of shape (n_rows, n_features)
    y_row : ndarray of shape (n_rows,)
        A number that is the same on all rows of a group, and by which groups are sorted first.
    groups : Groups

    Returns
    -------
    order : CanonicalOrder
    """
    key = _row_key(X)
    by_key = np.lexsort((key, groups.codes))
    least = key[by_key][groups.offsets[:-1]]
    y_group = y_row[groups.first_rows]
    group = np.lexsort((groups.sizes, least, y_group))
    rank = np.empty(groups.n_groups, dtype=np.intp)
    rank[group] = np.arange(groups.n_groups)
    order = np.lexsort((key, rank[groups.codes]))
    return CanonicalOrder(order, Groups(rank[groups.codes][order]), group)


def _row_key(X: Rows) -> NDArray[np.float64]:
    """A number that differs between different rows, almost surely."""
    direction = np.random.RandomState(0).normal(size=X.shape[1])
    if issparse(X):
        return np.asarray(X @ direction)
    return (X * direction).sum(axis=1)
