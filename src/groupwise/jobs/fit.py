"""One method or the automatic choice on a table: the model of all rows, and what it is worth."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from joblib import Parallel, delayed, effective_n_jobs

from groupwise.jobs.auto import fit_auto
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.job import Job
from groupwise.jobs.model import TableModel
from groupwise.jobs.options import JobOptions
from groupwise.jobs.result import Result
from groupwise.methods import AUTO, Method
from groupwise.tables.read import TableLike

__all__ = ["fit_table", "judge_method", "run_steps"]

Found = TypeVar("Found")
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


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
        ``positive``, ``reported``, ``domain``, ``target_domain``, ``wanted``, ``ignored``,
        ``order``, ``sql``, ``header``, ``seed``.

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
        model, result, _ = fit_auto(
            job, time_limit=time_limit, n_splits=n_splits, n_jobs=n_jobs or 1
        )
        return model, result
    chosen = job.method(method)
    result = judge_method(job, chosen, dict(params or {}), n_splits=n_splits, n_jobs=n_jobs)
    return job.fit(chosen, dict(params or {})), result


def judge_method(
    job: Job,
    method: Method,
    params: dict[str, Any],
    *,
    n_splits: int,
    tune: bool = False,
    n_jobs: int | None = None,
    final: dict[str, Any] | None = None,
    command: str = "",
    progress: Progress | None = None,
) -> Result:
    """What a method is worth on groups it has not seen.

    Parameters
    ----------
    job : Job
    method : Method
    params : dict
    n_splits : int
    tune : bool, default=False
        Whether the method's small search runs inside each training part.
    n_jobs : int, default=None
    final : dict, default=None
        Parameters of the model of all rows, where a search has found others.
    command : str, default=""
        For the record.
    progress : callable, default=None
        ``progress(folds, n_folds)`` gives the folds on, and shows that they pass.
    """
    splits = job.splits(n_splits)
    fold = _Fold(job, method, params, tune)
    found: Iterable[FoldResult] = run_steps(fold, list(enumerate(splits)), n_jobs)
    if progress is not None:
        found = progress(found, len(splits))
    folds = list(found)
    about = job.about(
        command=command, n_splits=len(splits), params=params if final is None else final
    )
    return Result(about, {method.name: folds})


class _Fold:
    """A fold to be fitted and judged, here or in another process."""

    def __init__(self, job: Job, method: Method, params: dict[str, Any], tune: bool):
        self.job, self.method, self.params, self.tune = job, method, params, tune

    def __call__(self, numbered: tuple[int, Any]) -> FoldResult:
        number, split = numbered
        return self.job.run_fold(
            self.method,
            self.params,
            split,
            search=self.tune,
            curve=self.job.wants_curve(number),
            importance=True,
        )


def run_steps(
    function: Callable[[Any], Found], steps: Sequence[Any], n_jobs: int | None = None
) -> Iterator[Found]:
    """What the function gives for each step, in the order of the steps, as soon as it is there.

    Parameters
    ----------
    function : callable
        Must not depend on what it was called with before; with more than one job it is sent to
        other processes.
    steps : sequence
    n_jobs : int, default=None
        Processes; ``None`` is one, this one; -1: as many as there are cores.

    Examples
    --------
    >>> list(run_steps(abs, [-1, 2]))
    [1, 2]
    """
    if effective_n_jobs(n_jobs) == 1 or len(steps) < 2:
        yield from map(function, steps)
        return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(step) for step in steps
    )
