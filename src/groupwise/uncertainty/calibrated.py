"""Group probabilities that mean what they say."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import check_random_state

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.auto.scaling import Scaling
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.boosting.sorted_columns import SortedColumns
from groupwise.groups import Groups
from groupwise.inputs import check_choice, check_labels, check_number
from groupwise.model_selection import Splitter
from groupwise.uncertainty.base import ClassifierWrapperMixin, as_given
from groupwise.uncertainty.held_out import fit_part, make_folds, training_data

__all__ = ["CalibratedGroupClassifier", "IsotonicScaling"]

# Groups from which on an isotonic curve is better than Platt's two numbers.
_MANY_GROUPS = 200


class IsotonicScaling:
    """One rising curve per class, and the probabilities made to add up again.

    Attributes
    ----------
    curves : list of IsotonicRegression
        Of the second class only, where there are two.
    edge : float
        How near 0 a probability may come: half a group's worth.
    """

    def __init__(self, curves: list[IsotonicRegression], edge: float):
        self.curves = curves
        self.edge = edge

    @classmethod
    def fit(cls, proba: NDArray[Any], target: NDArray[Any]) -> "IsotonicScaling":
        """Curves of the classes' shares against the probabilities."""
        first = 1 if proba.shape[1] == 2 else 0
        curves = [
            IsotonicRegression(out_of_bounds="clip").fit(proba[:, code], target[:, code])
            for code in range(first, proba.shape[1])
        ]
        return cls(curves, 0.5 / (len(proba) + 1.0))

    def apply(self, proba: NDArray[Any]) -> NDArray[Any]:
        """The scaled probabilities."""
        first = proba.shape[1] - len(self.curves)
        risen = [curve.predict(proba[:, first + k]) for k, curve in enumerate(self.curves)]
        table = np.clip(np.column_stack(risen), self.edge, 1.0 - self.edge)
        if first:
            return np.column_stack([1.0 - table[:, 0], table[:, 0]])
        return table / table.sum(axis=1, keepdims=True)


class CalibratedGroupClassifier(ClassifierWrapperMixin, BaseGroupClassifier):
    """Any classifier of groups, its group probabilities put right on groups it had not seen.

    Products, maxima and votes of rows make poor probabilities (noisy-or of many rows is near 0 or
    1). Every group is scored by a model of other groups, and a rising curve from these
    probabilities to the labels is applied to those of the model that has seen all groups.

    Parameters
    ----------
    estimator : classifier
        Any of this library's for labels of groups (majority, presence).
    method : {"sigmoid", "isotonic"}, default=None
        Platt's scaling (for any number of classes one slope and a shift per class, drawn towards
        no change), or an isotonic curve per class. ``None``: isotonic from 200 groups on.
    cv : int or splitter, default=5
        Number of folds of whole groups, or a splitter that tests every group once.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        Fitted to all groups.
    scaling_ : Scaling or IsotonicScaling
    held_out_proba_ : ndarray of shape (n_groups, n_classes)
        What models of other groups said of each training group, before scaling.
    n_groups_ : int

    Notes
    -----
    Answers about rows are the estimator's own.

    References
    ----------
    J. Platt (1999). Probabilistic outputs for support vector machines. Advances in Large Margin
    Classifiers.

    B. Zadrozny, C. Elkan (2002). Transforming classifier scores into accurate multiclass
    probability estimates. KDD.

    Examples
    --------
    >>> from groupwise import CalibratedGroupClassifier, GroupBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> clf = CalibratedGroupClassifier(GroupBoostClassifier(n_estimators=10), cv=2, random_state=0)
    >>> clf.fit(s.X, s.y, groups=s.groups).predict_groups_proba(s.X, groups=s.groups).shape
    (40, 4)
    """

    __metadata_request__fit = {"groups": True, "keep_whole": True}  # noqa: RUF012

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        method: str | None = None,
        cv: int | Splitter = 5,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("sigmoid", "isotonic"), none=True)
        if not isinstance(self.cv, Splitter):
            check_number("cv", self.cv, "[2, inf)", whole=True)

    def _fit_checked(
        self, X: MatrixLike, y: ArrayLike, groups: Ids, keep_whole: ArrayLike | None
    ) -> None:
        X, groups = self._groups_to_fit(X, groups)
        checked = check_labels(self, X, y, groups)
        self.classes_ = checked.classes
        self._remember_groups(groups, checked.groups)
        data = training_data(
            as_given(X, checked.X), checked.X, checked.y_row, checked.groups, keep_whole=keep_whole
        )
        rng = check_random_state(self.random_state)
        proba = np.empty((data.groups.n_groups, len(self.classes_)))
        labels, columns = data.y if keep_whole is None else None, SortedColumns(data.X)
        for train, test in make_folds(data, self.cv, rng, labels=labels):
            model = fit_part(self.estimator, data, train, rng, columns)
            held_out = data.groups_of(test)
            found = self._asked(model, data.rows(test), held_out)
            proba[data.groups.codes[test[held_out.first_rows]]] = found.proba_group
        self._answer_with(fit_part(self.estimator, data, None, rng, columns))
        y_group = data.y[data.groups.first_rows]
        target = np.eye(len(self.classes_))[y_group]
        many = data.groups.n_groups >= _MANY_GROUPS
        if (self.method or ("isotonic" if many else "sigmoid")) == "isotonic":
            self.scaling_: Any = IsotonicScaling.fit(proba, target)
        else:
            self.scaling_ = Scaling.fit(proba, target, penalty=1.0)
        self.held_out_proba_ = np.empty_like(proba)
        self.held_out_proba_[data.position] = proba

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        found = self._asked(self.estimator_, rows, groups)
        return replace(found, proba_group=self.scaling_.apply(found.proba_group))
