"""One line of statistics per group, and any regressor on those lines."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestRegressor

from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import TotalRows
from groupwise.statistics import STATISTICS, StatisticsMixin, summarise

__all__ = ["GroupStatisticsRegressor"]


class GroupStatisticsRegressor(StatisticsMixin, BaseGroupRegressor):  # type: ignore[override]  # its limit is a property
    """Any regressor on summary statistics of each group's rows.

    :class:`~groupwise.GroupStatisticsClassifier` for numbers: a group becomes one line, and its
    number need not be a mean over its rows (the potency of a molecule may be that of its best
    shape). It says nothing of which rows matter: a row is answered as a group of one.

    Parameters
    ----------
    estimator : regressor, default=None
        ``None``: ``RandomForestRegressor(300, max_features=1 / 3, min_samples_leaf=1 / 2000)``, a
        third of the features at each split, as Breiman (2001) has it for numbers, and at most 2,000
        leaves, so that the model of many groups stays small.
    statistics : tuple of {"mean", "std", "min", "max"}, default=("mean", "std", "min", "max")
        Of each feature, over the group's rows.
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts. A total is predicted
        as the mean times the number of rows.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimator_ : regressor
        Fitted on one line per group.
    statistics_ : tuple of str
    target_ : str
    n_groups_ : int

    References
    ----------
    L. Breiman (2001). Random forests. Machine Learning 45.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from groupwise.proportions import GroupStatisticsRegressor
    >>> X, groups = [[0.0], [2.0], [3.0], [4.0], [5.0], [9.0]], [0, 0, 1, 1, 2, 2]
    >>> reg = GroupStatisticsRegressor(LinearRegression(), statistics=("max",))
    >>> reg = reg.fit(X, [2.0, 2.0, 4.0, 4.0, 9.0, 9.0], groups=groups)
    >>> reg.predict_groups([[1.0], [6.0]], groups=[0, 0]).round(6).tolist()
    [6.0]
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        statistics: tuple[str, ...] = STATISTICS,
        target: str = "mean",
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.statistics = statistics
        self.target = target
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: TotalRows) -> None:
        forest = RandomForestRegressor(300, max_features=1 / 3, min_samples_leaf=1 / 2000)
        self._fit_to_lines(forest, data.X, data.groups, data.mean_group)

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._mean_group(rows, Groups.singletons(groups.n_rows))

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        y_row = self._predict_rows(rows, groups)
        return NumberPredictions(groups, y_row, self._predict_groups(rows, groups))

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        mean_group = self._mean_group(rows, groups)
        self._refuse_infinite("groups", mean_group)
        return mean_group * groups.sizes if self.target_ == "total" else mean_group

    def _mean_group(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        lines = summarise(rows, groups, self.statistics_)
        return np.asarray(self.estimator_.predict(lines), dtype=float)
