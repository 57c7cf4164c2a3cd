"""The naive approach: give every row its group's label and train any classifier."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils import Tags

from groupwise._compat import set_random_states
from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, expecting_rows_for, take_rows_like
from groupwise.metrics import ask
from groupwise.rules import Rule, get_rule
from groupwise.threads import few_threads

__all__ = ["NaiveGroupClassifier"]


class NaiveGroupClassifier(BaseGroupClassifier):
    """Any classifier trained on the group's label repeated on each row.

    The baseline of Jin and Liu (2005): every row is taken for an example of its group's class, and
    a rule makes the rows' predictions the group's. Groups play no other part in training.

    Parameters
    ----------
    estimator : classifier, default=None
        Any scikit-learn classifier; ``None``: ``HistGradientBoostingClassifier`` without early
        stopping, which would judge itself on rows of the groups that it learns from. Where it has
        no ``predict_proba``, its labels count as probabilities of 0 and 1; where it has no
        ``decision_function``, scores are its probabilities (of two classes that of the second less
        one half).
    rule : {"majority", "mean", "score", "any"} or rule, default="majority"
        How rows decide for their group: see :mod:`groupwise.rules`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted on the rows.
    rule_ : Rule
    n_groups_ : int

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from groupwise import NaiveGroupClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> clf = NaiveGroupClassifier(GaussianNB()).fit(s.X, s.y, groups=s.groups)
    >>> clf.predict(s.X).shape, clf.predict_groups(s.X, groups=s.groups).shape
    ((800,), (80,))
    """

    _learns_from_groups = False

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        rule: str | Rule = "majority",
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.rule = rule
        self.group_column = group_column
        self.random_state = random_state

    def _estimator(self) -> BaseEstimator:
        if self.estimator is None:
            return HistGradientBoostingClassifier(early_stopping=False)
        return self.estimator

    def _check_parameters(self) -> None:
        get_rule(self.rule)

    def _learn(self, data: GroupedRows) -> None:
        self.rule_ = get_rule(self.rule)
        self.estimator_ = clone(self._estimator())
        if self.random_state is not None:
            set_random_states(self.estimator_, self.random_state)
        with expecting_rows_for(self.estimator_, data.X), few_threads(data.X.shape[0]):
            self.estimator_.fit(data.X, data.y_row)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        with few_threads(rows.shape[0]):
            found = ask(self.estimator_, rows, groups)
            return found.score_row, found.proba_row

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_rows_like(tags, self._estimator())
        return tags
