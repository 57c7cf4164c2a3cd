"""What a table says of its rows besides features: labels, shares, groups, domains.

What is true of any labels or shares is checked in :mod:`groupwise.inputs`, as for arrays; here the
errors get the table's and the column's names.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import class_shares
from groupwise.inputs.labels import refuse_missing
from groupwise.inputs.shares import SHARE_TOLERANCE
from groupwise.tables import TableError
from groupwise.tables.cells import numbers_in_text
from groupwise.tables.columns import column_kind, suggestion

__all__ = [
    "GroupingTargets",
    "Targets",
    "about_columns",
    "amounts_of",
    "are_numbers",
    "are_percent",
    "class_codes",
    "get_column",
    "ids_of",
    "label_column",
    "labels_of",
    "numbers_of",
    "order_of",
    "refuse_stray_blanks",
    "shares_of",
    "too_many_classes",
    "whole_of",
]


@dataclass(frozen=True)
class GroupingTargets:
    """What is known of rows by several groupings.

    Attributes
    ----------
    codes : dict of str to ndarray of shape (n_rows,)
        By the name of the grouping, the number of a row's group; -1 where it is in none.
    y : dict of str to ndarray of shape (n_rows,) or (n_rows, n_columns)
        What an estimator is told; anything on rows that are in no group.
    of_rows : bool
        Whether ``y`` are labels of the rows, which are counted anew for some of a group's rows;
        what is known of a group as a whole says nothing of some of its rows.
    """

    codes: dict[str, NDArray[np.intp]]
    y: dict[str, NDArray[Any]]
    of_rows: bool

    def take(self, rows: NDArray[np.intp]) -> "GroupingTargets":
        """The same for some of the rows: groups that are not whole are left out."""
        codes = {name: code[rows] for name, code in self.codes.items()}
        if not self.of_rows:
            codes = {name: _whole_only(part, self.codes[name]) for name, part in codes.items()}
        return GroupingTargets(codes, {name: y[rows] for name, y in self.y.items()}, self.of_rows)

    def ids(self) -> dict[str, NDArray[np.float64]]:
        """What an estimator is given as ``groups``."""
        return {name: np.where(code < 0, np.nan, code) for name, code in self.codes.items()}


def _whole_only(part: NDArray[np.intp], code: NDArray[np.intp]) -> NDArray[np.intp]:
    n = code.max(initial=0) + 1
    lost = np.bincount(part[part >= 0], minlength=n) < np.bincount(code[code >= 0], minlength=n)
    return np.where((part >= 0) & ~lost[part], part, -1)


@dataclass(frozen=True)
class Targets:
    """What is known of a table's rows besides their features.

    Attributes
    ----------
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, or the group's shares or number on each of its rows.
    groups : Groups
        What counts once in a score.
    classes : tuple of str
        What the codes mean; none, where numbers are known.
    domains : ndarray of shape (n_rows,), default=None
    whole : ndarray of shape (n_rows,), default=None
        Coarser ids that no fold divides.
    told : ndarray of shape (n_rows, n_columns), default=None
        Reports that ``y`` was made of, where a method learns from these.
    groupings : GroupingTargets, default=None
        What a method learns from, where rows are in several groupings.
    exposure : ndarray of shape (n_rows,), default=None
        What rows' rates are multiplied by.
    variance : float, default=1.0
        Of the numbers of all groups of the table, where numbers are known.
    notes : tuple of str
        What a person should know about how they were read.
    """

    y: NDArray[Any]
    groups: Groups
    classes: tuple[str, ...]
    domains: NDArray[Any] | None = None
    whole: NDArray[Any] | None = None
    told: NDArray[Any] | None = None
    groupings: GroupingTargets | None = None
    exposure: NDArray[np.float64] | None = None
    variance: float = 1.0
    notes: tuple[str, ...] = ()

    @property
    def known(self) -> Any:
        """What an estimator is given as ``y``."""
        if self.groupings is not None:
            return self.groupings.y
        return self.y if self.told is None else self.told

    def whole_of_groups(self) -> list[str] | None:
        """The coarser id of each group, where there are such."""
        return None if self.whole is None else [str(w) for w in self.whole[self.groups.first_rows]]

    def take(self, rows: NDArray[np.intp]) -> "Targets":
        """The same for some of the rows."""
        return Targets(
            self.y[rows],
            Groups(self.groups.names[self.groups.codes[rows]]),
            self.classes,
            None if self.domains is None else self.domains[rows],
            None if self.whole is None else self.whole[rows],
            None if self.told is None else self.told[rows],
            None if self.groupings is None else self.groupings.take(rows),
            None if self.exposure is None else self.exposure[rows],
            self.variance,
            self.notes,
        )


@contextmanager
def about_columns(name: str, *columns: str, advice: str = "") -> Iterator[None]:
    """Turn errors about ``y`` into errors about columns of a table.

    Examples
    --------
    >>> with about_columns("t.csv", "kind"):
    ...     raise GroupDataError("y must hold a value on every row")
    Traceback (most recent call last):
        ...
    groupwise.tables.errors.TableError: t.csv: column 'kind' must hold a value on every row
    """
    try:
        yield
    except GroupDataError as error:
        shown = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))}"
        said = str(error)
        text = f"{shown} {said[2:]}" if said.startswith("y ") else f"{shown}: {said}"
        raise TableError(f"{name}: {text}{advice}") from error


def get_column(frame: pd.DataFrame, column: str, name: str, argument: str) -> pd.Series:
    """The column that an argument names."""
    if column not in frame.columns:
        raise TableError(
            f"{name} has no column {column!r} (`{argument}`){suggestion(frame, column)}"
        )
    return frame[column]


def label_column(frame: pd.DataFrame, column: str, name: str) -> pd.Series:
    """The column of labels, of single values."""
    values = get_column(frame, column, name, "label")
    if column_kind(values) == "nested":
        raise TableError(f"{name}: column {column!r} (`label`) holds nested or mixed values")
    return values


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
        unsigned = pd.api.types.is_unsigned_integer_dtype(values.dtype)
        return values.to_numpy(dtype=np.uint64 if unsigned else np.int64)
    if column_kind(values) == "nested":
        raise TableError(f"{name}: column {column!r} (`{argument}`) holds nested or mixed values")
    refuse_stray_blanks(values, name, column)
    return values.astype(str).to_numpy(dtype=str)


def _holds_booleans(values: pd.Series) -> bool:
    """Also where some were missing, which makes objects of them."""
    return pd.api.types.infer_dtype(values, skipna=True) == "boolean"


def labels_of(frame: pd.DataFrame, column: str, name: str, groups: Groups) -> NDArray[Any]:
    """Labels of classes as text, none missing."""
    values = label_column(frame, column, name)
    with about_columns(name, column):
        refuse_missing(values.to_numpy(), groups)
    kind = column_kind(values)
    if kind == "date":
        raise TableError(f"{name}: column {column!r} holds date values, not labels")
    if pd.api.types.is_integer_dtype(values.dtype):
        return values.astype(str).to_numpy(dtype=str)
    if kind == "number" and not _holds_booleans(values):
        numbers = values.to_numpy(dtype=float)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            row = int(np.argmax(~(np.isfinite(numbers) & (numbers == np.floor(numbers)))))
            raise TableError(
                f"{name}: column {column!r} holds {numbers[row]:g} in row {row}; a label names a "
                "class (a number of each group goes with `kind` mean or total; shares of classes "
                "with proportions, one column per class)"
            )
        return numbers.astype(np.int64).astype(str)
    refuse_stray_blanks(values, name, column)
    return values.astype(str).to_numpy(dtype=str)


def refuse_stray_blanks(values: pd.Series, name: str, column: str) -> None:
    """Refuse names that are the same but for blanks before or after them, and for capitals."""
    if column_kind(values) != "category":
        return
    different = pd.Series(values.dropna().unique()).astype(str)
    stripped = different.str.strip()
    same = stripped.str.casefold()
    doubtful = different[same.duplicated(keep=False) & (stripped != different)]
    if len(doubtful):
        stray = doubtful.iloc[0]
        other = different[(same == stray.strip().casefold()) & (different != stray)].iloc[0]
        how = "blanks only" if other.strip() == stray.strip() else "blanks and capitals only"
        raise TableError(
            f"{name}: column {column!r} holds {other!r} and {stray!r}, which differ by {how}"
        )


def whole_of(
    frame: pd.DataFrame, column: str | None, name: str, groups: Groups
) -> NDArray[Any] | None:
    """Coarser ids, of which every group has one."""
    if column is None:
        return None
    ids = ids_of(frame, column, name, "keep_whole")
    first = ids[groups.first_rows][groups.codes]
    if (ids != first).any():
        row = int(np.argmax(ids != first))
        raise TableError(
            f"{name}: group {show(groups.names[groups.codes[row]])} has rows of "
            f"{show(first[row])} and of {show(ids[row])} in column {column!r} (`keep_whole`); a "
            "group must lie in one of them"
        )
    return ids


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
        if too_many_classes(len(found), groups):
            numbers = numbers_in_text(pd.Series(found)).notna().all()
            advice = " (a number of each group goes with `kind` mean, total or survival)"
            raise TableError(
                f"{name}: column {column!r} holds {len(found)} different labels in "
                f"{groups.n_groups} groups; is it a label?{advice * bool(numbers)}"
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


def too_many_classes(n_classes: int, groups: Groups) -> bool:
    """Whether so many different labels are names or numbers rather than classes."""
    return n_classes > max(20, groups.n_groups / 2)


def are_numbers(labels: pd.Series, groups: Groups) -> bool:
    """Whether these are amounts, not names of classes: with fractions, or too many."""
    if not pd.api.types.is_numeric_dtype(labels.dtype):
        return False
    fractions = bool((labels.dropna().astype(float) % 1 != 0).any())
    return fractions or too_many_classes(labels.nunique(), groups)


def shares_of(
    frame: pd.DataFrame, columns: tuple[str, ...], name: str, groups: Groups
) -> NDArray[np.float64]:
    """Shares of the classes, from one column per class of counts, shares or percent, on rows."""
    table = pd.DataFrame({column: amounts_of(frame, column, name) for column in columns})
    if are_percent(table, groups):
        table = table / 100.0
    else:
        _refuse_few_that_are_no_percent(table, groups, name)
    with about_columns(name, *columns):
        return groups.spread(class_shares(table, groups)[0])


def are_percent(table: pd.DataFrame, groups: Groups) -> bool:
    """Whether columns of numbers add up to 100 in every group, and are no counts of its rows."""
    if not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        return False
    total, near = _near_100(table)
    return bool(near.all()) and not bool((total == groups.sizes[groups.codes]).all())


def _near_100(table: pd.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What the columns of each row add up to, and whether it is 100 but for rounding."""
    total = table.sum(axis=1, skipna=False).to_numpy()
    return total, np.abs(total - 100.0) <= 100.0 * SHARE_TOLERANCE * table.shape[1]


