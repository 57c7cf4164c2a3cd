"""What models that grow round by round share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import MatrixLike
from groupwise.validation import check_rows

__all__ = ["StagedMixin"]


class StagedMixin:
    """Scores round by round, from ``ensemble_`` (an :class:`~groupwise.boosting.Ensemble`)."""

    ensemble_: Any

    if TYPE_CHECKING:  # the base beside this mixin has it

        def _features(self, X: MatrixLike) -> Any: ...

    def staged_decision_function(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Scores the model would give had it ended after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Yields
        ------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        yield from self.ensemble_.staged_score(check_rows(self, self._features(X)))
