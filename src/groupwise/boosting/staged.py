"""What models that grow round by round share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.groups import Groups

__all__ = ["StagedMixin"]


class StagedMixin:
    """Scores round by round, from ``ensemble_`` (an :class:`~groupwise.boosting.Ensemble`)."""

    ensemble_: Any

    if TYPE_CHECKING:  # the base beside this mixin has it

        def _checked(
            self, X: MatrixLike, groups: Ids, *, about_groups: bool = False
        ) -> tuple[Rows, Groups]: ...

    def staged_decision_function(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Scores the model would give had it ended after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Yields
        ------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        rows, _ = self._checked(X, None)
        yield from self.ensemble_.staged_score(rows)
