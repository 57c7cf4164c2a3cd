"""Sets, intervals and doubts for tables: from fitted models and from what folds have held out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from groupwise.groups import Groups
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.job import Job
from groupwise.jobs.model import TableModel
from groupwise.jobs.result import Result
from groupwise.tables import TableError
from groupwise.uncertainty import ConformalGroupClassifier, LabelIssues, rank_label_issues

__all__ = [
    "label_issues",
    "promise_coverage",
    "promise_from_result",
    "promised_columns",
    "promises",
]


def promise_coverage(job: Job, model: TableModel, coverage: float, *, n_splits: int) -> TableModel:
    """The model with sets or intervals, calibrated on folds of whole groups.

    Parameters
    ----------
    job : Job
    model : TableModel
        Of one method, fitted to the job.
    coverage : float
    n_splits : int
    """
    supervision = job.supervision
    fixed = supervision.constructor()
    estimator = ConformalGroupClassifier(
        clone(model.estimator),
        supervision.kind,
        coverage=coverage,
        conformity="adaptive" if supervision.kind == "proportions" else "plain",
        cv=n_splits,
        target_domain=fixed.get("target_domain"),
        random_state=job.seed,
    )
    ids = {"groups": job.targets.groups} | supervision.ids(job.targets)
    ids["keep_whole"] = job.targets.whole
    estimator.fit(model.prepare(job.features), job.targets.y, **ids)
    return replace(model, estimator=estimator)


def promise_from_result(
    job: Job, model: TableModel, result: Result, method: str, coverage: float
) -> TableModel:
    """The model with sets or intervals, calibrated on what its folds said of held-out groups.

    Parameters
    ----------
    job : Job
    model : TableModel
        Fitted to all groups.
    result : Result
    method : str
        Whose folds they are.
    coverage : float

    Raises
    ------
    TableError
        Where rows are labelled: of these the folds keep too little.
    """
    kind = model.supervision.kind
    if model.supervision.rows_labelled:
        raise TableError(
            f"coverage for `kind` {kind} needs one `method`: the automatic choice keeps what was "
            "said of groups, not of rows"
        )
    folds = result.methods[method]
    proba = np.concatenate([np.asarray(fold.units.proba, dtype=float) for fold in folds])
    whole, groups = job.targets.whole, job.targets.groups
    if whole is not None:
        of_group = dict(zip(map(str, groups.names), whole[groups.first_rows], strict=True))
        whole = np.array([of_group[name] for fold in folds for name in fold.units.name])
    estimator = ConformalGroupClassifier.from_held_out(
        model.estimator, kind, proba, _truth(folds), keep_whole=whole, coverage=coverage
    )
    return replace(model, estimator=estimator)


def _truth(folds: list[FoldResult]) -> np.ndarray:
    """Codes of the groups' labels, or their shares."""
    parts = [fold.units.shares or fold.units.truth for fold in folds]
    return np.concatenate([np.asarray(part) for part in parts])


def promises(model: TableModel) -> str | None:
    """What the model promises, in words; ``None`` where it was fitted without."""
    inside = model.estimator
    return inside.guarantee_ if isinstance(inside, ConformalGroupClassifier) else None


def promised_columns(
    model: TableModel, features: pd.DataFrame, groups: Groups, level: str
) -> dict[str, Any]:
    """Columns of sets or bounds for each row or group; none where nothing is promised."""
    inside: Any = model.estimator
    if not isinstance(inside, ConformalGroupClassifier):
        return {}
    X, classes = model.prepare(features), np.array(model.classes)
    if inside.kind_ in ("measure", "transfer"):
        return (
            {} if level == "group" else {"set": _sets(inside.predict_row_sets(X, groups), classes)}
        )
    if level == "row":
        return {}
    if inside.kind_ != "proportions":
        return {"set": _sets(inside.predict_group_sets(X, groups), classes)}
    bounds = inside.predict_group_intervals(X, groups)
    columns: dict[str, Any] = {}
    for code, name in enumerate(classes):
        columns[f"low_{name}"], columns[f"high_{name}"] = bounds[:, code].T
    return columns


def _sets(kept: np.ndarray, classes: np.ndarray) -> list[str]:
    return [" | ".join(classes[line]) for line in kept]


def label_issues(result: Result, method: str) -> LabelIssues:
    """Groups whose label the folds of a method speak against.

    Raises
    ------
    TableError
        Where groups have no label of their own.
    """
    folds = result.methods[method]
    if any(fold.units.truth is None for fold in folds):
        raise TableError(
            f"`kind` {result.about.supervision.kind} gives groups no label that could be doubted; "
            "it takes majority or presence"
        )
    units = [fold.units for fold in folds]
    return rank_label_issues(
        np.concatenate([np.asarray(unit.proba, dtype=float) for unit in units]),
        _truth(folds).astype(np.intp),
        np.array(result.about.classes),
        np.array([name for unit in units for name in unit.name]),
        np.concatenate([np.asarray(unit.size) for unit in units]),
    )
