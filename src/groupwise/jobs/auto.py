"""The automatic choice on a table: one model, and what every candidate was found to be worth."""

import time
import warnings
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.auto import Estimate, HeldOutGroups
from groupwise.auto.base import AutoMixin
from groupwise.auto.candidates import Candidate
from groupwise.groups import Groups
from groupwise.jobs.evaluate import (
    constant_scores,
    kept_groups,
    plain_scores,
    shown_columns,
    shown_rows,
)
from groupwise.jobs.fold_result import FoldResult, GroupResults, Importance
from groupwise.jobs.job import Job
from groupwise.jobs.model import TableModel, column_importance
from groupwise.jobs.result import Result, RunInfo
from groupwise.jobs.supervision import Split
from groupwise.methods import AUTO

__all__ = ["fit_auto", "with_rows", "with_sample"]


def fit_auto(
    job: Job, *, time_limit: float, n_splits: int, n_jobs: int, command: str = ""
) -> tuple[TableModel, Result]:
    """Let all methods that apply compete for a time, and judge the model that comes of it.

    Parameters
    ----------
    job : Job
    time_limit : float
        Seconds.
    n_splits : int
    n_jobs : int
        Processes.
    command : str, default=""
        For the record.

    Returns
    -------
    model : TableModel
    result : Result
        Of the automatic choice (cross-fitted) and of every candidate that was judged. Where time
        is left, the best of these is fitted again to see which columns its score hangs on.
        ``estimate`` is the score to expect on new groups.
    """
    started = time.monotonic()
    splits = job.splits(n_splits)  # a table that cannot be split is refused in its own words
    params = {"time_limit": time_limit, "cv": n_splits, "n_jobs": n_jobs}
    model = job.fit(job.method(AUTO), params)
    fitted: Any = model.estimator
    assert isinstance(fitted, AutoMixin)
    board = fitted.leaderboard_
    failed = board[board["state"] == "failed"]
    left_out = fitted.not_tried_ | dict(zip(failed["method"], failed["reason"], strict=True))
    held = fitted.held_out_
    left_out |= _left_early(board, held, job)
    methods = _folds(held, job)
    methods[AUTO] = with_rows(methods[AUTO], model, job)
    best = Candidate(job.method(board["method"][0]), board["params"][0])
    if best.name in methods:
        until = started + time_limit
        of_sample = fitted.n_groups_ / fitted.n_groups_used_  # its folds have more rows
        first_fold = of_sample * held.seconds[best.name] * (1 + len(model.schema.columns))
        found = _importance(best, splits, job, until, first_fold)
        methods[best.name] = [
            replace(fold, importance=fall)
            for fold, fall in zip_longest(methods[best.name], found[: len(methods[best.name])])
        ]
    del fitted.held_out_  # the result has it
    about = job.about(command=command, n_splits=len(methods[AUTO]), params={})
    about = with_sample(about, fitted)
    return model, Result(about, methods, left_out, _with_ends(fitted.estimate_))


def _left_early(board: pd.DataFrame, held_out: HeldOutGroups, job: Job) -> dict[str, str]:
    """Candidates that were tried on fewer folds than the choice was made on, and why."""
    why = {"dropped": "clearly behind", "out of time": "out of time"}
    found = {}
    for line in board.to_dict(orient="records"):
        if line["state"] not in why or not line["folds"]:
            continue
        name = Candidate(job.method(line["method"]), line["params"]).name
        if name not in held_out.score:
            folds = f"{line['folds']} fold{'s' if line['folds'] > 1 else ''}"
            found[name] = f"{why[line['state']]} after {folds}, on which it had {line['score']:.3f}"
    return found


def with_sample(about: RunInfo, fitted: AutoMixin) -> RunInfo:
    """The same with what is told of the groups that methods competed on and were fitted to."""
    n_used, least = fitted.n_groups_used_, min(member.n_groups for member in fitted.members_)
    if n_used == fitted.n_groups_:
        return replace(about, n_sampled=None, n_fitted=None)
    return replace(about, n_sampled=n_used, n_fitted=least if least > n_used else None)


