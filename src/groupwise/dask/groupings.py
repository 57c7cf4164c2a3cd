"""Several groupings on a cluster: one is whole on each worker, the others add up over workers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import dask
import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray

from groupwise.dask.inputs import DelayedRows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import class_codes
from groupwise.losses import BoundLoss, Communicator, GroupLoss, SeveralGroupings
from groupwise.losses.layout import SpreadGroups
from groupwise.losses.several import naming
from groupwise.targets import check_reports, mean_of_rows

__all__ = ["PackedGroupings", "bind_groupings", "check_on_cluster", "pack_groupings"]


@dataclass(frozen=True)
class PackedGroupings:
    """What is known of several groupings, as numbers beside the rows.

    Attributes
    ----------
    loss : SeveralGroupings
    ids : tuple of ndarray
        The groups of each grouping but the first.
    classes : ndarray or None
        ``None`` for numbers.
    target : {"mean", "total"}
        Of numbers.
    """

    loss: SeveralGroupings
    ids: tuple[NDArray[Any], ...]
    classes: NDArray[Any] | None
    target: str = "mean"

    @property
    def n_groups(self) -> int:
        """Groups of all groupings but the first."""
        return sum(len(ids) for ids in self.ids)

    @property
    def n_own(self) -> int:
        """Columns that the first grouping has."""
        return 2 if self.loss.first.target_kind == "report" else 1

    def read(self, y: Any, groups: Groups) -> NDArray[np.float64]:
        """Numbers of a partition's rows whose groups, of the first grouping, are whole."""
        table = np.asarray(y, dtype=np.float64)
        own, first = table[:, 0], self.loss.first
        if first.target_kind == "report":
            found = check_reports(own, groups)
        elif self.classes is None:
            found = mean_of_rows(own, groups, self.target)[:, None]
        else:
            if first.target_kind == "label":
                groups.one_per_group(own)
            found = own[:, None]
        return np.column_stack([found, table[:, 1:]])

    def own(self, y_row: NDArray[np.float64]) -> NDArray[Any]:
        """What is known by the first grouping."""
        if self.n_own == 2:
            return y_row[:, :2]
        return y_row[:, 0] if self.classes is None else y_row[:, 0].astype(np.intp)


def check_on_cluster(loss: SeveralGroupings) -> None:
    """Refuse losses that parts of a group are not enough for."""
    first, *others = loss.each().items()
    if not first[1].on_machines:
        raise ValueError(f"{first[1]!r} (grouping {first[0]!r}) needs all groups on one machine")
    for name, each in others:
        if not each.by_sums:
            raise ValueError(
                f"on a cluster the groups of {name!r} lie on several machines, and {each!r} is no "
                "function of sums over their rows: name that grouping first, or take a loss that "
                "is ('proportions_squared', 'squared_error', 'poisson', 'negative_binomial')"
            )


def pack_groupings(
    client: Client, rows: DelayedRows, loss: SeveralGroupings, target: str
) -> tuple[DelayedRows, PackedGroupings]:
    """Rows grouped by the first grouping, with the rest as numbers in ``y``.

    Parameters
    ----------
    client : Client
    rows : DelayedRows
        With a table of ids as ``groups``, and as ``y`` a vector or a column per grouping.
    loss : SeveralGroupings
    target : {"mean", "total"}
    """
    names, known = list(loss.losses), rows.group_columns
    if rows.groups is None or known is None or set(known) != set(names):
        raise GroupDataError(
            f"groups must have a column of ids for each of {names}; it has {known}"
        )
    missing = [name for name in names if rows.y_columns and name not in rows.y_columns]
    if missing:
        raise GroupDataError(f"y says nothing of grouping {missing[0]!r}")
    parts = list(zip(rows.y, rows.groups, strict=True))
    asked = [dask.delayed(_distinct)(y, ids, known, rows.y_columns, loss) for y, ids in parts]
    found = client.gather(client.compute(asked))
    classes = None if loss.of_numbers else _all_classes([labels for labels, _ in found])
    ids = [
        np.unique(np.concatenate([part[place] for _, part in found]))
        for place in range(len(names) - 1)
    ]
    packed = PackedGroupings(loss, tuple(ids), classes, target)
    pack = dask.delayed(partial(_packed, packed, known, rows.y_columns))
    first = dask.delayed(partial(_first_ids, known, names[0]))
    return replace(
        rows,
        y=[pack(y, part) for y, part in parts],
        groups=[first(part) for _, part in parts],
        y_columns=[str(place) for place in range(2 * len(names) - 1)],
    ), packed


def _column(table: Any, columns: Sequence[Any] | None, name: Any) -> NDArray[Any]:
    """A column of a table, or a vector as it is."""
    if columns is None:
        return np.asarray(table).ravel()
    if isinstance(table, pd.DataFrame):
        return np.asarray(table[name])
    return np.asarray(table)[:, list(columns).index(name)]


def _inside(groups: Any, columns: Sequence[Any], name: Any) -> NDArray[np.intp]:
    return np.flatnonzero(~np.asarray(pd.isna(_column(groups, columns, name))))


