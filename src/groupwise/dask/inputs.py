"""What the caller passes: features, labels, ids and weights, each as delayed partitions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import dask.dataframe as dd
from dask.delayed import Delayed

__all__ = ["DelayedRows", "delayed_rows", "is_frame", "to_delayed"]


@dataclass(frozen=True)
class DelayedRows:
    """Rows on a cluster: features, labels, ids and weights, delayed, of each partition.

    Attributes
    ----------
    X, y : list of Delayed
    groups : list of Delayed or None
        ``None``: each row is a group.
    weight : list of Delayed or None
    columns : list
        Names of the features; their positions for an array.
    y_columns : list or None
        Names of the classes where ``y`` is a table of shares.
    group_columns : list or None, default=None
        Names of the groupings where ``groups`` is a table of ids.
    shuffled : bool, default=False
        Whether Dask has to bring rows together first.
    """

    X: list[Delayed]
    y: list[Delayed]
    groups: list[Delayed] | None
    weight: list[Delayed] | None
    columns: list[Any]
    y_columns: list[Any] | None
    group_columns: list[Any] | None = None
    shuffled: bool = False

    @property
    def n_partitions(self) -> int:
        return len(self.X)


def delayed_rows(
    X: Any, y: Any, groups: Any, sample_weight: Any, group_column: str | None
) -> DelayedRows:
    """Take Dask DataFrames or arrays apart; nothing is computed.

    ``y``, ``groups`` and ``sample_weight`` may be names of columns of ``X``, which then are no
    features.
    """
    if not isinstance(X, dd.DataFrame | da.Array):
        raise TypeError(f"X must be a Dask DataFrame or a Dask array, got {type(X).__name__}")
    if groups is None:
        groups = group_column
    if y is None:
        raise ValueError("y is missing: what is known of the groups?")
    features: Any = X
    known: dict[str, Any] = {}
    for name, value in {"y": y, "groups": groups, "sample_weight": sample_weight}.items():
        known[name] = _column(X, value, name)
    named = [c for value in (y, groups, sample_weight) for c in _names(value)]
    if named:
        features = features.drop(columns=named)
    n = X.npartitions if is_frame(X) else X.numblocks[0]
    return DelayedRows(
        X=to_delayed(features, "X", n),
        y=to_delayed(known["y"], "y", n),
        groups=None if known["groups"] is None else to_delayed(known["groups"], "groups", n),
        weight=None
        if known["sample_weight"] is None
        else to_delayed(known["sample_weight"], "sample_weight", n),
        columns=list(features.columns) if is_frame(features) else list(range(X.shape[1])),
        y_columns=_class_names(known["y"]),
        group_columns=_group_names(known["groups"]),
    )


def is_frame(X: Any) -> bool:
    """Whether this is a Dask DataFrame."""
    return isinstance(X, dd.DataFrame)


def to_delayed(collection: Any, name: str, n_partitions: int) -> list[Delayed]:
    """One delayed object per partition; a table is never cut across its columns."""
    if not isinstance(collection, dd.DataFrame | dd.Series | da.Array):
        raise TypeError(
            f"{name} must be a Dask DataFrame, Series or array (or the name of a column of X), "
            f"got {type(collection).__name__}"
        )
    if isinstance(collection, da.Array):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        parts = list(collection.to_delayed().ravel())
    else:
        # optimised further, Dask would read several partitions of a narrow table as one
        parts = list(collection.simplify().to_delayed(optimize_graph=False))
    if len(parts) != n_partitions:
        raise ValueError(
            f"{name} has {len(parts)} partitions, X has {n_partitions}: both must be cut alike"
        )
    return parts


def _names(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, Sequence) else []


def _column(X: Any, value: Any, name: str) -> Any:
    names = _names(value)
    if not names:
        return value
    if not is_frame(X):
        raise TypeError(f"{name} is the name of a column, but X is an array")
    missing = [column for column in names if column not in X.columns]
    if missing:
        raise ValueError(
            f"X has no column {missing[0]!r} ({name}); its columns are {list(X.columns)}"
        )
    return X[value] if isinstance(value, str) else X[names]


def _group_names(groups: Any) -> list[Any] | None:
    """The groupings of a table of ids."""
    if groups is None or groups.ndim != 2:
        return None
    return list(groups.columns) if is_frame(groups) else list(range(groups.shape[1]))


def _class_names(y: Any) -> list[Any] | None:
    """The classes of a table of shares."""
    if y.ndim != 2 or y.shape[1] == 1:
        return None
    return list(y.columns) if is_frame(y) else list(range(y.shape[1]))
