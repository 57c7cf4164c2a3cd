"""Rows on a worker's disk: they are needed a few times before training, one partition at a time."""

import os
import tempfile
import weakref
from typing import Any

import numpy as np
from distributed import get_worker
from numpy.typing import NDArray

__all__ = ["Parked", "park", "unparked"]


class Parked:
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


def park(rows: Any) -> Parked:
    """Put an array on the disk of the worker whose task this is."""
    return rows if isinstance(rows, Parked) else Parked(rows, get_worker().local_directory)


def unparked(rows: Any) -> NDArray[Any]:
    """The array, wherever it is."""
    return rows.load() if isinstance(rows, Parked) else rows
