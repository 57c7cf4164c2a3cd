"""Cox regression on the mean row of each group: the baseline of survival times."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.exceptions import GroupDataError, solving
from groupwise.groups import Groups
from groupwise.inputs import check_totals, dense, group_numbers
from groupwise.inputs.parameters import check_number
from groupwise.losses import CoxLoss
from groupwise.metrics import concordance

__all__ = ["GroupMeansCoxRegressor", "PartialLikelihood"]

_MAX_ITER = 200
# The Newton decrement at which the rest is rounding.
_TOL = 1e-16


class GroupMeansCoxRegressor(BaseGroupRegressor):
    r"""Cox regression with a ridge penalty on each group's mean row.

    With :math:`z_i` the mean row of group i, every feature less its mean over the groups and
    divided by its standard deviation, and :math:`R_i` the groups whose time is not below that of
    group i, the coefficients minimise

    .. math:: \frac1n \sum_{i\text{ with event}} \Big[ \log \sum_{k \in R_i} e^{z_k^\top \beta}
              - z_i^\top \beta \Big] + \frac{\alpha}{2} \|\beta\|^2 ,

    ties as Breslow has them, by Newton's method. The penalty keeps them finite where the events
    are separated from the rest. The baseline for survival times of groups: what is linear in the
    rows is all in their mean. Groups of one row make it Cox regression.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, per group, as in lifelines. The default was the best of six on
        made-up tables (``benchmarks/results/survival_baseline.md``).
    group_column : str, default=None

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Of the features as they were given.
    center_ : ndarray of shape (n_features,)
        Mean over the groups, at which the log hazard ratio is 0.
    n_iter_ : int
    n_groups_ : int

    References
    ----------
    P. J. M. Verweij and H. C. van Houwelingen (1994). Penalized likelihood in Cox regression.
    Statistics in Medicine 13.

    Examples
    --------
    >>> from groupwise.proportions import GroupMeansCoxRegressor
    >>> X, groups = [[3.0], [5.0], [1.0], [3.0], [0.0], [2.0]], [0, 0, 1, 1, 2, 2]
    >>> time = [1.0, 1.0, 2.0, 2.0, -3.0, -3.0]  # the last was not seen any more
    >>> cox = GroupMeansCoxRegressor().fit(X, time, groups=groups)
    >>> cox.predict_groups(X, groups=groups).round(2).tolist()
    [0.55, -0.11, -0.44]
    """

    def __init__(self, alpha: float = 1.0, *, group_column: str | None = None):
        self.alpha = alpha
        self.group_column = group_column

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> "GroupMeansCoxRegressor":
        """Fit to rows and their groups' times.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's time on each of its rows: positive where the event was observed, negative
            where the group was last seen without it.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : GroupMeansCoxRegressor
        """
        check_number("alpha", self.alpha, "(0, inf)")
        X, groups = self._groups_to_fit(X, groups)
        data = check_totals(self, X, y, groups, target="total")
        CoxLoss().check(data.total_group, data.groups)
        means = data.groups.mean(dense(data.X).astype(float))
        self.center_, scale = means.mean(axis=0), means.std(axis=0)
        scale[scale <= 1e-12 * np.abs(self.center_)] = np.inf  # a constant says nothing
        likelihood = PartialLikelihood((means - self.center_) / scale, data.total_group)
        coef, self.n_iter_ = _newton(likelihood, self.alpha * len(means))
        self.coef_ = coef / scale
        self._remember_groups(groups, data.groups)
        return self

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return (dense(rows) - self.center_) @ self.coef_

    def _answer_groups(self, y_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(y_row)

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        y_row = group_numbers(y, predictions.groups, target="total")
        return concordance(y_row[predictions.groups.first_rows], predictions.y_group)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True  # or negative: 0 is no time
        return tags


class PartialLikelihood:
    """Cox's partial likelihood of a linear score with its derivatives, ties as Breslow has them.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    time : ndarray of shape (n,)
        Negative without the event.
    """

    def __init__(self, X: NDArray[Any], time: NDArray[Any]):
        order = np.argsort(-np.abs(time), kind="stable")  # the last first: who is at risk so far
        self.X, signed = X[order], time[order]
        self.event = (signed > 0).astype(float)
        # where each time ends: those at risk are all up to there
        self.last = np.append(np.flatnonzero(np.diff(np.abs(signed))), len(signed) - 1)
        n_at = np.diff(self.last, prepend=-1)
        self.time_of = np.repeat(np.arange(len(n_at)), n_at)
        self.n_events = np.bincount(self.time_of, self.event)

    def value(self, coef: NDArray[Any]) -> float:
        """Its negative logarithm."""
        score = self.X @ coef
        log_at_risk = np.logaddexp.accumulate(score)[self.last]
        return float(self.n_events @ log_at_risk - self.event @ score)

    def derivatives(self, coef: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradient and Hessian of it."""
        score = self.X @ coef
        log_at_risk = np.logaddexp.accumulate(score)
        with np.errstate(divide="ignore"):
            log_rate = np.log(self.n_events) - log_at_risk[self.last]
        log_hazard = np.logaddexp.accumulate(log_rate[::-1])[::-1]  # of all times up to this one
        expected = np.exp(score + log_hazard[self.time_of])
        gradient = self.X.T @ (expected - self.event)
        means = self._means_at_risk(np.exp(score - log_at_risk))[self.last]
        hessian = (self.X.T * expected) @ self.X - (means.T * self.n_events) @ means
        return gradient, hessian

    def _means_at_risk(self, part: NDArray[Any]) -> NDArray[Any]:
        """Means of all so far, weighted by hazards, of which each one's ``part`` is its own.

        One by one, as sums of hazards far apart in size would lose the smaller.
        """
        means, mean = np.empty_like(self.X), np.zeros(self.X.shape[1])
        for place, row in enumerate(self.X):
            mean += part[place] * (row - mean)
            means[place] = mean
        return means


def _newton(likelihood: PartialLikelihood, penalty: float) -> tuple[NDArray[Any], int]:
    """The coefficients of least penalised loss, and the number of steps."""
    coef = np.zeros(likelihood.X.shape[1])
    value = likelihood.value(coef)
    for n_iter in range(_MAX_ITER):
        gradient, hessian = likelihood.derivatives(coef)
        gradient = gradient + penalty * coef
        hessian.flat[:: len(coef) + 1] += penalty
        with solving():
            step = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ step
        if decrement <= _TOL * (1.0 + abs(value)):
            return coef + step, n_iter + 1
        length = 1.0
        while True:
            tried = coef + length * step
            found = likelihood.value(tried) + 0.5 * penalty * float(tried @ tried)
            # near the end the values differ by rounding alone
            if found <= value - 0.1 * length * decrement + 1e-14 * (1.0 + abs(value)):
                break
            length *= 0.5
        coef, value = tried, found
    raise GroupDataError(
        f"the Newton method did not end in {_MAX_ITER} steps; scale X, or raise alpha"
    )
