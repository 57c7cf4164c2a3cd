"""Group ids as integer codes, and what can be computed per group without a loop over groups."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import is_hashable
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components

from groupwise.exceptions import GroupDataError

__all__ = ["Groupings", "Groups"]


class Groups:
    """The grouping of rows that a vector of ids describes.

    Parameters
    ----------
    ids : array-like of shape (n_rows,)
        One id per row, of any hashable kind (integers, strings, timestamps, tuples, a pandas
        categorical), in any order; rows of a group need not be neighbours.

    Attributes
    ----------
    names : ndarray of shape (n_groups,)
        The distinct ids, as ``np.unique`` gives them: sorted. Ids of kinds that cannot be compared
        with each other (``1`` and ``"a"``) are sorted by the name of their type, then by value
        (by how they are written, where values have no order).
    codes : ndarray of shape (n_rows,)
        For every row the position of its group in ``names``.
    sizes : ndarray of shape (n_groups,)
        The number of rows of each group.

    Examples
    --------
    >>> from groupwise import Groups
    >>> g = Groups(["mon", "tue", "mon", "mon"])
    >>> g.names.tolist(), g.sizes.tolist()
    (['mon', 'tue'], [3, 1])
    >>> g.mean([1.0, 5.0, 2.0, 3.0]).tolist()
    [2.0, 5.0]
    >>> g.spread(["a", "b"]).tolist()
    ['a', 'b', 'a', 'a']
    """

    names: NDArray[Any]
    codes: NDArray[np.intp]

    def __init__(self, ids: ArrayLike):
        values = _as_id_vector(ids)
        if values.dtype.kind == "U":  # numpy's own strings: pandas would copy each into an object
            self.names, codes = np.unique(values, return_inverse=True)
        else:
            self.names, codes = _encode(values)
        self.codes = codes.astype(np.intp, copy=False)
        self._freeze()

    @classmethod
    def singletons(cls, n_rows: int) -> "Groups":
        """Every row its own group: what ``groups=None`` means."""
        self = cls.__new__(cls)
        self.names = np.arange(n_rows)
        self.codes = np.arange(n_rows, dtype=np.intp)
        self._freeze()
        return self

    @classmethod
    def of_sizes(cls, sizes: NDArray[np.intp] | Sequence[int]) -> "Groups":
        """Rows that already lie group after group, so many of each; groups are named 0, 1, ...

        Examples
        --------
        >>> Groups.of_sizes([2, 1]).codes.tolist()
        [0, 0, 1]
        """
        self = cls.__new__(cls)
        self.names = np.arange(len(sizes))
        self.codes = np.repeat(np.arange(len(self.names), dtype=np.intp), sizes)
        self._freeze()
        return self

    def _freeze(self) -> None:
        self.names.flags.writeable = False
        self.codes.flags.writeable = False

    def __repr__(self) -> str:
        return f"Groups(n_rows={self.n_rows}, n_groups={self.n_groups})"

    def __len__(self) -> int:
        return self.n_groups

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Groups)
            and np.array_equal(self.codes, other.codes)
            and np.array_equal(self.names, other.names)
        )

    # unhashable, as arrays are; ignored: object declares a method where Python wants None
    __hash__ = None  # type: ignore[assignment]  # Python's way to say: none

    @property
    def n_rows(self) -> int:
        return len(self.codes)

    @property
    def n_groups(self) -> int:
        return len(self.names)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.codes, minlength=self.n_groups)

    @cached_property
    def offsets(self) -> NDArray[np.intp]:
        """Bounds of the groups in ``order``: group i is ``order[offsets[i]:offsets[i + 1]]``."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Rows sorted by group, in their given order inside each (a counting sort)."""
        shape = (self.n_rows, self.n_groups)
        membership = csr_array(
            (np.ones(self.n_rows, np.int8), self.codes, np.arange(self.n_rows + 1)), shape=shape
        )
        return membership.tocsc().indices.astype(np.intp, copy=False)

    @cached_property
    def first_rows(self) -> NDArray[np.intp]:
        """The first row of each group."""
        first = np.empty(self.n_groups, np.intp)
        first[self.codes[::-1]] = np.arange(self.n_rows - 1, -1, -1)  # the last write wins
        return first

    @cached_property
    def _in_order(self) -> bool:
        """Whether the rows already lie sorted by group, which makes sums quicker."""
        return self.n_rows > 0 and bool((self.codes[1:] >= self.codes[:-1]).all())

    def sum(self, values: ArrayLike) -> NDArray[Any]:
        """Sum of the rows' values per group; (n_rows,) or (n_rows, k), added as float64."""
        array = self._row_values(values)
        if self._in_order:
            return np.add.reduceat(array.astype(float, copy=False), self.offsets[:-1], axis=0)
        if array.ndim == 1:
            return np.bincount(self.codes, weights=array, minlength=self.n_groups)
        if array.shape[1] == 0:
            return np.empty((self.n_groups, 0))
        return np.column_stack([self.sum(column) for column in array.T])

    def mean(self, values: ArrayLike) -> NDArray[Any]:
        """Mean of the rows' values per group."""
        total = self.sum(values)
        return total / (self.sizes if total.ndim == 1 else self.sizes[:, None])

    def max(self, values: ArrayLike) -> NDArray[Any]:
        """Largest of the rows' values per group."""
        array = self._row_values(values)
        if array.ndim == 1:
            out = array[self.first_rows]
            np.maximum.at(out, self.codes, array)
            return out
        return np.column_stack([self.max(column) for column in array.T])

    def logsumexp(self, values: ArrayLike) -> NDArray[Any]:
        """``log(sum(exp(values)))`` per group, finite for all finite values."""
        array = self._row_values(values).astype(float, copy=False)
        if array.ndim == 2:
            return np.column_stack([self.logsumexp(column) for column in array.T])
        if max(array.max(initial=0), -array.min(initial=0)) < 600:  # exp of them is normal
            return np.log(self.sum(np.exp(array)))
        top = self.max(array)
        shift = np.where(np.isfinite(top), top, 0.0)  # a group of -inf only
        scaled = shift.take(self.codes, mode="clip")
        np.subtract(array, scaled, out=scaled)
        np.exp(scaled, out=scaled)
        with np.errstate(divide="ignore"):
            return np.log(self.sum(scaled)) + shift

    def spread(self, values_group: ArrayLike) -> NDArray[Any]:
        """Give every row its group's value; the inverse of :meth:`one_per_group`."""
        array = np.asarray(values_group)
        if array.shape[:1] != (self.n_groups,):
            raise ValueError(
                f"spread expects one value per group ({self.n_groups}), got shape {array.shape}"
            )
        return array[self.codes]

    def one_per_group(self, values: ArrayLike, *, name: str = "y") -> NDArray[Any]:
        """Take the value that all rows of each group share.

        Raises
        ------
        GroupDataError
            If a group's rows hold different values; the message names the group and two of them.
        """
        array = self._row_values(values)
        out = array[self.first_rows]
        differs = array != out[self.codes]
        if differs.ndim == 2:
            differs = differs.any(axis=1)
        if differs.any():
            row = int(np.argmax(differs))
            group = self.codes[row]
            more = len(np.unique(self.codes[differs])) - 1
            raise GroupDataError(
                f"{name} must be the same on every row of a group; group {show(self.names[group])} "
                f"holds {show(out[group])} and {show(array[row])}"
                + (f" ({more} more groups differ too)" if more else "")
            )
        return out

    def same_partition(self, other: "Groups") -> bool:
        """Whether the two put the same rows together, whatever the names."""
        if self.n_rows != other.n_rows or self.n_groups != other.n_groups:
            return False
        return bool(np.array_equal(other.codes[self.first_rows][self.codes], other.codes))

    def _row_values(self, values: ArrayLike) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape[:1] != (self.n_rows,):
            raise ValueError(f"expected one value per row ({self.n_rows}), got shape {array.shape}")
        return array


