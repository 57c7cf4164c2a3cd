"""One method or the automatic choice on a table: the model of all rows, and what it is worth."""

from collections.abc import Mapping, Sequence
from typing import Any

from groupwise.jobs.auto import fit_auto
from groupwise.jobs.model import TableModel
from groupwise.jobs.options import JobOptions
from groupwise.jobs.result import Result
from groupwise.methods import AUTO
from groupwise.tables.read import TableLike

__all__ = ["fit_table"]


def fit_table(
    table: TableLike,
    *,
    label: str | Sequence[str | Sequence[str]],
    group: str | Sequence[str] | None = None,
    groups_table: TableLike | None = None,
    sources: Sequence[TableLike] | Mapping[str, TableLike] = (),
    kind: str | None = None,
    method: str | None = None,
    params: Mapping[str, Any] | None = None,
    time_limit: float = 120.0,
    n_splits: int = 5,
    n_jobs: int | None = None,
    **options: Any,
) -> tuple[TableModel, Result]:
    """Learn from a table, or from two, as ``groupwise fit`` does.

    Parameters
    ----------
    table : str, Path or DataFrame of pandas or polars
        One line per row.
    label : str or sequence of str
        Column of labels; for proportions one column per class.
    group : str or sequence of str, default=None
        Column that names the group. Several: groupings of the same rows, with an entry of ``label``
        for each.
    groups_table : str, Path or DataFrame, default=None
        One line per group, joined on ``group``: labels, counts, features of groups.
    sources : sequence or mapping of tables, default=()
        Tables like ``table`` from elsewhere: its rows count, theirs may help.
    kind : str, default=None
        What is known of groups; by default told by the rest.
    method : str, default=None
        By default all that apply compete (``"auto"``).
    params : mapping, default=None
        Of the method.
    time_limit : float, default=120
        Seconds for the automatic choice.
    n_splits : int, default=5
    n_jobs : int, default=None
        Processes.
    **options
        The rest of :class:`JobOptions`: ``group_weights``, ``keep_whole``, ``measure``,
        ``positive``, ``reported``, ``exposure``, ``event``, ``domain``, ``target_domain``,
        ``wanted``, ``ignored``, ``order``, ``sql``, ``header``, ``seed``.

    Returns
    -------
    model : TableModel
        Asked with ``model.predict(table)`` and ``model.predict_groups(table)``.
    result : Result
        What it said of groups it had not seen.

    Examples
    --------
    >>> import pandas as pd
    >>> from groupwise.jobs import fit_table
    >>> rows = pd.DataFrame({"home": list("aaabbbcccddd"), "use": [1, 2, 3, 7, 8, 9] * 2})
    >>> homes = pd.DataFrame({"home": list("abcd"), "tenant": ["x", "y"] * 2})
    >>> model, result = fit_table(
    ...     rows, groups_table=homes, group="home", label="tenant", method="means-logistic",
    ...     n_splits=2)
    >>> model.predict_groups(rows)["predicted"].tolist()
    ['x', 'y', 'x', 'y']
    """
    job, _ = JobOptions(
        table=table,
        groups_table=groups_table,
        sources=sources,
        group=group,
        label=label,
        kind=kind,
        **options,
    ).job()
    if method in (None, AUTO) and not params and job.has_auto:
        return fit_auto(job, time_limit=time_limit, n_splits=n_splits, n_jobs=n_jobs or 1)
    chosen = job.method(method)
    result = job.judge(chosen, dict(params or {}), n_splits=n_splits, n_jobs=n_jobs)
    return job.fit(chosen, dict(params or {})), result
