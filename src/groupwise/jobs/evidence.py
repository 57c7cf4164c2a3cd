"""What a model answered about groups it had not seen, as plain values."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.jobs.answer import Answer, ask
from groupwise.jobs.known import Known
from groupwise.jobs.model import TableModel

__all__ = ["gather"]

# Groups whose rows are kept, and rows of each: what a page can still hold.
_WORST, _OTHERS, _ROWS = 20, 20, 400
_TRACED_GROUPS, _TRACED_ROWS, _TRACED_ROUNDS = 2, 12, 60
_BINS = 10
# Rows, in whole groups, that a learning curve is drawn from.
_CURVE_ROWS = 2000


def gather(
    model: TableModel,
    features: pd.DataFrame,
    known: Known,
    order: NDArray[Any],
    *,
    curve: bool = True,
) -> dict[str, Any]:
    """Predict and judge groups, and keep what a report shows of them.

    Parameters
    ----------
    model : TableModel
    features : DataFrame
        Rows that count (see :meth:`Supervision.judged_rows`), conforming to the model's schema.
    known : Known
        Of these rows, with the model's classes.
    order : ndarray of shape (n_rows,)
    curve : bool, default=True
        Whether to follow the error round by round, the costliest part.

    Returns
    -------
    evidence : dict
        ``units`` (one entry per group), ``rows`` (of some groups), and where the model has them
        ``curve``, ``margins``, ``reliability`` and ``weights``.
    """
    X = model.matrix(features)
    answer = ask(model.estimator, X, known.groups, len(model.classes))
    score = model.supervision.judge(answer, known)
    kept = _kept_groups(score)
    weight = answer.row_weights(known.groups) if model.explains else None
    evidence: dict[str, Any] = {
        "units": _units(answer, known, score),
        "rows": {
            str(known.groups.names[g]): _rows_of(g, model, answer, known, order, weight)
            for g in kept
        },
    }
    if curve:
        evidence |= _curve(model, X, known)
    evidence |= _margins(model, X, known, kept[:_TRACED_GROUPS])
    evidence |= _reliability(model, answer, known)
    evidence |= _weights(model)
    return evidence


def _units(answer: Answer, known: Known, score: NDArray[Any]) -> dict[str, Any]:
    groups = known.groups
    units: dict[str, Any] = {
        "name": [str(name) for name in groups.names],
        "size": groups.sizes.tolist(),
        "score": [None if np.isnan(value) else round(float(value), 6) for value in score],
        "predicted": answer.group_code.tolist(),
        "proba": answer.group_proba.round(5).tolist(),
    }
    if known.y.ndim == 2:
        units["shares"] = known.y[groups.first_rows].round(5).tolist()
    elif _one_label(known):
        units["truth"] = known.y[groups.first_rows].tolist()
    return units


def _one_label(known: Known) -> bool:
    return bool((known.y == known.y[known.groups.first_rows][known.groups.codes]).all())


def _kept_groups(score: NDArray[Any]) -> NDArray[np.intp]:
    """The worst groups, then some of the others, evenly over the list."""
    order = np.argsort(score, kind="stable")
    worst, rest = order[:_WORST], np.sort(order[_WORST:])
    step = max(1, -(-len(rest) // _OTHERS))
    return np.concatenate([worst, rest[::step]])


def _rows_of(
    group: int,
    model: TableModel,
    answer: Answer,
    known: Known,
    order: NDArray[Any],
    weight: NDArray[Any] | None,
) -> dict[str, Any]:
    groups = known.groups
    rows = groups.order[groups.offsets[group] : groups.offsets[group + 1]]
    at = order[rows]
    rows = rows[np.argsort(at, kind="stable")][:_ROWS]
    out: dict[str, Any] = {
        "at": [str(value) for value in order[rows]],
        "predicted": answer.row_code[rows].tolist(),
    }
    if answer.row_proba is not None:
        out["proba"] = answer.row_proba[rows].max(axis=1).round(4).tolist()
    if weight is not None:
        out["weight"] = weight[rows].round(5).tolist()
    if model.supervision.rows_labelled:
        out["label"] = known.y[rows].tolist()
    return out


def _curve(model: TableModel, X: Any, known: Known) -> dict[str, Any]:
    estimator = model.estimator
    if known.groups.n_rows > _CURVE_ROWS:
        last = max(1, int(np.searchsorted(known.groups.offsets, _CURVE_ROWS, side="right")) - 1)
        rows = np.flatnonzero(known.groups.codes < last)
        X, known = X[rows], known.take(rows)
    if hasattr(estimator, "staged_score"):
        scores = list(estimator.staged_score(X, known.y, groups=known.groups))
    elif model.supervision.kind == "transfer" and hasattr(estimator, "staged_predict"):
        scores = [float(np.mean(found == known.y)) for found in estimator.staged_predict(X)]
    else:
        return {}
    return {"curve": [round(1.0 - float(score), 5) for score in scores]}


def _margins(model: TableModel, X: Any, known: Known, groups: NDArray[np.intp]) -> dict[str, Any]:
    """Scores towards the true class after each round, for the rows of a few groups."""
    estimator = model.estimator
    if (
        not hasattr(estimator, "staged_decision_function")
        or len(model.classes) != 2
        or known.y.ndim != 1
    ):
        return {}
    traced = {
        str(known.groups.names[g]): np.flatnonzero(known.groups.codes == g)[:_TRACED_ROWS]
        for g in groups
    }
    rows = np.concatenate(list(traced.values()))
    stages = np.array(list(estimator.staged_decision_function(X[rows])))
    if not len(stages):
        return {}
    sign = np.where(known.y[rows] == 1, 1.0, -1.0)
    step = max(1, -(-len(stages) // _TRACED_ROUNDS))
    lines = (stages * sign).T[:, ::step].round(4)
    ends = np.cumsum([len(part) for part in traced.values()])[:-1]
    parts = np.split(lines, ends)
    margins = {name: part.tolist() for name, part in zip(traced, parts, strict=True)}
    return {"margins": {"step": step, "groups": margins}}


def _reliability(model: TableModel, answer: Answer, known: Known) -> dict[str, Any]:
    """Rows by the probability of their predicted class: how many, how sure, how often right."""
    if not model.supervision.rows_labelled or answer.row_proba is None:
        return {}
    sure = answer.row_proba.max(axis=1)
    right = answer.row_proba.argmax(axis=1) == known.y
    bin_row = np.minimum((sure * _BINS).astype(int), _BINS - 1)
    counted = [np.bincount(bin_row, w, minlength=_BINS) for w in (None, sure, right)]
    return {
        "reliability": {k: v.tolist() for k, v in zip(("n", "sure", "right"), counted, strict=True)}
    }


def _weights(model: TableModel) -> dict[str, Any]:
    """Each domain's share of the weight by round."""
    if "domain_mass" not in getattr(model.estimator, "history_", {}):
        return {}
    mass = np.asarray(model.estimator.history_["domain_mass"])
    names = [str(name) for name in model.estimator.domain_names_]
    return {"weights": {"names": names, "mass": mass.round(5).tolist()}}
