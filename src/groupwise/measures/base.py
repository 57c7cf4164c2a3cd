"""What the classifiers of this package share: rows have labels, groups have scores."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from groupwise._compat import set_random_states
from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.boosting.protocol import Ensemble
from groupwise.boosting.staged import StagedMixin
from groupwise.groups import Groups
from groupwise.metrics.aggregate import GroupMean
from groupwise.metrics.measure import GroupMeasure, get_measure
from groupwise.validation import (
    GroupedRows,
    check_grouped_rows,
    check_known_classes,
    check_rows,
    split_group_column,
)

__all__ = ["BaseMeasureClassifier", "StagedMeasureMixin", "fit_rows"]


def fit_rows(
    estimator: Any, X: Rows, y_row: NDArray[Any], groups: NDArray[Any], rng: np.random.RandomState
) -> Any:
    """Fit a clone to the rows, with their groups if it takes any."""
    model = clone(estimator)
    set_random_states(model, rng)
    options = {"groups": groups} if has_fit_parameter(model, "groups") else {}
    return model.fit(X, y_row, **options)


class BaseMeasureClassifier(BaseGroupClassifier):
    """Base of the classifiers that are judged by a measure of each group.

    Labels belong to rows and may differ inside a group. A subclass writes ``fit`` and
    ``predict_proba``, stores ``ensemble_`` or writes ``decision_function``, and has the constructor
    parameters ``measure`` and ``group_column``. ``predict_groups`` answers with the class most of
    the group's rows are given.
    """

    measure: Any
    ensemble_: Ensemble

    def _check_training(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> GroupedRows:
        X, groups = split_group_column(X, self.group_column, groups)
        data = check_grouped_rows(self, X, y, groups, one_label_per_group=False)
        self.classes_ = data.classes
        self.n_groups_ = data.groups.n_groups
        self._fitted_with_groups = groups is not None
        return data

    def _measure(self, n_classes: int) -> GroupMeasure:
        """The measure, able to judge this many classes."""
        measure = get_measure(self.measure)
        if n_classes > 2 and not measure.multiclass:
            raise ValueError(f"{measure!r} is for two classes, y holds {n_classes}")
        return measure

    def _check_two_classes(self) -> None:
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The target has "
                f"{len(self.classes_)} classes: {self.classes_.tolist()}"
            )

    def decision_function(self, X: MatrixLike) -> NDArray[Any]:
        """Score f of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.ensemble_.score(check_rows(self, self._features(X)))

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
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        return self._mean_measure(y, self.decision_function(X), encoded)

    def _mean_measure(self, y: ArrayLike, score_row: NDArray[Any], groups: Groups) -> float:
        check_known_classes(np.asarray(y), self.classes_, groups)
        y_code = np.searchsorted(self.classes_, np.asarray(y))
        return GroupMean()(self._measure(len(self.classes_))(y_code, score_row, groups))


class StagedMeasureMixin(StagedMixin):
    """Measures round by round, beside :class:`BaseMeasureClassifier`."""

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
        model: Any = self
        check_is_fitted(self)
        encoded = model._groups_of(X, groups)
        for score_row in self.staged_decision_function(X):
            yield model._mean_measure(y, score_row, encoded)