class Groupings:
    """Several groupings of the same rows: a table of ids, one column for each.

    Parameters
    ----------
    table : DataFrame, mapping of names to columns, or array of shape (n_rows, n_groupings)
        A missing id says that the row is in no group of that grouping. The columns of an array are
        named 0, 1, ...

    Attributes
    ----------
    ids : dict
        The columns by name.
    rows : dict
        The rows that are in a group, by name.
    groups : dict
        The :class:`Groups` of these rows, by name.
    n_rows : int

    Examples
    --------
    >>> g = Groupings({"user": ["a", "a", "b"], "county": [1, 2, None]})
    >>> g.groups["user"].sizes.tolist(), g.rows["county"].tolist()
    ([2, 1], [0, 1])
    """

    def __init__(self, table: Any):
        self.ids = _id_columns(table)
        lengths = {name: len(column) for name, column in self.ids.items()}
        if len(set(lengths.values())) > 1:
            raise GroupDataError(f"the columns of groups must be equally long, got {lengths}")
        self.n_rows = next(iter(lengths.values()))
        self.rows = {
            name: np.flatnonzero(~np.asarray(pd.isna(column))) for name, column in self.ids.items()
        }
        self.groups = {name: Groups(self.ids[name][rows]) for name, rows in self.rows.items()}

    def __repr__(self) -> str:
        sizes = {name: groups.n_groups for name, groups in self.groups.items()}
        return f"Groupings(n_rows={self.n_rows}, n_groups={sizes})"

    @property
    def n_groups(self) -> int:
        """Groups of all groupings."""
        return sum(groups.n_groups for groups in self.groups.values())

    def take(self, rows: NDArray[np.intp]) -> "Groupings":
        """Some of the rows."""
        return Groupings({name: column[rows] for name, column in self.ids.items()})

    def components(self) -> Groups:
        """The finest grouping that keeps the groups of all groupings whole."""
        first, row, node = self.n_rows, [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for name, groups in self.groups.items():
            row.append(self.rows[name])
            node.append(first + groups.codes)
            first += groups.n_groups
        ends = np.concatenate(row), np.concatenate(node)
        graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(first, first))
        return Groups(connected_components(graph, directed=False)[1][: self.n_rows])


