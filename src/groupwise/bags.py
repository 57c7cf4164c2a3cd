"""Lists of bags, as other libraries for multiple-instance learning take them, and flat rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups

__all__ = ["flatten_bags", "unflatten_bags"]


def flatten_bags(
    bags: Sequence[ArrayLike], labels: ArrayLike
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Turn a list of bags (one 2-D array each) and one label per bag into flat rows.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        The bag's label, repeated on its rows.
    groups : ndarray of shape (n_rows,)
        The position of the bag in the list.

    Examples
    --------
    >>> import numpy as np
    >>> X, y, groups = flatten_bags([np.ones((2, 3)), np.zeros((1, 3))], ["run", "walk"])
    >>> X.shape, y.tolist(), groups.tolist()
    ((3, 3), ['run', 'run', 'walk'], [0, 0, 1])
    """
    arrays = [np.asarray(bag) for bag in bags]
    labels_bag = np.asarray(labels)
    if not arrays:
        raise GroupDataError("there are no bags")
    if labels_bag.shape[:1] != (len(arrays),):
        raise GroupDataError(
            f"labels must hold one entry per bag ({len(arrays)}), got shape {labels_bag.shape}"
        )
    for position, array in enumerate(arrays):
        if array.ndim != 2 or len(array) == 0 or array.shape[1] != arrays[0].shape[1]:
            raise GroupDataError(
                f"bag {position} must be a table with at least one row and as many columns as "
                f"bag 0, got shape {array.shape}"
            )
    groups = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return np.concatenate(arrays), labels_bag[groups], groups


def unflatten_bags(
    X: ArrayLike, y: ArrayLike, groups: ArrayLike
) -> tuple[list[NDArray[Any]], NDArray[Any], NDArray[Any]]:
    """Split flat rows into a list of bags; the inverse of :func:`flatten_bags`.

    Returns
    -------
    bags : list of ndarray
        One table per group, rows in their given order.
    labels : ndarray of shape (n_groups,)
    names : ndarray of shape (n_groups,)
    """
    encoded = Groups(groups)
    rows = np.asarray(X)
    if len(rows) != encoded.n_rows:
        raise GroupDataError(f"expected one id per row ({len(rows)}), got {encoded.n_rows}")
    bags = np.split(rows[encoded.order], encoded.offsets[1:-1])
    return bags, encoded.one_per_group(y), encoded.names
