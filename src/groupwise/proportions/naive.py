"""The naive approach to numbers: give every row its group's mean and train any regressor."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils import Tags

from groupwise._compat import set_random_states
from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupRegressor
from groupwise.groups import Groups
from groupwise.inputs import TotalRows, expecting_rows_for, take_rows_like
from groupwise.threads import few_threads

__all__ = ["NaiveGroupRegressor"]


class NaiveGroupRegressor(BaseGroupRegressor):
    """Any regressor trained on the group's mean repeated on each row.

    :class:`~groupwise.NaiveGroupClassifier` for numbers: every row is taken for an example of its
    group's mean, and the group's number is that of its rows' predictions. Where rows of a group are
    alike that is all there is to know; where they are not, what one row says is lost among its
    neighbours, and :class:`~groupwise.gbdt.GroupBoostRegressor` learns from their sum.

    Parameters
    ----------
    estimator : regressor, default=None
        Any scikit-learn regressor; ``None``: ``HistGradientBoostingRegressor`` without early
        stopping, which would judge itself on rows of the groups that it learns from.
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    estimator_ : regressor
        Fitted on the rows.
    target_ : str
    n_groups_ : int

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from groupwise.proportions import NaiveGroupRegressor
    >>> X, groups = [[0.0], [0.2], [5.0], [5.1]], [0, 0, 1, 1]
    >>> reg = NaiveGroupRegressor(DecisionTreeRegressor()).fit(X, [1, 1, 9, 9], groups=groups)
    >>> reg.predict_groups([[0.1], [5.2]], groups=["new", "new"]).tolist()
    [5.0]
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        target: str = "mean",
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.target = target
        self.group_column = group_column
        self.random_state = random_state

    def _estimator(self) -> BaseEstimator:
        if self.estimator is None:
            return HistGradientBoostingRegressor(early_stopping=False)
        return self.estimator

    def _learn(self, data: TotalRows) -> None:
        self.estimator_ = clone(self._estimator())
        if self.random_state is not None:
            set_random_states(self.estimator_, self.random_state)
        with expecting_rows_for(self.estimator_, data.X), few_threads(data.X.shape[0]):
            self.estimator_.fit(data.X, data.groups.spread(data.mean_group))

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        with few_threads(rows.shape[0]):
            return np.asarray(self.estimator_.predict(rows), dtype=float)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_rows_like(tags, self._estimator())
        return tags
