"""How far predicted shares of groups are from the known ones."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike
from groupwise.exceptions import GroupDataError
from groupwise.inputs import check_groups, class_counts, expecting

__all__ = ["constant_shares", "share_error"]


def share_error(y: MatrixLike, proba_group: ArrayLike, groups: Ids, *, classes: ArrayLike) -> float:
    r"""Mean total variation between known and predicted shares of groups, between 0 and 1.

    .. math:: \frac{1}{m} \sum_g \frac12 \sum_c |\pi_{gc} - \hat\pi_{gc}|

    The largest possible error in the number of rows of any set of classes, as a share of the group.
    For two classes it is the absolute error of the share; for groups of one row and predictions of
    0 and 1 the error rate.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        Labels, or shares or counts repeated on the rows.
    proba_group : array-like of shape (n_groups, n_classes)
        As ``predict_groups_proba`` gives it.
    groups : array-like of shape (n_rows,) or None
    classes : array-like of shape (n_classes,)

    Returns
    -------
    error : float

    Examples
    --------
    >>> from groupwise.metrics import share_error
    >>> shares = [[0.5, 0.5], [0.25, 0.75]]
    >>> share_error(["a", "b", "b", "b"], shares, [0, 0, 1, 1], classes=["a", "b"])
    0.125
    """
    predicted = np.asarray(proba_group, dtype=float)
    with expecting("y", "one entry per row"):
        n_rows = _num_samples(y)
    encoded = check_groups(groups, n_rows)
    counts, _ = class_counts(y, encoded, classes=classes)
    if predicted.shape != counts.shape:
        raise GroupDataError(
            f"expected shares of {counts.shape[0]} groups and {counts.shape[1]} classes, "
            f"got shape {predicted.shape}"
        )
    known = counts / encoded.sizes[:, None]
    return float(0.5 * np.abs(known - predicted).sum(axis=1).mean())


def constant_shares(shares_group: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same shares for all groups that have the least :func:`share_error`.

    For two classes the median over the groups. In general the same quantile of every class, the one
    at which they add up to 1: there no class can gain what another loses.

    Parameters
    ----------
    shares_group : ndarray of shape (n_groups, n_classes)

    Returns
    -------
    shares : ndarray of shape (n_classes,)

    Examples
    --------
    >>> constant_shares(np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])).tolist()
    [0.8, 0.2]
    """
    by_size = np.sort(shares_group, axis=0)
    totals = by_size.sum(axis=1)  # from below 1 to above it
    quantile = np.interp(totals.mean(), totals, np.arange(len(totals)))
    below = int(quantile)
    above = min(below + 1, len(totals) - 1)
    return by_size[below] + (quantile - below) * (by_size[above] - by_size[below])
