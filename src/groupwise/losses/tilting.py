"""Row probabilities shifted, group by group, until they add up to known counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from groupwise.losses.layout import GroupedLayout
from groupwise.losses.logistic import sigmoid

__all__ = ["is_possible", "tilt", "tilt_classes"]

_MOST_STEPS = 200
_SURE = 1.0 - 1e-6
_MOST_CLASS_STEPS = 60


def tilt(
    score: NDArray[Any],
    count_group: NDArray[Any],
    layout: GroupedLayout,
    *,
    tol: float = 1e-10,
    near: NDArray[Any] | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""Find the shift of each group's log-odds that makes its probabilities sum to the count.

    .. math:: \sum_j \sigma(s_{ij} + \lambda_i) = c_i

    by Newton steps kept inside a bracket that is halved where they fail. Groups whose count is 0 or
    their size have no finite shift; theirs drives every probability to 0 or 1.

    Parameters
    ----------
    score : ndarray of shape (n_rows,)
        Log-odds sorted by group.
    count_group : ndarray of shape (n_groups,)
    layout : GroupedLayout
    tol : float, default=1e-10
        Largest error of a sum, relative to the size of the group.
    near : ndarray of shape (n_groups,), default=None
        Groups for which any shift will do that makes the count a likely one: within three standard
        deviations of the sum, and not ruled out by rows that are all but certain.

    Returns
    -------
    shift : ndarray of shape (n_groups,)
    proba : ndarray of shape (n_rows,)
        Of the shifted rows.
    """
    shift, proba = np.empty(layout.n_groups), np.empty(layout.n_rows)
    n_deviations = np.zeros(layout.n_groups) if near is None else np.where(near, 3.0, 0.0)
    for block in layout.blocks:
        rows, groups = block.rows, block.groups
        shift[groups], proba[rows] = _tilt(
            score[rows], count_group[groups], block.layout, tol, n_deviations[groups]
        )
    return shift, proba


