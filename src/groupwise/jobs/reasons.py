"""Reasons in a table of predictions: features of rows, rows of groups."""

from typing import Any

import numpy as np
import pandas as pd

from groupwise.base import Predictions
from groupwise.explain import explain_groups, explain_rows
from groupwise.groups import Groups
from groupwise.jobs.model import TableModel

__all__ = ["reason_columns"]

# Rows that others are compared with, where features are changed one by one.
_BACKGROUND = 200


def reason_columns(
    model: TableModel, features: pd.DataFrame, predictions: Predictions, level: str
) -> dict[str, Any]:
    """Columns that say why.

    Parameters
    ----------
    model : TableModel
    features : DataFrame
        Conforming to the model's schema.
    predictions : Predictions
        Of these rows.
    level : {"row", "group"}
        Rows: ``share`` in the group's predicted class (where groups have one) and ``why``, the
        features that count most in the row's score. Groups: ``why``, the rows that count most,
        numbered from 0 as in the table.
    """
    X, groups = model.prepare(features), predictions.groups
    columns: dict[str, Any] = {}
    if not model.supervision.rows_labelled:
        share = _shares(model.estimator, X, predictions)
        if level == "group":
            return {"why": _top_rows(share, groups)}
        columns["share"] = share
    elif level == "group":
        return {}
    sample = np.unique(np.linspace(0, len(features) - 1, _BACKGROUND).astype(int))
    background = X.iloc[sample] if isinstance(X, pd.DataFrame) else X[sample]
    found = explain_rows(
        model.estimator, X, groups=groups, background=background, n_permutations=5, random_state=0
    )
    names = _names(model, found.names)
    told = found.top(3, code=predictions.code_row if found.values.ndim == 3 else None)
    position = dict(zip(found.names, names, strict=True))
    columns["why"] = [
        ", ".join(f"{position[name]} {value:+.3g}" for name, value in line) for line in told
    ]
    return columns


def _shares(estimator: Any, X: Any, predictions: Predictions) -> np.ndarray:
    """Each row's share in the predicted class of its group."""
    found = explain_groups(estimator, X, predictions.groups)
    if len(predictions.classes) != 2:
        return found.share_row
    positive = predictions.groups.spread(predictions.code_group) == 1
    return np.where(positive, found.share_row, -found.share_row)


def _top_rows(share: np.ndarray, groups: Groups) -> list[str]:
    order = np.lexsort((-share, groups.codes))
    parts = np.split(order, groups.offsets[1:-1])
    return [", ".join(f"row {row} {share[row]:+.3g}" for row in rows[:3]) for rows in parts]


def _names(model: TableModel, names: list[str]) -> list[str]:
    """Features as the table calls them."""
    columns = None if model.preparation is None else model.preparation.columns
    if columns is None:
        return names
    made = [str(name).split("__", 1)[-1] for name in columns.get_feature_names_out()]
    return made if len(made) == len(names) else names
