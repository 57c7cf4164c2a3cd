"""Groups that cross partitions: found, named, and brought together."""

import logging
from dataclasses import replace
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.delayed import Delayed
from distributed import Client
from numpy.typing import NDArray

from groupwise.dask.ids import hash_ids
from groupwise.dask.inputs import DelayedRows
from groupwise.exceptions import GroupDataError
from groupwise.groups import show

__all__ = ["check_whole", "crossing_group", "gather_groups"]

logger = logging.getLogger("groupwise.dask")

_GROUP, _HASH, _ROW, _WEIGHT = "__group", "__hash", "__row", "__weight"


def gather_groups(client: Client, rows: DelayedRows, *, repartition: bool) -> DelayedRows:
    """The same rows, with every group inside one partition.

    Raises
    ------
    GroupDataError
        If a group crosses partitions and ``repartition`` is false; the message names it.
    """
    if rows.groups is None:
        return rows
    if not repartition:
        check_whole(client, rows.groups)
        return rows
    found = crossing_group(client, rows.groups)
    if found is None:
        return rows
    logger.info("%d groups cross partitions, %r is one: repartitioned", found[3], found[0])
    return _shuffled(client, rows)


def check_whole(client: Client, groups: list[Delayed]) -> None:
    """Refuse partitions that a group crosses."""
    found = crossing_group(client, groups)
    if found is None:
        return
    name, first, second, n_crossing = found
    more = f" ({n_crossing - 1:,} more groups do too)" if n_crossing > 1 else ""
    raise GroupDataError(
        f"group {show(name)} has rows in partitions {first} and {second}{more}; groups must not "
        "cross partitions: repartition=True brings them together"
    )


def crossing_group(client: Client, groups: list[Delayed]) -> tuple[Any, int, int, int] | None:
    """A group that has rows in more than one partition, two of these, and how many such groups.

    Each partition sends the sorted hashes of its ids, 8 bytes per group; one worker looks for equal
    ones. Two names with one hash are told apart by asking for the names.
    """
    hashes = client.compute([dask.delayed(_distinct)(part) for part in groups])
    pairs = client.submit(_equal_in_two, hashes, pure=False).result()
    for pair, first, second in pairs[:1000].tolist():
        names = [
            client.compute(dask.delayed(_name_of)(groups[part], pair)) for part in (first, second)
        ]
        here, there = client.gather(names)
        if here == there:
            return here, first, second, len(pairs)
    return None


def _distinct(ids: Any) -> NDArray[np.uint64]:
    return np.unique(hash_ids(ids))


def _equal_in_two(hashes: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """Lines (hash, first partition, second partition), one per hash that occurs twice or more."""
    part = np.repeat(np.arange(len(hashes), dtype=np.uint64), [len(h) for h in hashes])
    merged = np.concatenate(hashes)
    order = np.argsort(merged, kind="stable")
    merged, part = merged[order], part[order]
    twice = np.flatnonzero(merged[1:] == merged[:-1])
    _, once = np.unique(merged[twice], return_index=True)
    twice = twice[once]
    return np.column_stack([merged[twice], part[twice], part[twice + 1]])


def _name_of(ids: Any, wanted: int) -> Any:
    """The first id with this hash."""
    position = int(np.argmax(hash_ids(ids) == np.uint64(wanted)))
    return np.asarray(ids)[position]


def _shuffled(client: Client, rows: DelayedRows) -> DelayedRows:
    """All rows of a group in one partition, by Dask's shuffle on the hash of the id."""
    assert rows.groups is not None
    weight: list[Any] = rows.weight or [None] * rows.n_partitions
    tables = [
        dask.delayed(_table)(*parts, number)
        for number, parts in enumerate(zip(rows.X, rows.y, rows.groups, weight, strict=True))
    ]
    meta = client.compute(dask.delayed(_head)(tables[0])).result()
    with client.as_current():
        frame = dd.from_delayed(tables, meta=meta, verify_meta=False)
        parts = frame.shuffle(on=_HASH, npartitions=rows.n_partitions).to_delayed()
    unpacked = [dask.delayed(_unpacked, nout=4)(part, rows.y_columns) for part in parts]
    X, y, groups, weights = (list(column) for column in zip(*unpacked, strict=True))
    return replace(
        rows,
        X=X,
        y=y,
        groups=groups,
        weight=None if rows.weight is None else weights,
        shuffled=True,
    )


def _table(X: Any, y: Any, ids: Any, weight: Any, number: int) -> pd.DataFrame:
    """One partition as one table; where each row came from makes the order certain."""
    table = pd.DataFrame(X).reset_index(drop=True)
    table.columns = [f"x{position}" for position in range(table.shape[1])]
    labels = pd.DataFrame(y).reset_index(drop=True)
    for position in range(labels.shape[1]):
        table[f"y{position}"] = labels.iloc[:, position]
    table[_GROUP] = pd.Series(ids).reset_index(drop=True)
    table[_HASH] = hash_ids(ids)
    table[_ROW] = np.arange(len(table), dtype=np.int64) + (number << 40)
    if weight is not None:
        table[_WEIGHT] = pd.Series(weight).reset_index(drop=True)
    return table


def _head(table: pd.DataFrame) -> pd.DataFrame:
    return table.iloc[:0]


def _unpacked(table: pd.DataFrame, y_columns: list[Any] | None) -> tuple[Any, Any, Any, Any]:
    """Features, labels, ids and weights, in the order the rows had before."""
    table = table.sort_values(_ROW, ignore_index=True)
    labels = table[[column for column in table.columns if column.startswith("y")]]
    return (
        table[[column for column in table.columns if column.startswith("x")]],
        labels.iloc[:, 0] if y_columns is None else labels.set_axis(y_columns, axis=1),
        table[_GROUP],
        table.get(_WEIGHT, None),
    )
