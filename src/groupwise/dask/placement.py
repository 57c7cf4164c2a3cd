"""Which worker trains on which partition: neighbours together, the same on every run."""

from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from distributed import Client, Future
from numpy.typing import NDArray

from groupwise.dask.inputs import DelayedRows
from groupwise.dask.memory import spill
from groupwise.dask.partitions import PartitionSpec, PartitionTargets, prepare_partition
from groupwise.dask.wait import wait_on_workers
from groupwise.exceptions import GroupDataError

__all__ = ["PreparedPartitions", "WorkerPartitions", "place", "prepare_partitions"]


@dataclass(frozen=True)
class WorkerPartitions:
    """The partitions of one worker: rows and targets, to train on and held out."""

    rows: list["Future[Any]"]
    targets: list["Future[Any]"]
    held_rows: list["Future[Any]"]
    held_targets: list["Future[Any]"]


class PreparedPartitions:
    """Partitions that were checked and sorted on the workers.

    Attributes
    ----------
    rows, targets, held_rows, held_targets : list of Future
        One per partition.
    summary, held_summary : list of dict
        A few numbers of each partition.
    """

    def __init__(self, client: Client, columns: list[list["Future[Any]"]]):
        self.rows, self.targets, self.held_rows, self.held_targets = columns
        n = len(self.rows)
        found = client.gather(
            client.map(PartitionTargets.summary, [*self.targets, *self.held_targets], pure=False)
        )
        self.summary, self.held_summary = found[:n], found[n:]

    def total(self, what: str) -> int:
        """Sum over the partitions of a number of the summary."""
        return sum(part[what] for part in self.summary)

    def total_held(self, what: str) -> int:
        """The same for held-out rows."""
        return sum(part[what] for part in self.held_summary)


def prepare_partitions(
    client: Client, rows: DelayedRows, spec: PartitionSpec, workers: list[str]
) -> PreparedPartitions:
    """Check and sort every partition, on the worker that will train on it where that is free."""
    none = [None] * rows.n_partitions
    prepared = [
        dask.delayed(prepare_partition, nout=4)(*parts, number, spec)
        for number, parts in enumerate(
            zip(rows.X, rows.y, rows.groups or none, rows.weight or none, strict=True)
        )
    ]
    owner = _owners(rows.n_partitions, len(workers))
    # a shuffle leaves its partitions where it likes; all others are read where they are wanted
    calls: list[tuple[NDArray[np.intp], list[str] | None]] = [(np.arange(len(prepared)), None)]
    if not rows.shuffled:
        calls = [(np.flatnonzero(owner == r), [workers[r]]) for r in np.unique(owner)]
    columns: list[list[Any]] = [[None] * len(prepared) for _ in range(4)]
    for numbers, where in calls:
        wanted = [prepared[number][k] for k in range(4) for number in numbers]
        # rather elsewhere than never, should the worker be lost
        futures = iter(client.compute(wanted, workers=where, allow_other_workers=True))
        for column in columns:
            for number in numbers:
                column[number] = next(futures)
    return PreparedPartitions(client, columns)


def place(
    client: Client, ready: PreparedPartitions, held: PreparedPartitions | None
) -> dict[str, WorkerPartitions]:
    """Settle every partition on its worker.

    Parameters
    ----------
    client : Client
    ready : PreparedPartitions
    held : PreparedPartitions or None
        Held-out rows that were passed apart; by default those of ``ready``.

    Returns
    -------
    placed : dict of str to WorkerPartitions
        By the worker's address, in the order of the ranks; each has rows to train on.
    """
    n_rows = np.array([part["n_rows"] for part in ready.summary])
    if n_rows.sum() == 0:
        raise GroupDataError("there are no rows to train on")
    workers = _by_content(client, ready.rows)
    owner = _owners(len(n_rows), len(workers))
    filled = np.flatnonzero(n_rows)
    # a partition without rows to train on goes with the nearest that has some
    nearest = filled[np.abs(filled[:, None] - np.arange(len(n_rows))).argmin(axis=0)]
    ranks, owner = np.unique(owner[nearest], return_inverse=True)
    workers = [workers[rank] for rank in ranks]
    columns = [(ready.rows, owner), (ready.targets, owner)]
    if held is None:
        columns += [(ready.held_rows, owner), (ready.held_targets, owner)]
    else:
        held_owner = _owners(len(held.rows), len(workers))
        columns += [(held.rows, held_owner), (held.targets, held_owner)]
    settled = [_settled(client, futures, where, workers) for futures, where in columns]
    return {
        address: WorkerPartitions(
            *(
                [futures[number] for number in np.flatnonzero(where == rank)]
                for futures, (_, where) in zip(settled, columns, strict=True)
            )
        )
        for rank, address in enumerate(workers)
    }


def _owners(n_partitions: int, n_workers: int) -> NDArray[np.intp]:
    return np.arange(n_partitions) * min(n_workers, n_partitions) // n_partitions


def _by_content(client: Client, futures: list["Future[Any]"]) -> list[str]:
    """The workers there are, in the order of the partitions they hold."""
    held: dict[str, list[int]] = {address: [] for address in client.nthreads()}
    where = client.who_has(futures)
    for number, future in enumerate(futures):
        for address in where[future.key]:
            if address in held:
                held[address].append(number)
    last = len(futures)
    return sorted(held, key=lambda address: (float(np.mean(held[address] or last)), address))


def _settled(
    client: Client, futures: list["Future[Any]"], owner: NDArray[np.intp], workers: list[str]
) -> list["Future[Any]"]:
    """The same partitions, moved where they are not with their owner."""
    where = client.who_has(futures)
    settled = []
    for future, rank in zip(futures, owner.tolist(), strict=True):
        address = workers[rank]
        if address not in where[future.key]:
            future = client.submit(
                _moved, future, workers=[address], allow_other_workers=False, pure=False
            )
        settled.append(future)
    wait_on_workers(client, [(workers[rank], f) for f, rank in zip(settled, owner, strict=True)])
    return settled


def _moved(part: Any) -> Any:
    return part if isinstance(part, PartitionTargets) else spill(part)
