"""What a model predicts of groups it has not seen, judged, with what a report shows of it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from groupwise.base import Predictions
from groupwise.jobs.fold_result import (
    DomainWeights,
    FoldResult,
    GroupResults,
    Importance,
    Margins,
    Reliability,
    RowResults,
)
from groupwise.jobs.model import TableModel, column_importance
from groupwise.jobs.result import Result, RunInfo
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets, order_of
from groupwise.preparation import Prepared
from groupwise.tables import ColumnUse, LoadedTable

__all__ = [
    "constant_scores",
    "evaluate_fold",
    "evaluate_model",
    "kept_groups",
    "plain_scores",
    "shown_columns",
    "shown_rows",
]

# Groups whose rows are kept, and rows of each: what a page can still hold.
_WORST, _OTHERS, _ROWS = 20, 20, 400
_TRACED_GROUPS, _TRACED_ROWS, _TRACED_ROUNDS = 2, 12, 60
_BINS = 10
# Columns whose values a group's page shows, and letters of a text.
_COLUMNS, _LETTERS = 6, 60
# Rows, in whole groups, that a learning curve is drawn from.
_CURVE_ROWS = 2000


def evaluate_fold(
    model: TableModel,
    features: pd.DataFrame,
    targets: Targets,
    order: NDArray[Any],
    *,
    known: Targets | None = None,
    curve: bool = True,
    importance: Importance | None = None,
) -> FoldResult:
    """Predict and judge groups, and keep what a report shows of them.

    Parameters
    ----------
    model : TableModel
    features : DataFrame
        Rows that count (see :meth:`Supervision.judged_rows`), conforming to the model's schema.
    targets : Targets
        Of these rows, with the model's classes.
    order : ndarray of shape (n_rows,)
    known : Targets, default=None
        Of the training rows, for the constant answer that a model must beat; ``None``: the answer
        is chosen on the judged rows themselves.
    curve : bool, default=True
        Whether to follow the error round by round, the costliest part.
    importance : Importance, default=None
        Of these rows, where it is known: the values shown are those of the columns that matter.

    Returns
    -------
    result : FoldResult
        Without parameters, seconds and memory, which the caller knows.
    """
    X = model.prepare(features)
    predictions = model.predictions_of(X, targets.groups)
    score = model.supervision.judge(predictions, targets)
    kept = kept_groups(score)
    shown = shown_columns(model, features, importance)
    baseline = constant_scores(model.supervision, known or targets, targets)
    return FoldResult(
        units=_units(model.supervision, predictions, targets, score, baseline),
        rows=shown_rows(model, predictions, targets, order, kept, shown),
        confusion=_confusion(model, predictions, targets),
        importance=importance,
        curve=_curve(model, X, targets) if curve else None,
        margins=_margins(model, X, targets, kept[:_TRACED_GROUPS]),
        reliability=_reliability(model, predictions, targets),
        weights=_weights(model),
    )


def evaluate_model(
    model: TableModel,
    table: LoadedTable,
    *,
    order: str | None = None,
    importance: bool = True,
    seen: bool = False,
    command: str = "",
) -> Result:
    """Judge a fitted model on all groups of a table whose labels are known.

    With ``importance`` every column is shuffled once, which takes longer than all the rest;
    ``seen`` says that the model was fitted to this table.
    """
    labelled = model.supervision.labelled_rows(table.frame, table.name)
    frame = table.frame if labelled.all() else table.frame[labelled].reset_index(drop=True)
    features = model.schema.conform(frame, name=table.name)
    targets = model.supervision.targets_in(frame, table.name, model.classes)
    rows = model.supervision.judged_rows(targets)
    at = order_of(frame, order, table.name)
    judged = features.iloc[rows], targets.take(rows)
    shuffled = column_importance(model, *judged) if importance else None
    fold = evaluate_fold(model, *judged, at[rows], importance=shuffled)
    schema = model.schema
    named = {
        "number": schema.numbers,
        "category": schema.categories,
        "date": schema.dates,
        "text": schema.texts,
    }
    columns = [
        ColumnUse(name, use, "of the model") for use, names in named.items() for name in names
    ]
    about = RunInfo(
        table=table.name,
        fingerprint=table.fingerprint,
        n_rows=len(features),
        n_groups=targets.groups.n_groups,
        supervision=model.supervision,
        classes=model.classes,
        columns=tuple(columns),
        n_unlabelled=int((~labelled).sum()),
        seen=seen,
        command=command,
    )
    return Result(about, {model.method: [fold]})


def _units(
    supervision: Supervision,
    predictions: Predictions,
    targets: Targets,
    score: NDArray[Any],
    baseline: NDArray[Any],
) -> GroupResults:
    groups = targets.groups
    return GroupResults(
        name=[str(name) for name in groups.names],
        size=groups.sizes.tolist(),
        score=plain_scores(score),
        **supervision.stored_answers(supervision.answer_group(predictions, targets)),
        **supervision.stored_truth(targets),
        baseline=plain_scores(baseline),
        whole=targets.whole_of_groups(),
        **_counts(supervision, predictions, targets),
    )


def plain_scores(score: NDArray[Any]) -> list[float | None]:
    """Rounded scores for JSON; a group that does not count has none."""
    return [None if np.isnan(value) else round(float(value), 6) for value in score]


def _counts(supervision: Supervision, predictions: Predictions, targets: Targets) -> dict[str, Any]:
    """Rows of each class in each group, known and predicted, where rows are labelled."""
    if not supervision.rows_labelled or supervision.group is None:
        return {}
    groups, n_classes = targets.groups, len(targets.classes)

    def counted(codes: NDArray[Any]) -> list[list[int]]:
        flat = np.bincount(groups.codes * n_classes + codes, minlength=groups.n_groups * n_classes)
        return flat.reshape(groups.n_groups, n_classes).tolist()

    return {"counts": counted(targets.y), "counts_predicted": counted(predictions.code_row)}


def _confusion(
    model: TableModel, predictions: Predictions, targets: Targets
) -> list[list[int]] | None:
    """Known class by predicted class, of groups or of labelled rows."""
    n_classes = len(model.classes)
    if model.supervision.rows_labelled:
        known, said = targets.y, predictions.code_row
    elif model.supervision.right_or_wrong:
        known, said = targets.y[targets.groups.first_rows], predictions.code_group
    else:
        return None
    flat = np.bincount(known * n_classes + said, minlength=n_classes**2)
    return flat.reshape(n_classes, n_classes).tolist()


def shown_columns(
    model: TableModel, features: pd.DataFrame, importance: Importance | None
) -> dict[str, NDArray[Any]]:
    """The values that the page of a group shows: of the columns that matter most, or the first."""
    names = [c for c in features.columns if c not in model.schema.dates]
    if importance is not None:
        order = np.argsort([-total for total in importance.total], kind="stable")
        first = [importance.column[k] for k in order]
        names = [c for c in first if c in names] + [c for c in names if c not in first]
    return {name: features[name].to_numpy() for name in names[:_COLUMNS]}


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.4g}"
    return str(value)[:_LETTERS]


def shown_rows(
    model: TableModel,
    predictions: Predictions,
    targets: Targets,
    order: NDArray[Any],
    groups: NDArray[np.intp],
    shown: dict[str, NDArray[Any]],
) -> dict[str, RowResults]:
    """What a page shows of the rows of these groups, by the group's name."""
    weight = predictions.row_weights() if model.explains else None
    return {
        str(targets.groups.names[g]): _rows_of(g, model, predictions, targets, order, weight, shown)
        for g in groups
    }


