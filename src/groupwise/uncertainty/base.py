"""What the wrappers of this package share: rows on their way to the estimator inside."""

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import Predictions
from groupwise.boosting.sorted_columns import SortedColumns
from groupwise.exceptions import UnpromisedWarning, warn_caller
from groupwise.groups import Groups
from groupwise.inputs import check_choice, check_number, split_column, take_rows_like
from groupwise.model_selection import Splitter
from groupwise.uncertainty.held_out import Split, TrainingData, fit_part, make_folds, split_off
from groupwise.uncertainty.quantiles import CalibrationScores, fewest_units

__all__ = ["ClassifierWrapperMixin", "ConformalMixin", "WrapperMixin", "as_given"]


def as_given(X: MatrixLike, rows: Rows) -> Any:
    """A table for the estimator inside, which reads its category columns itself; else the rows."""
    return X if hasattr(X, "columns") else rows


class WrapperMixin:
    """An estimator around another one, which answers."""

    # the estimator inside has a limit of its own
    _largest_value = float("inf")

    estimator: BaseEstimator
    estimator_: Any
    group_column: str | None
    random_state: RandomState

    _decides_per_group: bool

    def _answer_with(self, fitted: Any) -> None:
        """Let a fitted estimator answer; where it needs groups, so does this."""
        self.estimator_ = fitted
        self._decides_per_group = bool(getattr(fitted, "_decides_per_group", False))

    def _adopt(self, fitted: Any) -> None:
        """Know of features and groups what a fitted model knows."""
        self.n_features_in_ = fitted.n_features_in_
        if hasattr(fitted, "feature_names_in_"):
            self.feature_names_in_ = fitted.feature_names_in_
        self._categories = vars(fitted).get("_categories")
        self.n_groups_, self._fitted_with_groups = fitted.n_groups_, True

    def _checked(
        self, X: MatrixLike, groups: Ids, *, about_groups: bool = False
    ) -> tuple[Any, Groups]:
        check_is_fitted(self)
        column = getattr(self, "domain_column", None)  # the classifier's only
        X, _ = split_column(X, column, None, name="domain", required=False)
        checked = super()._checked  # type: ignore[misc]  # of the base beside this
        rows, encoded = checked(X, groups, about_groups=about_groups)
        features, _ = split_column(X, self.group_column, None, required=False)
        return as_given(features, rows), encoded

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        keep_whole: ArrayLike | None = None,
    ) -> Self:
        """Fit the estimator, and models of folds to calibrate it.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            As the estimator takes it.
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group (or ``group_column`` holds the ids).
        keep_whole : array-like of shape (n_rows,), default=None
            Coarser ids that no fold may divide, for example users who have several sessions each.

        Returns
        -------
        self : estimator
        """
        return self._fit_trial(X, y, groups, keep_whole)

    def _fit_trial(self, *data: Any) -> Self:
        """Fit another of this class first: a fit that fails on the way leaves no trace."""
        self._check_parameters()
        trial = type(self)(**self.get_params(deep=False))  # type: ignore[attr-defined]  # the base's
        trial._fit_checked(*data)
        return self._take_over(trial)  # type: ignore[attr-defined]  # of the base

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse values that no data could make sense of."""

    @abstractmethod
    def _fit_checked(self, *data: Any) -> None:
        """Fit to data as they were given."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of what it is mixed into
        take_rows_like(tags, self.estimator)
        if tags.classifier_tags is not None and hasattr(self.estimator, "__sklearn_tags__"):
            inner = get_tags(self.estimator).classifier_tags
            tags.classifier_tags.multi_class = inner is None or inner.multi_class
        return tags


