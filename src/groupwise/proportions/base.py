"""What all classifiers that learn from class counts of groups share."""

import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.metrics import share_error
from groupwise.proportions.decode import decode_counts
from groupwise.proportions.inputs import (
    AggregateRows,
    EqualSharesWarning,
    check_aggregates,
    whole_counts,
)
from groupwise.rules import Rule, get_rule
from groupwise.validation import check_rows, split_group_column

__all__ = ["BaseProportionsClassifier"]


class BaseProportionsClassifier(BaseGroupClassifier, ABC):
    """Base of the classifiers that know how many rows of each class a group has.

    A subclass writes ``_learn(data)``, which gives the class probabilities of the training
    rows, and ``_proba(X)``, those of any rows, both for the classes that some group has rows of; it
    may write ``_shares(X, groups)``, which is the mean of its rows' probabilities otherwise. It has
    constructor parameters ``classes`` and ``group_column``. Groups that all have the same
    shares teach nothing about rows: such a fit warns (:class:`EqualSharesWarning`) and predicts the
    shares.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_groups_ : int
    prior_ : ndarray of shape (n_classes,)
        Share of each class over all training rows.
    transduction_ : ndarray of shape (n_rows,)
        The predicted class of each training row.
    transduction_proba_ : ndarray of shape (n_rows, n_classes)
    """

    classes: ArrayLike | None

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Fit to rows and the class counts of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            Labels of rows, of which only the number of each class per group is used; or the
            group's shares or counts of the classes, repeated on each of its rows (a DataFrame's
            columns name the classes; see :func:`groupwise.proportions.broadcast`).
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group, which is learning from labels.

        Returns
        -------
        self : estimator
        """
        self._check_parameters()
        X, groups = split_group_column(X, self.group_column, groups)
        data = check_aggregates(self, X, y, groups, classes=self.classes)
        self.classes_ = data.classes
        self.n_groups_ = data.groups.n_groups
        self.prior_ = data.prior
        self._fitted_with_groups = groups is not None
        self._constant = data.all_shares_equal()
        self._present = data.present
        if self._constant:
            warnings.warn(
                f"all {data.groups.n_groups} groups have the same shares of the classes, "
                f"{dict(zip(data.classes.tolist(), data.prior.round(4).tolist(), strict=True))}: "
                "nothing can be learned about single rows, and every prediction is these shares",
                EqualSharesWarning,
                stacklevel=2,
            )
            proba_row = np.tile(self.prior_, (data.groups.n_rows, 1))
        else:
            proba_row = self._expand(self._learn(data.only_present()))
        self.transduction_proba_ = proba_row
        self.transduction_ = self.classes_[proba_row.argmax(axis=1)]
        self._codes_row = data.groups.codes
        self._counts_group = whole_counts(data.counts_group)
        return self

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse values that no data could make sense of."""

    @abstractmethod
    def _learn(self, data: AggregateRows) -> NDArray[np.float64]:
        """Fit; the class probabilities of the training rows."""

    @abstractmethod
    def _proba(self, X: Rows) -> NDArray[np.float64]:
        """Class probabilities of checked rows."""

    def _shares(self, X: Rows, groups: Groups) -> NDArray[np.float64]:
        """Class shares of the groups of checked rows."""
        return groups.mean(self._proba(X))

    def _rule(self) -> Rule:
        return get_rule("mean")

    def _checked_features(self, X: MatrixLike) -> Rows:
        check_is_fitted(self)
        return check_rows(self, self._features(X)).astype(np.float64, copy=False)

    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Class probabilities of each row.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        X = self._checked_features(X)
        if self._constant:
            return np.tile(self.prior_, (_num_samples(X), 1))
        return self._expand(self._proba(X))

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """Share of each class in each group.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        shares : ndarray of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows = self._checked_features(X)
        encoded = self._groups_of(X, groups)
        if self._constant:
            return np.tile(self.prior_, (encoded.n_groups, 1))
        return self._expand(self._shares(rows, encoded))

    def _expand(self, proba: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns for all classes; those that no group has rows of are zero."""
        if self._present.all():
            return proba
        full = np.zeros((len(proba), len(self._present)))
        full[:, self._present] = proba
        return full

    def predict_group_counts(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """Expected number of rows of each class in each group (not rounded).

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        counts : ndarray of shape (n_groups, n_classes)
            Lines sum to the groups' sizes; in the order of ``np.unique(groups)``.
        """
        encoded = self._groups_of(X, groups)
        return self.predict_groups_proba(X, encoded) * encoded.sizes[:, None]

    def predict_transductive(self) -> NDArray[Any]:
        """Labels of the training rows that agree with every group's known counts.

        Of all such labellings the one with the largest sum of log-probabilities: for two classes,
        in each group the rows with the top scores. Counts that came as rounded shares are first
        made whole.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        score_row = np.log(np.maximum(self.transduction_proba_, 1e-300))
        codes = decode_counts(score_row, self._counts_group, Groups(self._codes_row))
        return self.classes_[codes]

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """One minus the :func:`groupwise.metrics.share_error` of the groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            As in :meth:`fit`.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
            1 is perfect.
        """
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        proba_group = self.predict_groups_proba(X, encoded)
        return 1.0 - share_error(y, proba_group, encoded, classes=self.classes_)