def _tilt(
    score: NDArray[Any],
    count: NDArray[Any],
    layout: GroupedLayout,
    tol: float,
    n_deviations: NDArray[Any],
) -> tuple[NDArray[Any], NDArray[Any]]:
    size = layout.sizes
    is_empty, is_full = count <= 0, count >= size
    pure = is_empty | is_full
    odds = np.log(np.where(pure, 1.0, count) / np.where(pure, 1.0, size - count))
    shift = odds - layout.mean(score)
    if pure.any():
        certain = np.abs(score).max() + 50.0
        shift = np.where(is_empty, -certain, np.where(is_full, certain, shift))

    def evaluate(
        shift: NDArray[Any],
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        proba, other = sigmoid(score + layout.spread(shift))
        error = layout.sum(proba) - count
        other *= proba
        slope = layout.sum(other)
        away = np.abs(error)
        done = pure | (away <= tol * size)
        likely = ~done & (away <= tol * size + n_deviations * np.sqrt(slope))
        if likely.any():
            done |= likely & is_possible(count, proba, layout)
        return proba, error, slope, done

    proba, error, slope, done = evaluate(shift)
    if done.all():
        return shift, proba
    # a bracket that holds: the largest (smallest) score must fall below (rise above) c / m
    low, high = odds - layout.max(score), odds + layout.max(-score)
    for _ in range(_MOST_STEPS):
        high = np.where(error > 0, np.minimum(high, shift), high)
        low = np.where(error > 0, low, np.maximum(low, shift))
        done |= high - low <= 1e-12 + 1e-15 * (np.abs(low) + np.abs(high))
        if done.all():
            break
        step = np.divide(error, slope, out=np.full(len(slope), np.inf), where=slope > 1e-300)
        newton = shift - step
        inside = (newton > low) & (newton < high)
        shift = np.where(done, shift, np.where(inside, newton, (low + high) / 2.0))
        proba, error, slope, done = evaluate(shift)
    return shift, proba


def is_possible(
    count_group: NDArray[Any], proba: NDArray[Any], layout: GroupedLayout
) -> NDArray[np.bool_]:
    """Whether groups can have these counts if rows that are all but certain are what they seem."""
    sure, never = layout.sum(proba > _SURE), layout.sum(proba < 1.0 - _SURE)
    return np.asarray((sure <= count_group) & (count_group <= layout.sizes - never))


def tilt_classes(
    score: NDArray[Any], count_group: NDArray[Any], layout: GroupedLayout, *, tol: float = 1e-10
) -> NDArray[Any]:
    r"""Find the shifts of each group's softmax scores that make its probabilities sum to counts.

    .. math:: \sum_j \sigma_k(s_{ij} + \lambda_i) = c_{ik} \quad \text{for every class } k

    This maximises the concave :math:`\sum_k \lambda_k c_k - \sum_j \log \sum_k e^{s_{jk} +
    \lambda_k}`. A Newton step is taken where it raises that, a scaling step
    (:math:`\lambda_k \mathrel{+}= \log c_k - \log \sum_j \sigma_k`, which always does) elsewhere.

    Parameters
    ----------
    score : ndarray of shape (n_classes, n_rows)
    count_group : ndarray of shape (n_classes, n_groups)
    layout : GroupedLayout
    tol : float, default=1e-10

    Returns
    -------
    shift : ndarray of shape (n_classes, n_groups)
        ``-inf`` for classes a group does not hold.
    """
    absent = count_group <= 0
    safe_count = np.where(absent, 1.0, count_group)
    shift = np.where(absent, -np.inf, 0.0)
    best, log_proba = _dual(score, shift, safe_count, absent, layout)
    for _ in range(_MOST_CLASS_STEPS):
        proba = np.exp(log_proba)
        total = layout.sum(proba)
        error = np.where(absent, 0.0, count_group - total)
        going = np.abs(error).max(axis=0) > tol * layout.sizes
        if not going.any():
            break
        newton = shift + _newton_step(proba, total, error, absent, layout)
        scaled = shift + np.where(absent, 0.0, np.log(safe_count) - _log_total(log_proba, layout))
        scaled[absent] = -np.inf
        value, trial = _dual(score, newton, safe_count, absent, layout)
        good = value >= best - 1e-12 * (
            1.0 + np.abs(best)
        )  # near the top a gain is lost in rounding
        shift = np.where(going, np.where(good, newton, scaled), shift)
        if (going & ~good).any():
            best, log_proba = _dual(score, shift, safe_count, absent, layout)
        else:
            best = np.where(going, value, best)
            log_proba = np.where(layout.spread(going), trial, log_proba)
    return shift


def _log_total(log_proba: NDArray[Any], layout: GroupedLayout) -> NDArray[Any]:
    top = np.maximum(layout.max(log_proba), -1e300)
    with np.errstate(divide="ignore"):
        return np.log(layout.sum(np.exp(log_proba - layout.spread(top)))) + top


def _dual(
    score: NDArray[Any],
    shift: NDArray[Any],
    count: NDArray[Any],
    absent: NDArray[np.bool_],
    layout: GroupedLayout,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Value of each group's dual, and the rows' log-probabilities."""
    moved = score + layout.spread(shift)
    log_sum = logsumexp(moved, axis=0)
    gain = np.where(absent, 0.0, np.where(absent, 0.0, shift) * count).sum(axis=0)
    return gain - layout.sum(log_sum), moved - log_sum


def _newton_step(
    proba: NDArray[Any],
    total: NDArray[Any],
    error: NDArray[Any],
    absent: NDArray[np.bool_],
    layout: GroupedLayout,
) -> NDArray[Any]:
    """Solve the groups' small linear systems; shifts that sum to zero."""
    n_classes = len(proba)
    hessian = np.empty((layout.n_groups, n_classes, n_classes))
    for k in range(n_classes):
        for other in range(k + 1):
            cross = layout.sum(proba[k] * proba[other])
            hessian[:, k, other] = hessian[:, other, k] = -cross
        hessian[:, k, k] += total[k]
    hessian += (layout.sizes / n_classes**2)[:, None, None]  # shifting all classes does nothing
    diagonal = np.arange(n_classes)
    hessian[:, diagonal, diagonal] += np.where(absent, layout.sizes, 1e-12 * layout.sizes).T
    step = np.linalg.solve(hessian, error.T[:, :, None])[:, :, 0].T
    return np.where(absent, 0.0, np.clip(step, -20.0, 20.0))
