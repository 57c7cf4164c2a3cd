"""Sets, intervals and doubts for tables: from fitted models and from what folds have held out."""

import warnings
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from groupwise.groups import Groups
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.job import Job, Progress, run_steps
from groupwise.jobs.model import TableModel
from groupwise.jobs.result import Result
from groupwise.jobs.supervision import Split
from groupwise.methods import Method
from groupwise.tables import TableError
from groupwise.uncertainty import (
    ConformalGroupClassifier,
    ConformalGroupRegressor,
    LabelIssues,
    rank_label_issues,
)
from groupwise.uncertainty.base import ConformalMixin
from groupwise.uncertainty.label_issues import N_REPEATS

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
    fixed, kind = supervision.constructor(), supervision.check_covered()
    plain = clone(model.estimator)
    estimator: ConformalGroupClassifier | ConformalGroupRegressor
    if kind == "number":
        estimator = ConformalGroupRegressor(
            plain, coverage=coverage, cv=n_splits, random_state=job.seed
        )
    else:
        estimator = ConformalGroupClassifier(
            plain,
            kind,
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
    whole, groups = job.targets.whole, job.targets.groups
    if whole is not None:
        of_group = dict(zip(map(str, groups.names), whole[groups.first_rows], strict=True))
        whole = np.array([of_group[name] for fold in folds for name in fold.units.name])
    covered = model.supervision.check_covered()
    options: dict[str, Any] = {"keep_whole": whole, "coverage": coverage}
    if covered == "number":
        parts = (_each(folds, name) for name in ("number_predicted", "number", "size"))
        numbers = ConformalGroupRegressor.from_held_out(model.estimator, *parts, **options)
        return replace(model, estimator=numbers)
    truth = _each(folds, "truth" if folds[0].units.shares is None else "shares")
    estimator = ConformalGroupClassifier.from_held_out(
        model.estimator, covered, _each(folds, "proba"), truth, **options
    )
    return replace(model, estimator=estimator)


def _each(folds: list[FoldResult], part: str) -> np.ndarray:
    """Of all held-out groups, fold after fold."""
    return np.concatenate([np.asarray(getattr(fold.units, part)) for fold in folds])


def promises(model: TableModel) -> str | None:
    """What the model promises, in words; ``None`` where it was fitted without."""
    inside = model.estimator
    return inside.guarantee_ if isinstance(inside, ConformalMixin) else None


def promised_columns(
    model: TableModel, features: pd.DataFrame, groups: Groups, level: str
) -> dict[str, Any]:
    """Columns of sets or bounds for each row or group; none where nothing is promised."""
    inside: Any = model.estimator
    if isinstance(inside, ConformalGroupRegressor):
        if level == "row":
            return {}
        low, high = inside.predict_group_intervals(model.prepare(features), groups).T
        return {"low": low, "high": high}
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


def label_issues(
    job: Job,
    method: Method,
    *,
    n_splits: int,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> LabelIssues:
    """Groups whose label models of the other groups speak against.

    As :func:`~groupwise.uncertainty.find_label_issues` the mean over several draws of the folds.

    Parameters
    ----------
    job : Job
    method : Method
    n_splits : int
    n_jobs : int, default=None
    progress : callable, default=None
        As in :meth:`Job.judge <groupwise.jobs.Job.judge>`.

    Raises
    ------
    TableError
        Where groups have no label of their own.
    """
    if not job.supervision.right_or_wrong or job.supervision.rows_labelled:
        raise TableError(
            f"`kind` {job.supervision.kind} gives groups no label that could be doubted; it takes "
            "majority, presence or grade"
        )
    draws = [replace(job, seed=job.seed + k).splits(n_splits) for k in range(N_REPEATS)]
    splits = [split for draw in draws for split in draw]
    found: Iterable[Any] = run_steps(_HeldOut(job, method), splits, n_jobs)
    if progress is not None:
        found = progress(found, len(splits))
    groups, classes = job.targets.groups, job.targets.classes
    proba = np.zeros((groups.n_groups, len(classes)))
    for names, proba_group in found:
        proba[pd.Index(groups.names).get_indexer(pd.Index(names))] += proba_group
    y_group = job.targets.y[groups.first_rows]
    return rank_label_issues(
        proba / N_REPEATS, y_group, np.array(classes), groups.names.astype(str), groups.sizes
    )


class _HeldOut:
    """What a model of the training rows says of the other groups, here or in another process."""

    def __init__(self, job: Job, method: Method):
        self.job, self.method = job, method

    def __call__(self, split: Split) -> tuple[Any, Any]:
        train, test = split
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = self.job.fit(self.method, {}, train)
        groups = self.job.targets.take(test).groups
        found = model.predictions(self.job.features.iloc[test], groups)
        return groups.names, found.proba_group
