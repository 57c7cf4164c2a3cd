"""Scorers for scikit-learn's tools: of rows, of groups, of the target domain."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike
from groupwise.groups import Groups
from groupwise.inputs import (
    check_choice,
    check_flag,
    check_groups,
    check_known_classes,
    find_target_rows,
)
from groupwise.metrics.aggregate import Aggregate, class_positions, get_aggregate
from groupwise.metrics.measure import GroupMeasure, get_measure
from groupwise.rules import Rule, get_rule

__all__ = ["Scorer", "ask", "make_scorer"]

_RESPONSES = ("predict", "predict_proba", "decision_function")


class _Predictions(Protocol):
    """What ``estimator.predictions(X, groups)`` returns."""

    @property
    def classes(self) -> NDArray[Any]: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def score_row(self) -> NDArray[Any]: ...
    @property
    def proba_row(self) -> NDArray[Any]: ...
    @property
    def proba_group(self) -> NDArray[Any]: ...
    @property
    def y_row(self) -> NDArray[Any]: ...
    @property
    def y_group(self) -> NDArray[Any]: ...


def ask(
    estimator: Any, X: MatrixLike, groups: Ids = None, *, rule: str | Rule = "majority"
) -> _Predictions:
    """Everything a fitted model says of rows and their groups.

    Pipelines (rows go through the transformers) and searches (their best model is asked) are undone
    first, as they do not hand ``groups`` on.

    Parameters
    ----------
    estimator : fitted estimator
        Of this library, or any classifier of rows, whose groups are then decided by ``rule``.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,), default=None
        ``None``: every row is its own group, or the estimator's ``group_column`` holds the ids.
    rule : str or rule, default="majority"

    Returns
    -------
    predictions : Predictions
        ``classes``, ``groups``, ``score_row``, ``proba_row``, ``proba_group``, ``y_row``,
        ``y_group``.
    """
    model, X = _final_step(estimator, X)
    if hasattr(model, "predictions"):
        return model.predictions(X, groups)
    return _RowPredictions(model, X, check_groups(groups, _num_samples(X)), get_rule(rule))


def _final_step(estimator: Any, X: MatrixLike) -> tuple[Any, MatrixLike]:
    """Undo wrappers that pass no groups on: a search's best model, a pipeline's transformers."""
    while True:
        if hasattr(estimator, "best_estimator_") and not hasattr(estimator, "predictions"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


@dataclass(frozen=True, eq=False)
class _RowPredictions:
    """The predictions of a model that knows no groups, each computed when it is asked for."""

    model: Any
    X: Any
    groups: Groups
    rule: Rule

    @property
    def classes(self) -> NDArray[Any]:
        return self.model.classes_

    @cached_property
    def y_row(self) -> NDArray[Any]:
        return np.asarray(self.model.predict(self.X))

    @cached_property
    def proba_row(self) -> NDArray[Any]:
        if hasattr(self.model, "predict_proba"):
            return np.asarray(self.model.predict_proba(self.X))
        return np.eye(len(self.classes))[class_positions(self.y_row, self.classes, self.groups)]

    @cached_property
    def score_row(self) -> NDArray[Any]:
        if hasattr(self.model, "decision_function"):
            return np.asarray(self.model.decision_function(self.X))
        return self.proba_row[:, 1] - 0.5 if len(self.classes) == 2 else self.proba_row

    @cached_property
    def proba_group(self) -> NDArray[Any]:
        return self.rule.combine(self.proba_row, self.groups)

    @property
    def y_group(self) -> NDArray[Any]:
        return self.classes[self.proba_group.argmax(axis=1)]


@dataclass(frozen=True, repr=False)
class Scorer(ABC):
    """What :func:`make_scorer` returns: ``scorer(estimator, X, y, groups=...)``, larger is better.

    It requests ``groups`` (at the level of the target, ``domains``) by default, so with metadata
    routing on ``GridSearchCV(..., scoring=scorer).fit(X, y, groups=groups)`` finds them.
    """

    metric: Any

    level: ClassVar[str]
    requested: ClassVar[str] = "groups"

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for the ids."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param=self.requested, alias=True)
        return request

    def __repr__(self) -> str:
        parts = [getattr(self.metric, "__name__", repr(self.metric))]
        if self.level != "group":
            parts.append(f"level={self.level!r}")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name != "metric" and value != field.default:
                parts.append(f"{field.name}={value!r}")
        return f"make_scorer({', '.join(parts)})"

    def __call__(self, estimator: Any, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> float:
        """Score a fitted model on rows, what is known of them, and their groups."""
        return self._value(ask(estimator, X, groups, rule=self._rule), y)

    @property
    def _rule(self) -> str | Rule:
        return "majority"

    @abstractmethod
    def _value(self, predicted: _Predictions, y: ArrayLike) -> float:
        """The score, larger being better."""


@dataclass(frozen=True, repr=False)
class _GroupScorer(Scorer):
    """A metric of what is predicted for groups."""

    response: str = "predict"
    greater_is_better: bool = True
    rule: str | Rule = "majority"

    level = "group"

    def __post_init__(self) -> None:
        check_choice("response", self.response, _RESPONSES[:2])
        get_rule(self.rule)

    @property
    def _rule(self) -> str | Rule:
        return self.rule

    def _value(self, predicted: _Predictions, y: ArrayLike) -> float:
        if np.ndim(y) == 1:  # shares and counts have no labels to know
            check_known_classes(y, predicted.classes, predicted.groups)
        if self.response == "predict":
            value = self.metric(y, predicted.y_group, predicted.groups)
        else:
            value = self.metric(
                y, predicted.proba_group, predicted.groups, classes=predicted.classes
            )
        return float(value) if self.greater_is_better else -float(value)


@dataclass(frozen=True, repr=False)
class _MeasureScorer(Scorer):
    """A measure of each group's rows, aggregated over groups."""

    aggregate: str | Aggregate = "mean"

    level = "group"

    def __post_init__(self) -> None:
        get_measure(self.metric)
        get_aggregate(self.aggregate)

    def _value(self, predicted: _Predictions, y: ArrayLike) -> float:
        y_code = class_positions(y, predicted.classes, predicted.groups)
        value_group = get_measure(self.metric)(y_code, predicted.score_row, predicted.groups)
        return get_aggregate(self.aggregate)(value_group)