def kept_groups(score: NDArray[Any]) -> NDArray[np.intp]:
    """The worst groups, then some of the others, evenly over the list."""
    order = np.argsort(score, kind="stable")
    worst, rest = order[:_WORST], np.sort(order[_WORST:])
    step = max(1, -(-len(rest) // _OTHERS))
    return np.concatenate([worst, rest[::step]])


def _rows_of(
    group: int,
    model: TableModel,
    predictions: Predictions,
    targets: Targets,
    order: NDArray[Any],
    weight: NDArray[Any] | None,
    shown: dict[str, NDArray[Any]],
) -> RowResults:
    groups = targets.groups
    rows = groups.order[groups.offsets[group] : groups.offsets[group + 1]]
    at = order[rows]
    rows = rows[np.argsort(at, kind="stable")][:_ROWS]
    return RowResults(
        at=[str(value) for value in order[rows]],
        **model.supervision.stored_rows(predictions, rows),
        weight=None if weight is None else weight[rows].round(5).tolist(),
        label=targets.y[rows].tolist() if model.supervision.rows_labelled else None,
        values={name: [_cell(v) for v in values[rows]] for name, values in shown.items()},
    )


def _curve(model: TableModel, X: Prepared, targets: Targets) -> list[float] | None:
    """The error after each round, where the method has rounds."""
    if targets.groups.n_rows > _CURVE_ROWS:
        last = max(1, int(np.searchsorted(targets.groups.offsets, _CURVE_ROWS, side="right")) - 1)
        rows = np.flatnonzero(targets.groups.codes < last)
        X, targets = _safe_indexing(X, rows), targets.take(rows)
    targets = model.supervision.held_out(targets)
    scores = _staged(model, "staged_score", X, targets.known, **model.supervision.ids(targets))
    return [round(1.0 - float(score), 5) for score in scores] or None


def _staged(model: TableModel, question: str, *asked: Any, **ids: Any) -> Iterable[Any]:
    """The answers after each round; none from a method without rounds.

    A method that grows in rounds has ``staged_score``, which takes what ``score`` takes, and
    ``staged_decision_function(X)``. They are no part of the contract, so that this one place asks
    whether they are there.
    """
    method = getattr(model.estimator, question, None)
    return () if method is None else method(*asked, **ids)


def _margins(
    model: TableModel, X: Prepared, targets: Targets, groups: NDArray[np.intp]
) -> Margins | None:
    """Scores towards the true class after each round, for the rows of a few groups."""
    if len(model.classes) != 2 or targets.y.ndim != 1:
        return None
    traced = {
        str(targets.groups.names[g]): np.flatnonzero(targets.groups.codes == g)[:_TRACED_ROWS]
        for g in groups
    }
    rows = np.concatenate(list(traced.values()))
    asked = _safe_indexing(X, rows)
    stages = np.array(list(_staged(model, "staged_decision_function", asked)))
    if not len(stages):
        return None
    sign = np.where(targets.y[rows] == 1, 1.0, -1.0)
    step = max(1, -(-len(stages) // _TRACED_ROUNDS))
    lines = (stages * sign).T[:, ::step].round(4)
    ends = np.cumsum([len(part) for part in traced.values()])[:-1]
    parts = np.split(lines, ends)
    margins = {name: part.tolist() for name, part in zip(traced, parts, strict=True)}
    return Margins(step, margins)


def _reliability(
    model: TableModel, predictions: Predictions, targets: Targets
) -> Reliability | None:
    """Rows by the probability of their predicted class: how many, how sure, how often right."""
    if not model.supervision.rows_labelled:
        return None
    sure = predictions.proba_row.max(axis=1)
    right = predictions.proba_row.argmax(axis=1) == targets.y
    bin_row = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    counted = [np.bincount(bin_row, w, minlength=_BINS) for w in (None, sure, right)]
    return Reliability(*(values.tolist() for values in counted))


def _weights(model: TableModel) -> DomainWeights | None:
    """Each domain's share of the weight by round."""
    estimator: Any = model.estimator
    mass = getattr(estimator, "history_", {}).get("domain_mass")
    if mass is None:
        return None
    names = [str(name) for name in estimator.domain_names_]
    return DomainWeights(names, np.asarray(mass).round(5).tolist())


def constant_scores(
    supervision: Supervision, known: Targets, asked: Targets
) -> NDArray[np.float64]:
    """Scores of groups under the constant answer that suits what is known best.

    The candidates are the kind's; see :meth:`Supervision.constants`.

    Parameters
    ----------
    supervision : Supervision
    known : Targets
        Of the rows that the answer is chosen on.
    asked : Targets
        Of the rows that are judged.

    Returns
    -------
    score_group : ndarray of shape (n_groups,)
    """
    rows = supervision.judged_rows(known)
    inside = known.take(rows) if len(rows) < len(known.y) else known
    candidates = supervision.constants(inside)
    means = [
        _constant_mean(supervision, supervision.constant_answer(constant, inside), inside)
        for constant in candidates
    ]
    best = candidates[int(np.nanargmax(means))]
    return supervision.judge(supervision.constant_answer(best, asked), asked)


def _constant_mean(supervision: Supervision, answer: Predictions, targets: Targets) -> float:
    scores = supervision.judge(answer, targets)
    if np.isnan(scores).all():
        return -np.inf
    return supervision.mean_score(scores, targets.groups.sizes)
