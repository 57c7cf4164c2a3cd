"""How well scores order survival times."""

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["concordance"]


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
    signed, score = np.asarray(time, dtype=float), np.asarray(risk, dtype=float)
    length = np.abs(signed)
    right = 0.0
    n_pairs = 0
    for event in np.flatnonzero(signed > 0):
        # who is last seen at the time of an event outlives it
        later = (length > length[event]) | ((length == length[event]) & (signed < 0))
        n_pairs += int(later.sum())
        right += float((score[later] < score[event]).sum())
        right += 0.5 * float((score[later] == score[event]).sum())
    return right / n_pairs if n_pairs else 0.5
