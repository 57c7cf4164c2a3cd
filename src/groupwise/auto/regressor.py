"""The best regressor that the library can make of a table in the time there is."""

import time
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.auto.base import AutoMixin, with_unprepared, with_whole
from groupwise.auto.kinds import (
    Numbers,
    Problem,
)
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.model_selection import Splitter
from groupwise.preparation import Unprepared

__all__ = ["AutoGroupRegressor"]


class AutoGroupRegressor(AutoMixin, BaseGroupRegressor):
    """The best regressor that the library can make of groups' means or totals.

    As :class:`AutoGroupClassifier`: the mean of the best three by squared error on held-out groups,
    without those that are clearly behind the best.

    Parameters
    ----------
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    time_limit, n_jobs, cv, folder, group_column, random_state
        As in :class:`AutoGroupClassifier`.

    Attributes
    ----------
    members_, estimate_, leaderboard_, not_tried_, n_groups_, held_out_
        As in :class:`AutoGroupClassifier`; scores are one less the squared error over the variance
        of the groups' numbers, whose mean is R².
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
            The group's mean or total on each of its rows; for ``target="mean"`` the rows' own
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
        started = time.monotonic()
        self._check_effort()
        trial = type(self)(**self.get_params(deep=False))
        problem = with_whole(trial._checked_problem(X, y, groups), keep_whole)
        problem = with_unprepared(problem, unprepared)
        trial._race(Numbers(self.target), problem, started=started)
        return self._take_over(trial)

    def _checked_problem(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> Problem:
        """Check training data and store what every fitted model knows of them."""
        data = self._check_training(X, y, groups)
        of_group = data.total_group if self.target == "total" else data.mean_group
        y_row = data.groups.spread(of_group)
        return Problem(data.X, y_row, data.groups, 0, self._category_columns())

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return np.mean([f.y_row for f in self._asked(rows, groups)[0]], axis=0)

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        found, said = self._asked(rows, groups)
        return NumberPredictions(groups, np.mean([f.y_row for f in found], axis=0), said["y_group"])
