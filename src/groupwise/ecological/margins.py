"""The two margins of every unit's table, checked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import show
from groupwise.inputs.rows import expecting

__all__ = ["Margins", "check_margins", "check_order", "divide"]

# Shares that come rounded to four digits need not sum to one exactly.
_TOLERANCE = 2e-3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Margins:
    """Margins of the tables of all units.

    Attributes
    ----------
    rows : ndarray of shape (n_units, n_rows)
        How many of a unit are of each row category, or their share where sizes are not known.
    columns : ndarray of shape (n_units, n_columns)
        The same of the column categories; sums are those of ``rows``.
    counted : bool
        Whether these are numbers of people, not shares.
    row_names, column_names : ndarray of object
    """

    rows: Array
    columns: Array
    counted: bool
    row_names: NDArray[Any]
    column_names: NDArray[Any]

    @property
    def sizes(self) -> Array:
        """What a unit counts."""
        return np.asarray(self.rows.sum(axis=1))


def check_margins(rows: ArrayLike, columns: ArrayLike, sizes: ArrayLike | None = None) -> Margins:
    """Two tables with one line per unit, or of two categories the share of the first.

    Parameters
    ----------
    rows, columns : array-like or DataFrame of shape (n_units, n_categories) or (n_units,)
        Counts, or shares that sum to one; one column alone is the share of the first of two
        categories.
    sizes : array-like of shape (n_units,), default=None
        Of the units, where both tables hold shares.

    Raises
    ------
    GroupDataError
        For negative or missing numbers, different lengths, margins whose sums differ, and
        DataFrames with the same units in another order.
    """
    row, row_names = _table("rows", rows)
    column, column_names = _table("columns", columns)
    if len(row) != len(column):
        raise GroupDataError(
            f"rows and columns must have one line per unit, got {len(row)} and {len(column)}"
        )
    check_order("columns", columns, rows)
    shares = [_are_shares(table) for table in (row, column)]
    if sizes is None and shares[0] != shares[1]:
        counts = column if shares[0] else row
        return check_margins(rows, columns, counts.sum(axis=1))
    if sizes is None and not any(shares):
        size = row.sum(axis=1)
        wrong = np.flatnonzero(np.abs(size - column.sum(axis=1)) > _TOLERANCE * np.maximum(size, 1))
        if len(wrong):
            unit = wrong[0]
            raise GroupDataError(
                f"rows and columns of a unit must have the same sum; in unit {unit} they have "
                f"{size[unit]:g} and {column[unit].sum():g} (who is in no column, as those who did "
                "not vote, is a column too)"
            )
    size = _sizes(sizes, row) if sizes is not None or all(shares) else row.sum(axis=1)
    row, column = (divide(table, table.sum(axis=1)[:, None]) for table in (row, column))
    return Margins(
        row * size[:, None],
        column * size[:, None],
        sizes is not None or not all(shares),
        row_names,
        column_names,
    )


def divide(value: Array, by: Array) -> Array:
    """``value / by``, zero where ``by`` is zero."""
    return np.divide(value, by, out=np.zeros(np.broadcast(value, by).shape), where=by != 0)


def check_order(name: str, given: Any, rows: Any) -> None:
    """Refuse a DataFrame whose index has the units of the index of ``rows`` in another order."""
    if not (hasattr(given, "reindex") and hasattr(rows, "reindex")):
        return
    index, known = given.index, rows.index
    if len(index) == len(known) and not index.equals(known) and set(index) == set(known):
        unit = int(np.argmax(index != known))
        raise GroupDataError(
            f"rows and {name} must have their units in the same order; line {unit} is "
            f"{show(known[unit])} in one and {show(index[unit])} in the other"
        )


def _table(name: str, given: ArrayLike) -> tuple[Array, NDArray[Any]]:
    with expecting(name, "counts or shares"):
        table = np.asarray(given, dtype=float)
    if table.ndim == 1:
        if not np.all((table >= 0) & (table <= 1)):
            raise GroupDataError(f"{name} with one column must hold shares between 0 and 1")
        return np.column_stack([table, 1 - table]), np.array([0, 1], dtype=object)
    if table.ndim != 2 or table.shape[1] < 2 or not len(table):
        raise GroupDataError(
            f"{name} must have one line per unit and a column per category, got {table.shape}"
        )
    wrong = np.argwhere(~(np.isfinite(table) & (table >= 0)))
    if len(wrong):
        unit, category = wrong[0]
        raise GroupDataError(
            f"{name} must be counts or shares; unit {unit} has {table[unit, category]} in column "
            f"{category}"
        )
    names = getattr(given, "columns", range(table.shape[1]))
    return table, np.array(list(names), dtype=object)


def _are_shares(table: Array) -> bool:
    """Whether units sum to one, but for those that have nobody."""
    total = table.sum(axis=1)
    total = total[total > 0]
    return bool(len(total) and np.all(np.abs(total - 1) <= _TOLERANCE))


def _sizes(sizes: ArrayLike | None, row: Array) -> Array:
    if sizes is None:
        return np.ones(len(row))
    size = np.asarray(sizes, dtype=float)
    if size.shape != (len(row),) or not np.all(np.isfinite(size) & (size >= 0)):
        raise GroupDataError(f"sizes must hold one number of people per unit ({len(row)})")
    return size
