"""Transfer classifiers round by round."""

from collections.abc import Iterator
from typing import Any

from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids, MatrixLike
from groupwise.boosting.staged import StagedMixin
from groupwise.boosting.votes import decide
from groupwise.transfer.base import TransferMixin

__all__ = ["StagedTransferMixin"]


class StagedTransferMixin(StagedMixin, TransferMixin):
    """Scores, classes and accuracy the model would have had it ended after each round."""

    classes_: NDArray[Any]
    domain_names_: NDArray[Any]
    history_: dict[str, NDArray[Any]]

    def staged_predict(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Classes the model would give had it ended after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Yields
        ------
        y : ndarray of shape (n_rows,)
        """
        for score_row in self.staged_decision_function(X):
            yield self.classes_[decide(score_row)]

    def staged_score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
    ) -> Iterator[float]:
        """What :meth:`score` would be had the model ended after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None

        Yields
        ------
        accuracy : float
        """
        is_target = self._target_rows(X, domains)
        for y_row in self.staged_predict(X):
            yield self._score_on_target(y, y_row, is_target, sample_weight)
