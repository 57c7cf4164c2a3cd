"""Probabilities put right on what was held out, and how sure a mean is."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, stdtrit

__all__ = [
    "Scaling",
    "cross_fitted",
    "design_effect",
    "is_worse",
    "log_loss",
    "mean_interval",
    "student_interval",
]

# Probabilities are kept this far from 0.
_EDGE = 1e-6
# A difference of losses so small, beside them, is rounding.
_ROUNDING = 1e-12
# So many rows or groups are enough for a few numbers.
_ENOUGH = 5000


@dataclass(frozen=True)
class Scaling:
    r"""Class probabilities made sharper or flatter, and moved: Platt's scaling for any classes.

    .. math:: q_k \propto p_k^a e^{b_k}

    Attributes
    ----------
    slope : float
        a, at least 0.
    bias : ndarray of shape (n_classes,)
        b.

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.
    """

    slope: float
    bias: NDArray[np.float64]

    @classmethod
    def fit(
        cls, proba: NDArray[Any], target: NDArray[Any], *, penalty: float, biased: bool = True
    ) -> "Scaling":
        r"""The likeliest scaling, drawn towards none at all.

        .. math:: \min_{a \ge 0, b} -\sum_{ik} t_{ik} \log q_{ik}
                  + \frac{\lambda}{2} \big((a - 1)^2 + |b|^2\big)

        Parameters
        ----------
        proba : ndarray of shape (n, n_classes)
        target : ndarray of shape (n, n_classes)
            The classes as zeros and ones, or shares.
        penalty : float
            :math:`\lambda`, above 0.
        biased : bool, default=True
            Whether b is free, or 0.
        """
        step = -(-len(proba) // _ENOUGH)
        logs, target = _log(proba[::step]), target[::step]
        penalty /= step  # it is that of all lines
        n_classes = logs.shape[1]
        columns = np.broadcast_to(np.eye(n_classes), (len(logs), n_classes, n_classes))
        features = logs[:, :, None]
        if biased:
            features = np.concatenate([features, columns], axis=2)
        start = np.zeros(features.shape[2])
        start[0] = 1.0
        found = _likeliest(features, target, start, penalty)
        if found[0] < 0.0:  # the likelihood is concave: its best under a >= 0 has a = 0
            found = np.zeros(len(start))
            if biased:
                found[1:] = _likeliest(columns, target, np.zeros(n_classes), penalty)
        return cls(float(found[0]), found[1:] if biased else np.zeros(n_classes))

    def apply(self, proba: NDArray[Any]) -> NDArray[Any]:
        """The scaled probabilities."""
        return softmax(self.slope * _log(proba) + self.bias, axis=1)


def _log(proba: NDArray[Any]) -> NDArray[Any]:
    return np.log(np.maximum(proba, _EDGE))


def _likeliest(
    features: NDArray[Any], target: NDArray[Any], start: NDArray[Any], penalty: float
) -> NDArray[Any]:
    """Weights of a softmax of features (n, n_classes, n_weights), by Newton's method."""
    n, n_classes, n_weights = features.shape
    flat = np.ascontiguousarray(features.reshape(-1, n_weights))
    wanted = target.reshape(-1) @ flat

    def at(weights: NDArray[Any]) -> tuple[NDArray[Any], float]:
        score = (flat @ weights).reshape(n, n_classes)
        score = score - score.max(axis=1, keepdims=True)
        odds = np.exp(score)
        total = odds.sum(axis=1, keepdims=True)
        misfit = np.sum(target.sum(axis=1) * np.log(total[:, 0])) - np.sum(target * score)
        return odds / total, float(misfit + 0.5 * penalty * np.sum((weights - start) ** 2))

    weights = start
    proba, cost = at(weights)
    for _ in range(50):
        gradient = proba.reshape(-1) @ flat - wanted + penalty * (weights - start)
        weighted = (flat * proba.reshape(-1, 1)).reshape(features.shape)
        mean = weighted.sum(axis=1)
        hessian = flat.T @ weighted.reshape(flat.shape) - mean.T @ mean
        step = np.linalg.solve(hessian + penalty * np.eye(n_weights), gradient)
        gain = float(gradient @ step)
        if gain < 1e-9:
            break
        size = 1.0
        while True:
            trial = weights - size * step
            proba, trial_cost = at(trial)
            if trial_cost <= cost - 1e-4 * size * gain or size < 1e-8:
                break
            size /= 2.0
        weights, cost = trial, trial_cost
    return weights


