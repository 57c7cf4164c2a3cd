"""Predictions that stay where the rows are, and are made when they are asked for."""

from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray

from groupwise.dask.inputs import delayed_rows, is_frame
from groupwise.dask.repartition import check_whole
from groupwise.groups import Groups

__all__ = ["RowQuestion", "by_group", "by_row"]

_GROUP = "group"

#: Rows and, where there is any, what is known of them in; one line of numbers per row out.
RowQuestion = Callable[[Any, Any], NDArray[Any]]


def by_row(X: Any, ask: Callable[[Any], Any], columns: list[Any] | None, meta: Any) -> Any:
    """Ask about each partition's rows: a Dask array for an array, a Series or frame for a frame.

    Parameters
    ----------
    X : Dask DataFrame or array
    ask : callable
        Rows in, array of shape (n_rows,) or (n_rows, k) out.
    columns : list or None
        Names of the k columns.
    meta : ndarray of shape (0,) or (0, k)
    """
    if is_frame(X):
        return X.map_partitions(_ask_frame, ask, columns, meta, meta=_labelled(meta, columns))
    if not isinstance(X, da.Array):
        raise TypeError(f"X must be a Dask DataFrame or a Dask array, got {type(X).__name__}")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1}
    if meta.ndim == 2:
        shape = {"chunks": (X.chunks[0], (meta.shape[1],))}
    return X.map_blocks(_ask_block, ask, empty=meta, dtype=meta.dtype, meta=meta, **shape)


def _ask_block(block: Any, ask: Callable[[Any], Any], empty: NDArray[Any]) -> NDArray[Any]:
    return ask(block) if len(block) else empty


def _ask_frame(
    part: pd.DataFrame, ask: Callable[[Any], Any], columns: list[Any] | None, empty: NDArray[Any]
) -> Any:
    return _labelled(_ask_block(part, ask, empty), columns, part.index)


def _labelled(values: Any, columns: list[Any] | None, index: Any = None) -> Any:
    if columns is None:
        return pd.Series(values, index=index, name="predicted")
    return pd.DataFrame(values, index=index, columns=columns)


def by_group(
    client: Client,
    X: Any,
    y: Any,
    groups: Any,
    ask: RowQuestion,
    conclude: Callable[[NDArray[Any], Groups], Any],
    meta: Any,
    *,
    n_numbers: int,
    repartition: bool,
) -> Any:
    """Ask about rows, bring the answers of a group together, and conclude on the group.

    Only the answers are moved, never the features. Nothing is computed, except that with
    ``repartition=False`` the ids are read and checked.

    Parameters
    ----------
    client : Client
    X : Dask DataFrame or array
    y, groups : Dask Series or array, or names of columns of ``X``; ``y`` may be None
    ask : callable
        ``ask(X_part, y_part)``: an array of shape (n_rows, n_numbers).
    conclude : callable
        ``conclude(numbers, groups)``: a DataFrame or Series with one line per group, in the order
        of ``groups.names``.
    meta : DataFrame or Series
        What ``conclude`` gives, without lines.
    n_numbers : int
    repartition : bool

    Returns
    -------
    concluded : Dask DataFrame or Series
        Indexed by the group's id, in no particular order.
    """
    if groups is None:
        raise ValueError("groups is missing: which rows belong together?")
    rows = delayed_rows(X, groups if y is None else y, groups, None, None)
    assert rows.groups is not None
    kind = _id_kind(X[groups] if isinstance(groups, str) else groups)
    labels = [None] * rows.n_partitions if y is None else rows.y
    question = dask.delayed(ask)
    tables = [
        dask.delayed(_numbers)(question, *parts, n_numbers, kind)
        for parts in zip(rows.X, labels, rows.groups, strict=True)
    ]
    if repartition:
        empty = _table(np.empty((0, n_numbers)), np.empty(0, object), kind)
        with client.as_current():
            frame = dd.from_delayed(tables, meta=empty, verify_meta=False)
            tables = list(frame.shuffle(on=_GROUP, npartitions=len(tables)).to_delayed())
    else:
        check_whole(client, rows.groups)
    conclusion = dask.delayed(conclude)
    lines = [dask.delayed(_concluded)(table, conclusion, meta) for table in tables]
    return dd.from_delayed(lines, meta=meta, verify_meta=False)


def _id_kind(groups: Any) -> Any:
    """What ids are to pandas; Python objects are taken for text."""
    dtype = groups.dtype
    if isinstance(dtype, np.dtype) and dtype.kind in "OUS":
        return pd.Series(["text"]).dtype
    return dtype


def _numbers(ask: RowQuestion, X: Any, y: Any, ids: Any, n_numbers: int, kind: Any) -> pd.DataFrame:
    found = ask(X, y) if len(X) else np.empty((0, n_numbers))
    return _table(found, ids, kind)


def _table(numbers: NDArray[Any], ids: Any, kind: Any) -> pd.DataFrame:
    table = pd.DataFrame(numbers, columns=[f"n{k}" for k in range(numbers.shape[1])])
    table[_GROUP] = pd.Series(ids).reset_index(drop=True).astype(kind)
    return table


def _concluded(table: pd.DataFrame, conclude: Callable[..., Any], meta: Any) -> Any:
    if len(table) == 0:
        return meta
    groups = Groups(np.asarray(table[_GROUP]))
    found = conclude(table.drop(columns=_GROUP).to_numpy(), groups)
    return found.set_axis(pd.Index(groups.names, name=_GROUP), axis=0)
