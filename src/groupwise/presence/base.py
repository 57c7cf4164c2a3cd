"""What the presence classifiers share: scores, and a group that is positive if any row is."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.presence.bags import Bags, make_bags
from groupwise.rules import Rule, get_rule
from groupwise.validation import check_rows

__all__ = ["BasePresenceClassifier", "GroupScoreMixin", "dense", "logistic_proba"]


def dense(X: Rows) -> NDArray[np.float64]:
    """Rows as a dense table of floats."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def logistic_proba(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities of two classes, the second one the logistic function of the score."""
    positive = expit(score)
    return np.column_stack([1.0 - positive, positive])


class BasePresenceClassifier(BaseGroupClassifier):
    """A classifier of rows by a score; a group has the positive class if its best row has.

    A subclass writes ``fit`` and ``_score_rows(X)``. One that knows more than two classes writes
    ``_proba(score)`` and sets ``rule_`` as well.
    """

    #: Whether more than two classes are taken.
    _multi_class = False

    rule_: Rule

    @abstractmethod
    def _score_rows(self, X: Rows) -> NDArray[np.float64]:
        """Scores of checked rows, (n_rows,) or (n_rows, n_classes)."""

    def _proba(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return logistic_proba(score)

    def _check_bags(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> Bags:
        """Check training data of two classes and put them in order."""
        bags = make_bags(self._check_training(X, y, groups))
        self.rule_ = get_rule("any")
        return bags

    def _rule(self) -> Rule:
        return self.rule_

    def _checked_rows(self, X: MatrixLike) -> Rows:
        check_is_fitted(self)
        return check_rows(self, self._features(X))

    def decision_function(self, X: MatrixLike) -> NDArray[np.float64]:
        """Score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        return self._score_rows(self._checked_rows(X))

    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """A logistic function of the score: above one half where positive, but not calibrated.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        return self._proba(self._score_rows(self._checked_rows(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._multi_class
        return tags


class GroupScoreMixin:
    """Groups are scored as wholes, and a row is judged as a group of one.

    Goes before :class:`BasePresenceClassifier`; a subclass writes ``_score_groups(X, groups)``, the
    scores (n_groups,) of the groups of checked rows.
    """

    _score_groups: Callable[[Rows, Groups], NDArray[np.float64]]
    _checked_rows: Callable[[MatrixLike], Rows]
    _groups_of: Callable[[MatrixLike, Ids], Groups]

    def _score_rows(self, X: Rows) -> NDArray[np.float64]:
        return self._score_groups(X, Groups.singletons(X.shape[0]))

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """A logistic function of each group's score, not calibrated.

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
        rows = self._checked_rows(X)
        return logistic_proba(self._score_groups(rows, self._groups_of(X, groups)))
