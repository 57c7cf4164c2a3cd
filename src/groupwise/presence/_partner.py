"""What the comparison partners share: two classes, and the positive one if any row is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from groupwise.base import BaseGroupClassifier
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.presence._order import arrange
from groupwise.rules import Rule, get_rule
from groupwise.validation import check_rows

__all__ = ["Bags", "BinaryPresenceClassifier", "GroupLevelClassifier", "dense"]


def dense(X: Any) -> NDArray[np.float64]:
    """Rows as a dense table of floats."""
    return np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64)


class Bags:
    """Training data in an order that does not depend on how they were given.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        Sorted by group.
    groups : Groups
    y_group : ndarray of shape (n_groups,)
        0 and 1.
    """

    def __init__(self, X: Any, groups: Groups, y_group: NDArray[np.intp]):
        self.X, self.groups, self.y_group = X, groups, y_group

    @property
    def positive_row(self) -> NDArray[np.bool_]:
        """Rows of positive groups."""
        return self.groups.spread(self.y_group == 1)


class BinaryPresenceClassifier(BaseGroupClassifier):
    """A classifier of two classes; a group is positive if its best row is.

    A subclass writes ``fit`` and :meth:`decision_function`.
    """

    def _rule(self) -> Rule:
        return get_rule("any")

    def _bags(self, X: Any, y: Any, groups: Any) -> Bags:
        """Let training data in, and put them in order."""
        data = self._check_training(X, y, groups)
        if len(data.classes) != 2:
            raise GroupDataError(
                "Only binary classification is supported. y holds the classes "
                f"{data.classes.tolist()}; DPBoostClassifier takes more than two"
            )
        arranged = arrange(data.X, data.y_row, data.groups)
        return Bags(data.X[arranged.order], arranged.groups, data.y_group[arranged.group])

    def decision_function(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError  # every subclass writes it

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The logistic function of the score: above one half where positive, but no chance.

        Returns
        -------
        proba : ndarray of shape (n_rows, 2)
        """
        positive = expit(self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])

    def _rows(self, X: Any) -> Any:
        return check_rows(self, self._features(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class GroupLevelClassifier(BinaryPresenceClassifier):
    """A classifier that scores groups as wholes; a row is judged as a group of one.

    A subclass writes ``fit`` and ``_score_groups(X, groups)``.
    """

    def _score_groups(self, X: Any, groups: Groups) -> NDArray[Any]:
        raise NotImplementedError  # every subclass writes it

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score of each row, taken as a group of one.

        Returns
        -------
        score : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        rows = self._rows(X)
        return self._score_groups(rows, Groups.singletons(rows.shape[0]))

    def predict_groups_proba(self, X: Any, groups: Any = None) -> NDArray[Any]:
        """Probability of each class for each group, in the order of ``np.unique(groups)``."""
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        positive = expit(self._score_groups(self._rows(X), encoded))
        return np.column_stack([1.0 - positive, positive])
