"""Group ids as 64-bit hashes, which are small and mean the same on every worker."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError

__all__ = ["hash_ids", "held_out"]


def hash_ids(ids: Any) -> NDArray[np.uint64]:
    """A hash of each id; equal ids have equal hashes, on any machine and in any session."""
    values = pd.Series(ids).reset_index(drop=True)
    missing = values.isna().to_numpy()
    if missing.any():
        raise GroupDataError(
            f"groups must name a group on every row; {int(missing.sum())} ids are missing, the "
            f"first on row {int(np.argmax(missing))} of its partition"
        )
    hashes = pd.util.hash_pandas_object(values, index=False)
    return hashes.to_numpy().astype(np.uint64, copy=False)


def held_out(hashes: NDArray[np.uint64], fraction: float, seed: int) -> NDArray[np.bool_]:
    """Which groups to hold out: by their names and the seed alone.

    So the choice is the same however the rows are cut into partitions and whoever asks.

    Examples
    --------
    >>> import numpy as np
    >>> round(float(held_out(hash_ids(np.arange(10_000)), 0.2, seed=0).mean()), 2)
    0.2
    """
    mixed = hashes ^ _mixed(np.array([seed], np.uint64))
    return _mixed(mixed) < np.uint64(fraction * (2.0**64 - 2048.0))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of splitmix64: every bit in changes half of the bits out."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
