"""What the presence classifiers share: scores, and a group that is positive if any row is."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.utils import Tags

from groupwise._typing import Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows
from groupwise.presence.bags import Bags, make_bags
from groupwise.rules import get_rule, two_columns

__all__ = ["BasePresenceClassifier", "GroupScoreMixin"]


class BasePresenceClassifier(BaseGroupClassifier):
    """A classifier of rows by a score; a group has the positive class if its best row has.

    Class probabilities are a logistic function of the score: above one half where it is positive,
    but not calibrated. A subclass writes ``_learn(data)`` and ``_score_rows(rows)``. One that knows
    more than two classes writes ``_proba(score)`` and sets ``rule_`` as well.
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

    def _bags(self, data: GroupedRows) -> Bags:
        """Training data of two classes in order; a group is as its best row."""
        bags = make_bags(data)
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
        return self._answer_groups_only(rows, groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return two_columns(expit(self._score_groups(rows, groups)))
