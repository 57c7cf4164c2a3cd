"""What the classifiers of this package share: rows have labels, groups have scores."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags

from groupwise._typing import Ids, MatrixLike
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.boosting.staged import StagedMixin
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, class_codes
from groupwise.metrics import GroupMean, GroupMeasure, MeasureLike, get_measure

__all__ = ["BaseMeasureClassifier", "StagedMeasureMixin"]


class BaseMeasureClassifier(BaseGroupClassifier):
    """Base of the classifiers that are judged by a measure of each group.

    Labels belong to rows and may differ inside a group; a row's label is the sign of its score, or
    the class with the largest. A subclass has the constructor parameters ``measure`` and
    ``group_column``. ``predict_groups`` answers with the class most of the group's rows are given.
    """

    _one_label_per_group = False

    measure: MeasureLike
    measure_: GroupMeasure

    def _check_training(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> GroupedRows:
        measure = self._resolve_measure()
        data = super()._check_training(X, y, groups)
        n_classes = len(data.classes)
        if n_classes > 2 and not get_tags(self).classifier_tags.multi_class:
            raise GroupDataError(
                "Only binary classification is supported. The target has "
                f"{n_classes} classes: {data.classes.tolist()}"
            )
        if n_classes > 2 and not measure.multiclass:
            raise GroupDataError(f"{measure!r} is for two classes, y holds {n_classes}")
        self.measure_ = measure
        return data

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> Self:
        """Fit to labelled rows in groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            Each row's own label; of two classes the second is the positive one.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        self : estimator
        """
        return super().fit(X, y, groups=groups)

    def _resolve_measure(self) -> GroupMeasure:
        """What groups are judged by."""
        return get_measure(self.measure)

    def _label_rows(self, score_row: NDArray[Any], proba_row: NDArray[Any]) -> NDArray[np.intp]:
        if score_row.ndim == 1:
            return (score_row > 0).astype(np.intp)
        return score_row.argmax(axis=1)

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """Mean over groups of the measure.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The rows' labels.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        return super().score(X, y, groups)

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        return self._mean_measure(y, predictions.score_row, predictions.groups)

    def _mean_measure(self, y: ArrayLike, score_row: NDArray[Any], groups: Groups) -> float:
        y_code = class_codes(y, self.classes_, groups)
        return GroupMean()(self.measure_(y_code, score_row, groups))


class StagedMeasureMixin(StagedMixin):
    """Measures round by round, beside :class:`BaseMeasureClassifier`."""

    if TYPE_CHECKING:

        def _mean_measure(self, y: ArrayLike, score_row: NDArray[Any], groups: Groups) -> float: ...

    def staged_score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> Iterator[float]:
        """Mean measure of the groups after each round kept.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The rows' labels.
        groups : array-like of shape (n_rows,), default=None

        Yields
        ------
        score : float
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        for score_row in self.ensemble_.staged_score(rows):
            yield self._mean_measure(y, score_row, encoded)
