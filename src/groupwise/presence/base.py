"""What the presence classifiers share: scores, and a group that is positive if any row is."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.presence.bags import Bags, make_bags
from groupwise.rules import get_rule, two_columns

__all__ = ["BasePresenceClassifier", "GroupScoreMixin"]


class BasePresenceClassifier(BaseGroupClassifier):
    """A classifier of rows by a score; a group has the positive class if its best row has.

    Class probabilities are a logistic function of the score: above one half where it is positive,
    but not calibrated. A subclass writes ``fit`` and ``_score_rows(rows)``. One that knows more
    than two classes writes ``_proba(score)`` and sets ``rule_`` as well.
    """

    #: Whether more than two classes are taken.
    _multi_class = False

    @abstractmethod
    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """Scores of checked rows, (n_rows,) or (n_rows, n_classes)."""

    def _proba(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return two_columns(expit(score))

    def _answer_rows(
        self, rows: Rows, groups: Groups
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        score = self._score_rows(rows)
        return score, self._proba(score)

    def _check_bags(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> Bags:
        """Check training data of two classes and put them in order."""
        bags = make_bags(self._check_training(X, y, groups))
        self.rule_ = get_rule("any")
        return bags

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        return tags


class GroupScoreMixin(ABC):
    """Groups are scored as wholes, and a row as a group of one.

    Goes before :class:`BasePresenceClassifier`; a subclass writes ``_score_groups(rows, groups)``.
    """

    _checked: Callable[..., tuple[Rows, Groups]]

    @abstractmethod
    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        """Scores of the groups of checked rows, (n_groups,)."""

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        return self._score_groups(rows, Groups.singletons(rows.shape[0]))

    def _answer_groups(
        self,
        rows: Rows,
        groups: Groups,
        score_row: NDArray[np.float64],
        proba_row: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        return two_columns(expit(self._score_groups(rows, groups)))

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """A logistic function of each group's score, not calibrated; rows are not scored.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        proba : ndarray of shape (n_groups, 2)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        return two_columns(expit(self._score_groups(rows, encoded)))