def _refuse_few_that_are_no_percent(table: pd.DataFrame, groups: Groups, name: str) -> None:
    """Name the group that keeps percent from being read as such."""
    if not all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        return
    total, near = (each[groups.first_rows] for each in _near_100(table))
    if not near.all() and near.mean() > 0.5 and not (total == groups.sizes).mean() > 0.5:
        wrong = int(np.argmin(near))
        raise TableError(
            f"{name}: {', '.join(map(repr, table.columns))} add up to about 100 in "
            f"{int(near.sum())} of {len(near)} groups, and to {total[wrong]:g} in group "
            f"{show(groups.names[wrong])}"
        )


def numbers_of(frame: pd.DataFrame, column: str, name: str, argument: str) -> NDArray[np.float64]:
    """Numbers, none missing."""
    values = amounts_of(frame, column, name, argument)
    if not pd.api.types.is_numeric_dtype(values.dtype):
        found = pd.to_numeric(values, errors="coerce")
        row = int(np.argmax((found.isna() & values.notna()).to_numpy()))
        raise TableError(
            f"{name}: column {column!r} (`{argument}`) must hold numbers; row {row} holds "
            f"{str(values.iloc[row])!r}"
        )
    missing = values.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{name}: column {column!r} (`{argument}`) is missing in {int(missing.sum())} rows, "
            f"the first of them row {int(np.argmax(missing))}"
        )
    return values.to_numpy(dtype=float)


def amounts_of(frame: pd.DataFrame, column: str, name: str, argument: str = "label") -> pd.Series:
    """Counts or shares; as they are where they cannot be read as numbers."""
    values = get_column(frame, column, name, argument)
    kind = column_kind(values)
    if kind == "category":
        numbers = numbers_in_text(values)
        return values if (numbers.isna() & values.notna()).any() else numbers
    if kind != "number":
        return values
    return pd.Series(values.to_numpy(dtype=float, na_value=np.nan), index=values.index)


def _numbers_by_size(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label