def _with_ends(estimate: Estimate) -> Estimate:
    """The estimate with an interval that a file can hold.

    Where one group says nothing of others that of R² has no lower end; it is then said to be above
    -1, or above what was found.
    """
    has_end = np.isfinite(estimate.low)
    return estimate if has_end else replace(estimate, low=min(-1.0, estimate.score))


def _folds(held_out: HeldOutGroups, job: Job) -> dict[str, list[FoldResult]]:
    """What every candidate said of the groups of each fold."""
    methods: dict[str, list[FoldResult]] = {name: [] for name in held_out.score}
    for number in np.unique(held_out.fold):
        inside = held_out.fold == number
        baseline = _baseline(job, held_out.group[inside])
        for name, folds in methods.items():
            units = _units(name, held_out, job, inside, baseline)
            folds.append(
                FoldResult(
                    units=units,
                    rows={},
                    confusion=_confusion(units, len(job.targets.classes)),
                    seconds_fit=held_out.seconds[name],
                )
            )
    return methods


def with_rows(folds: list[FoldResult], model: TableModel, job: Job) -> list[FoldResult]:
    """The folds with rows of some groups, as the model of all rows sees them."""
    kept = [
        [fold.units.name[k] for k in kept_groups(np.array(fold.units.score_or_nan))]
        for fold in folds
    ]
    codes = _positions(job.targets.groups, [name for names in kept for name in names])
    rows = np.flatnonzero(np.isin(job.targets.groups.codes, codes))  # only these are asked about
    features, targets = job.features.iloc[rows], job.targets.take(rows)
    predictions = model.predictions(features, targets.groups)
    shown = shown_columns(model, features, None)
    asked = model, predictions, targets, job.order[rows]
    return [
        replace(
            fold,
            rows=shown_rows(*asked, _positions(targets.groups, names), shown),
            rows_seen=True,
        )
        for fold, names in zip(folds, kept, strict=True)
    ]


def _positions(groups: Groups, names: list[str]) -> NDArray[np.intp]:
    """Of groups, by the text of their names."""
    return pd.Index([str(name) for name in groups.names]).get_indexer(pd.Index(names))


def _importance(
    candidate: Candidate, splits: list[Split], job: Job, until: float, first_fold: float
) -> list[Importance | None]:
    """What held-out groups lose by shuffling, fold by fold as long as there is time."""
    found: list[Importance | None] = []
    expected = first_fold
    for train, test in splits:
        started = time.monotonic()
        if started + expected > until:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said when the model itself was fitted
            model = job.fit(candidate.method, candidate.params, train)
        found.append(column_importance(model, job.features.iloc[test], job.targets.take(test)))
        expected = 1.5 * (time.monotonic() - started)
    return found


def _confusion(units: GroupResults, n_classes: int) -> list[list[int]] | None:
    if units.truth is None:
        return None
    flat = np.array(units.truth) * n_classes + np.array(units.predicted)
    return np.bincount(flat, minlength=n_classes**2).reshape(n_classes, n_classes).tolist()


def _baseline(job: Job, at: NDArray[np.intp]) -> list[float | None]:
    """Of these groups; the constant answer is chosen on all others."""
    inside = np.isin(job.targets.groups.codes, at)
    known = job.targets.take(np.flatnonzero(~inside))
    asked = job.targets.take(np.flatnonzero(inside))
    score = constant_scores(job.supervision, known, asked)
    order = pd.Index(asked.groups.names).get_indexer(pd.Index(job.targets.groups.names[at]))
    return plain_scores(score[order])


def _units(
    name: str,
    held_out: HeldOutGroups,
    job: Job,
    inside: NDArray[np.bool_],
    baseline: list[float | None],
) -> GroupResults:
    targets = job.targets
    groups, at = targets.groups, held_out.group[inside]
    known = job.supervision.stored_truth(targets)
    whole = targets.whole_of_groups()
    return GroupResults(
        name=[str(group) for group in groups.names[at]],
        size=groups.sizes[at].tolist(),
        score=plain_scores(held_out.score[name][inside]),
        **job.supervision.stored_answers(held_out.answer[name][inside]),
        **{part: [values[place] for place in at] for part, values in known.items()},
        baseline=baseline,
        whole=None if whole is None else [whole[place] for place in at],
    )
