"""How much worse a model does on rows whose values of one column were shuffled."""

from typing import Any

import numpy as np
import pandas as pd

from groupwise.jobs.model import TableModel
from groupwise.jobs.result import Importance
from groupwise.jobs.targets import Targets
from groupwise.tables.cells import DATE_PARTS

__all__ = ["column_importance"]

# Columns times rows that are predicted again: what can be waited for.
_MOST = 2_000_000


def column_importance(
    model: TableModel,
    features: pd.DataFrame,
    targets: Targets,
    *,
    seed: int = 0,
) -> Importance | None:
    """The fall of the groups' scores when a column's values are shuffled over these rows.

    Permutation importance (Breiman 2001), on groups that the model has not seen, counted by group.

    Parameters
    ----------
    model : TableModel
    features : DataFrame
    targets : Targets
    seed : int, default=0

    Returns
    -------
    importance : Importance or None
        ``None`` where there are too many rows and columns to wait for.
    """
    columns = model.schema.columns
    if len(columns) * len(features) > _MOST or len(features) < 2:
        return None
    rng = np.random.RandomState(seed)
    before = model.supervision.judge(model.predictions(features, targets.groups), targets)
    found: dict[str, list[Any]] = {"column": [], "total": [], "squares": [], "n": []}
    for column in columns:
        shuffled = features.copy()
        order = rng.permutation(len(features))
        for part in _parts(model, column):
            shuffled[part] = features[part].to_numpy()[order]
        predictions = model.predictions(shuffled, targets.groups)
        fall = before - model.supervision.judge(predictions, targets)
        fall = fall[~np.isnan(fall)]
        found["column"].append(column)
        found["total"].append(round(float(fall.sum()), 6))
        found["squares"].append(round(float((fall**2).sum()), 6))
        found["n"].append(len(fall))
    return Importance(**found)


def _parts(model: TableModel, column: str) -> list[str]:
    if column in model.schema.dates:
        return [f"{column} ({part})" for part in DATE_PARTS]
    return [column]
