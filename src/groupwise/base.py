"""What every group classifier shares: the contract of the library in one class."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise.exceptions import GroupsLostWarning
from groupwise.groups import Groups
from groupwise.rules import Rule, get_rule
from groupwise.validation import (
    GroupedRows,
    check_grouped_rows,
    check_groups,
    check_known_classes,
    split_group_column,
)

__all__ = ["BaseGroupClassifier"]


class BaseGroupClassifier(ClassifierMixin, BaseEstimator):
    """Base of the classifiers whose labels belong to groups.

    A subclass writes ``fit`` and ``predict_proba`` (both through :meth:`_check_training` and
    :meth:`_features`), names its decision rule in :meth:`_rule`, and has a constructor parameter
    ``group_column``. ``groups`` is requested by default in scikit-learn's metadata routing.
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  # scikit-learn reads a plain dict
    __metadata_request__score = {"groups": True}  # noqa: RUF012

    #: Whether a fit without groups is another model than a fit with them.
    _learns_from_groups = True

    group_column: str | None
    classes_: NDArray[Any]
    n_groups_: int

    def _rule(self) -> Rule:
        return get_rule("majority")

    def _check_training(self, X: Any, y: Any, groups: Any) -> GroupedRows:
        """Let data in through the one door and store what every fitted model knows of it."""
        X, groups = split_group_column(X, self.group_column, groups)
        data = check_grouped_rows(self, X, y, groups)
        self.classes_ = data.classes
        self.n_groups_ = data.groups.n_groups
        self._fitted_with_groups = groups is not None
        return data

    def _features(self, X: Any) -> Any:
        """The features of a table that may still hold the column of group ids."""
        return split_group_column(X, self.group_column, None, required=False)[0]

    def _groups_of(self, X: Any, groups: Any) -> Groups:
        groups = split_group_column(X, self.group_column, groups)[1]
        encoded = check_groups(groups, _num_samples(X))
        if (
            self._learns_from_groups
            and not self._fitted_with_groups
            and encoded.n_groups < encoded.n_rows
        ):
            warnings.warn(
                f"this {type(self).__name__} was fitted without groups, every row on its own, and "
                "is now asked about groups: were they lost on the way to fit? "
                "(groupwise.model_selection.cross_validate passes them on)",
                GroupsLostWarning,
                stacklevel=3,
            )
        return encoded

    def predict_proba(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError  # every subclass writes it; predict and the group methods call it

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        proba_row = self.predict_proba(X)
        return self.classes_[proba_row.argmax(axis=1)]

    def predict_groups_proba(
        self, X: Any, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Probability of each class for each group.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        proba : ndarray of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        return self._rule().combine(self.predict_proba(X), encoded)

    def predict_groups(self, X: Any, groups: ArrayLike | Groups | None = None) -> NDArray[Any]:
        """Predict the class of each group.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        y_group : ndarray of shape (n_groups,)
            In the order of ``np.unique(groups)``.
        """
        proba_group = self.predict_groups_proba(X, groups)
        return self.classes_[proba_group.argmax(axis=1)]

    def score(self, X: Any, y: ArrayLike, groups: ArrayLike | Groups | None = None) -> float:
        """Share of groups whose class is predicted right.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's label on each of its rows.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        accuracy : float
        """
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        y_group = encoded.one_per_group(y)
        check_known_classes(np.asarray(y), self.classes_, encoded)
        return float(np.mean(self.predict_groups(X, encoded) == y_group))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
