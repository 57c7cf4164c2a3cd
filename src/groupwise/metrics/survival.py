"""How well scores order survival times."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["concordance", "concordance_of_groups", "concordance_parts"]


def concordance(time: ArrayLike, risk: ArrayLike) -> float:
    """Harrell's C: the share of comparable pairs that are ordered right.

    A pair is comparable if the event of the one was observed before the time of the other; it is
    ordered right if the one has the higher risk. Equal risks count one half.

    Parameters
    ----------
    time : array-like of shape (n,)
        Positive where the event was observed, negative where the last look was without it.
    risk : array-like of shape (n,)
        Higher: earlier.

    Returns
    -------
    score : float
        1 is perfect, 0.5 is chance; 0.5 where no pair is comparable.

    References
    ----------
    F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee and R. A. Rosati (1982). Evaluating the
    yield of medical tests. JAMA 247.

    Examples
    --------
    >>> concordance([1.0, 2.0, -3.0, 4.0], [5.0, 1.0, 2.0, 0.0])  # 1 of 5 pairs is wrong
    0.8
    """
    right, pairs = concordance_of_groups(time, risk)
    return float(right.sum() / pairs.sum()) if pairs.any() else 0.5


def concordance_of_groups(
    time: ArrayLike, risk: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The comparable pairs of each group that are in the right order, and all of them.

    Parameters
    ----------
    time, risk : array-like of shape (n_groups,)
        As in :func:`concordance`.

    Returns
    -------
    right, pairs : ndarray of shape (n_groups,)
        A pair counts for both of its groups; of equal risks half of it is right.

    Examples
    --------
    >>> right, pairs = concordance_of_groups([1.0, 2.0, -3.0, 4.0], [5.0, 1.0, 2.0, 0.0])
    >>> right.tolist(), pairs.tolist()
    ([3.0, 2.0, 1.0, 2.0], [3.0, 3.0, 2.0, 2.0])
    """
    signed, score = np.asarray(time, dtype=float), np.asarray(risk, dtype=float)
    length = np.abs(signed)
    right, pairs = np.zeros(len(signed)), np.zeros(len(signed))
    for event in np.flatnonzero(signed > 0):
        # who is last seen at the time of an event outlives it
        later = (length > length[event]) | ((length == length[event]) & (signed < 0))
        won = (score[later] < score[event]) + 0.5 * (score[later] == score[event])
        right[later] += won
        pairs[later] += 1.0
        right[event] += won.sum()
        pairs[event] += later.sum()
    return right, pairs


def concordance_parts(time: ArrayLike, risk: ArrayLike) -> NDArray[np.float64]:
    r"""What each group brings to the concordance: their mean is :func:`concordance`.

    With :math:`R_i` of :math:`N_i` pairs of group i in the right order and R / N = C of all pairs,
    :math:`C + n (R_i - C N_i) / N`: the spread of these is that of C over draws of groups.

    Parameters
    ----------
    time, risk : array-like of shape (n_groups,)
        As in :func:`concordance`.

    Returns
    -------
    parts : ndarray of shape (n_groups,)
        NaN where no pair is comparable.

    Examples
    --------
    >>> parts = concordance_parts([1.0, 2.0, -3.0, 4.0], [5.0, 1.0, 2.0, 0.0])
    >>> parts.round(2).tolist(), float(parts.mean().round(2))
    ([1.28, 0.48, 0.32, 1.12], 0.8)
    """
    right, pairs = concordance_of_groups(time, risk)
    if not pairs.any():
        return np.full(len(pairs), np.nan)
    share = right.sum() / pairs.sum()
    return share + len(pairs) * (right - share * pairs) / (0.5 * pairs.sum())
