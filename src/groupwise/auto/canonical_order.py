"""Rows and groups in an order that depends on what they hold alone.

Folds drawn and models fitted in this order are the same for the same data, whatever the order of
rows and the names of groups.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise._typing import Rows
from groupwise.groups import Groups

__all__ = ["canonical_order", "named_by_place"]

_BLOCK = 65_536  # rows that are looked at at a time


def canonical_order(
    X: Rows, y: NDArray[Any], groups: Groups, domains: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Order rows by their group, and groups and rows by what they hold.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
    groups : Groups
    domains : ndarray of shape (n_rows,), default=None
        Codes; the target's is 0.

    Returns
    -------
    order : ndarray of shape (n_rows,)
        Position in the given data of each row.
    position : ndarray of shape (n_groups,)
        Position in the given groups of each group.
    """
    key = _row_key(X, y, domains)
    least = -groups.max(-key)
    position = np.lexsort((groups.sizes, least))
    rank = np.empty(groups.n_groups, dtype=np.intp)
    rank[position] = np.arange(groups.n_groups)
    return np.lexsort((key, rank[groups.codes])), position


def named_by_place(ids: NDArray[Any]) -> NDArray[np.intp]:
    """Ids 0, 1, ... in the order in which they come first.

    Examples
    --------
    >>> named_by_place(np.array(["b", "b", "a", "c", "a"])).tolist()
    [0, 0, 1, 2, 1]
    """
    found = Groups(ids)
    return found.spread(np.argsort(np.argsort(found.first_rows)))


def _row_key(X: Rows, y: NDArray[Any], domains: NDArray[np.intp] | None) -> NDArray[np.float64]:
    """A number that differs between different rows, almost surely."""
    rng = np.random.RandomState(0)
    direction, gap = rng.normal(size=(2, X.shape[1]))
    labels = y.reshape(len(y), -1).astype(float)
    key = (labels * rng.normal(size=labels.shape[1])).sum(axis=1)
    if domains is not None:
        key += rng.normal() * (domains == 0)
    if issparse(X):
        return key + np.asarray(X @ direction)
    for start in range(0, len(y), _BLOCK):
        part = X[start : start + _BLOCK]
        key[start : start + _BLOCK] += np.where(np.isnan(part), gap, part * direction).sum(axis=1)
    return key
