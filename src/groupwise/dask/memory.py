"""A worker's memory: rows that wait on its disk, and freed memory that is kept between rounds."""

import ctypes
import os
import platform
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

__all__ = ["SpilledArray", "keep_freed_memory", "load_spilled", "spill"]

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of glibc's mallopt
_DEFAULT = 128 * 1024
_KEPT, _LARGEST_ON_HEAP = 1 << 30, 32 << 20


class SpilledArray:
    """An array in a file of the worker's own folder, which goes when this object goes.

    To Dask it is small. Sent to another worker it becomes an array again.
    """

    def __init__(self, array: NDArray[Any], folder: str):
        handle, self._path = tempfile.mkstemp(dir=folder, prefix="groupwise-", suffix=".npy")
        with os.fdopen(handle, "wb") as file:
            np.save(file, array, allow_pickle=False)
        weakref.finalize(self, _remove, self._path)

    def load(self) -> NDArray[Any]:
        """The array, read anew."""
        return np.load(self._path, allow_pickle=False)

    def __reduce__(self) -> Any:
        return np.asarray, (self.load(),)


def _remove(path: str) -> None:
    if os.path.exists(path):  # Dask removes the folder of a worker that ends
        os.unlink(path)


def spill(rows: NDArray[Any] | SpilledArray) -> SpilledArray:
    """Put an array on the disk of the worker whose task this is."""
    return (
        rows if isinstance(rows, SpilledArray) else SpilledArray(rows, get_worker().local_directory)
    )


def load_spilled(rows: NDArray[Any] | SpilledArray) -> NDArray[Any]:
    """The array, wherever it is."""
    return rows.load() if isinstance(rows, SpilledArray) else rows


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Let the C library keep freed memory for a while, where it is glibc.

    Dask starts its workers with ``MALLOC_TRIM_THRESHOLD_=65536``: what is freed goes back to the
    system at once and has to be mapped again, page by page, by the next array. In a loop over
    arrays that cost more than the arithmetic (a round of the majority loss took three times as
    long).
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(_TRIM_THRESHOLD, _KEPT)
    libc.mallopt(_MMAP_THRESHOLD, _LARGEST_ON_HEAP)
    try:
        yield
    finally:
        before = int(os.environ.get("MALLOC_TRIM_THRESHOLD_", _DEFAULT))
        libc.mallopt(_TRIM_THRESHOLD, before)
        libc.mallopt(_MMAP_THRESHOLD, _DEFAULT)
        libc.malloc_trim(0)
