"""What classifiers that boost weak hypotheses for a group measure share."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from groupwise.boosting import HistTrees, WeakLearner, get_weak_learner
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.validation import check_rows

__all__ = ["BoostedMeasureClassifier"]


class BoostedMeasureClassifier(BaseMeasureClassifier):
    """Scores from ``ensemble_``, the weighted hypotheses of ``estimator``."""

    estimator: Any
    ensemble_: Any

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score f of each row.

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.ensemble_.score(check_rows(self, self._features(X)))

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores after each round kept."""
        check_is_fitted(self)
        yield from self.ensemble_.staged_score(check_rows(self, self._features(X)))

    def staged_score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[float]:
        """Mean measure after each round kept."""
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        for score_row in self.staged_decision_function(X):
            yield self._mean_measure(y, score_row, encoded)

    def _learner(self, n_classes: int) -> WeakLearner:
        return get_weak_learner(self._estimator(n_classes))

    def _estimator(self, n_classes: int) -> Any:
        if self.estimator is not None:
            return self.estimator
        return HistTrees() if n_classes == 2 else DecisionTreeClassifier(max_depth=3)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or isinstance(self.estimator, HistTrees)
        return tags
