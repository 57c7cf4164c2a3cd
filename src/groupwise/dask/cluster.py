"""One task on each worker, joined by XGBoost's tracker, and watched until all are done."""

import logging
import threading
import uuid
from typing import Any

import distributed
from distributed import Client
from distributed.comm import get_address_host
from xgboost.core import XGBoostError
from xgboost.tracker import RabitTracker

from groupwise.dask.placement import WorkerPartitions
from groupwise.dask.training import Outcome, Plan, train
from groupwise.dask.wait import wait_on_workers

__all__ = ["run_on_workers"]

logger = logging.getLogger("groupwise.dask")


def run_on_workers(client: Client, placed: dict[str, WorkerPartitions], plan: Plan) -> Outcome:
    """Train on the workers that hold the partitions.

    Parameters
    ----------
    client : Client
    placed : dict of str to WorkerPartitions
        By the worker's address, in the order of the ranks.
    plan : Plan

    Raises
    ------
    WorkerLostError
        If a worker ends before the fit does; within seconds.
    """
    addresses, fit = list(placed), f"groupwise-{uuid.uuid4().hex}"
    names = [f"{fit}-{rank}" for rank in range(len(addresses))]
    # two fits that each hold some workers would wait for each other's for ever
    with distributed.MultiLock(addresses, client):
        args = _tracker_args(client, addresses)
        for name, partitions in zip(names, placed.values(), strict=True):
            client.publish_dataset(vars(partitions), name=name)
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
            wait_on_workers(client, list(tasks.items()))
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
    wait_on_workers(client, [(addresses[0], start)])
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
