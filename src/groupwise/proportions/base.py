"""What all classifiers that learn from class counts of groups share."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.exceptions import EqualSharesWarning
from groupwise.groups import Groups
from groupwise.inputs import ShareRows, check_shares, whole_counts
from groupwise.metrics import share_error
from groupwise.proportions.decode import decode_counts
from groupwise.proportions.probabilities import RowProba
from groupwise.rules import Rule, get_rule
from groupwise.threads import few_threads

__all__ = ["BaseProportionsClassifier"]


class BaseProportionsClassifier(BaseGroupClassifier, ABC):
    """Base of the classifiers that know how many rows of each class a group has.

    A subclass writes ``_learn(data)``, which gives the class probabilities of the training
    rows, and ``_proba(X)``, those of any rows, both for the classes that some group has rows of.
    The shares of a group are the mean of its rows' probabilities unless the subclass writes
    ``_answer_groups``. It has constructor parameters ``classes`` and ``group_column``. Groups that
    all have the same shares teach nothing about rows: such a fit warns
    (:class:`groupwise.exceptions.EqualSharesWarning`) and predicts the shares.

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
    rule_: Rule = get_rule("mean")

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> Self:
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
        trial = self._trial()
        trial._check_parameters()
        trial._fit(X, y, groups)
        return self._take_over(trial)

    def _fit(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> None:
        X, groups = self._groups_to_fit(X, groups)
        data = check_shares(self, X, y, groups, classes=self.classes)
        data = replace(data, X=data.X.astype(np.float64, copy=False))
        self._remember_groups(groups, data.groups)
        self.classes_ = data.classes
        self.prior_ = data.prior
        self._constant = data.all_shares_equal()
        self._present = data.present
        if self._constant:
            warnings.warn(
                f"all {data.groups.n_groups} groups have the same shares of the classes, "
                f"{dict(zip(data.classes.tolist(), data.prior.round(4).tolist(), strict=True))}: "
                "nothing can be learned about single rows, and every prediction is these shares",
                EqualSharesWarning,
                stacklevel=3,
            )
            learned = self._prior_of_rows(data.groups.n_rows)
        else:
            with few_threads(data.groups.n_rows):
                learned = self._learn(data.only_present()).with_absent(self._present)
        self.transduction_proba_ = learned.proba
        self.transduction_ = self.classes_[learned.proba.argmax(axis=1)]
        self._codes_row = data.groups.codes
        self._counts_group = whole_counts(data.counts_group)

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse values that no data could make sense of."""

    @abstractmethod
    def _learn(self, data: ShareRows) -> RowProba:
        """Fit; the class probabilities of the training rows."""

    @abstractmethod
    def _proba(self, X: Rows) -> RowProba:
        """Class probabilities of checked rows."""

    def _prior_of_rows(self, n_rows: int) -> RowProba:
        return RowProba.of_proba(np.tile(self.prior_, (n_rows, 1)))

    def _checked(
        self, X: MatrixLike, groups: Ids, *, about_groups: bool = False
    ) -> tuple[Rows, Groups]:
        """As in the base, with rows in double precision as in ``fit``."""
        rows, encoded = super()._checked(X, groups, about_groups=about_groups)
        return rows.astype(np.float64, copy=False), encoded

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        if self._constant:
            found = self._prior_of_rows(_num_samples(rows))
        else:
            found = self._proba(rows).with_absent(self._present)
        return found.scores(), found.proba

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        error = share_error(y, predictions.proba_group, predictions.groups, classes=self.classes_)
        return 1.0 - error

    def decision_function(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Logarithms of the rows' probabilities, finite also where these are zero.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Not used.

        Returns
        -------
        score : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Two classes: the log-odds of the second. More: the log-probability of each.
        """
        return super().decision_function(X, groups)

    def predict_group_counts(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """Expected number of rows of each class in each group (not rounded).

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        counts : ndarray of shape (n_groups, n_classes)
            Lines sum to the groups' sizes; in the order of ``np.unique(groups)``.
        """
        found = self._predictions(*self._checked(X, groups, about_groups=True))
        return found.proba_group * found.groups.sizes[:, None]

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
        return super().score(X, y, groups)
