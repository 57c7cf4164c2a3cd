"""Weighted quantiles of numbers that may lie on several machines."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.losses.layout import Communicator, LocalOnly

__all__ = ["weighted_median", "weighted_quantile"]

_LAST = (1 << 64) - 1
_SIGN = 1 << 63


def weighted_median(
    values: NDArray[Any], weight: NDArray[Any], communicator: Communicator | None = None
) -> float:
    """The least value that, with all smaller ones, holds at least half of the weight.

    Found by halving the range of all float64 numbers 64 times, each time by one sum over the
    machines: exact, and no machine shows its values.

    Parameters
    ----------
    values, weight : ndarray of shape (n,)
        Finite; of this machine.
    communicator : Communicator, default=None

    Returns
    -------
    median : float

    Examples
    --------
    >>> import numpy as np
    >>> weighted_median(np.array([3.0, -1.0, 10.0]), np.ones(3))
    3.0
    """
    return weighted_quantile(values, weight, 0.5, communicator)


def weighted_quantile(
    values: NDArray[Any],
    weight: NDArray[Any],
    quantile: float,
    communicator: Communicator | None = None,
) -> float:
    """The least value that, with all smaller ones, holds at least this share of the weight."""
    communicator = LocalOnly() if communicator is None else communicator
    order = np.argsort(values)
    sorted_values = values[order]
    up_to = np.concatenate([[0.0], np.cumsum(weight[order])])
    wanted = quantile * communicator.allreduce_sum(float(up_to[-1]))
    low, high = 0, _LAST
    while low < high:
        middle = (low + high) // 2
        here = np.searchsorted(sorted_values, _number(middle), side="right")
        if communicator.allreduce_sum(float(up_to[here])) >= wanted:
            high = middle
        else:
            low = middle + 1
    return _number(low)


def _number(rank: int) -> float:
    """The float64 of this rank among all; NaNs, at both ends, are taken for infinities."""
    bits = rank - _SIGN if rank >= _SIGN else _LAST - rank
    found = float(np.array([bits], dtype=np.uint64).view(np.float64)[0])
    return found if found == found else (np.inf if rank >= _SIGN else -np.inf)
