"""One partition prepared: rows sorted by group, and what is known of each group."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.dask.groupings import PackedGroupings
from groupwise.dask.ids import hash_ids, held_out
from groupwise.dask.memory import SpilledArray, spill
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.rows import LARGEST_WEIGHT, refuse_size
from groupwise.losses import GroupLoss
from groupwise.targets import GroupTargets, group_target

__all__ = ["PartitionSpec", "PartitionTargets", "as_matrix", "prepare_partition"]

# XGBoost reads these as they are; anything wider it makes float32 itself
_SMALL = tuple(np.dtype(kind) for kind in ("uint8", "int8", "uint16", "int16"))


@dataclass(frozen=True)
class PartitionSpec:
    """How a partition is checked and sorted.

    Attributes
    ----------
    loss : GroupLoss
    n_classes : int
    y_row : callable
        ``y_row(y, groups)``: class codes, shares or numbers of the rows, checked.
    fraction, seed : float, int
        WorkerPartitions of the groups to hold out (0 for none), and which.
    with_digest : bool
        Whether the rows are to be recognised again.
    packed : PackedGroupings or None
        Where there are several groupings.
    """

    loss: GroupLoss
    n_classes: int
    y_row: Callable[[Any, Groups], NDArray[Any]]
    fraction: float = 0.0
    seed: int = 0
    with_digest: bool = False
    packed: PackedGroupings | None = None


@dataclass(frozen=True)
class PartitionTargets:
    """What is known of a partition's groups, in the order of its rows.

    Attributes
    ----------
    sizes : ndarray of shape (n_groups,)
    target : ndarray of shape (n_groups,) or (n_groups, n_classes)
    weight_row : ndarray of shape (n_rows,) or None
    n_seen : int
        Groups before those without weight were left out; held-out ones are counted with the rows
        to train on.
    digest : int
        Of rows, targets and weights.
    others : ndarray of shape (n_rows, n_columns) or None
        What is known by other groupings.
    """

    sizes: NDArray[np.intp]
    target: NDArray[Any]
    weight_row: NDArray[Any] | None
    n_seen: int = 0
    digest: int = 0
    others: NDArray[np.float64] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.sizes.sum())

    def summary(self) -> dict[str, int]:
        """The few numbers the caller needs of it."""
        return {
            "n_rows": self.n_rows,
            "n_groups": len(self.sizes),
            "n_seen": self.n_seen,
            "digest": self.digest,
        }


def prepare_partition(
    X: Any, y: Any, ids: Any, weight: Any, number: int, spec: PartitionSpec
) -> tuple[SpilledArray, PartitionTargets, SpilledArray, PartitionTargets]:
    """Check one partition, whose groups are whole, and sort its rows by group.

    Returns
    -------
    X, targets, X_held, targets_held
        Rows to train on and rows of held-out groups, on the worker's disk.

    Raises
    ------
    GroupDataError
        Naming the partition and the group that is wrong.
    """
    matrix = as_matrix(X, number)
    for name, column in (("y", y), ("groups", ids), ("sample_weight", weight)):
        if column is not None and len(column) != len(matrix):
            raise GroupDataError(
                f"partition {number} of X has {len(matrix)} rows, that of {name} {len(column)}"
            )
    try:
        groups = Groups.singletons(len(matrix)) if ids is None else Groups(np.asarray(ids))
        if len(matrix) == 0:
            empty, rows = PartitionTargets(np.empty(0, np.intp), np.empty(0), None), spill(matrix)
            return rows, empty, rows, empty
        y_row = spec.y_row(y, groups)
        weight_row = None if weight is None else _weights(weight, groups)
    except GroupDataError as error:
        raise GroupDataError(f"partition {number}: {error}") from error
    names = groups.names if ids is not None else groups.names + (number << 40)
    held_group = held_out(hash_ids(names), spec.fraction, spec.seed)
    held_row = groups.spread(held_group)
    kept = np.ones(len(matrix), bool) if weight_row is None else weight_row > 0
    data = GroupTargets(matrix, y_row, groups, weight_row)
    train = _sorted_part(data, kept & ~held_row, number, spec, groups.n_groups)
    held = _sorted_part(data, kept & held_row, number, spec, 0)
    return *train, *held


def _sorted_part(
    data: GroupTargets, wanted: NDArray[np.bool_], number: int, spec: PartitionSpec, n_seen: int
) -> tuple[SpilledArray, PartitionTargets]:
    """Some of the rows, group after group."""
    if not wanted.any():
        return spill(data.X[:0]), PartitionTargets(np.empty(0, np.intp), np.empty(0), None, n_seen)
    if not wanted.all():
        data = data.take(np.flatnonzero(wanted))
    loss, own, others = spec.loss, data.y_row, None
    if spec.packed is not None:
        loss, own = spec.packed.loss.first, spec.packed.own(data.y_row)
        others = data.y_row[:, spec.packed.n_own :]
    target = group_target(loss, own, data.groups, spec.n_classes)
    try:  # here, where the groups still have names
        loss.check(target, data.groups, n_classes=spec.n_classes, weight_row=data.weight_row)
    except GroupDataError as error:
        raise GroupDataError(f"partition {number}: {error}") from error
    X, weight_row = data.X, data.weight_row
    if (np.diff(data.groups.codes) < 0).any():
        X = X[data.groups.order]
        weight_row = None if weight_row is None else weight_row[data.groups.order]
        others = None if others is None else others[data.groups.order]
    digest = 0
    if spec.with_digest:
        for array in (X, target, data.groups.sizes, weight_row, others):
            if array is not None:
                digest = zlib.crc32(np.ascontiguousarray(array).tobytes(), digest)
    return spill(X), PartitionTargets(data.groups.sizes, target, weight_row, n_seen, digest, others)


def as_matrix(part: Any, number: int = 0) -> NDArray[Any]:
    """Features as an array XGBoost takes: small integers as they are, all else as float32."""
    if isinstance(part, pd.DataFrame):
        kinds = [_kind(part[column], number) for column in part.columns]
        kind = np.result_type(*kinds)
        with np.errstate(over="ignore"):  # refused below
            matrix = (
                part.to_numpy(kind)
                if kind in _SMALL
                else part.to_numpy(np.float32, na_value=np.nan)
            )
    else:
        array = part = np.asarray(part)
        if array.ndim != 2 or array.dtype.kind not in "buif":
            raise GroupDataError(
                f"partition {number} of X must be a table of numbers, got shape {array.shape} of "
                f"{array.dtype}"
            )
        kind = np.dtype(np.uint8) if array.dtype.kind == "b" else array.dtype
        with np.errstate(over="ignore"):
            matrix = array.astype(kind if kind in _SMALL else np.float32, copy=False)
    if matrix.dtype.kind == "f" and np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0].tolist()
        where = f"in partition {number}, row {row}, column {column}"
        value = float((part.iloc if isinstance(part, pd.DataFrame) else part)[row, column])
        if np.isfinite(value):
            limit = np.finfo(np.float32).max
            raise GroupDataError(
                f"X holds {value:g} {where}; XGBoost computes with values up to {limit:g}"
            )
        raise GroupDataError(f"X contains infinity {where}")
    return np.ascontiguousarray(matrix)


def _kind(values: pd.Series, number: int) -> np.dtype[Any]:
    dtype = values.dtype
    if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
        raise GroupDataError(
            f"partition {number}: column {values.name!r} of X holds {dtype}, not numbers"
        )
    if pd.api.types.is_bool_dtype(dtype):
        return np.dtype(np.uint8)
    if not isinstance(dtype, np.dtype):  # pandas' own kinds, which may hold missing values
        return np.dtype(np.float32)
    return dtype


def _weights(weight: Any, groups: Groups) -> NDArray[np.float64]:
    values = np.asarray(weight, dtype=np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise GroupDataError(
            f"sample_weight must be finite and not negative; group "
            f"{show(groups.names[groups.codes[row]])} holds {show(values[row])}"
        )
    refuse_size("sample_weight", values, LARGEST_WEIGHT, name="fit")
    return values