@dataclass(frozen=True, repr=False)
class _RowScorer(Scorer):
    """A metric of all rows together."""

    response: str = "predict"
    greater_is_better: bool = True

    level = "row"

    def __post_init__(self) -> None:
        check_choice("response", self.response, _RESPONSES)

    def _value(self, predicted: _Predictions, y: ArrayLike) -> float:
        return self._metric_of_rows(y, _row_response(predicted, self.response))

    def _metric_of_rows(self, y: ArrayLike, predicted: NDArray[Any]) -> float:
        if self.response == "predict_proba" and predicted.shape[1] == 2:
            predicted = predicted[:, 1]
        value = float(self.metric(np.asarray(y), predicted))
        return value if self.greater_is_better else -value


@dataclass(frozen=True, repr=False)
class _MeasureOfRowsScorer(Scorer):
    """A measure of all rows as one group."""

    level = "row"

    def __post_init__(self) -> None:
        get_measure(self.metric)

    def _value(self, predicted: _Predictions, y: ArrayLike) -> float:
        y_code = class_positions(y, predicted.classes, predicted.groups)
        together = Groups(np.zeros(len(y_code), dtype=np.intp))
        return float(get_measure(self.metric)(y_code, predicted.score_row, together)[0])


@dataclass(frozen=True, repr=False)
class _TargetScorer(_RowScorer):
    """A metric of the rows of one domain."""

    target_domain: Hashable | None = None

    level = "target"
    requested = "domains"

    def __call__(  # type: ignore[override]  # domains in the place of groups
        self, estimator: Any, X: MatrixLike, y: ArrayLike, *, domains: Ids = None
    ) -> float:
        """Score a fitted model on the rows of the target domain among these."""
        n_rows = _num_samples(X)
        encoded = None if domains is None else check_groups(domains, n_rows, name="domains")
        rows = find_target_rows(encoded, self.target_domain, n_rows)
        predicted = _row_response(ask(estimator, X), self.response)
        return self._metric_of_rows(np.asarray(y)[rows], predicted[rows])


