"""Waiting for tasks that only certain workers can do, without waiting for workers that are gone."""

import time
from typing import Any

import distributed
from distributed import Client, Future
from xgboost.core import XGBoostError

__all__ = ["WorkerLostError", "wait_on_workers"]

_LOOK_EVERY = 1.0  # seconds between two looks at which workers are there
_GRACE = 8.0  # seconds in which a worker's end explains an error of another

# What a worker says when another one has gone or failed.
_CONSEQUENCES = (XGBoostError, distributed.KilledWorker)

Task = tuple[str, "Future[Any]"]


class WorkerLostError(RuntimeError):
    """A worker ended in the middle of a fit; no model was made."""


def wait_on_workers(client: Client, tasks: list[Task]) -> None:
    """Until all tasks are done; an error or the end of a worker ends it at once.

    Parameters
    ----------
    client : Client
    tasks : list of (str, Future)
        The address of the only worker that can do it, and the task. Dask itself would wait for
        that worker for ever.

    Raises
    ------
    WorkerLostError
        If a worker is gone.
    """
    while True:
        if any(task.status in ("error", "lost", "cancelled") for _, task in tasks):
            _explain(client, tasks)
        lost = _lost(client, tasks)
        if lost:
            raise _lost_error(lost)
        pending = [task for _, task in tasks if task.status == "pending"]
        if not pending:
            return
        try:
            distributed.wait(pending, timeout=_LOOK_EVERY, return_when="FIRST_COMPLETED")
        except (TimeoutError, distributed.TimeoutError):
            continue


def _lost(client: Client, tasks: list[Task]) -> list[str]:
    """Workers that have gone with their task unfinished."""
    present = client.nthreads()
    return sorted({a for a, task in tasks if a not in present and task.status != "finished"})


def _explain(client: Client, tasks: list[Task]) -> None:
    """Raise what went wrong first: it breaks the other workers' connections, and they fail too."""
    until = time.monotonic() + _GRACE
    while True:
        errors = [task.exception() for _, task in tasks if task.status == "error"]
        own = [error for error in errors if not isinstance(error, _CONSEQUENCES)]
        if own:
            raise own[0]
        lost = _lost(client, tasks)
        if lost:
            raise _lost_error(lost) from (errors[0] if errors else None)
        if time.monotonic() > until:
            break
        time.sleep(_LOOK_EVERY)
    if errors:
        raise errors[0]
    raise WorkerLostError("a task of the fit was lost or cancelled, and no model was made")


def _lost_error(lost: list[str]) -> WorkerLostError:
    return WorkerLostError(
        f"worker {', '.join(lost)} was lost in the middle of the fit, and no model was made; "
        "start the fit again (with checkpoint= it continues from the last rounds written)"
    )
