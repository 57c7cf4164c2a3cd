"""The labelling of a group with the largest expected F measure, given its rows' probabilities."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from groupwise.groups import Groups

__all__ = ["STRENGTHS", "GroupCuts", "best_f_cuts", "score_for_f", "with_own_shares"]

#: Of :func:`with_own_shares`, tried on held-out groups; of equally good ones the first, the weakest
#: change.
STRENGTHS = (np.inf, 3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)

# Probabilities are kept this far from 0 and 1.
_EDGE = 1e-12
_NODES = 48


@dataclass(frozen=True)
class GroupCuts:
    """Where to cut each group's order of rows.

    Attributes
    ----------
    n_pred : ndarray of shape (n_groups,)
        How many rows to call positive: those with the highest probability.
    cut : ndarray of shape (n_groups,)
        Log-odds half-way between the last of them and the first of the others.
    value : ndarray of shape (n_groups,)
        The expected measure.
    """

    n_pred: NDArray[np.intp]
    cut: NDArray[Any]
    value: NDArray[Any]


def best_f_cuts(
    proba_row: NDArray[Any], groups: Groups, *, beta: float = 1.0, may_be_empty: bool = True
) -> GroupCuts:
    r"""Maximise the expected :math:`F_\beta` of each group over all labellings of its rows.

    With independent labels of probability :math:`p_i` the best k rows are the k most likely ones,
    and

    .. math:: E[F_\beta(k)] = \sum_{i \le k} p_i\,
              E\Big[\frac{1+\beta^2}{\beta^2 (1 + S_{-i}) + k}\Big]
              = (1+\beta^2) \int_0^1 t^{k+\beta^2-1} \sum_{i \le k} p_i
              \prod_{j \ne i} (1 - p_j + p_j t^{\beta^2})\, dt,

    where :math:`S_{-i}` counts the other positives: as :math:`1/a = \int_0^1 t^{a-1} dt`, the mean
    over all labellings becomes one integral of a product. It is taken by Gauss' rule, for all
    groups and all k at once.

    Parameters
    ----------
    proba_row : ndarray of shape (n_rows,)
        Probability of the positive class.
    groups : Groups
    beta : float, default=1.0
    may_be_empty : bool, default=True
        Whether a group may be without positives: calling no row positive is then right with
        probability :math:`\prod_j (1 - p_j)` and scores 1; otherwise it always scores 0.

    Returns
    -------
    cuts : GroupCuts
        Rows of a group with equal probabilities are decided alike.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> best_f_cuts(np.array([0.9, 0.45, 0.1, 0.3]), Groups([0, 0, 0, 1])).n_pred.tolist()
    [2, 0]
    """
    order = np.lexsort((-proba_row, groups.codes))
    p = np.clip(proba_row[order].astype(float), _EDGE, 1.0 - _EDGE)
    code, first = groups.codes[order], groups.offsets[:-1]
    k = np.arange(len(p)) - first[code] + 1
    value = _expected_f(p, code, first, k, beta)
    together = np.append((p[1:] == p[:-1]) & (code[1:] == code[:-1]), False)
    value[together] = -1.0
    best = np.maximum.reduceat(value, first)
    best_k = np.minimum.reduceat(np.where(value == best[code], k, len(p)), first)
    none = np.exp(np.add.reduceat(np.log1p(-p), first)) if may_be_empty else np.zeros(len(first))
    n_pred = np.where(best > none + 1e-12, best_k, 0)
    return GroupCuts(n_pred, _cut(logit(p), first, n_pred, groups.sizes), np.maximum(best, none))


def with_own_shares(
    log_odds_row: NDArray[Any], groups: Groups, *, share: float, strength: float
) -> NDArray[Any]:
    r"""Move the rows' log-odds to the share of positives of their own group.

    A model learns the overall share of positives; groups differ from it. If only the shares differ,
    not what positives look like, a group's log-odds are the model's plus one constant, which the
    group's own rows tell without labels: with :math:`\pi_i` its share and s the ``strength``,

    .. math:: p_{ij} = \sigma\big(l_{ij} + \mathrm{logit}\,\pi_i - \mathrm{logit}\,\pi\big),
              \qquad \pi_i = \frac{s \pi + \sum_j p_{ij}}{s + m_i}

    are repeated to their fixed point, the most likely share under a Beta prior (expectation
    maximisation; Saerens, Latinne and Decaestecker 2002 for the case s = 0).

    Parameters
    ----------
    log_odds_row : ndarray of shape (n_rows,)
    groups : Groups
    share : float
        The overall share :math:`\pi`, in (0, 1).
    strength : float
        How many rows of the overall share each group starts with; ``inf`` changes nothing.

    Returns
    -------
    log_odds_row : ndarray of shape (n_rows,)
    """
    if np.isinf(strength):
        return log_odds_row
    offset = np.zeros(len(groups))
    for _ in range(100):
        total = groups.sum(expit(log_odds_row + offset[groups.codes]))
        own = np.clip((strength * share + total) / (strength + groups.sizes), _EDGE, 1.0 - _EDGE)
        before, offset = offset, logit(own) - logit(share)
        if np.abs(offset - before).max() < 1e-6:
            break
    return log_odds_row + offset[groups.codes]


def score_for_f(
    log_odds_row: NDArray[Any],
    groups: Groups,
    *,
    share: float,
    strength: float,
    beta: float = 1.0,
    may_be_empty: bool = True,
) -> NDArray[Any]:
    """Log-odds moved to the group's own share, less its best cut: positive rows are above zero.

    Parameters as in :func:`with_own_shares` and :func:`best_f_cuts`.
    """
    moved = with_own_shares(log_odds_row, groups, share=share, strength=strength)
    cuts = best_f_cuts(expit(moved), groups, beta=beta, may_be_empty=may_be_empty)
    return moved - cuts.cut[groups.codes]


def _expected_f(
    p: NDArray[Any], code: NDArray[np.intp], first: NDArray[np.intp], k: NDArray[Any], beta: float
) -> NDArray[Any]:
    """E[F] for each k of each group; rows sorted by group and falling probability."""
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight
    square = beta**2
    value = np.zeros(len(p))
    # t = (1 - x^3)^q puts the nodes near 1, where groups with many positives have their mass; q
    # makes the powers of t whole for beta = 1/2, 1/3, ...
    q = max(1.0, 1.0 / square)
    log_s = np.log1p(-(x**3))
    weight = weight * 3.0 * x**2 * q * np.exp((q - 1.0) * log_s)
    for log_t, w in zip(q * log_s, weight, strict=True):
        falls = -np.expm1(square * log_t)  # 1 - t^(beta^2)
        rest = 1.0 - p * falls
        log_product = np.add.reduceat(np.log(rest), first)
        total = np.cumsum(p / rest)
        share = total - (total - p / rest)[first][code]
        value += w * share * np.exp((k + square - 1.0) * log_t + log_product[code])
    return (1.0 + square) * value


def _cut(
    log_odds: NDArray[Any], first: NDArray[np.intp], n_pred: NDArray[np.intp], sizes: NDArray[Any]
) -> NDArray[Any]:
    last_in = log_odds[first + np.maximum(n_pred, 1) - 1]
    first_out = log_odds[first + np.minimum(n_pred, sizes - 1)]
    middle = 0.5 * (last_in + first_out)
    # nothing to one side: a step of one beyond the end
    return np.where(n_pred == 0, last_in + 1.0, np.where(n_pred == sizes, last_in - 1.0, middle))
