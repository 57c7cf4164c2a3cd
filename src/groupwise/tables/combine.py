"""Several tables as one: a table of groups beside the rows, older tables beside the new one."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from groupwise.groups import show
from groupwise.tables.columns import column_kind, suggestion
from groupwise.tables.errors import OptionError, TableError
from groupwise.tables.read import LoadedTable

__all__ = ["join_groups", "stack_sources"]

_DOMAIN_COLUMNS = ("domain", "table", "source table")


def join_groups(rows: LoadedTable, groups: LoadedTable, group: str | None) -> LoadedTable:
    """The rows with every column of their group beside them.

    Parameters
    ----------
    rows : LoadedTable
    groups : LoadedTable
        One line per group: labels, counts, totals, features of groups.
    group : str
        The column that both have.

    Returns
    -------
    table : LoadedTable
        In the order of ``rows``; lines of groups without rows are left out and noted.

    Raises
    ------
    TableError
        If a group has no line or two, or a column is in both tables; the message names them.

    Examples
    --------
    >>> from groupwise.tables import as_table
    >>> rows = as_table(pd.DataFrame({"precinct": ["a", "b", "a"], "age": [30, 40, 50]}))
    >>> totals = as_table(pd.DataFrame({"precinct": ["b", "a"], "yes": [1, 0]}))
    >>> join_groups(rows, totals, "precinct").frame["yes"].tolist()
    [0, 1, 0]
    """
    if group is None:
        raise OptionError("`groups_table` needs `group`: the column that both tables have")
    for table in (rows, groups):
        if group not in table.frame.columns:
            raise TableError(
                f"{table.name} has no column {group!r} (`group`), which joins the two tables"
                f"{suggestion(table.frame, group)}"
            )
    new = [column for column in groups.frame.columns if column != group]
    both = [column for column in new if column in rows.frame.columns]
    if both:
        raise TableError(
            f"{rows.name} and {groups.name} both have {_columns(both)}; leave it out of one of them"
        )
    keys = _keys(groups, group)
    twice = keys[keys.duplicated()].unique()
    if len(twice):
        raise TableError(
            f"{groups.name} has more than one line for {_some(twice)}; one line per group is "
            "expected"
        )
    row_keys = _keys(rows, group)
    line = pd.Index(keys).get_indexer(pd.Index(row_keys))
    if (line < 0).any():
        lost = row_keys[line < 0]
        raise TableError(
            f"{len(lost):,} rows of {rows.name} have no line in {groups.name}: "
            f"{_some(lost.unique())} (a group without a label has a line with empty cells)"
        )
    frame = rows.frame.copy(deep=False)
    for column in new:
        frame[column] = groups.frame[column].take(line).set_axis(frame.index)
    unused = keys[~keys.isin(row_keys)]
    notes = [*rows.notes, *groups.notes]
    if len(unused):
        notes.append(f"{groups.name} has lines without rows, not used: {_some(unused)}")
    return LoadedTable(
        frame,
        f"{rows.name} with {groups.name}",
        _digest(rows.fingerprint, groups.fingerprint),
        tuple(notes),
        tuple(map(str, new)),
    )


def stack_sources(
    target: LoadedTable,
    sources: Mapping[str, LoadedTable],
    *,
    target_name: str,
    column: str | None = None,
    label: Sequence[str] = (),
) -> tuple[LoadedTable, str]:
    """The target's rows above those of other tables, with a column that says whose they are.

    Columns that are not in all of the tables are left out and noted, but for the label, which the
    target may lack.

    Parameters
    ----------
    target : LoadedTable
    sources : mapping of str to LoadedTable
        By the name of the domain.
    target_name : str
        Name of the target's domain.
    column : str, default=None
        Name of the new column; ``None``: ``"domain"``, or another where that is taken.
    label : sequence of str, default=()

    Returns
    -------
    table : LoadedTable
    column : str

    Examples
    --------
    >>> from groupwise.tables import as_table
    >>> new = as_table(pd.DataFrame({"x": [1], "y": [None]}))
    >>> old = as_table(pd.DataFrame({"x": [2, 3], "y": ["a", "b"]}))
    >>> table, column = stack_sources(new, {"old": old}, target_name="new", label=["y"])
    >>> table.frame[column].tolist()
    ['new', 'old', 'old']
    """
    tables = {target_name: target, **sources}
    everywhere = [name for name in _all_columns(tables) if _is_in_all(name, tables)]
    shared = [c for c in _all_columns(tables) if c in everywhere or _may_lack(c, label, sources)]
    column = _new_column(column, tables)
    notes = [note for table in tables.values() for note in table.notes]
    for name in _all_columns(tables):
        if name not in shared:
            lacking = next(t.name for t in tables.values() if name not in t.frame.columns)
            notes.append(f"column {name!r} is left out: {lacking} does not have it")
    if not [name for name in shared if name not in label]:
        raise TableError(
            f"{target.name} and {', '.join(t.name for t in sources.values())} have no column in "
            "common to learn from"
        )
    parts = []
    for domain, table in tables.items():
        part = table.frame.reindex(columns=shared)
        parts.append(part.assign(**{column: domain}))
    _check_kinds(tables, shared)
    frame = pd.concat(parts, ignore_index=True)
    shown = ", ".join(table.name for table in sources.values())
    return (
        LoadedTable(
            frame,
            f"{target.name} beside {shown}",
            _digest(*(table.fingerprint for table in tables.values())),
            tuple(notes),
        ),
        column,
    )


def _may_lack(column: str, label: Sequence[str], sources: Mapping[str, LoadedTable]) -> bool:
    return column in label and all(column in table.frame.columns for table in sources.values())


def _all_columns(tables: Mapping[str, LoadedTable]) -> list[str]:
    return list(dict.fromkeys(c for table in tables.values() for c in table.frame.columns))


def _is_in_all(column: str, tables: Mapping[str, LoadedTable]) -> bool:
    return all(column in table.frame.columns for table in tables.values())


def _new_column(column: str | None, tables: Mapping[str, LoadedTable]) -> str:
    taken = _all_columns(tables)
    if column is None:
        return next(name for name in _DOMAIN_COLUMNS if name not in taken)
    if column in taken:
        raise OptionError(
            f"`sources` makes every table a domain of its own; `domain` names {column!r}, which is "
            "a column already"
        )
    return column


def _check_kinds(tables: Mapping[str, LoadedTable], shared: Sequence[str]) -> None:
    """Refuse a column of numbers here and of text there."""
    for column in shared:
        found: dict[str, str] = {}
        for table in tables.values():
            if column in table.frame.columns and table.frame[column].notna().any():
                found.setdefault(column_kind(table.frame[column]), table.name)
        if len(found) > 1:
            (first, one), (second, other) = list(found.items())[:2]
            raise TableError(
                f"column {column!r} holds {_KINDS[first]} in {one} and {_KINDS[second]} in {other}"
            )


_KINDS = {"number": "numbers", "category": "text", "date": "dates", "nested": "nested values"}


def _keys(table: LoadedTable, group: str) -> pd.Series:
    """Ids as text, so that 7 in one file is 7 in the other."""
    values = table.frame[group]
    missing = values.isna().to_numpy()
    if missing.any():
        raise TableError(
            f"{table.name}: column {group!r} (`group`) is missing in {int(missing.sum())} rows, "
            f"the first of them row {int(np.argmax(missing))}"
        )
    return values.astype(str)


def _digest(*fingerprints: str) -> str:
    return hashlib.sha256("\n".join(fingerprints).encode()).hexdigest()


def _columns(names: Sequence[str]) -> str:
    return f"column{'s' * (len(names) > 1)} {', '.join(map(repr, names[:5]))}"


def _some(names: Any) -> str:
    shown = [show(name) for name in list(names)[:5]]
    more = len(names) - len(shown)
    plural = "group" if len(names) == 1 else "groups"
    return f"{plural} {', '.join(shown)}" + (f" and {more:,} more" if more else "")
