"""The best regressor that the library can make of a table in the time there is."""

from pathlib import Path
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.auto.base import AutoMixin, with_unprepared, with_whole
from groupwise.auto.kinds import Numbers, Times
from groupwise.auto.problem import Problem
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import TotalRows, check_choice, check_totals, group_numbers
from groupwise.losses import CoxLoss
from groupwise.metrics import concordance
from groupwise.model_selection import Splitter
from groupwise.preparation import Unprepared

__all__ = ["AutoGroupRegressor"]


class AutoGroupRegressor(AutoMixin, BaseGroupRegressor):
    """The best regressor that the library can make of groups' means, totals or survival times.

    As :class:`AutoGroupClassifier`: the mean of the best three by squared error on held-out groups
    (of fewer than 60 groups the best five), without those that are clearly behind the best. Of
    survival times the five with the best concordance, with weights by Cox regression on what they
    said of held-out groups.

    Parameters
    ----------
    target : {"mean", "total", "time"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts; of a time, negative
        where the group was last seen without the event, a log hazard ratio.
    time_limit, n_jobs, cv, folder, group_column, random_state
        As in :class:`AutoGroupClassifier`.

    Attributes
    ----------
    members_, estimate_, leaderboard_, not_tried_, n_groups_, n_groups_used_, held_out_
        As in :class:`AutoGroupClassifier`; scores are one less the squared error over the variance
        of the groups' numbers, whose mean is R²; of survival times what groups bring to the
        concordance within their fold.
    target_ : str

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> from groupwise.auto import AutoGroupRegressor
    >>> X, groups = np.random.default_rng(0).normal(size=(90, 2)), np.repeat(np.arange(30), 3)
    >>> encoded = Groups(groups)
    >>> mean = encoded.spread(encoded.mean(X[:, 0]))
    >>> reg = AutoGroupRegressor(cv=2, random_state=0).fit(X, mean, groups=groups)
    >>> [member.name for member in reg.members_]
    ['means-ridge']
    """

    __metadata_request__fit = {"groups": True, "keep_whole": True}  # noqa: RUF012

    def __init__(
        self,
        target: str = "mean",
        *,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        cv: int | Splitter = 5,
        folder: str | Path | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.target = target
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.cv = cv
        self.folder = folder
        self.group_column = group_column
        self.random_state = random_state

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        keep_whole: ArrayLike | None = None,
        unprepared: Unprepared | None = None,
    ) -> Self:
        """Choose and fit.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's mean, total or time on each of its rows; for ``target="mean"`` the rows' own
            numbers serve too.
        groups : array-like of shape (n_rows,), default=None
        keep_whole : array-like of shape (n_rows,), default=None
            Coarser ids that no fold may divide.
        unprepared : Unprepared, default=None
            As in :class:`AutoGroupClassifier`.

        Returns
        -------
        self : AutoGroupRegressor
        """
        self._check_effort()
        budget = self._budget()
        trial = self._trial()
        problem = with_whole(trial._checked_problem(X, y, groups), keep_whole)
        problem = with_unprepared(problem, unprepared)
        kind = Times() if self.target == "time" else Numbers(self.target)
        trial._race(kind, problem, budget)
        return self._take_over(trial)

    def _check_training(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> TotalRows:
        check_choice("target", self.target, ("mean", "total", "time"))
        if self.target != "time":
            return super()._check_training(X, y, groups)
        X, groups = self._groups_to_fit(X, groups)
        data = check_totals(self, X, y, groups, target="total")  # the same on all rows
        CoxLoss().check(data.total_group, data.groups)
        self.target_ = self.target
        self._remember_groups(groups, data.groups)
        return data

    def _checked_problem(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> Problem:
        """Check training data and store what every fitted model knows of them."""
        data = self._check_training(X, y, groups)
        of_group = data.mean_group if self.target == "mean" else data.total_group
        y_row = data.groups.spread(of_group)
        return Problem(data.X, y_row, data.groups, 0, self._category_columns())

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._asked(rows, groups)[1]["y_row"]

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        said = self._asked(rows, groups)[1]
        return NumberPredictions(groups, said["y_row"], said["y_group"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        target = getattr(self, "target_", self.target)
        tags.target_tags.positive_only = target == "time"  # or negative: 0 is no time
        return tags

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        if self.target_ != "time":
            return super()._judge(predictions, y)
        y_row = group_numbers(y, predictions.groups, target="total")
        return concordance(y_row[predictions.groups.first_rows], predictions.y_group)