class ClassifierWrapperMixin(WrapperMixin):
    """The same around a classifier, which is fitted to codes of the classes."""

    classes_: NDArray[Any]

    def _asked(self, model: Any, X: Any, groups: Groups) -> Predictions:
        found = model.predictions(X, groups).with_classes(np.arange(len(self.classes_)))
        return replace(found, classes=self.classes_)

    def _predictions(self, rows: Rows, groups: Groups) -> Predictions:
        return self._asked(self.estimator_, rows, groups)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self._asked(self.estimator_, rows, groups)
        return found.score_row, found.proba_row

    def _answer_groups_only(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._predictions(rows, groups).proba_group

    def _predict_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._asked(self.estimator_, rows, groups).y_row


class ConformalMixin(WrapperMixin):
    """Folds, their models, and what can be promised of them."""

    method: str
    conformity: str
    coverage: float
    cv: int | Splitter
    validation_fraction: float

    models_: list[Any]
    coverage_: float
    conformity_: str
    method_: str
    calibration_: CalibrationScores

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("split", "cross", "jackknife+"))
        check_choice("conformity", self.conformity, ("plain", "adaptive"))
        check_number("coverage", self.coverage, "(0, 1)")
        check_number("validation_fraction", self.validation_fraction, "(0, 1)")
        if not isinstance(self.cv, Splitter):
            check_number("cv", self.cv, "[2, inf)", whole=True)

    def _fit_folds(self, data: TrainingData) -> tuple[list[Any], list[NDArray[np.intp]], Any]:
        """Models of the folds, the rows each has not seen, and the model that answers."""
        rng = check_random_state(self.random_state)
        splits = self._splits(data, rng)
        held_out = [test for _, test in splits]
        if self.method == "split":
            model = fit_part(self.estimator, data, splits[0][0], rng)
            return [model], held_out, model
        parts, columns = [*(train for train, _ in splits), None], SortedColumns(data.X)
        *models, whole = (fit_part(self.estimator, data, rows, rng, columns) for rows in parts)
        return models, held_out, whole

    def _splits(self, data: TrainingData, rng: np.random.RandomState) -> list[Split]:
        if self.method == "split":
            return split_off(data, self.validation_fraction, rng)
        cv = data.groups.n_rows if self.method == "jackknife+" else self.cv
        return make_folds(data, cv, rng)

    def _store(self, models: list[Any], answering: Any, scores: CalibrationScores) -> None:
        self._answer_with(answering)
        self.models_, self.calibration_ = models, scores
        self.coverage_, self.conformity_ = float(self.coverage), self.conformity
        self.method_ = self.method
        self._warn_if_few(scores, "")

    def _warn_if_few(self, scores: CalibrationScores, what: str) -> None:
        needed = fewest_units(self.coverage_)
        if scores.n_units < needed:
            warn_caller(
                f"{scores.n_units} groups{what} to calibrate on: it takes {needed} to promise "
                f"{self.coverage_:.0%} of anything but the whole set, which is what every answer "
                "will be; give more groups or ask for less coverage",
                UnpromisedWarning,
            )

    @property
    def n_calibration_(self) -> int:
        """Exchangeable units that were held out: groups, or the coarser ids of ``keep_whole``."""
        check_is_fitted(self)
        return self.calibration_.n_units

    @property
    def n_effective_(self) -> float:
        """Units of equal weight that would say as much; fewer than there are under transfer."""
        check_is_fitted(self)
        return self.calibration_.effective_size

    @property
    def guarantee_(self) -> str:
        """What is promised, in words."""
        check_is_fitted(self)
        if self.n_calibration_ < fewest_units(self.coverage_):
            return (
                f"nothing: {self.n_calibration_} calibration groups are fewer than the "
                f"{fewest_units(self.coverage_)} that {self.coverage_:.0%} takes, so every answer "
                "is the whole set"
            )
        who = self._promised()
        if self.method_ == "split":
            return f"at least {self.coverage_:.0%} of {who}, on average over calibration groups"
        # proved for one item per unit, all of the same weight
        equal = bool(np.all(self.calibration_.weight == 1.0))
        if self.method_ == "held-out" or not equal:
            return f"about {self.coverage_:.0%} of {who}"
        least = max(0.0, 2.0 * self.coverage_ - 1.0)
        return f"about {self.coverage_:.0%} of {who}; never less than about {least:.0%}"

    def _promised(self) -> str:
        return "new groups drawn as these were"

    def _wanted(self, coverage: float | None) -> float:
        if coverage is None:
            return self.coverage_
        check_number("coverage", coverage, "(0, 1)")
        return float(coverage)
