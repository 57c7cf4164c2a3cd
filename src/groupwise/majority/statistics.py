"""One line of statistics per group, and any classifier on those lines."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier

from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows
from groupwise.metrics import ask
from groupwise.statistics import STATISTICS, StatisticsMixin, summarise

__all__ = ["GroupStatisticsClassifier"]


class GroupStatisticsClassifier(StatisticsMixin, BaseGroupClassifier):  # type: ignore[override]  # its limit is a property
    """Any classifier on summary statistics of each group's rows.

    The plain alternative to learning about rows: a group becomes one line. It says nothing of which
    rows matter: a row is answered as a group of one.

    Parameters
    ----------
    estimator : classifier, default=None
        ``None``: ``RandomForestClassifier(300)``.
    statistics : tuple of {"mean", "std", "min", "max"}, default=("mean", "std", "min", "max")
        Of each feature, over the group's rows.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted on one line per group.
    statistics_ : tuple of str

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from groupwise import GroupStatisticsClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> clf = GroupStatisticsClassifier(LogisticRegression(), statistics=("mean", "std"))
    >>> clf.fit(s.X, s.y, groups=s.groups).estimator_.n_features_in_
    4
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        statistics: tuple[str, ...] = STATISTICS,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.statistics = statistics
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        forest = RandomForestClassifier(300)
        self._fit_to_lines(forest, data.X, data.groups, data.y_group)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._answer_lines(rows, Groups.singletons(groups.n_rows))

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        return self._answer_groups_only(rows, groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._answer_lines(rows, groups)[1]

    def _answer_lines(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scores and class probabilities of groups, each one line of statistics."""
        lines = summarise(rows, groups, self.statistics_)
        found = ask(self.estimator_, lines)
        return found.score_row, found.proba_row
