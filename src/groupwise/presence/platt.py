"""Scores of held-out groups made log-odds (Platt 1999)."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

__all__ = ["platt_scaling"]

# Of the slope for scores of standard deviation 1: the order of groups is never turned round.
_LEAST_SLOPE = 0.01


def platt_scaling(
    score: NDArray[np.float64], positive: NDArray[np.bool_] | NDArray[np.intp]
) -> tuple[float, float]:
    r"""Slope and intercept that make scores log-odds of the positive class.

    .. math:: \min_{a > 0, b} -\sum_g t_g \log p_g + (1 - t_g) \log(1 - p_g), \qquad
              p_g = \frac{1}{1 + e^{-(a s_g + b)}},

    where t is :math:`(n_+ + 1) / (n_+ + 2)` for the positive groups and :math:`1 / (n_- + 2)` for the
    others, which keeps a and b finite where the scores separate the classes.

    Parameters
    ----------
    score : ndarray of shape (n_groups,)
        Of groups that the scorer was not fitted to.
    positive : ndarray of shape (n_groups,)
        0 and 1.

    Returns
    -------
    slope, intercept : float

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines and comparisons to
    regularized likelihood methods. Advances in Large Margin Classifiers.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.presence.platt import platt_scaling
    >>> score = np.array([-3.0, -2.5, -2.0, -1.5, -2.2, -1.0])  # in order, all below zero
    >>> slope, intercept = platt_scaling(score, np.array([0, 0, 0, 1, 0, 1]))
    >>> (slope * score + intercept > 0).astype(int).tolist()
    [0, 0, 0, 1, 0, 1]
    """
    positive = np.asarray(positive, dtype=bool)
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    middle, spread = float(score.mean()), float(score.std())
    if spread == 0.0:
        prior = float(target.mean())
        return 1.0, float(np.log(prior / (1.0 - prior)) - middle)
    unit = (score - middle) / spread

    def cost(found: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        log_odds = found[0] * unit + found[1]
        miss = expit(log_odds) - target
        value = np.logaddexp(0.0, log_odds).sum() - target @ log_odds
        return float(value), np.array([miss @ unit, miss.sum()])

    bounds = [(_LEAST_SLOPE, None), (None, None)]
    options = {"ftol": 1e-14, "gtol": 1e-8}
    found = minimize(cost, [1.0, 0.0], jac=True, bounds=bounds, method="L-BFGS-B", options=options)
    slope = float(found.x[0]) / spread
    return slope, float(found.x[1]) - slope * middle
