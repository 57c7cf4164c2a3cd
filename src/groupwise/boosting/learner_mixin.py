"""What estimators that boost a weak learner share: which rows they take, and the learner."""

import numpy as np
from sklearn.utils import Tags

from groupwise.base import GroupMixin
from groupwise.boosting import accepts_nan, get_weak_learner
from groupwise.boosting.hist_trees import HistTrees
from groupwise.boosting.protocol import LearnerLike, WeakLearner

__all__ = ["WeakLearnerMixin"]


class WeakLearnerMixin(GroupMixin):
    """For an estimator with a constructor parameter ``estimator`` that it boosts.

    Rows may hold what the weak learner takes: histogram trees split on categories, compare values
    of any size and need no filling of gaps.
    """

    estimator: LearnerLike

    @property
    def _boosts_hist_trees(self) -> bool:
        return self.estimator is None or isinstance(self.estimator, HistTrees)

    @property
    def _splits_on_categories(self) -> bool:  # type: ignore[override]  # constant in others
        return self._boosts_hist_trees

    @property
    def _largest_value(self) -> float:  # type: ignore[override]  # constant in others
        return np.inf if self._boosts_hist_trees else GroupMixin._largest_value

    def _weak_learner(self, n_classes: int, *, hypotheses: str = "hard") -> WeakLearner:
        return get_weak_learner(
            self.estimator,
            n_classes,
            hypotheses=hypotheses,
            feature_names=getattr(self, "feature_names_in_", None),
            categories=self._category_columns(),
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = accepts_nan(self.estimator)
        return tags