def cross_fitted(
    proba: NDArray[Any],
    target: NDArray[Any],
    fold: NDArray[Any],
    *,
    penalty: float,
    biased: bool = True,
) -> NDArray[Any]:
    """Probabilities scaled fold by fold, by what the other folds say; of one fold, by itself."""
    scaled = np.empty_like(proba)
    for number in np.unique(fold):
        inside = fold == number
        others = ~inside if not inside.all() else inside
        scaling = Scaling.fit(proba[others], target[others], penalty=penalty, biased=biased)
        scaled[inside] = scaling.apply(proba[inside])
    return scaled


def log_loss(proba: NDArray[Any], target: NDArray[Any]) -> NDArray[Any]:
    """Cross-entropy of each line."""
    return -(target * _log(proba)).sum(axis=1)


def is_worse(loss: NDArray[Any], other: NDArray[Any], *, errors: float) -> bool:
    """Whether losses are larger than others by so many paired standard errors of their mean."""
    difference = loss - other
    difference = difference[~np.isnan(difference)]
    if len(difference) < 2:
        return False
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    rounding = _ROUNDING * max(np.nanmean(np.abs(loss)), np.nanmean(np.abs(other)))
    return bool(difference.mean() > max(errors * error, rounding))


def mean_interval(
    values: NDArray[Any], weights: NDArray[Any] | None = None, *, inflation: float = 1.0
) -> tuple[float, float, float]:
    """A mean with its 95 % interval; NaN is left out.

    Of zeros and ones Wilson's interval, which is right also near 0 and 1; else Student's, with
    weights that of a ratio.

    Parameters
    ----------
    values : ndarray of shape (n,)
    weights : ndarray of shape (n,), default=None
    inflation : float, default=1.0
        By what the variance of the mean is multiplied, where values depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> [round(value, 3) for value in mean_interval(np.array([1.0, 1.0, 1.0, 0.0]))]
    [0.75, 0.301, 0.954]
    """
    counted = ~np.isnan(values)
    values = values[counted]
    weights = np.ones(len(values)) if weights is None else weights[counted]
    n = len(values)
    mean = float(np.average(values, weights=weights))
    if np.isin(values, (0.0, 1.0)).all() and (weights == weights[0]).all():
        z2 = 1.96**2 * inflation
        middle = (mean + z2 / (2 * n)) / (1 + z2 / n)
        half = np.sqrt(z2 * (mean * (1 - mean) / n + z2 / (4 * n * n))) / (1 + z2 / n)
        return mean, float(max(middle - half, 0.0)), float(min(middle + half, 1.0))
    return student_interval(values, weights, inflation=inflation)


def student_interval(
    values: NDArray[Any], weights: NDArray[Any], *, inflation: float = 1.0
) -> tuple[float, float, float]:
    """A weighted mean with Student's 95 % interval, that of a ratio; NaN is left out.

    Parameters
    ----------
    values, weights : ndarray of shape (n,)
    inflation : float, default=1.0
        By what the variance of the mean is multiplied, where values depend on each other.

    Examples
    --------
    >>> import numpy as np
    >>> student_interval(np.zeros(3), np.ones(3))  # a difference that is never there
    (0.0, 0.0, 0.0)
    """
    counted = ~np.isnan(values)
    values, weights = values[counted], weights[counted]
    n = len(values)
    mean = float(np.average(values, weights=weights))
    if n < 2:
        return mean, -np.inf, np.inf
    error = np.sqrt(np.sum((weights * (values - mean)) ** 2) * n / (n - 1)) / weights.sum()
    half = float(stdtrit(n - 1, 0.975) * error * np.sqrt(inflation))
    return mean, mean - half, mean + half


def design_effect(
    values: NDArray[Any], clusters: NDArray[Any], weights: NDArray[Any] | None = None
) -> float:
    """By what the variance of a mean exceeds that of independent values; NaN is left out.

    Values of a cluster may depend on each other, as sessions of a user do; clusters do not. It is
    the ratio of the two variances (Kish 1965), at least 1; where all values are the same, which
    says nothing of it, the number of values per cluster.

    Parameters
    ----------
    values : ndarray of shape (n,)
    clusters : ndarray of shape (n,)
    weights : ndarray of shape (n,), default=None

    Examples
    --------
    >>> import numpy as np
    >>> right = np.array([1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    >>> round(design_effect(right, np.array([0, 0, 1, 1, 2, 2])), 2)  # three users, not six
    2.5
    """
    counted = ~np.isnan(values)
    values, codes = values[counted], np.unique(clusters[counted], return_inverse=True)[1]
    weights = np.ones(len(values)) if weights is None else weights[counted]
    error = weights * (values - np.average(values, weights=weights))
    together = np.bincount(codes, error)
    n, n_clusters = len(values), len(together)
    if n_clusters < 2 or np.ptp(values) == 0:
        return n / n_clusters
    alone = np.sum(error**2) * n / (n - 1)
    return float(max(1.0, np.sum(together**2) * n_clusters / (n_clusters - 1) / alone))
