"""``groupwise fit --dask``: the fit of a folder of Parquet parts, on a cluster."""

import importlib.util
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from groupwise.cli.commands import LOCAL
from groupwise.cli.options import OPTION_NAMES
from groupwise.jobs import JobOptions, Method, Result, TableModel, methods_for
from groupwise.methods import AUTO
from groupwise.tables import ColumnUse, OptionError, choose_features

__all__ = ["fit_folder"]


def fit_folder(
    job_options: JobOptions,
    address: str,
    method: str | None,
    params: dict[str, Any],
    *,
    seconds: float,
    folds: int,
    jobs: int | None,
    command: str,
) -> tuple[TableModel, Result]:
    """Fit on the cluster at the address (or one of this machine's own)."""
    if importlib.util.find_spec("distributed") is None:
        raise OptionError("--dask needs the package distributed: install groupwise[dask]")
    others = ("sql", "order", "groups_table", "sources", "keep_whole")
    given = [OPTION_NAMES[name] for name in others if getattr(job_options, name)]
    if given:
        raise OptionError(f"--dask takes a folder of Parquet parts, and no {given[0]}")
    if len(job_options.groups) > 1:
        raise OptionError("--dask takes one --group; several are for DaskGroupBoostClassifier")
    from groupwise.jobs.dask_auto import fit_auto_folder  # slow to load, and an extra
    from groupwise.jobs.dask_job import FolderJob
    from groupwise.jobs.parquet_folder import ParquetFolder

    folder = ParquetFolder.open(job_options.table)
    sample = folder.sample()
    supervision, _ = job_options.supervision(sample, folder.name)
    chosen = _method(supervision.kind, method)
    if chosen.name == AUTO and params:
        raise OptionError("--param is for one method: name it with --method")
    uses = choose_features(
        sample,
        supervision.roles(),
        name=folder.name,
        wanted=job_options.wanted,
        ignored=job_options.ignored,
    )
    uses = [_without_texts(use) for use in uses]
    with _cluster(address) as client:
        job = FolderJob(client, folder, supervision, uses, job_options.seed)
        if chosen.name == AUTO:
            n_jobs = -1 if jobs is None else jobs
            return fit_auto_folder(
                job, time_limit=seconds, n_splits=folds, n_jobs=n_jobs, command=command
            )
        return job.run(chosen, params, command, folds)


def _without_texts(use: ColumnUse) -> ColumnUse:
    if use.use not in ("date", "text"):
        return use
    return ColumnUse(use.name, "not used", f"a {use.use}; on a cluster numbers and categories are")


def _method(kind: str, name: str | None) -> Method:
    """The method by name, one that boosts a group loss or the automatic choice.

    Without a name it is the automatic choice, where the kind has it.
    """
    boosting = [
        m
        for m in methods_for(kind)
        if m.path.endswith(":GroupBoostClassifier") and m.build({}, {}, 0).loss.on_machines
    ]
    if not boosting:
        raise OptionError(f"--dask does not serve --kind {kind}")
    offered = boosting + [m for m in methods_for(kind) if m.name == AUTO]
    if name is None:
        return next((m for m in offered if m.name == AUTO), offered[0])
    for candidate in offered:
        if candidate.name == name:
            return candidate
    names = ", ".join(m.name for m in offered)
    raise OptionError(f"--dask serves the methods {names} for --kind {kind}, not {name!r}")


@contextmanager
def _cluster(address: str) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    if address != LOCAL:
        try:
            client = Client(address, timeout=20, set_as_default=False)
        except OSError as error:
            raise OptionError(f"--dask: there is no scheduler at {address}") from error
        with client:
            yield client
        return
    with (
        LocalCluster(
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
