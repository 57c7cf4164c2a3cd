"""EM-DD: a point that all positive groups come near (Zhang and Goldman 2001)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.inputs import GroupedRows, check_number, dense
from groupwise.presence.bags import Bags
from groupwise.presence.base import BasePresenceClassifier

__all__ = ["EMDDClassifier"]

_LEAST = 1e-9


class EMDDClassifier(BasePresenceClassifier):
    r"""Diverse density by expectation and maximisation, from many starting points.

    A row is positive with probability :math:`p(x) = e^{-d(x)}`,
    :math:`d(x) = \sum_k s_k^2 (x_k - t_k)^2`, for a point t and scales s, and a group with that of
    its nearest row. In turn each group's nearest row is taken, and t and s are fitted to them:

    .. math:: \min_{t, s} \sum_{i: y_i = 1} d(x_i) - \sum_{i: y_i = 0} \log(1 - e^{-d(x_i)})

    Every start is a row of a positive group; the likeliest end is kept. The distance below which a
    group is positive is that with the fewest errors on the training groups. Sparse rows are made
    dense.

    Parameters
    ----------
    n_restarts : int, default=10
        Rows of positive groups to start from.
    max_iter : int, default=10
        Rounds from each start.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Draws the starts.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    point_, scale_ : ndarray of shape (n_features,)
        t and s.
    reach_ : float
        The d up to which a row is positive.
    neg_log_likelihood_ : float
        Of the training groups.
    n_iter_ : int
        Rounds of the kept run.

    References
    ----------
    Q. Zhang and S. Goldman (2001). EM-DD: an improved multiple-instance learning technique. NIPS.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import EMDDClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = EMDDClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> clf.point_.shape
    (2,)
    """

    def __init__(
        self,
        n_restarts: int = 10,
        *,
        max_iter: int = 10,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("n_restarts", self.n_restarts, "[1, inf)", whole=True)
        check_number("max_iter", self.max_iter, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        bags = replace(bags, X=dense(bags.X))
        rng = check_random_state(self.random_state)
        candidates = np.flatnonzero(bags.positive_row)
        n_starts = min(self.n_restarts, len(candidates))
        spread = bags.X.std(axis=0)
        scale = 1.0 / (np.where(spread > 0, spread, 1.0) * np.sqrt(bags.X.shape[1]))
        runs = [
            _climb(bags, bags.X[row], scale, self.max_iter)
            for row in rng.choice(candidates, n_starts, replace=False)
        ]
        self.neg_log_likelihood_, theta, self.n_iter_ = min(runs, key=lambda run: run[0])
        self.point_, self.scale_ = np.split(theta, 2)
        nearest = -bags.groups.max(-_distance(bags.X, theta))
        self.reach_ = _best_reach(nearest, bags.y_group == 1)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """How much nearer to the point a row is than the reach."""
        return self.reach_ - _distance(dense(rows), np.concatenate([self.point_, self.scale_]))


def _distance(X: NDArray[np.float64], theta: NDArray[np.float64]) -> NDArray[np.float64]:
    point, scale = np.split(theta, 2)
    return (((X - point) * scale) ** 2).sum(axis=1)


def _loss(
    theta: NDArray[np.float64], X: NDArray[np.float64], positive: NDArray[np.bool_]
) -> tuple[float, NDArray[np.float64]]:
    """Negative log-likelihood of chosen rows, and its gradient."""
    point, scale = np.split(theta, 2)
    centred = X - point
    d = np.maximum(((centred * scale) ** 2).sum(axis=1), _LEAST)
    value = np.where(positive, d, -np.log(-np.expm1(-d)))
    slope = np.where(positive, 1.0, -1.0 / np.expm1(np.minimum(d, 700.0)))
    by_point = -2.0 * (slope @ centred) * scale**2
    by_scale = 2.0 * (slope @ centred**2) * scale
    return float(value.sum()), np.concatenate([by_point, by_scale])


def _climb(
    bags: Bags, start: NDArray[np.float64], scale: NDArray[np.float64], max_iter: int
) -> tuple[float, NDArray[np.float64], int]:
    """Take every group's nearest row and fit to those, while the loss falls."""
    theta, best, n_rounds = np.concatenate([start, scale]), np.inf, 0
    positive = bags.y_group == 1
    while n_rounds < max_iter:
        n_rounds += 1
        d = _distance(bags.X, theta)
        order = np.lexsort((d, bags.groups.codes))
        chosen = bags.X[order[bags.groups.offsets[:-1]]]
        found = minimize(
            _loss, theta, (chosen, positive), jac=True, method="L-BFGS-B", options={"maxiter": 50}
        )
        if found.fun >= best - 1e-6 * abs(best):
            break
        best, theta = float(found.fun), found.x
    return best, theta, n_rounds


def _best_reach(nearest: NDArray[np.float64], positive: NDArray[np.bool_]) -> float:
    """The threshold with the fewest errors; among equals the one nearest to p = 1/2."""
    values = np.unique(nearest)
    cuts = np.concatenate([[values[0] / 2], 0.5 * (values[1:] + values[:-1]), [values[-1] * 2 + 1]])
    errors = np.array([((nearest <= cut) != positive).sum() for cut in cuts])
    best = cuts[errors == errors.min()]
    return float(best[np.abs(best - np.log(2.0)).argmin()])
