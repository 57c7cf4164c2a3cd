"""How good predictions are, counted in groups."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import MetadataRequest

from groupwise.groups import Groups
from groupwise.rules import Rule, get_rule
from groupwise.validation import check_groups, check_known_classes

__all__ = [
    "GroupTable",
    "bootstrap_interval",
    "by_group",
    "group_accuracy",
    "group_balanced_accuracy",
    "group_f1",
    "group_log_loss",
    "make_group_scorer",
]


def group_accuracy(y: ArrayLike, y_pred_group: ArrayLike, groups: ArrayLike) -> float:
    """Share of groups predicted right.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The group's label on each of its rows.
    y_pred_group : array-like of shape (n_groups,)
        One prediction per group, in the order of ``np.unique(groups)``.
    groups : array-like of shape (n_rows,)

    Returns
    -------
    accuracy : float
    """
    return float(accuracy_score(*_on_groups(y, y_pred_group, groups)))


def group_balanced_accuracy(y: ArrayLike, y_pred_group: ArrayLike, groups: ArrayLike) -> float:
    """Mean over the classes of the share of the class's groups predicted right."""
    return float(balanced_accuracy_score(*_on_groups(y, y_pred_group, groups)))


def group_f1(
    y: ArrayLike, y_pred_group: ArrayLike, groups: ArrayLike, *, average: str = "macro"
) -> float:
    """F1 over groups; ``average`` as in scikit-learn, the mean over classes by default."""
    y_true, y_pred = _on_groups(y, y_pred_group, groups)
    return float(f1_score(y_true, y_pred, average=average, zero_division=0.0))


def group_log_loss(
    y: ArrayLike, proba_group: ArrayLike, groups: ArrayLike, *, classes: ArrayLike
) -> float:
    """Mean negative log-probability of the groups' labels; finite, as scikit-learn clips at eps.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    proba_group : array-like of shape (n_groups, n_classes)
        As ``predict_groups_proba`` gives it.
    groups : array-like of shape (n_rows,)
    classes : array-like of shape (n_classes,)
        The classes of the columns (``classes_`` of the estimator).

    Returns
    -------
    loss : float
    """
    y_true, proba = _on_groups(y, proba_group, groups)
    return float(log_loss(y_true, proba, labels=np.asarray(classes)))


def _on_groups(y: ArrayLike, predicted: ArrayLike, groups: Any) -> tuple[NDArray, NDArray]:
    y_row = np.asarray(y)
    encoded = check_groups(groups, len(y_row))
    predicted = np.asarray(predicted)
    if len(predicted) != encoded.n_groups:
        raise ValueError(
            f"expected one prediction per group ({encoded.n_groups}), got {len(predicted)}; "
            "predict_groups gives them"
        )
    return encoded.one_per_group(y_row), predicted


