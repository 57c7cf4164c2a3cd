"""The arithmetic of SBoost's loss: a log-sum-exp over rows that share their group's mean."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.losses.across import Across, Alone
from groupwise.losses.segments import Segments

__all__ = ["session_weights"]


def session_weights(
    exponent: Callable[[slice], NDArray[Any]],
    segments: Segments,
    gamma: float,
    out: NDArray[Any],
    *,
    total: float = 1.0,
    weight_row: NDArray[Any] | None = None,
    part_row: NDArray[Any] | None = None,
    across: Across | None = None,
) -> float:
    r"""Weights of rows under the exponential loss with a session term.

    With :math:`a_{ij}` the exponent of row j of group i and :math:`\bar a_i` its mean,

    .. math:: L = \sum_{ij} w_{ij} e^{a_{ij} + \gamma \bar a_i}, \qquad
              \hat D_{ij} = \frac{1}{(1 + \gamma) L} \frac{\partial L}{\partial a_{ij}} ,

    which sum to one. Block by block, relative to the largest exponent of the block, and put on one
    scale at the end: nothing overflows, and a weight of zero is one below the smallest float.

    Parameters
    ----------
    exponent : callable
        Gives the exponents of a slice of rows as a fresh array, (n,) or (k, n).
    segments : Segments
    gamma : float
    out : ndarray of shape (n_rows,) or (k, n_rows)
        Receives ``total`` times the weights.
    total : float, default=1.0
    weight_row, part_row : ndarray of shape (n_rows,), default=None
        Weight of each row, and its weight relative to its group's mean.
    across : Across, default=None
        Where other machines hold other groups: two numbers are agreed on, the largest exponent
        and the sum.

    Returns
    -------
    log_value : float
        The logarithm of L.
    """
    tops, sums = [], []
    for block in segments.blocks:
        rows, runs = block.rows, block.runs
        term = exponent(rows)
        part = None if part_row is None else part_row[rows]
        mean = runs.mean(term if part is None else term * part)
        runs.add(term, gamma * mean)
        top = float(term.max())
        term -= top
        np.exp(term, out=term)
        if weight_row is not None:
            term *= weight_row[rows]
        tops.append(top)
        by_group = runs.sum(term)
        sums.append(float(by_group.sum()))
        shared = gamma * by_group / runs.sizes
        if part is None:
            runs.add(term, shared)
        else:
            term += runs.spread(shared, term.dtype) * part
        out[..., rows] = term
    across = Alone() if across is None else across
    highest = across.max(max(tops))
    relative = np.exp(np.array(tops) - highest)
    value = across.sum(float(relative @ np.array(sums)))
    for block, factor in zip(segments.blocks, relative, strict=True):
        out[..., block.rows] *= float(factor) * total / ((1.0 + gamma) * value)
    return float(np.log(value)) + highest