def _id_columns(table: Any) -> dict[Any, NDArray[Any]]:
    if isinstance(table, Mapping):
        columns = {name: _as_id_vector(column) for name, column in table.items()}
    elif getattr(table, "columns", None) is not None:
        columns = {name: np.asarray(table[name]) for name in table.columns}
    else:
        array = np.asarray(table)
        if array.ndim != 2:
            raise GroupDataError(
                "several groupings need a table of ids, one column for each; got shape "
                f"{array.shape}"
            )
        columns = dict(enumerate(array.T))
    if not columns:
        raise GroupDataError("groups must have at least one column of ids")
    return columns


def show(value: Any) -> str:
    """Show an id or label in a message as its owner wrote it, not as ``np.str_('a')``."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def _as_id_vector(ids: ArrayLike) -> NDArray[Any]:
    if isinstance(ids, list | tuple) and ids:
        # one by one: numpy would make floats of 2**63, text of 1 and "a", a table of tuples
        values = np.empty(len(ids), dtype=object)
        values[:] = ids
        return _narrowed(values)
    values = np.asarray(ids)
    if values.ndim != 1:
        raise GroupDataError(
            f"groups must hold one id per row (a 1-D array), got shape {values.shape}"
        )
    if values.dtype.kind == "U" and not isinstance(ids, np.ndarray):
        # ignored: an ArrayLike that became a 1-D array of text is an iterable
        return _narrowed(np.fromiter(ids, dtype=object, count=len(values)))  # type: ignore[arg-type]
    return values


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Ids of one kind as numpy's own, where that merges none and costs no more.

    Fixed-width text is as wide as the longest id on every row, and drops zeros at the end; numbers
    beyond 64 bits, or beyond 53 beside fractions, would be rounded.
    """
    kind = pd.api.types.infer_dtype(values, skipna=False)
    if kind == "string":
        lengths = np.fromiter(map(len, values), np.intp, len(values))
        if lengths.max() > max(64, 4 * lengths.mean()) or any(t.endswith("\0") for t in values):
            return values
        return values.astype("U")
    if kind in ("integer", "boolean", "floating", "datetime64", "timedelta64"):
        plain = np.asarray(values.tolist())
        return values if kind == "integer" and plain.dtype.kind not in "iu" else plain
    if kind == "mixed-integer-float" and all(abs(value) <= 2**53 for value in values):
        return np.asarray(values.tolist())
    return values


def _encode(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Hash the ids, then sort the few distinct ones; numbers in order are counted up."""
    if values.dtype.kind in "iu" and len(values) and (values[1:] >= values[:-1]).all():
        starts = np.concatenate([[0], np.flatnonzero(values[1:] != values[:-1]) + 1])
        sizes = np.diff(starts, append=len(values))
        return values[starts], np.repeat(np.arange(len(starts)), sizes)
    try:
        codes, names = pd.factorize(values)
    except TypeError as error:
        row, value = next((r, v) for r, v in enumerate(values) if not is_hashable(v))
        raise GroupDataError(
            f"groups must hold hashable ids; row {row} holds a {type(value).__name__}"
        ) from error
    if (codes < 0).any():
        missing = np.flatnonzero(codes < 0)
        raise GroupDataError(
            f"groups must name a group on every row; {len(missing)} ids are missing, "
            f"the first on row {missing[0]}"
        )
    names = np.asarray(names)
    if names.dtype.kind in "OU" and not (names[codes] == values).all():
        codes, names = _factorize(values)
    try:
        order = np.argsort(names, kind="stable")
    except TypeError:
        order = np.array(sorted(range(len(names)), key=_sort_keys(names).__getitem__), np.intp)
    rank = np.empty(len(names), np.intp)
    rank[order] = np.arange(len(names))
    return names[order], rank[codes]


def _factorize(values: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[Any]]:
    """Like pandas' factorize, which in version 2.1 reads text up to the first zero only."""
    code_of: dict[Any, int] = {}
    codes = np.fromiter((code_of.setdefault(v, len(code_of)) for v in values), np.intp, len(values))
    names = np.empty(len(code_of), dtype=values.dtype)
    names[:] = list(code_of)
    return codes, names


def _sort_keys(names: NDArray[Any]) -> list[tuple[str, Any]]:
    """By the type's name, then by value, or as they are written where these have no order."""
    keys = [(type(name).__name__, name) for name in names]
    try:
        sorted(keys)
    except TypeError:
        return [(kind, repr(name)) for kind, name in keys]
    return keys
