"""The contract of the library: how an estimator is fitted to groups and asked about them."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import Tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import MatrixLike, Rows
from groupwise.exceptions import GroupDataError, GroupsLostWarning, warn_caller
from groupwise.groups import Groups
from groupwise.inputs import (
    LARGEST_VALUE,
    GroupedRows,
    TotalRows,
    check_groups,
    check_known_classes,
    check_labels,
    check_rows,
    check_totals,
    group_means,
    group_numbers,
    group_totals,
    split_column,
)
from groupwise.inputs.rows import CategoryColumns
from groupwise.rules import Rule, get_rule

__all__ = [
    "BaseGroupClassifier",
    "BaseGroupRegressor",
    "GroupMixin",
    "NumberPredictions",
    "Predictions",
]


@dataclass(frozen=True)
class Predictions:
    """Everything a fitted classifier says of rows and their groups.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    groups : Groups
    score_row : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        As ``decision_function`` gives it.
    proba_row : ndarray of shape (n_rows, n_classes)
    proba_group : ndarray of shape (n_groups, n_classes)
        Probabilities of the group's class, or predicted shares.
    code_row : ndarray of shape (n_rows,)
        The predicted class of each row, as a position in ``classes``.
    """

    classes: NDArray[Any]
    groups: Groups
    score_row: NDArray[Any]
    proba_row: NDArray[Any]
    proba_group: NDArray[Any]
    code_row: NDArray[np.intp]

    @property
    def code_group(self) -> NDArray[np.intp]:
        return self.proba_group.argmax(axis=1)

    @property
    def y_row(self) -> NDArray[Any]:
        """The predicted class of each row."""
        return self.classes[self.code_row]

    @property
    def y_group(self) -> NDArray[Any]:
        """The predicted class of each group, in the order of ``groups.names``."""
        return self.classes[self.code_group]

    def row_weights(self) -> NDArray[np.float64]:
        """Each row's part in its group's label: its probability of it, as a share of the group."""
        code = self.groups.spread(self.code_group)
        proba = self.proba_row[np.arange(len(code)), code]
        total = self.groups.sum(proba)[self.groups.codes]
        even = 1.0 / self.groups.sizes[self.groups.codes]
        return np.divide(proba, total, out=even, where=total > 0)

    def with_classes(self, classes: NDArray[Any]) -> "Predictions":
        """The same with columns for classes that the model has never seen, which it never says."""
        if np.array_equal(classes, self.classes):
            return self
        place = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
        known = np.array([place[label] for label in self.classes.tolist()])

        def spread(table: NDArray[Any]) -> NDArray[Any]:
            full = np.zeros((len(table), len(classes)))
            full[:, known] = table
            return full

        proba_row = spread(self.proba_row)
        return replace(
            self,
            classes=np.asarray(classes),
            score_row=proba_row if len(classes) > 2 else self.score_row,
            proba_row=proba_row,
            proba_group=spread(self.proba_group),
            code_row=known[self.code_row],
        )


@dataclass(frozen=True)
class NumberPredictions:
    """Everything a fitted regressor says of rows and their groups.

    Attributes
    ----------
    groups : Groups
    y_row : ndarray of shape (n_rows,)
    y_group : ndarray of shape (n_groups,)
        Means or totals, in the order of ``groups.names``.
    """

    groups: Groups
    y_row: NDArray[Any]
    y_group: NDArray[Any]


class GroupMixin:
    """What classifiers and regressors share: groups on their way in, and in what is asked.

    ``groups`` is requested by default in scikit-learn's metadata routing.
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  # scikit-learn reads plain dicts
    __metadata_request__predict = {"groups": True}  # noqa: RUF012
    __metadata_request__score = {"groups": True}  # noqa: RUF012

    #: Whether a fit without groups is another model than a fit with them.
    _learns_from_groups = True
    #: Whether a row's label depends on the other rows of its group.
    _decides_per_group = False
    #: Whether category columns of a table are handed over as codes (else one column per category).
    _splits_on_categories = False
    #: The largest magnitude of a feature that the method can compute with; training data that
    #: stay below one over it vanish in products.
    _largest_value = LARGEST_VALUE

    group_column: str | None = None
    n_groups_: int
    _fitted_with_groups: bool

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: ArrayLike | Groups | None = None) -> Self:
        """Fit to rows and what is known of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's label, mean or total, repeated on each of its rows; for means the rows' own
            numbers serve too.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        self : estimator
        """
        trial = self._trial()
        trial._check_parameters()
        trial._learn(trial._check_training(X, y, groups))
        return self._take_over(trial)

    def _check_parameters(self) -> None:
        """Refuse values that no data could make sense of."""

    @abstractmethod
    def _check_training(
        self, X: MatrixLike, y: ArrayLike, groups: ArrayLike | Groups | None
    ) -> Any:
        """Check training data and store what every fitted model knows of them."""

    @abstractmethod
    def _learn(self, data: Any) -> Any:
        """Fit to checked data."""

    def _groups_to_fit(
        self, X: MatrixLike, groups: ArrayLike | Groups | None
    ) -> tuple[Any, ArrayLike | Groups | None]:
        """Features and ids of training data; says where there are no ids."""
        X, groups = split_column(X, self.group_column, groups)
        if groups is None and self._learns_from_groups:
            warn_lost(f"{type(self).__name__}.fit got no groups and takes every row for one")
        return X, groups

    def _remember_groups(self, given: ArrayLike | Groups | None, groups: Groups) -> None:
        self.n_groups_ = groups.n_groups
        self._fitted_with_groups = given is not None

    def _trial(self) -> Self:
        """Another of this class, to learn in its place until nothing can fail any more."""
        return type(self)(**self.get_params(deep=False))  # type: ignore[attr-defined]  # of the base beside

    def _take_over(self, fitted: Any) -> Self:
        """What another of this class has learned: a fit that fails on the way leaves no trace."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]  # of the base beside
        for name, value in vars(fitted).items():
            if name not in parameters:
                setattr(self, name, value)
        return self

    def _category_columns(self) -> tuple[int, ...]:
        """Positions of the columns that hold codes of categories, where the table had any."""
        known: CategoryColumns | None = getattr(self, "_categories", None)
        return known.positions if known is not None and known.as_codes else ()

    def _checked(
        self, X: MatrixLike, groups: ArrayLike | Groups | None, *, about_groups: bool = False
    ) -> tuple[Rows, Groups]:
        """Rows and groups that a fitted estimator is asked about.

        ``about_groups``: the answer counts groups, so that groups must not be lost in silence.
        """
        check_is_fitted(self)
        X, groups = split_column(X, self.group_column, groups, required=about_groups)
        if groups is None and getattr(self, "_fitted_with_groups", False):
            if self._decides_per_group:
                raise GroupDataError(
                    f"{type(self).__name__} labels a row in view of its group: pass groups "
                    "(np.arange(len(X)) if every row is one)"
                )
            if about_groups:
                warn_lost(f"this {type(self).__name__} was fitted with groups and is asked without")
        rows = self._check_rows(X)
        return rows, check_groups(groups, _num_samples(rows))

    def _check_rows(self, X: MatrixLike) -> Rows:
        """Features that a fitted estimator is asked about."""
        return check_rows(self, X)

    def _refuse_infinite(self, what: str, *answers: NDArray[Any]) -> None:
        """Rather no answer than NaN, which learners make of numbers that overflow inside."""
        for answer in answers:
            lost = ~np.isfinite(answer.reshape(len(answer), -1)).all(axis=1)
            if lost.any():
                raise GroupDataError(
                    f"{type(self).__name__} has no finite answer for {int(lost.sum())} of "
                    f"{len(answer)} {what}: X, here or in fit, holds constant columns or values "
                    "too far apart in size; scale X"
                )

    @abstractmethod
    def _predictions(self, rows: Rows, groups: Groups) -> Any:
        """Everything about checked rows and their groups."""

    @abstractmethod
    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        """Classes or numbers of checked rows."""

    @abstractmethod
    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        """Classes or numbers of the groups of checked rows."""

    @abstractmethod
    def _judge(self, predictions: Any, y: ArrayLike) -> float:
        """What :meth:`score` reports."""

    def predictions(self, X: MatrixLike, groups: ArrayLike | Groups | None = None) -> Any:
        """Everything about rows and groups at once, at the price of one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).

        Returns
        -------
        predictions : Predictions, or NumberPredictions of a regressor
        """
        return self._predictions(*self._checked(X, groups))

    def predict(self, X: MatrixLike, groups: ArrayLike | Groups | None = None) -> NDArray[Any]:
        """Predict the class of each row, or its number where the model is a regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Used by methods that see a row in view of its group.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return self._predict_rows(*self._checked(X, groups))

    def predict_groups(
        self, X: MatrixLike, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Predict the class of each group, or the mean or total that a regressor was fitted to.

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
        return self._predict_groups(*self._checked(X, groups, about_groups=True))

    def score(self, X: MatrixLike, y: ArrayLike, groups: ArrayLike | Groups | None = None) -> float:
        """Share of groups whose class is predicted right, or R² over groups of a regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        return self._judge(self._predictions(*self._checked(X, groups, about_groups=True)), y)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of what it is mixed into
        tags.input_tags.sparse = True
        return tags


class BaseGroupClassifier(GroupMixin, ClassifierMixin, BaseEstimator):
    """Base of the classifiers.

    A subclass writes :meth:`_learn`, or ``fit`` where that takes other data, and
    :meth:`_answer_rows`; it stores ``rule_`` unless rows decide by majority, or writes
    :meth:`_answer_groups`. Its constructor has a parameter ``group_column``.
    """

    __metadata_request__predict_proba = {"groups": True}  # noqa: RUF012
    __metadata_request__decision_function = {"groups": True}  # noqa: RUF012

    #: Whether ``y`` is one label per group (repeated on its rows) or one per row.
    _one_label_per_group = True

    classes_: NDArray[Any]
    rule_: Rule = get_rule("majority")

    def _check_training(
        self, X: MatrixLike, y: ArrayLike, groups: ArrayLike | Groups | None
    ) -> GroupedRows:
        """Check training data and store what every fitted model knows of them."""
        X, groups = self._groups_to_fit(X, groups)
        data = check_labels(self, X, y, groups, one_label_per_group=self._one_label_per_group)
        self.classes_ = data.classes
        self._remember_groups(groups, data.groups)
        return data

    @abstractmethod
    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        """Scores and class probabilities of checked rows."""

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        """Class probabilities of groups, (n_groups, n_classes)."""
        return self.rule_.combine(proba_row, groups)

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        """The same where nothing is asked about rows; to be overridden where that saves work."""
        return self._answer_groups(rows, groups, *self._answer_rows(rows, groups))

    def _row_answers(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        """What is said of rows, which has to be finite."""
        score_row, proba_row = self._answer_rows(rows, groups)
        self._refuse_infinite("rows", score_row, proba_row)
        return score_row, proba_row

    def _group_answers(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        """What is said where groups only are asked about, which has to be finite."""
        proba_group = self._answer_groups_only(rows, groups)
        self._refuse_infinite("groups", proba_group)
        return proba_group

    def _label_rows(self, score_row: NDArray[Any], proba_row: NDArray[Any]) -> NDArray[np.intp]:
        """Class codes of rows; of equals the first class."""
        return proba_row.argmax(axis=1)

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        groups = predictions.groups
        y_group = groups.one_per_group(check_known_classes(y, self.classes_, groups))
        return float(np.mean(predictions.y_group == y_group))

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        score_row, proba_row = self._row_answers(rows, groups)
        return self._predictions_of(rows, groups, score_row, proba_row)

    def _predictions_of(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> Predictions:
        return Predictions(
            classes=self.classes_,
            groups=groups,
            score_row=score_row,
            proba_row=proba_row,
            proba_group=self._answer_groups(rows, groups, score_row, proba_row),
            code_row=self._label_rows(score_row, proba_row),
        )

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.classes_[self._label_rows(*self._row_answers(rows, groups))]

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.classes_[self._group_answers(rows, groups).argmax(axis=1)]

    def decision_function(
        self, X: MatrixLike, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Score of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Used by methods that see a row in view of its group.

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            Of two classes the second is the positive one.
        """
        return self._row_answers(*self._checked(X, groups))[0]

    def predict_proba(
        self, X: MatrixLike, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Class probabilities of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Used by methods that see a row in view of its group.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        return self._row_answers(*self._checked(X, groups))[1]

    def predict_groups_proba(
        self, X: MatrixLike, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Probability of each class for each group; its share, where shares are predicted.

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
        return self._group_answers(*self._checked(X, groups, about_groups=True))


class BaseGroupRegressor(GroupMixin, RegressorMixin, BaseEstimator):
    """Base of the regressors: a number of each group, the mean or total of its rows' numbers.

    A subclass writes :meth:`_learn`, or ``fit`` where that takes other data, and
    :meth:`_answer_rows`; its constructor has the parameters ``target`` and ``group_column``.
    """

    target: str
    target_: str

    def _check_training(
        self, X: MatrixLike, y: ArrayLike, groups: ArrayLike | Groups | None
    ) -> TotalRows:
        """Check training data and store what every fitted model knows of them."""
        X, groups = self._groups_to_fit(X, groups)
        data = check_totals(self, X, y, groups, target=self.target)
        self.target_ = self.target
        self._remember_groups(groups, data.groups)
        return data

    @abstractmethod
    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        """The numbers of checked rows."""

    def _answer_groups(self, y_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.sum(y_row) if self.target_ == "total" else groups.mean(y_row)

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        y_row = self._predict_rows(rows, groups)
        return NumberPredictions(groups, y_row, self._answer_groups(y_row, groups))

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        y_row = self._answer_rows(rows, groups)
        self._refuse_infinite("rows", y_row)
        return y_row

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).y_group

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        groups = predictions.groups
        y_row = group_numbers(y, groups, target=self.target_)
        known = group_totals if self.target_ == "total" else group_means
        return float(r2_score(known(y_row, groups, target=self.target_), predictions.y_group))


def warn_lost(what: str) -> None:
    """Warn that groups were probably lost on the way, and say how to pass them."""
    warn_caller(
        f"{what}: were they lost on the way? Ways out: groupwise.model_selection.cross_validate, "
        "sklearn.set_config(enable_metadata_routing=True), or group_column= with the ids in X; "
        "groups=np.arange(len(X)) says that every row is meant to be a group",
        GroupsLostWarning,
    )
