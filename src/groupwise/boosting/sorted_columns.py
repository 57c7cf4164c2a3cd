"""Columns of a table sorted once, for bins of several parts of its rows."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows

__all__ = ["PartOfRows", "SortedColumns", "part_in_hand"]

#: What LightGBM takes for zero, which it counts but does not sort.
_ZERO = float(np.float32(1e-35))
# Sorting fewer is quicker than what it takes to save it.
_FEWEST_ROWS = 5_000

# Places of the values that are not zero, by value, and these values.
_Sorted = tuple[NDArray[np.int32], NDArray[np.float64]]


class SortedColumns:
    """The columns of a table, sorted when they are first asked for.

    LightGBM sorts the values of each column to choose its bins. Those of a part of the rows in
    order are those of all rows in order without the others: a model of the part is the same to the
    bit as one fitted to it alone, and knows as little of the others.

    Parameters
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_rows, n_features)
        Of anything but an array nothing is sorted here.

    Examples
    --------
    >>> X = np.random.RandomState(0).normal(size=(8000, 2))
    >>> columns, rows = SortedColumns(X), np.arange(6000)
    >>> part = X[rows]
    >>> with columns.fitting(part, rows):
    ...     values, _ = part_in_hand(part).samples()
    >>> bool((values[1] == np.sort(part[:, 1])).all())
    True
    """

    def __init__(self, X: Any):
        self.X = X
        self._sorted: list[_Sorted | None] | None = None

    @contextmanager
    def fitting(self, X_part: Any, rows: NDArray[np.intp] | None) -> Iterator[None]:
        """Let this very array be known as these rows (``None``: all) inside the block."""
        token = _in_hand.set(PartOfRows(X_part, rows, self))
        try:
            yield
        finally:
            _in_hand.reset(token)

    def by_value(self, n_threads: int) -> list[_Sorted | None]:
        """Each column; ``None`` where values are missing. 0 threads are all cores."""
        if self._sorted is None:
            with ThreadPoolExecutor(n_threads or joblib.cpu_count()) as pool:
                self._sorted = list(pool.map(_sort, self.X.T))
        return self._sorted


def _sort(column: NDArray[Any]) -> _Sorted | None:
    filled = _filled(column)
    values = column[filled].astype(np.float64)
    order = np.argsort(values)
    values = values[order]
    return None if np.isnan(values[-1:]).any() else (filled[order], values)


def _filled(column: NDArray[Any]) -> NDArray[np.int32]:
    """Rows with a value that is not zero, or with none."""
    return np.flatnonzero(~(np.abs(column) <= _ZERO)).astype(np.int32)


@dataclass(frozen=True)
class PartOfRows:
    """Some rows of a table whose columns are sorted together.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    rows : ndarray of shape (n_rows,)
        Where they are in the table; ``None``: they are all of it.
    columns : SortedColumns
    """

    X: Any
    rows: NDArray[np.intp] | None
    columns: SortedColumns

    @property
    def is_worth_it(self) -> bool:
        """Whether taking rows out of the sorted columns is quicker than to sort them again."""
        X, whole = self.X, self.columns.X
        return (
            isinstance(X, np.ndarray)
            and isinstance(whole, np.ndarray)
            and X.dtype in (np.float32, np.float64)
            and X.flags.c_contiguous
            and max(_FEWEST_ROWS, len(whole) // 2) <= len(X)
            and (self.rows is None or bool((self.rows[1:] > self.rows[:-1]).all()))  # none twice
        )

    def samples(
        self, n_threads: int = 1
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int32]]]:
        """What LightGBM is told of each column: its values, in order, and the rows that have some.

        Zeros are left out. Where values are missing the others come as they lie: what is not in
        order LightGBM sorts itself.
        """
        kept = None
        if self.rows is not None:
            kept = np.zeros(len(self.columns.X), dtype=bool)
            kept[self.rows] = True
        every, values, places = np.arange(len(self.X), dtype=np.int32), [], []
        for column, known in zip(self.X.T, self.columns.by_value(n_threads), strict=True):
            filled = every
            if known is None or len(known[0]) < len(self.columns.X):
                filled = _filled(column)
            if known is None:
                values.append(column[filled].astype(np.float64))
            elif kept is None:
                values.append(known[1].copy())
            else:
                values.append(known[1].compress(kept.take(known[0])))
            places.append(filled)
        return values, places


_in_hand: ContextVar[PartOfRows | None] = ContextVar("_in_hand", default=None)


def part_in_hand(X: Rows) -> PartOfRows | None:
    """What is known of the order of these rows' columns, where it is worth knowing."""
    part = _in_hand.get()
    return part if part is not None and part.X is X and part.is_worth_it else None