class make_group_scorer:
    """A scorer that asks a model about groups.

    scikit-learn's own scorers call ``predict`` and cannot pass ``groups`` on; this one calls
    ``predict_groups`` or ``predict_groups_proba``. It requests ``groups`` by default, and serves
    pipelines (rows go through the transformers) and plain classifiers (whose rows vote by
    ``rule``).

    Parameters
    ----------
    metric : callable
        ``metric(y, prediction_group, groups) -> float``, such as :func:`group_accuracy`; or
        :func:`group_log_loss`, which is given ``classes`` as well.
    response : {"predict", "predict_proba"}, default="predict"
        What the metric judges: classes or probabilities of groups.
    greater_is_better : bool, default=True
        ``False`` flips the sign, for losses.
    rule : str or rule, default="majority"
        Only for models that have no ``predict_groups`` of their own.

    Examples
    --------
    >>> from groupwise.metrics import group_log_loss, make_group_scorer
    >>> make_group_scorer(group_log_loss, response="predict_proba", greater_is_better=False)
    make_group_scorer(group_log_loss, response='predict_proba', greater_is_better=False)
    """

    def __init__(
        self,
        metric: Callable[..., float],
        *,
        response: str = "predict",
        greater_is_better: bool = True,
        rule: str | Rule = "majority",
    ):
        if response not in ("predict", "predict_proba"):
            raise ValueError(f"response must be 'predict' or 'predict_proba', got {response!r}")
        self.metric = metric
        self.response = response
        self.greater_is_better = greater_is_better
        self.rule = get_rule(rule)

    def __repr__(self) -> str:
        parts = [self.metric.__name__]
        if self.response != "predict":
            parts.append(f"response={self.response!r}")
        if not self.greater_is_better:
            parts.append("greater_is_better=False")
        return f"make_group_scorer({', '.join(parts)})"

    def get_metadata_routing(self) -> MetadataRequest:
        """Ask scikit-learn for ``groups``."""
        request = MetadataRequest(owner=self)
        request.score.add_request(param="groups", alias=True)
        return request

    def __call__(self, estimator: Any, X: Any, y: ArrayLike, *, groups: Any = None) -> float:
        """Score a fitted model on rows, their groups' labels and their groups."""
        model, X = _final_step(estimator, X)
        if groups is None and getattr(model, "group_column", None) is not None:
            groups = X[model.group_column]
        encoded = check_groups(groups, len(np.asarray(y)))
        check_known_classes(y, model.classes_, encoded)
        proba_group = self._proba(model, X, encoded)
        if self.response == "predict":
            value = self.metric(y, model.classes_[proba_group.argmax(axis=1)], encoded)
        else:
            value = self.metric(y, proba_group, encoded, classes=model.classes_)
        return float(value) if self.greater_is_better else -float(value)

    def _proba(self, model: Any, X: Any, groups: Groups) -> NDArray[Any]:
        if hasattr(model, "predict_groups_proba"):
            return model.predict_groups_proba(X, groups)
        if hasattr(model, "predict_proba"):
            return self.rule.combine(model.predict_proba(X), groups)
        codes = np.searchsorted(model.classes_, model.predict(X))
        return self.rule.combine(np.eye(len(model.classes_))[codes], groups)


def _final_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """Undo wrappers that pass no groups on: a search's best model, a pipeline's transformers."""
    while True:
        if hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        elif isinstance(estimator, Pipeline):
            if len(estimator) > 1:
                X = estimator[:-1].transform(X)
            estimator = estimator[-1]
        else:
            return estimator, X


@dataclass(frozen=True)
class GroupTable:
    """A score of each group, and what it comes to.

    Attributes
    ----------
    table : DataFrame
        One line per group: its ``size`` and ``score``, worst first.
    overall : float
        The score with all rows taken as one group.
    mean, worst : float
        Over the groups.
    interval : tuple of float
        Bootstrap interval of the mean, groups drawn with replacement.
    level : float
        Of the interval.
    """

    table: pd.DataFrame
    overall: float
    mean: float
    worst: float
    interval: tuple[float, float]
    level: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{len(self.table)} groups: mean {self.mean:.3f} "
            f"({self.level:.0%} interval {low:.3f} to {high:.3f}), worst {self.worst:.3f} "
            f"in group {self.table.index[0]!r}, all rows together {self.overall:.3f}"
        )


