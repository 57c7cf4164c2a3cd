"""Checked training data where rows are in several groupings at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from groupwise._typing import MatrixLike
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groupings, Groups, show
from groupwise.inputs import check_rows, check_weights, class_shares, is_table
from groupwise.inputs.labels import distinct_labels, one_entry_per_row, require_y
from groupwise.inputs.rows import check_features, remember_features
from groupwise.losses import BoundLoss, GroupLoss, SeveralGroupings
from groupwise.losses.several import naming
from groupwise.targets import GroupTargets, group_target, known_codes, mean_of_rows, report_classes

__all__ = ["SeveralTargets", "check_groupings", "check_several_targets", "target_of_grouping"]


@dataclass(frozen=True)
class SeveralTargets(GroupTargets):
    """The same for several groupings of the rows.

    Attributes
    ----------
    groups : Groups
        The finest grouping that keeps the groups of all of them whole.
    y_row : ndarray of shape (n_rows, n_columns)
        What is known by each grouping, side by side; NaN on rows outside.
    groupings : Groupings
    columns : dict
        Which columns of ``y_row`` a grouping has, by its name.
    """

    groupings: Any = None  # a Groupings; fields after those with defaults need one
    columns: Any = None

    @property
    def n_groups(self) -> int:
        return int(self.groupings.n_groups)

    def take(self, rows: NDArray[np.intp]) -> "SeveralTargets":
        taken = GroupTargets.take(self, rows)
        assert isinstance(taken, SeveralTargets)
        return replace(taken, groupings=self.groupings.take(rows))

    def bind(self, loss: GroupLoss) -> BoundLoss:
        assert isinstance(loss, SeveralGroupings)
        target = {}
        for name, each in loss.each().items():
            inside, columns = self.groupings.rows[name], self.columns[name]
            y_row = self.y_row[inside, columns]
            if y_row.shape[1] == 1:
                y_row = y_row[:, 0]
                y_row = y_row if loss.of_numbers else y_row.astype(np.intp)
            encoded = self.groupings.groups[name]
            target[name] = group_target(each, y_row, encoded, self.n_classes)
        bound = loss.bind(
            target, self.groupings, n_classes=self.n_classes, weight_row=self.weight_row
        )
        if self.exposure_row is None:
            return bound
        return bound.with_offset(np.log(self.exposure_row))


def check_several_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: Any,
    groups: Any,
    sample_weight: ArrayLike | None,
    loss: SeveralGroupings,
    *,
    training: bool = True,
    target: str = "mean",
    classes: NDArray[Any] | None = None,
) -> SeveralTargets:
    """Check rows and what is known of them by several groupings.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : DataFrame, mapping or array-like
        See :func:`target_of_grouping`.
    groups : DataFrame, mapping or array-like of shape (n_rows, n_groupings)
    sample_weight : array-like of shape (n_rows,) or None
    loss : SeveralGroupings
    training : bool, default=True
        Whether the estimator learns its features from these rows.
    target : {"mean", "total"}, default="mean"
        Of numbers.
    classes : ndarray, default=None
        Those of a fitted model; ``None``: all that ``y`` holds.
    """
    require_y(estimator, y)
    rows = check_features(estimator, X) if training else check_rows(estimator, X)
    groupings = check_groupings(groups, _num_samples(rows), loss)
    found: dict[Any, NDArray[Any]] = {}
    known = {
        name: (target_of_grouping(y, name, groupings), groupings.groups[name])
        for name in loss.losses
        if len(groupings.rows[name])
    }
    losses = loss.each()
    if training and len(known) < len(losses):
        empty = next(name for name in losses if name not in known)
        raise GroupDataError(f"no row is in a group of grouping {empty!r}")
    if not loss.of_numbers and classes is None:
        by_name = {}
        for name, (part, encoded) in known.items():
            with naming(name):
                by_name[name] = _classes_of(part, encoded, losses[name])
        classes = _all_classes(by_name)
    for name, (part, encoded) in known.items():
        with naming(name):
            if classes is None:
                found[name] = mean_of_rows(part, encoded, target)
            else:
                found[name] = known_codes(part, encoded, losses[name], classes)
            if found[name].ndim == 3:
                raise GroupDataError("ranges of three and more classes are for one grouping")
    if training:
        remember_features(estimator, X)
    y_row, columns = _side_by_side(found, groupings, losses)
    return SeveralTargets(
        rows,
        y_row,
        groupings.components(),
        check_weights(sample_weight, rows),
        classes,
        groupings=groupings,
        columns=columns,
    )


def check_groupings(
    groups: Any, n_rows: int, loss: SeveralGroupings, *, some: bool = False
) -> Groupings:
    """The groupings of a table, one for each loss (or for ``some``), with one id or gap per row."""
    groupings = Groupings(groups)
    if not (some and set(groupings.ids) <= set(loss.losses)):
        loss.check_names(groupings)
    if groupings.n_rows != n_rows:
        raise GroupDataError(
            f"groups must hold one line per row: got {groupings.n_rows} for {n_rows} rows"
        )
    return groupings


def target_of_grouping(y: Any, name: Any, groupings: Groupings) -> Any:
    """What ``y`` says of the rows that are in a group of a grouping.

    Parameters
    ----------
    y : DataFrame, mapping or array-like
        ``y[name]`` is what the grouping's loss takes as ``y``, on all rows: a column, or a table
        (columns of two levels in pandas). An array has a column per grouping, in their order; a
        vector is told to all of them.
    name : object
    groupings : Groupings
    """
    if isinstance(y, Mapping) or getattr(y, "columns", None) is not None:
        if name not in (y if isinstance(y, Mapping) else y.columns):
            raise GroupDataError(f"y says nothing of grouping {name!r}")
        part = y[name]
    else:
        part = np.asarray(y)
        if part.ndim == 2:
            if part.shape[1] != len(groupings.ids):
                raise GroupDataError(
                    f"y must have a column for each of {len(groupings.ids)} groupings, got shape "
                    f"{part.shape}"
                )
            part = part[:, list(groupings.ids).index(name)]
    if len(part) != groupings.n_rows:
        raise GroupDataError(
            f"y must hold one entry per row: got {len(part)} for {groupings.n_rows} rows "
            f"(grouping {name!r})"
        )
    return _safe_indexing(part, groupings.rows[name])


def _classes_of(y: Any, groups: Groups, loss: GroupLoss) -> NDArray[Any]:
    if loss.target_kind == "report":
        return report_classes(y)
    if loss.target_kind == "share" and is_table(y):
        return class_shares(y, groups)[1]
    return distinct_labels(one_entry_per_row(y, groups), groups)[0]


def _all_classes(by_name: Mapping[Any, NDArray[Any]]) -> NDArray[Any]:
    """The classes that any grouping has; they must be of one kind."""
    is_text = {classes.dtype.kind in "OUS" for classes in by_name.values()}
    if len(is_text) > 1:
        shown = {name: classes.tolist() for name, classes in by_name.items()}
        raise GroupDataError(f"the groupings must have the same classes, got {shown}")
    classes = np.unique(np.concatenate(list(by_name.values())))
    if len(classes) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(classes[0])}); a classifier needs at least two"
        )
    return classes


def _side_by_side(
    found: dict[Any, NDArray[Any]], groupings: Groupings, losses: Mapping[Any, GroupLoss]
) -> tuple[NDArray[np.float64], dict[Any, slice]]:
    tables, columns, first = [], {}, 0
    for name in losses:
        part = found.get(name, np.empty(0))
        table = np.full((groupings.n_rows, part.shape[1] if part.ndim == 2 else 1), np.nan)
        table[groupings.rows[name]] = part.reshape(len(part), table.shape[1])
        tables.append(table)
        columns[name] = slice(first, first + table.shape[1])
        first += table.shape[1]
    return np.hstack(tables), columns
