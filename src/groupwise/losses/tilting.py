"""Row probabilities shifted, group by group, until they add up to known counts."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from groupwise.losses.logistic import sigmoid
from groupwise.losses.segments import Segments

__all__ = ["tilt", "tilt_classes"]

_MOST_STEPS = 200
_MOST_CLASS_STEPS = 60


def tilt(
    score: NDArray[Any],
    count_group: NDArray[Any],
    segments: Segments,
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
        Log-odds in the order of the runs.
    count_group : ndarray of shape (n_groups,)
    segments : Segments
    tol : float, default=1e-10
        Largest error of a sum, relative to the size of the group.
    near : ndarray of shape (n_groups,), default=None
        Groups for which any shift will do that makes the count a likely one: within three standard
        deviations of the sum.

    Returns
    -------
    shift : ndarray of shape (n_groups,)
    proba : ndarray of shape (n_rows,)
        Of the shifted rows.
    """
    shift, proba = np.empty(segments.n_groups), np.empty(segments.n_rows)
    reach = np.zeros(segments.n_groups) if near is None else np.where(near, 3.0, 0.0)
    for block in segments.blocks:
        rows, groups = block.rows, block.groups
        shift[groups], proba[rows] = _tilt(
            score[rows], count_group[groups], block.runs, tol, reach[groups]
        )
    return shift, proba


def _tilt(
    score: NDArray[Any], count: NDArray[Any], runs: Segments, tol: float, reach: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    size = runs.sizes
    none, all_ = count <= 0, count >= size
    pure = none | all_
    odds = np.log(np.where(pure, 1.0, count) / np.where(pure, 1.0, size - count))
    shift = odds - runs.mean(score)
    if pure.any():
        far = np.abs(score).max() + 50.0
        shift = np.where(none, -far, np.where(all_, far, shift))

    def miss(shift: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        proba, other = sigmoid(score + runs.spread(shift))
        error = runs.sum(proba) - count
        other *= proba
        slope = runs.sum(other)
        return proba, error, slope, pure | (np.abs(error) <= tol * size + reach * np.sqrt(slope))

    proba, error, slope, done = miss(shift)
    if done.all():
        return shift, proba
    # a bracket that holds: the largest (smallest) score must fall below (rise above) c / m
    low, high = odds - runs.max(score), odds + runs.max(-score)
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
        proba, error, slope, done = miss(shift)
    return shift, proba


def tilt_classes(
    score: NDArray[Any], count_group: NDArray[Any], segments: Segments, *, tol: float = 1e-10
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
    segments : Segments
    tol : float, default=1e-10

    Returns
    -------
    shift : ndarray of shape (n_classes, n_groups)
        ``-inf`` for classes a group does not hold.
    """
    absent = count_group <= 0
    safe_count = np.where(absent, 1.0, count_group)
    shift = np.where(absent, -np.inf, 0.0)
    best, log_proba = _dual(score, shift, safe_count, absent, segments)
    for _ in range(_MOST_CLASS_STEPS):
        proba = np.exp(log_proba)
        total = segments.sum(proba)
        error = np.where(absent, 0.0, count_group - total)
        going = np.abs(error).max(axis=0) > tol * segments.sizes
        if not going.any():
            break
        newton = shift + _newton_step(proba, total, error, absent, segments)
        scaled = shift + np.where(absent, 0.0, np.log(safe_count) - _log_total(log_proba, segments))
        scaled[absent] = -np.inf
        value, trial = _dual(score, newton, safe_count, absent, segments)
        good = value >= best - 1e-12 * (
            1.0 + np.abs(best)
        )  # near the top a gain is lost in rounding
        shift = np.where(going, np.where(good, newton, scaled), shift)
        if (going & ~good).any():
            best, log_proba = _dual(score, shift, safe_count, absent, segments)
        else:
            best = np.where(going, value, best)
            log_proba = np.where(segments.spread(going), trial, log_proba)
    return shift


def _log_total(log_proba: NDArray[Any], segments: Segments) -> NDArray[Any]:
    top = np.maximum(segments.max(log_proba), -1e300)
    with np.errstate(divide="ignore"):
        return np.log(segments.sum(np.exp(log_proba - segments.spread(top)))) + top


def _dual(
    score: NDArray[Any],
    shift: NDArray[Any],
    count: NDArray[Any],
    absent: NDArray[np.bool_],
    segments: Segments,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Value of each group's dual, and the rows' log-probabilities."""
    moved = score + segments.spread(shift)
    log_sum = logsumexp(moved, axis=0)
    gain = np.where(absent, 0.0, np.where(absent, 0.0, shift) * count).sum(axis=0)
    return gain - segments.sum(log_sum), moved - log_sum


def _newton_step(
    proba: NDArray[Any],
    total: NDArray[Any],
    error: NDArray[Any],
    absent: NDArray[np.bool_],
    segments: Segments,
) -> NDArray[Any]:
    """Solve the groups' small linear systems; shifts that sum to zero."""
    n_classes = len(proba)
    hessian = np.empty((segments.n_groups, n_classes, n_classes))
    for k in range(n_classes):
        for other in range(k + 1):
            cross = segments.sum(proba[k] * proba[other])
            hessian[:, k, other] = hessian[:, other, k] = -cross
        hessian[:, k, k] += total[k]
    hessian += (segments.sizes / n_classes**2)[:, None, None]  # shifting all classes does nothing
    diagonal = np.arange(n_classes)
    hessian[:, diagonal, diagonal] += np.where(absent, segments.sizes, 1e-12 * segments.sizes).T
    step = np.linalg.solve(hessian, error.T[:, :, None])[:, :, 0].T
    return np.where(absent, 0.0, np.clip(step, -20.0, 20.0))
