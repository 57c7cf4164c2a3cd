"""Features seen from inside the group: how a row differs from its neighbours."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from groupwise._typing import Ids
from groupwise.inputs import check_groups

__all__ = ["add_relative_features"]


def add_relative_features(X: ArrayLike, groups: Ids) -> NDArray[Any]:
    r"""Append each feature's standard score inside its group.

    :math:`z = (x - \bar x_i) / s_i` with the mean and standard deviation of the row's own group; 0
    where the group is constant. It uses no label, and of other groups nothing, so it is as good for
    new groups as for known ones, and cannot leak from training into test. It removes what is
    peculiar to a user (a shift, a scale) and keeps what is peculiar to a row.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,) or None
        ``None``: every row is its own group, and all standard scores are 0.

    Returns
    -------
    X_both : ndarray of shape (n_rows, 2 * n_features)
        The features, then their standard scores.

    Examples
    --------
    >>> add_relative_features([[1.0], [3.0], [7.0]], ["a", "a", "b"]).tolist()
    [[1.0, -1.0], [3.0, 1.0], [7.0, 0.0]]
    """
    rows = check_array(X, dtype=[np.float64, np.float32])
    encoded = check_groups(groups, len(rows))
    apart = rows - encoded.mean(rows)[encoded.codes]
    spread = np.sqrt(encoded.mean(apart**2))[encoded.codes]
    score = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 1e-12)
    return np.hstack([rows, score.astype(rows.dtype, copy=False)])
