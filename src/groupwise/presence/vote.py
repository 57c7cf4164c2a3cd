"""Several group classifiers, and the mean of what they say."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from groupwise._compat import set_random_states
from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.presence.miles import MILESClassifier
from groupwise.presence.set_kernel import SetKernelClassifier
from groupwise.validation import check_rows

__all__ = ["GroupVoteClassifier"]


class GroupVoteClassifier(BaseGroupClassifier):
    r"""The mean of several classifiers' probabilities, of rows and of groups.

    .. math:: P_i(c) = \frac1M \sum_{m=1}^M P_i^{(m)}(c)

    Methods that look at groups in different ways (kernels, embeddings, statistics) err on different
    groups.

    Parameters
    ----------
    estimators : list of (str, estimator) pairs, default=None
        Group classifiers. ``None``: :class:`MILESClassifier` and :class:`SetKernelClassifier`.
    scale : bool, default=True
        Give all of them features of mean zero and variance one. Needs dense rows; sparse ones are
        only divided by their standard deviation.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Given to members that have one.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list
        The fitted members.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import GroupVoteClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = GroupVoteClassifier().fit(d.X, d.y, groups=d.groups)
    >>> clf.predict_groups(d.X, groups=d.groups).shape
    (40,)
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        scale: bool = True,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimators = estimators
        self.scale = scale
        self.group_column = group_column
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> "GroupVoteClassifier":
        """Fit every member to the same rows and groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's label, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : GroupVoteClassifier
        """
        members = self.estimators
        if members is None:
            members = [("miles", MILESClassifier()), ("sets", SetKernelClassifier())]
        if not members:
            raise ValueError("estimators must hold at least one (name, estimator) pair")
        data = self._check_training(X, y, groups)
        dense = isinstance(data.X, np.ndarray)
        self._scaler = StandardScaler(with_mean=dense).fit(data.X) if self.scale else None
        rows = self._scaled(data.X)
        labels = data.classes[data.y_row]
        ids = None if groups is None and self.group_column is None else data.groups
        self.estimators_ = []
        for _, estimator in members:
            member = clone(estimator)
            if self.random_state is not None:
                set_random_states(member, self.random_state)
            self.estimators_.append(member.fit(rows, labels, groups=ids))
        return self

    def _scaled(self, X: Rows) -> Rows:
        return X if self._scaler is None else self._scaler.transform(X)

    def predict_proba(self, X: MatrixLike) -> NDArray[np.float64]:
        """Mean of the members' class probabilities of each row."""
        check_is_fitted(self)
        rows = self._scaled(check_rows(self, self._features(X)))
        return np.mean([member.predict_proba(rows) for member in self.estimators_], axis=0)

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[np.float64]:
        """Mean of the members' class probabilities of each group."""
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        rows = self._scaled(check_rows(self, self._features(X)))
        proba = [member.predict_groups_proba(rows, encoded) for member in self.estimators_]
        return np.mean(proba, axis=0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
