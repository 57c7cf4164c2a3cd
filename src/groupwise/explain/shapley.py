"""Shapley values of rows in a group's answer, in closed form."""

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups

__all__ = ["shapley_maximum", "shapley_mean", "shapley_noisy_or", "shapley_vote"]

# Nodes of the quadrature: exact for groups of up to twice as many rows.
_NODES = 64


def shapley_mean(
    value_row: NDArray[np.float64], groups: Groups, base: float = 0.0
) -> NDArray[np.float64]:
    r"""Each row's part in the mean, where rows left out count as ``base``.

    .. math:: v(S) = \frac1n \Big(\sum_{i \in S} p_i + (n - |S|) b\Big), \quad
              \phi_i = \frac{p_i - b}{n}

    Examples
    --------
    >>> shapley_mean(np.array([0.9, 0.3]), Groups(["a", "a"]), 0.5).round(3).tolist()
    [0.2, -0.1]
    """
    return (value_row - base) / groups.sizes[groups.codes]


def shapley_vote(
    vote_row: NDArray[np.float64],
    proba_row: NDArray[np.float64],
    groups: Groups,
    base: float = 0.0,
) -> NDArray[np.float64]:
    r"""Each row's part in :class:`~groupwise.rules.MajorityVote`, left-out rows as ``base``.

    .. math:: \phi_i = \frac{v_i + p_i / n}{n + 1} - \frac{b}{n},

    v being 1 where the row votes for the class.
    """
    size = groups.sizes[groups.codes]
    return (vote_row + proba_row / size) / (size + 1.0) - base / size


def shapley_maximum(value_row: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    r"""Each row's part in the largest value, nothing being worth 0.

    With :math:`p_{(1)} \le \dots \le p_{(n)}`: :math:`\phi_{(k)} = \sum_{j \le k} (p_{(j)} -
    p_{(j-1)}) / (n - j + 1)`, as each step up is owed to all rows that reach it.

    Examples
    --------
    >>> shapley_maximum(np.array([0.2, 0.6]), Groups(["a", "a"])).round(3).tolist()
    [0.1, 0.5]
    """
    order = np.lexsort((value_row, groups.codes))
    value, code = value_row[order], groups.codes[order]
    rank = np.arange(len(order)) - groups.offsets[code]
    first = rank == 0
    step = (value - np.where(first, 0.0, np.roll(value, 1))) / (groups.sizes[code] - rank)
    total = np.cumsum(step)
    before = total[groups.offsets[:-1]] - step[groups.offsets[:-1]]
    share = np.empty(len(order))
    share[order] = total - before[code]
    return share


def shapley_noisy_or(proba_row: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    r"""Each row's part in :math:`1 - \prod_i (1 - p_i)`, nothing being worth 0.

    By the multilinear extension of the game (Owen 1972)

    .. math:: \phi_i = p_i \int_0^1 \prod_{j \ne i} (1 - t p_j)\, dt,

    a polynomial in t, integrated exactly by Gauss and Legendre for groups of up to 128 rows. In
    larger ones the rest is shared in proportion, so that the parts always add up.

    Examples
    --------
    >>> shapley_noisy_or(np.array([0.5, 0.5]), Groups(["a", "a"])).round(4).tolist()
    [0.375, 0.375]
    """
    nodes, weights = np.polynomial.legendre.leggauss(min(_NODES, int(groups.sizes.max()) // 2 + 1))
    share = np.zeros(len(proba_row))
    for node, weight in zip(0.5 * (nodes + 1.0), 0.5 * weights, strict=True):
        log_row = np.log1p(-node * proba_row)
        share += weight * np.exp(groups.sum(log_row)[groups.codes] - log_row)
    share *= proba_row
    with np.errstate(divide="ignore"):
        value = -np.expm1(groups.sum(np.log1p(-np.minimum(proba_row, 1.0))))
    total = groups.sum(share)
    return share * np.divide(value, total, out=np.ones_like(total), where=total > 0)[groups.codes]
