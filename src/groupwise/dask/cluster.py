"""One task on each worker, joined by XGBoost's tracker, and watched until all are done."""

import logging
import threading
import time
import uuid
from typing import Any

import distributed
from distributed import Client, Future
from distributed.comm import get_address_host
from xgboost.core import XGBoostError
from xgboost.tracker import RabitTracker

from groupwise.dask.training import Outcome, Plan, Share, train

__all__ = ["WorkerLostError", "run_on_workers"]

logger = logging.getLogger("groupwise.dask")

_LOOK_EVERY = 1.0  # seconds between two looks at which workers are there
_GRACE = 8.0  # seconds in which a worker's end explains an error of another


class WorkerLostError(RuntimeError):
    """A worker ended in the middle of a fit; no model was made."""


def run_on_workers(client: Client, shares: dict[str, Share], plan: Plan) -> Outcome:
    """Train on the workers that hold the partitions.

    Parameters
    ----------
    client : Client
    shares : dict of str to Share
        By the worker's address, in the order of the ranks.
    plan : Plan

    Raises
    ------
    WorkerLostError
        If a worker ends before the fit does; within seconds.
    """
    addresses, fit = list(shares), f"groupwise-{uuid.uuid4().hex}"
    names = [f"{fit}-{rank}" for rank in range(len(addresses))]
    # two fits that each hold some workers would wait for each other's for ever
    with distributed.MultiLock(addresses, client):
        args = _tracker_args(client, addresses)
        for name, share in zip(names, shares.values(), strict=True):
            client.publish_dataset(vars(share), name=name)
        tasks = {
            address: client.submit(
                train,
                names[rank],
                plan,
                rank,
                args,
                workers=[address],
                allow_other_workers=False,
                pure=False,
            )
            for rank, address in enumerate(addresses)
        }
        try:
            _wait(client, tasks)
            outcome = tasks[addresses[0]].result()
            assert outcome is not None  # the first worker has it
        finally:
            client.cancel(list(tasks.values()))
            for name in names:
                client.unpublish_dataset(name)
        return outcome


def _tracker_args(client: Client, addresses: list[str]) -> dict[str, Any]:
    """Start the tracker next to the first worker, which all others can reach."""
    start = client.submit(
        _start_tracker,
        len(addresses),
        get_address_host(addresses[0]),
        workers=addresses[:1],
        allow_other_workers=False,
        pure=False,
    )
    waiting = {addresses[0]: start}
    _wait(client, waiting)
    return start.result()


def _start_tracker(n_workers: int, host: str) -> dict[str, Any]:
    tracker = RabitTracker(n_workers=n_workers, host_ip=host, sortby="task")
    tracker.start()
    threading.Thread(target=_until_done, args=(tracker,), daemon=True).start()
    return tracker.worker_args()


def _until_done(tracker: RabitTracker) -> None:
    try:
        tracker.wait_for()
    except XGBoostError as error:  # its workers report the same error
        logger.info("the tracker of a fit ended: %s", error)


def _wait(client: Client, tasks: dict[str, Future]) -> None:
    """Until all tasks are done; an error or the end of a worker ends it at once."""
    while True:
        for address, task in tasks.items():
            if task.status in ("error", "lost", "cancelled"):
                _explain(client, tasks, address, task)
        lost = _lost(client, tasks)
        if lost:
            raise _lost_error(lost)
        pending = [task for task in tasks.values() if task.status == "pending"]
        if not pending:
            return
        try:
            distributed.wait(pending, timeout=_LOOK_EVERY, return_when="FIRST_COMPLETED")
        except (TimeoutError, distributed.TimeoutError):
            continue


def _lost(client: Client, tasks: dict[str, Future]) -> list[str]:
    """Workers that have gone with their task unfinished."""
    present = client.nthreads()
    return [a for a, task in tasks.items() if a not in present and task.status != "finished"]


def _explain(client: Client, tasks: dict[str, Future], address: str, task: Future) -> None:
    """Raise what went wrong: the end of a worker makes the others fail too."""
    errors = [t.exception() for t in tasks.values() if t.status == "error"]
    # one worker's error breaks the others' connections: the error that is not XGBoost's is first
    errors.sort(key=lambda e: isinstance(e, XGBoostError | distributed.KilledWorker))
    error = errors[0] if errors else None
    if isinstance(error, XGBoostError | distributed.KilledWorker) or error is None:
        until = time.monotonic() + _GRACE
        while time.monotonic() < until:
            lost = _lost(client, tasks)
            if lost:
                raise _lost_error(lost) from error
            time.sleep(_LOOK_EVERY)
    if error is None:
        raise WorkerLostError(f"the fit's task on worker {address} was {task.status}")
    raise error


def _lost_error(lost: list[str]) -> WorkerLostError:
    return WorkerLostError(
        f"worker {', '.join(lost)} was lost in the middle of the fit, and no model was made; "
        "start the fit again (with checkpoint= it continues from the last rounds written)"
    )
