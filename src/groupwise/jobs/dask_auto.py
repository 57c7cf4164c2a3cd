"""The automatic choice on a folder: made on a sample, its boosted members fitted to all rows."""

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer

from groupwise.auto import AutoGroupClassifier
from groupwise.auto.members import Member
from groupwise.gbdt import GroupBoostClassifier
from groupwise.jobs.auto import fit_auto, with_rows, with_sample
from groupwise.jobs.dask_job import FolderJob
from groupwise.jobs.job import Job
from groupwise.jobs.model import TableModel
from groupwise.jobs.result import Result
from groupwise.methods import AUTO
from groupwise.tables import TableError

__all__ = ["SAMPLED_ROWS", "fit_auto_folder"]

#: About as many rows, of whole groups, are brought to one machine for the competition.
SAMPLED_ROWS = 200_000

logger = logging.getLogger("groupwise.auto")  # beside what is told of the candidates


def fit_auto_folder(
    job: FolderJob,
    *,
    time_limit: float,
    n_splits: int,
    n_jobs: int,
    command: str = "",
    sampled_rows: int = SAMPLED_ROWS,
) -> tuple[TableModel, Result]:
    """Let all methods compete on a sample of whole groups, and fit to all rows what can be.

    The members of the automatic choice that boost a group loss are fitted again on the cluster and
    take their own places; the others stay as the sample made them (``n_groups`` of each member
    says so). Scalings and weights are those learned on held-out groups of the sample.

    Parameters
    ----------
    job : FolderJob
    time_limit : float
        Seconds for the competition; the fits on the cluster come after it.
    n_splits : int
    n_jobs : int
        Processes of the competition.
    command : str, default=""
        For the record.
    sampled_rows : int, default=200,000
        About so many rows are brought to this machine.

    Returns
    -------
    model : TableModel
    result : Result
        Of the candidates and of the automatic choice, on held-out groups of the sample. Its
        estimate is of members that knew the sample alone, so rather too low than too high.
    """
    preparation, n_groups = job.preparation(), job.count_groups()
    sampled = _sampled_job(job, preparation, n_groups, sampled_rows)
    _check_splits(sampled, n_splits, n_groups)
    model, result = fit_auto(
        sampled, time_limit=time_limit, n_splits=n_splits, n_jobs=n_jobs, command=command
    )
    chosen: Any = model.estimator
    assert isinstance(chosen, AutoGroupClassifier)
    members = [_fit_to_all(job, member, preparation) for member in chosen.members_]
    chosen = chosen.with_members(members, n_groups)
    model = replace(model, estimator=chosen)
    about = replace(result.about, n_rows=job.folder.n_rows, n_groups=n_groups)
    about = with_sample(about, chosen)
    methods = result.methods | {AUTO: with_rows(result.methods[AUTO], model, sampled)}
    return model, replace(result, about=about, methods=methods)


def _sampled_job(
    job: FolderJob, preparation: ColumnTransformer, n_groups: int, sampled_rows: int
) -> Job:
    """The job of some whole groups; its columns know the categories of all pieces."""
    frame = job.sample(sampled_rows / job.folder.n_rows)
    name = job.folder.name
    if not len(frame):
        raise TableError(
            f"{name}: its {n_groups:,} groups are so large that a sample of {sampled_rows:,} rows "
            "holds none; name a `method`, which is fitted to all rows"
        )
    targets = job.supervision.targets_in(frame, name, job.classes)
    logger.info(
        "all that apply compete on %s of %s groups, %s of %s rows",
        *(f"{n:,}" for n in (targets.groups.n_groups, n_groups, len(frame), job.folder.n_rows)),
    )
    features = job.schema.conform(frame, name=name)
    return Job(
        table=name,
        fingerprint=job.folder.fingerprint,
        supervision=job.supervision,
        uses=list(job.uses),
        features=features.astype(_category_types(job, preparation)),
        targets=targets,
        order=np.arange(len(frame)),
        seed=job.seed,
    )


def _category_types(
    job: FolderJob, preparation: ColumnTransformer
) -> dict[str, pd.CategoricalDtype]:
    """Categories in the order of the codes that rows on the cluster have."""
    columns = job.schema.categories
    if not columns:
        return {}
    known = preparation.named_transformers_["categories"].categories_
    return {
        column: pd.CategoricalDtype(values[pd.notna(values)])
        for column, values in zip(columns, known, strict=True)
    }


def _check_splits(sampled: Job, n_splits: int, n_groups: int) -> None:
    """Refuse a sample that cannot be split, saying that it is one."""
    found = sampled.targets.groups.n_groups
    try:
        sampled.splits(n_splits)
    except TableError as error:
        if found == n_groups:
            raise
        raise TableError(
            f"{sampled.table}: in a sample of {found:,} of its {n_groups:,} groups {error}; name a "
            "`method`, which is fitted to all rows"
        ) from error


def _fit_to_all(job: FolderJob, member: Member, preparation: ColumnTransformer) -> Member:
    """The member fitted to all rows, where it boosts a loss whose groups may lie on machines."""
    own = member.estimator
    if not isinstance(own, GroupBoostClassifier) or not own.loss_.on_machines:
        logger.info("%s: stays as fitted here, to %s groups", member.name, f"{member.n_groups:,}")
        return member
    started = time.perf_counter()
    fitted = job.boost(clone(own).set_params(**job.cluster_params), preparation)
    seconds = time.perf_counter() - started
    logger.info("%s: fitted to all rows on the cluster, %.1f s", member.name, seconds)
    # its trees take the codes of categories as they are
    return replace(member, estimator=fitted, categories=(), n_groups=fitted.n_groups_)
