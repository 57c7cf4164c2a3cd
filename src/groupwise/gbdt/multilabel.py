"""Gradient-boosted trees for several labels of presence per group, each with gaps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.boosting import HistTrees
from groupwise.exceptions import GroupDataError
from groupwise.gbdt.base import GroupBoostMixin
from groupwise.gbdt.rounds import Callback
from groupwise.groups import Groups
from groupwise.losses import GroupLoss, PresenceLabelsLoss
from groupwise.targets import (
    GroupTargets,
    check_class_targets,
    check_known_targets,
    known_codes,
)

__all__ = ["GroupBoostMultilabelClassifier", "LabelPredictions"]


@dataclass(frozen=True)
class LabelPredictions:
    """Everything a fitted model says of the labels of rows and their groups.

    Attributes
    ----------
    classes : ndarray of shape (n_labels,)
    groups : Groups
    score_row : ndarray of shape (n_rows, n_labels)
    proba_row : ndarray of shape (n_rows, n_labels)
    proba_group : ndarray of shape (n_groups, n_labels)
    """

    classes: NDArray[Any]
    groups: Groups
    score_row: NDArray[Any]
    proba_row: NDArray[Any]
    proba_group: NDArray[Any]

    @property
    def y_row(self) -> NDArray[np.intp]:
        """Which labels each row has, 0 and 1."""
        return _present(self.proba_row)

    @property
    def y_group(self) -> NDArray[np.intp]:
        """Which labels each group has, 0 and 1."""
        return _present(self.proba_group)


class GroupBoostMultilabelClassifier(GroupBoostMixin, BaseEstimator):
    """Gradient boosting on several labels of presence: which of K findings are in the group.

    A group has a label if at least one of its rows does, by a noisy-or of the rows for each label
    (:class:`~groupwise.losses.PresenceLabelsLoss`). Of a group some labels may be unknown.

    Parameters
    ----------
    trees : HistTrees, default=None
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
    n_estimators : int, default=100
        Rounds; each grows one tree per label.
    learning_rate : float, default=0.1
    early_stopping : bool, default=False
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
    engine_params : dict, default=None
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        All as in :class:`GroupBoostClassifier`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_labels,)
        The columns of ``y``, or their numbers.
    loss_ : PresenceLabelsLoss
    ensemble_ : GroupTrees
    n_iter_ : int
    history_ : dict
    feature_importances_ : ndarray of shape (n_features,)
    n_groups_ : int

    See Also
    --------
    GroupBoostClassifier : One label per group.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.gbdt import GroupBoostMultilabelClassifier
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> image = np.repeat(np.arange(100), 4)
    >>> found = (X > 1).reshape(100, 4, 2).max(axis=1).astype(float)
    >>> found[:30, 1] = np.nan  # nobody looked
    >>> clf = GroupBoostMultilabelClassifier(n_estimators=20).fit(X, found[image], groups=image)
    >>> clf.predict_groups(X, groups=image).shape, clf.predict_proba(X).shape
    ((100, 2), (400, 2))
    """

    def __init__(
        self,
        *,
        trees: HistTrees | None = None,
        engine: str = "lightgbm",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.2,
        engine_params: dict[str, Any] | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        super().__init__(
            trees=trees,
            engine=engine,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            validation_fraction=validation_fraction,
            engine_params=engine_params,
            group_column=group_column,
            random_state=random_state,
            verbose=verbose,
        )

    def _resolve_loss(self) -> GroupLoss:
        return PresenceLabelsLoss()

    def _training_targets(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        loss: GroupLoss,
    ) -> GroupTargets:
        return check_class_targets(self, X, y, groups, sample_weight, loss)

    def _validation_targets(
        self, X: MatrixLike, y: ArrayLike | None, groups: Ids, loss: GroupLoss
    ) -> GroupTargets:
        return check_known_targets(self, X, y, groups, loss, classes=self.classes_)

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        sample_weight: ArrayLike | None = None,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        groups_val: Ids = None,
        init_model: "GroupBoostMultilabelClassifier | None" = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> "GroupBoostMultilabelClassifier":
        """Fit to rows and the labels of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows, n_labels)
            1 where the group has the label, 0 where it has not, NaN where that is not known; the
            same on all rows of a group.
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group, which makes this K logistic regressions on trees.
        sample_weight : array-like of shape (n_rows,), default=None
        X_val, y_val, groups_val : default=None
        init_model : GroupBoostMultilabelClassifier, default=None
        callbacks : list of callables, default=None
            All as in :meth:`GroupBoostClassifier.fit`.

        Returns
        -------
        self : GroupBoostMultilabelClassifier
        """
        validation = (X_val, y_val, groups_val)
        self._fit(X, y, groups, sample_weight, validation, init_model, callbacks)
        return self

    def _answer_rows(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows).reshape(rows.shape[0], -1)
        return score_row, self.loss_.proba(score_row)

    def _predictions(self, rows: Rows, groups: Groups) -> LabelPredictions:
        score_row, proba_row = self._answer_rows(rows)
        proba_group = self.loss_.proba_groups(score_row, groups)
        return LabelPredictions(self.classes_, groups, score_row, proba_row, proba_group)

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return _present(self._answer_rows(rows)[1])

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).y_group

    def predict(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Which labels each row has.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Not used.

        Returns
        -------
        y : ndarray of shape (n_rows, n_labels)
            0 and 1.
        """
        return super().predict(X, groups)

    def predict_groups(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Which labels each group has.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        y_group : ndarray of shape (n_groups, n_labels)
            0 and 1, in the order of ``np.unique(groups)``.
        """
        return super().predict_groups(X, groups)

    def decision_function(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Log-odds of each label for rows, (n_rows, n_labels)."""
        return self._answer_rows(self._checked(X, groups)[0])[0]

    def predict_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Probability of each label for rows, (n_rows, n_labels); they need not sum to one."""
        return self._answer_rows(self._checked(X, groups)[0])[1]

    def predict_groups_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Probability of each label for groups, (n_groups, n_labels)."""
        return self._predictions(*self._checked(X, groups, about_groups=True)).proba_group

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """Share of the known labels of groups that are predicted right.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows, n_labels)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
            One less the Hamming loss, gaps left out.
        """
        return super().score(X, y, groups)

    def _judge(self, predictions: LabelPredictions, y: ArrayLike) -> float:
        groups = predictions.groups
        truth = known_codes(y, groups, self.loss_, self.classes_)[groups.first_rows]
        known = ~np.isnan(truth)
        if not known.any():
            raise GroupDataError("y holds no label of any group")
        return float(np.mean(predictions.y_group[known] == truth[known]))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _present(proba: NDArray[Any]) -> NDArray[np.intp]:
    return (proba > 0.5).astype(np.intp)
