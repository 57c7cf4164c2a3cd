"""What a table says of its rows besides features: labels, shares, groups, domains.

Errors name the table, the column, and the row or group.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.groups import Groups, show
from groupwise.tables import TableError
from groupwise.tables.columns import column_kind, suggestion

__all__ = ["Targets", "class_codes", "get_column", "ids_of", "labels_of", "order_of", "shares_of"]


@dataclass(frozen=True)
class Targets:
    """What is known of a table's rows besides their features.

    Attributes
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, or the group's shares on each of its rows.
    groups : Groups
        What counts once in a score.
    classes : tuple of str
        What the codes mean.
    domains : ndarray of shape (n_rows,), default=None
    """

    y: NDArray[Any]
    groups: Groups
    classes: tuple[str, ...]
    domains: NDArray[Any] | None = None

    def take(self, rows: NDArray[np.intp]) -> "Targets":
        """The same for some of the rows."""
        return Targets(
            self.y[rows],
            Groups(self.groups.names[self.groups.codes[rows]]),
            self.classes,
            None if self.domains is None else self.domains[rows],
        )


def get_column(frame: pd.DataFrame, column: str, name: str, argument: str) -> pd.Series:
    """The column that an argument names."""
    if column not in frame.columns:
        raise TableError(
            f"{name} has no column {column!r} (`{argument}`){suggestion(frame, column)}"
        )
    return frame[column]


def ids_of(frame: pd.DataFrame, column: str, name: str, argument: str) -> NDArray[Any]:
    """Ids of groups or domains as text (or whole numbers), none missing."""
    values = get_column(frame, column, name, argument)
    missing = values.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{name}: column {column!r} (`{argument}`) is missing in {int(missing.sum())} rows, "
            f"the first of them row {int(np.argmax(missing))}"
        )
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.to_numpy(dtype=np.int64)
    if column_kind(values) == "nested":
        raise TableError(f"{name}: column {column!r} (`{argument}`) holds nested or mixed values")
    return values.astype(str).to_numpy(dtype=str)


def labels_of(frame: pd.DataFrame, column: str, name: str, groups: Groups) -> NDArray[Any]:
    """Labels of classes as text, none missing."""
    values = get_column(frame, column, name, "label")
    missing = values.isna().to_numpy()
    if missing.any():
        row = int(np.argmax(missing))
        raise TableError(
            f"{name}: column {column!r} has no label in {int(missing.sum())} rows, the first in "
            f"group {show(groups.names[groups.codes[row]])} (row {row})"
        )
    kind = column_kind(values)
    if kind in ("date", "nested"):
        raise TableError(f"{name}: column {column!r} holds {kind} values, not labels")
    if kind == "number" and not pd.api.types.is_bool_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            row = int(np.argmax(~(np.isfinite(numbers) & (numbers == np.floor(numbers)))))
            raise TableError(
                f"{name}: column {column!r} holds {numbers[row]:g} in row {row}; a label names a "
                "class (shares of classes go with `kind` proportions, one column per class)"
            )
        return numbers.astype(np.int64).astype(str)
    return values.astype(str).to_numpy(dtype=str)


def order_of(frame: pd.DataFrame, column: str | None, name: str) -> NDArray[Any]:
    """Where the rows stand in their groups."""
    if column is None:
        return np.arange(len(frame))
    values = get_column(frame, column, name, "order")
    if column_kind(values) == "date":
        return values.astype(str).to_numpy(dtype=str)
    return values.to_numpy()


def class_codes(
    labels: NDArray[Any], classes: tuple[str, ...] | None, groups: Groups, name: str, column: str
) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Codes of labels: of the model's classes, or of the classes found here."""
    position, different = pd.factorize(labels)
    if classes is None:
        found = sorted(different.tolist(), key=_numbers_by_size)
        if len(found) < 2:
            raise TableError(
                f"{name}: column {column!r} holds one class only ({found[0]!r}); at least two are "
                "needed"
            )
        if len(found) > max(20, groups.n_groups / 2):
            raise TableError(
                f"{name}: column {column!r} holds {len(found)} different labels in "
                f"{groups.n_groups} groups; is it a label?"
            )
        classes = tuple(found)
    order = {label: code for code, label in enumerate(classes)}
    codes = np.array([order.get(label, -1) for label in different.tolist()], np.intp)[position]
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise TableError(
            f"{name}: column {column!r} holds {str(labels[row])!r} in group "
            f"{show(groups.names[groups.codes[row]])}, which is not among the model's classes: "
            f"{', '.join(classes)}"
        )
    return codes, classes


def shares_of(
    frame: pd.DataFrame, columns: tuple[str, ...], name: str, groups: Groups
) -> NDArray[np.float64]:
    """Shares of the classes, from one count or share column per class."""
    table = np.column_stack([_amounts(frame, column, name, groups) for column in columns])
    table_group = table[groups.first_rows]
    differs = (table != table_group[groups.codes]).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        raise TableError(
            f"{name}: columns {', '.join(map(repr, columns))} must be the same on every row of a "
            f"group; group {show(groups.names[groups.codes[row]])} holds "
            f"{table_group[groups.codes[row]].tolist()} and {table[row].tolist()}"
        )
    total = table_group.sum(axis=1)
    is_share = np.abs(total - 1.0) <= 5e-3
    is_count = np.abs(total - groups.sizes) <= 1e-6 * groups.sizes
    wrong = ~(is_share | is_count)
    if wrong.any():
        group = int(np.argmax(wrong))
        raise TableError(
            f"{name}: columns {', '.join(map(repr, columns))} must add up to 1 (shares) or to the "
            f"rows of the group (counts); in group {show(groups.names[group])} of "
            f"{groups.sizes[group]} rows they add up to {total[group]:g}"
        )
    return table / groups.spread(total)[:, None]


def _amounts(frame: pd.DataFrame, column: str, name: str, groups: Groups) -> NDArray[np.float64]:
    values = get_column(frame, column, name, "label")
    if column_kind(values) != "number":
        raise TableError(
            f"{name}: column {column!r} must hold counts or shares, row 0 holds "
            f"{str(values.iloc[0])!r}"
        )
    numbers = values.to_numpy(dtype=float, na_value=np.nan)
    bad = ~(np.isfinite(numbers) & (numbers >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        what = "is missing" if np.isnan(numbers[row]) else f"holds {numbers[row]:g}"
        raise TableError(
            f"{name}: column {column!r} {what} in group "
            f"{show(groups.names[groups.codes[row]])} (row {row}); counts and shares are >= 0"
        )
    return numbers


def _numbers_by_size(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
