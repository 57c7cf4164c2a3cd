"""Scores of held-out groups made log-odds (Platt 1999)."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["platt_scaling"]

_PENALTY = np.array([3.0, 0.1])  # of log a and of b


def platt_scaling(score: NDArray[np.float64], y_group: NDArray[np.intp]) -> tuple[float, float]:
    r"""Slope and intercept that make scores log-odds of the positive class.

    .. math:: \min_{a > 0, b} \sum_g \log(1 + e^{a s_g + b}) - y_g (a s_g + b)
              + \tfrac32 \log^2 a + \tfrac1{20} b^2

    The last terms take the place of Platt's smoothed labels. They draw towards the scores as they
    are where groups are few, keep a and b finite where the scores separate the classes, and never
    turn the order of the groups round.

    Parameters
    ----------
    score : ndarray of shape (n_groups,)
        Of groups that the scorer was not fitted to.
    y_group : ndarray of shape (n_groups,)
        0 and 1.

    Returns
    -------
    slope, intercept : float
        a and b.

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.presence.platt import platt_scaling
    >>> score = np.tile([-3.0, -2.5, -2.0, -1.5, -2.2, -1.0], 5)  # in order, all below zero
    >>> slope, intercept = platt_scaling(score, np.tile([0, 0, 0, 1, 0, 1], 5))
    >>> (slope * score + intercept > 0)[:6].astype(int).tolist()
    [0, 0, 0, 1, 0, 1]
    """

    def cost(found: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        slope = np.exp(found[0])
        log_odds = slope * score + found[1]
        miss = expit(log_odds) - y_group
        value = np.logaddexp(0.0, log_odds).sum() - y_group @ log_odds
        gradient = np.array([slope * (miss @ score), miss.sum()])
        return float(value + 0.5 * (_PENALTY @ found**2)), gradient + _PENALTY * found

    found = minimize(cost, np.zeros(2), jac=True, method="L-BFGS-B", options={"gtol": 1e-8}).x
    return float(np.exp(found[0])), float(found[1])