def _row_response(predicted: _Predictions, response: str) -> NDArray[Any]:
    if response == "predict":
        return predicted.y_row
    return predicted.proba_row if response == "predict_proba" else predicted.score_row


def make_scorer(
    metric: str | GroupMeasure | Callable[..., float] = "f1",
    *,
    level: str = "group",
    response: str = "predict",
    greater_is_better: bool = True,
    aggregate: str | Aggregate = "mean",
    rule: str | Rule = "majority",
    target_domain: Hashable | None = None,
) -> Scorer:
    """Make a scorer that hands groups or domains on to the model and to the metric.

    scikit-learn's own scorers call ``predict(X)`` and cannot pass ``groups`` on. These request what
    they need by default, serve pipelines and searches (see :func:`ask`) and any classifier of rows.

    Parameters
    ----------
    metric : str, GroupMeasure or callable, default="f1"
        A name or a :class:`GroupMeasure` (wrap a function of rows into :class:`CallableMeasure`) is
        a measure of rows: see :func:`get_measure`. A function is a metric of predictions:
        ``metric(y, prediction_group, groups)`` at the level of groups, such as
        :func:`group_accuracy`, and given ``classes=`` as well with ``response="predict_proba"``,
        such as :func:`group_log_loss` and :func:`share_error`; ``metric(y, prediction)`` as in
        scikit-learn at the other levels.
    level : {"group", "row", "target"}, default="group"
        What counts once: ``"group"``, each group (a measure is computed from the rows of each group
        and aggregated); ``"row"``, each row (a measure is computed from all rows as one group);
        ``"target"``, each row of the target domain, a function only. The last requests ``domains``
        instead of ``groups``.
    response : {"predict", "predict_proba", "decision_function"}, default="predict"
        What a function is given; of rows' ``"predict_proba"`` for two classes the second column.
        Groups have no ``"decision_function"``.
    greater_is_better : bool, default=True
        ``False`` flips the sign, for losses.
    aggregate : {"mean", "worst"} or Aggregate, default="mean"
        Of a measure over groups.
    rule : str or rule, default="majority"
        From rows to groups, for models that have no rule of their own.
    target_domain : domain id, default=None
        At the level ``"target"``; ``None`` where there is one domain only.

    Returns
    -------
    scorer : Scorer
        ``scorer(estimator, X, y, groups=groups)`` or ``scorer(estimator, X, y, domains=domains)``.

    Examples
    --------
    >>> from groupwise.metrics import group_log_loss, make_scorer
    >>> make_scorer(group_log_loss, response="predict_proba", greater_is_better=False)
    make_scorer(group_log_loss, response='predict_proba', greater_is_better=False)
    >>> make_scorer("f1", aggregate="worst")
    make_scorer('f1', aggregate='worst')
    >>> from sklearn.metrics import accuracy_score
    >>> make_scorer(accuracy_score, level="target", target_domain="new")
    make_scorer(accuracy_score, level='target', target_domain='new')
    """
    check_choice("level", level, ("row", "group", "target"))
    check_flag("greater_is_better", greater_is_better)
    is_measure = isinstance(metric, str | GroupMeasure)
    if is_measure and (response != "predict" or not greater_is_better):
        raise ValueError(
            f"a measure is computed from scores, and larger is better: response and "
            f"greater_is_better do not apply to {metric!r}"
        )
    if level == "group" and is_measure:
        return _MeasureScorer(metric, aggregate)
    if level == "group":
        return _GroupScorer(metric, response, greater_is_better, rule)
    if level == "row" and is_measure:
        return _MeasureOfRowsScorer(metric)
    if level == "row":
        return _RowScorer(metric, response, greater_is_better)
    if is_measure:
        raise ValueError(
            f"level='target' takes a function metric(y, prediction), not the measure {metric!r}"
        )
    return _TargetScorer(metric, response, greater_is_better, target_domain)
