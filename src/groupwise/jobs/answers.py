"""What a model says of a table, as a table: one line per row, or one per group."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from groupwise.groups import Groups
from groupwise.jobs.model import TableModel
from groupwise.jobs.promises import promised_columns
from groupwise.jobs.reasons import reason_columns
from groupwise.jobs.targets import get_column
from groupwise.tables import LoadedTable, OptionError, TableError

__all__ = ["predict_table"]


def predict_table(
    model: TableModel,
    table: LoadedTable,
    *,
    level: str = "row",
    keep: Sequence[str] = (),
    explain: bool = False,
) -> pd.DataFrame:
    """Predict the rows of a table, or its groups.

    Parameters
    ----------
    model : TableModel
    table : LoadedTable
    level : {"row", "group"}, default="row"
    keep : sequence of str, default=()
        Columns of the table to put in front; for groups, those that are the same on all rows of a
        group.
    explain : bool, default=False
        Say why: features of each row, or rows of each group.

    Returns
    -------
    lines : DataFrame
        Rows in the table's order, groups by name. ``predicted`` and one probability ``p_CLASS`` per
        class; for rows of methods that have it ``weight``, the row's part in its group's label.
        Groups of proportions have ``share_CLASS``; groups whose rows are labelled one by one have
        ``n_CLASS``, the number of rows predicted so, and no class of their own. Where numbers are
        predicted, ``predicted`` (of survival times ``risk``) is all there is. A model with a
        promise adds its sets or intervals.
    """
    if level not in ("row", "group"):
        raise OptionError(f"`level` must be row or group, got {level!r}")
    if explain and not model.classes:
        raise OptionError(f"`explain` is for classes, not for `kind` {model.supervision.kind}")
    features = model.schema.conform(table.frame, name=table.name)
    kept = {name: get_column(table.frame, name, table.name, "keep") for name in keep}
    groups = _groups_of(model, table, level)
    units = groups or Groups.singletons(len(features))
    predictions = model.predictions(features, units)
    column = None if groups is None else model.supervision.group
    names = units.names if level == "group" else units.names[units.codes]
    lines: dict[str, Any] = {} if column is None else {column: names}
    lines |= (_group_lines if level == "group" else _row_lines)(model, predictions, table)
    lines |= promised_columns(model, features, units, level)
    if explain:
        lines |= reason_columns(model, features, predictions, level)
    before = {
        name: _per_group(values, predictions.groups, name) if level == "group" else values.array
        for name, values in kept.items()
        if name != column
    }
    twice = [name for name in before if name in lines]
    if twice:
        raise OptionError(f"`keep` names {twice[0]!r}, which is a column of the predictions")
    return pd.DataFrame(before | lines)


def _groups_of(model: TableModel, table: LoadedTable, level: str) -> Groups | None:
    column = model.supervision.group
    if column is None:
        if level == "group":
            raise TableError("the model was fitted without `group`: there are rows only")
        return None
    if level == "group" or column in table.frame.columns:
        return model.supervision.groups_in(table.frame, table.name)
    if model.supervision.explains:
        raise TableError(f"{table.name} has no column {column!r}, which names the group")
    return None


def _row_lines(model: TableModel, predictions: Any, table: LoadedTable) -> dict[str, Any]:
    lines = model.supervision.row_columns(predictions, model.classes)
    return lines | ({"weight": predictions.row_weights()} if model.explains else {})


def _group_lines(model: TableModel, predictions: Any, table: LoadedTable) -> dict[str, Any]:
    supervision, sizes = model.supervision, predictions.groups.sizes
    return {"rows": sizes} | supervision.group_columns(
        predictions, model.classes, table.frame, table.name
    )


def _per_group(values: pd.Series, groups: Groups, name: str) -> Any:
    per_group = values.groupby(groups.codes).nunique(dropna=False)
    if (per_group > 1).any():
        group = groups.names[int(per_group.index[per_group > 1][0])]
        raise TableError(
            f"column {name!r} (`keep`) holds more than one value in group {str(group)!r}; one line "
            "per group has no place for them"
        )
    return values.array[groups.first_rows]
