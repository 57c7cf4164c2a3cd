"""Cox regression on one line per group: its mean row, or statistics of its rows."""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import TotalRows, check_totals, dense, group_numbers
from groupwise.inputs.parameters import check_number
from groupwise.losses import CoxLoss
from groupwise.metrics import concordance
from groupwise.solvers.cox import PartialLikelihood, fit_cox
from groupwise.statistics import STATISTICS, check_statistics, summarise

__all__ = ["GroupMeansCoxRegressor", "GroupStatisticsCoxRegressor"]


class _GroupCox(BaseGroupRegressor):
    """Cox regression with a ridge penalty on one line per group, of which a subclass makes it."""

    alpha: float

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> Self:
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
        self : estimator
        """
        return super().fit(X, y, groups=groups)

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, "(0, inf)")

    def _check_training(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> TotalRows:
        X, groups = self._groups_to_fit(X, groups)
        data = check_totals(self, X, y, groups, target="total")  # the same on all rows
        CoxLoss().check(data.total_group, data.groups)
        self._remember_groups(groups, data.groups)
        return data

    def _learn(self, data: TotalRows) -> None:
        lines = self._lines(data.X, data.groups)
        self.center_, scale = lines.mean(axis=0), lines.std(axis=0)
        scale[scale <= 1e-12 * np.abs(self.center_)] = np.inf  # a constant says nothing
        likelihood = PartialLikelihood((lines - self.center_) / scale, data.total_group)
        coef, self.n_iter_ = fit_cox(likelihood, self.alpha * len(lines))
        self.coef_ = coef / scale

    @abstractmethod
    def _lines(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        """One line per group."""

    def _log_hazard(self, lines: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((lines - self.center_) @ self.coef_)

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        y_row = group_numbers(y, predictions.groups, target="total")
        return concordance(y_row[predictions.groups.first_rows], predictions.y_group)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True  # or negative: 0 is no time
        return tags


class GroupMeansCoxRegressor(_GroupCox):
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

    def _lines(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return groups.mean(dense(rows).astype(float))

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._log_hazard(dense(rows))

    def _answer_groups(self, y_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(y_row)


class GroupStatisticsCoxRegressor(_GroupCox):
    """Cox regression with a ridge penalty on summary statistics of each group's rows.

    :class:`GroupMeansCoxRegressor` with more than the mean to go by: the risk of a group may be
    that of its worst row, or of rows that differ. It says nothing of which rows matter: a row is
    answered as a group of one.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the penalty, per group.
    statistics : tuple of {"mean", "std", "min", "max"}, default=("mean", "std", "min", "max")
        Of each feature, over the group's rows.
    group_column : str, default=None

    Attributes
    ----------
    coef_ : ndarray of shape (n_statistics * n_features,)
        Of the first statistic of all features, then of the second, and so on.
    center_ : ndarray of shape (n_statistics * n_features,)
        Means over the groups, at which the log hazard ratio is 0.
    statistics_ : tuple of str
    n_iter_ : int
    n_groups_ : int

    Examples
    --------
    >>> from groupwise.proportions import GroupStatisticsCoxRegressor
    >>> X, groups = [[3.0], [5.0], [1.0], [3.0], [0.0], [2.0]], [0, 0, 1, 1, 2, 2]
    >>> time = [1.0, 1.0, 2.0, 2.0, -3.0, -3.0]  # the last was not seen any more
    >>> cox = GroupStatisticsCoxRegressor(statistics=("max",)).fit(X, time, groups=groups)
    >>> cox.predict_groups([[1.0], [6.0]], groups=["new", "new"]).round(2).tolist()
    [0.89]
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        statistics: tuple[str, ...] = STATISTICS,
        group_column: str | None = None,
    ):
        self.alpha = alpha
        self.statistics = statistics
        self.group_column = group_column

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_statistics(self.statistics)

    def _learn(self, data: TotalRows) -> None:
        self.statistics_ = tuple(self.statistics)
        super()._learn(data)

    def _lines(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return summarise(rows, groups, self.statistics_)

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._log_hazard(self._lines(rows, Groups.singletons(groups.n_rows)))

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        y_row = self._predict_rows(rows, groups)
        return NumberPredictions(groups, y_row, self._predict_groups(rows, groups))

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        log_hazard = self._log_hazard(self._lines(rows, groups))
        self._refuse_infinite("groups", log_hazard)
        return log_hazard