def _distinct(
    y: Any, groups: Any, columns: list[Any], y_columns: list[Any] | None, loss: SeveralGroupings
) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Labels in a partition, and ids of all groupings but the first."""
    labels, ids = [np.empty(0)], []
    for place, (name, each) in enumerate(loss.each().items()):
        rows = _inside(groups, columns, name)
        if place:
            ids.append(np.unique(_column(groups, columns, name)[rows].astype(str)))
        if each.target_kind in ("label", "share"):
            found = _column(y, y_columns, name)[rows]
            if pd.isna(found).any():
                raise GroupDataError(f"grouping {name!r}: y must hold a label on every row")
            labels.append(np.unique(found))
        elif each.target_kind == "report":
            labels.append(np.array([0, 1]))
    filled = [part for part in labels if len(part)]
    return np.unique(np.concatenate(filled)) if filled else np.empty(0), ids


def _all_classes(found: list[NDArray[Any]]) -> NDArray[Any]:
    classes = np.unique(np.concatenate([part for part in found if len(part)]))
    if len(classes) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(classes[0])}); a classifier needs at least two"
        )
    return classes


def _first_ids(columns: list[Any], name: Any, groups: Any) -> Any:
    ids = _column(groups, columns, name)
    if pd.isna(ids).any():
        raise GroupDataError(
            f"on a cluster the first grouping, {name!r}, must name a group on every row"
        )
    return ids


def _packed(
    packed: PackedGroupings,
    columns: list[Any],
    y_columns: list[Any] | None,
    y: Any,
    groups: Any,
) -> pd.DataFrame:
    """Values and codes of groups as numbers; NaN where a row is in no group."""
    numbers: list[NDArray[Any]] = []
    for place, (name, each) in enumerate(packed.loss.each().items()):
        rows = _inside(groups, columns, name)
        value = np.full(len(groups), np.nan)
        told = _column(y, y_columns, name)[rows]
        with naming(name):
            value[rows] = _values(told, each, packed.classes)
        numbers.append(value)
        if place:
            code = np.full(len(groups), np.nan)
            ids = _column(groups, columns, name)[rows].astype(str)
            code[rows] = np.searchsorted(packed.ids[place - 1], ids)
            numbers.append(code)
    return pd.DataFrame({str(place): column for place, column in enumerate(numbers)})


def _values(told: NDArray[Any], loss: GroupLoss, classes: NDArray[Any] | None) -> NDArray[Any]:
    if classes is not None and loss.target_kind != "report":
        return class_codes(told, classes, Groups.singletons(len(told))) if len(told) else told
    numbers = told.astype(float)
    if loss.target_kind != "report" and not np.isfinite(numbers).all():
        raise GroupDataError("y must hold a finite number on every row")
    return numbers


def bind_groupings(
    packed: PackedGroupings,
    first: BoundLoss,
    others: NDArray[np.float64],
    weight_row: NDArray[Any] | None,
    communicator: Communicator,
) -> BoundLoss:
    """The losses of this worker's rows: the first of whole groups, the others of parts of them.

    Parameters
    ----------
    packed : PackedGroupings
    first : BoundLoss
        Of the first grouping, connected.
    others : ndarray of shape (n_rows, 2 * n_others)
        Values and codes of the other groupings.
    weight_row : ndarray of shape (n_rows,) or None
    communicator : Communicator
    """
    n_classes = 2 if packed.classes is None else len(packed.classes)
    (name, _), *rest = packed.loss.each().items()
    bound: dict[Any, tuple[NDArray[np.intp], BoundLoss | None]] = {
        name: (np.arange(len(others)), first)
    }
    for place, (name, loss) in enumerate(rest):
        value, code = others[:, 2 * place], others[:, 2 * place + 1]
        rows = np.flatnonzero(~np.isnan(code))
        groups = SpreadGroups(code[rows].astype(np.intp), packed.ids[place], communicator)
        with naming(name):
            target = _target(value[rows], groups, packed, n_classes)
        weight = None if weight_row is None else weight_row[rows]
        bound[name] = rows, loss.bind(target, groups, n_classes=n_classes, weight_row=weight)
    return packed.loss.joined(bound, len(others), n_classes)


def _target(
    value: NDArray[Any], groups: SpreadGroups, packed: PackedGroupings, n_classes: int
) -> NDArray[Any]:
    if packed.classes is not None:
        return groups.mean(np.eye(n_classes)[value.astype(np.intp)])
    mean = groups.mean(value)
    if packed.target == "mean":
        return mean
    off = np.abs(value - mean[groups.codes]) > 1e-9 * np.abs(value)
    wrong = float(groups.codes[off].max(initial=-1))
    group = int(groups.communicator.allreduce_max(wrong))  # so that all machines end together
    if group >= 0:
        raise GroupDataError(
            "y must be the same on every row of a group; those of group "
            f"{show(groups.names[group])} differ"
        )
    return mean / groups.sizes
