"""A local cluster that is watched: memory of each worker, bytes over the loopback device."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil
from distributed import Client, LocalCluster


@contextmanager
def cluster(n_workers: int, memory_limit: str) -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            memory_limit=memory_limit,
        ) as local,
        Client(local) as client,
    ):
        yield client


class Watched:
    """Largest resident memory of any worker (MiB) and bytes sent over loopback in a block."""

    def __init__(self, client: Client):
        self._workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
        self.peak_mib = 0.0
        self.bytes_moved = 0

    def __enter__(self) -> "Watched":
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        self._before = _loopback()
        return self

    def __exit__(self, *_: Any) -> None:
        self.bytes_moved = _loopback() - self._before
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.is_set():
            used = max(worker.memory_info().rss for worker in self._workers if worker.is_running())
            self.peak_mib = max(self.peak_mib, used / 2**20)
            time.sleep(0.05)


def _loopback() -> int:
    return psutil.net_io_counters(pernic=True)["lo"].bytes_sent