def by_group(
    y_row: ArrayLike,
    predicted_row: ArrayLike,
    groups: ArrayLike,
    *,
    measure: str | Callable[[NDArray, NDArray, Groups], NDArray] = "accuracy",
    level: float = 0.95,
    random_state: Any = 0,
) -> GroupTable:
    """Score each group's rows, all groups at once.

    Parameters
    ----------
    y_row : array-like of shape (n_rows,)
        Labels of the rows (or the group's label repeated: then ``"accuracy"`` is the share of rows
        that vote for it).
    predicted_row : array-like of shape (n_rows,)
        Predicted labels; for ``"log_loss"`` the probability given to the true label.
    groups : array-like of shape (n_rows,)
    measure : {"accuracy", "balanced_accuracy", "f1", "log_loss"} or callable
        A callable takes (y_row, predicted_row, groups as :class:`Groups`) and gives one number per
        group. ``"f1"`` and ``"balanced_accuracy"`` are means over the classes that the group's rows
        or predictions hold.
    level : float, default=0.95
    random_state : int, RandomState instance or None, default=0
        For the bootstrap.

    Returns
    -------
    table : GroupTable

    Examples
    --------
    >>> t = by_group([0, 1, 1, 1], [0, 1, 0, 1], ["a", "a", "b", "b"])
    >>> t.table["score"].to_dict(), t.worst
    ({'b': 0.5, 'a': 1.0}, 0.5)
    """
    y_row, predicted_row = np.asarray(y_row), np.asarray(predicted_row)
    encoded = check_groups(groups, len(y_row))
    score_of = _MEASURES[measure] if isinstance(measure, str) else measure
    score_group = np.asarray(score_of(y_row, predicted_row, encoded), dtype=float)
    one_group = Groups(np.zeros(len(y_row), dtype=int))
    table = pd.DataFrame(
        {"size": encoded.sizes, "score": score_group}, index=pd.Index(encoded.names, name="group")
    )
    falling = measure == "log_loss"
    table = table.sort_values("score", ascending=not falling, kind="stable")
    return GroupTable(
        table=table,
        overall=float(np.asarray(score_of(y_row, predicted_row, one_group))[0]),
        mean=float(score_group.mean()),
        worst=float(table["score"].iloc[0]),
        interval=bootstrap_interval(score_group, level=level, random_state=random_state),
        level=level,
    )


def bootstrap_interval(
    score_group: ArrayLike, *, level: float = 0.95, n_draws: int = 2000, random_state: Any = 0
) -> tuple[float, float]:
    """Percentile interval of the mean, groups drawn with replacement."""
    scores = np.asarray(score_group, dtype=float)
    rng = np.random.default_rng(random_state)
    n_groups = len(scores)
    # one draw at a time: all of them at once would hold n_draws x n_groups numbers
    means = [scores[rng.integers(n_groups, size=n_groups)].mean() for _ in range(n_draws)]
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(low), float(high)


def _accuracy(y_row: NDArray, predicted_row: NDArray, groups: Groups) -> NDArray:
    return groups.mean((y_row == predicted_row).astype(float))


def _log_loss(_y_row: NDArray, proba_true_row: NDArray, groups: Groups) -> NDArray:
    return groups.mean(-np.log(np.maximum(proba_true_row, np.finfo(float).eps)))


def _class_counts(
    y_row: NDArray, predicted_row: NDArray, groups: Groups
) -> tuple[NDArray, NDArray, NDArray]:
    """Per group and class: rows of the class, rows predicted so, rows where both agree."""
    classes = np.unique(np.concatenate([y_row, predicted_row]))
    true = (y_row[:, None] == classes).astype(float)
    said = (predicted_row[:, None] == classes).astype(float)
    return groups.sum(true), groups.sum(said), groups.sum(true * said)


def _f1(y_row: NDArray, predicted_row: NDArray, groups: Groups) -> NDArray:
    n_true, n_said, n_both = _class_counts(y_row, predicted_row, groups)
    seen = (n_true + n_said) > 0
    f1 = 2.0 * n_both / np.maximum(n_true + n_said, 1.0)
    return f1.sum(axis=1) / seen.sum(axis=1)


def _balanced_accuracy(y_row: NDArray, predicted_row: NDArray, groups: Groups) -> NDArray:
    n_true, _, n_both = _class_counts(y_row, predicted_row, groups)
    recall = n_both / np.maximum(n_true, 1.0)
    return recall.sum(axis=1) / (n_true > 0).sum(axis=1)


_MEASURES: dict[str, Callable[[NDArray, NDArray, Groups], NDArray]] = {
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "log_loss": _log_loss,
}
