"""Several group classifiers, and the mean of what they say."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.utils import Tags

from groupwise._compat import set_random_states
from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupClassifier
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_flag
from groupwise.presence.miles import MILESClassifier
from groupwise.presence.set_kernel import SetKernelClassifier

__all__ = ["GroupVoteClassifier"]


class GroupVoteClassifier(BaseGroupClassifier):
    r"""The mean of several classifiers' probabilities, of rows and of groups.

    .. math:: P_i(c) = \frac1M \sum_{m=1}^M P_i^{(m)}(c)

    Methods that look at groups in different ways (kernels, embeddings, statistics) err on different
    groups. The score of a row is its probability of the second class less that of the first; with
    three or more classes, the probabilities themselves.

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

    def _check_parameters(self) -> None:
        check_flag("scale", self.scale)
        if not self._members():
            raise ValueError("estimators must hold at least one (name, estimator) pair")

    def _members(self) -> list[tuple[str, Any]]:
        if self.estimators is None:
            return [("miles", MILESClassifier()), ("sets", SetKernelClassifier())]
        return self.estimators

    def _learn(self, data: GroupedRows) -> None:
        centred = isinstance(data.X, np.ndarray)
        self._scaler = StandardScaler(with_mean=centred).fit(data.X) if self.scale else None
        rows = self._scaled(data.X)
        labels = data.classes[data.y_row]
        self.estimators_ = []
        for _, estimator in self._members():
            member = clone(estimator)
            if self.random_state is not None:
                set_random_states(member, self.random_state)
            self.estimators_.append(member.fit(rows, labels, groups=data.groups))

    def _scaled(self, X: Rows) -> Rows:
        return X if self._scaler is None else self._scaler.transform(X)

    def _answer_rows(
        self, rows: Rows, groups: Groups
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        scaled = self._scaled(rows)
        members = [member.predict_proba(scaled, groups) for member in self.estimators_]
        proba: NDArray[np.float64] = np.mean(members, axis=0)
        return (proba[:, 1] - proba[:, 0] if proba.shape[1] == 2 else proba), proba

    def _answer_groups(
        self,
        rows: Rows,
        groups: Groups,
        score_row: NDArray[np.float64],
        proba_row: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        return self._answer_groups_only(rows, groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        scaled = self._scaled(rows)
        members = [member.predict_groups_proba(scaled, groups) for member in self.estimators_]
        return np.mean(members, axis=0)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
