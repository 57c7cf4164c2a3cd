"""How much worse a model does on rows whose values of one column were shuffled."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.jobs.fold_result import Importance
from groupwise.jobs.model import TableModel
from groupwise.jobs.targets import Targets
from groupwise.tables.cells import DATE_PARTS

__all__ = ["column_importance"]

# Columns times rows that are predicted again: what can be waited for.
_MOST = 100_000
# Values that are held at once: many versions of a small table are predicted in one go.
_CELLS = 2_000_000


def column_importance(
    model: TableModel,
    features: pd.DataFrame,
    targets: Targets,
    *,
    seed: int = 0,
) -> Importance | None:
    """The fall of the groups' scores when a column's values are shuffled over these rows.

    Permutation importance (Breiman 2001), on groups that the model has not seen, counted by group.
    Of a large table some groups, drawn at random, are enough.

    Parameters
    ----------
    model : TableModel
    features : DataFrame
    targets : Targets
    seed : int, default=0

    Returns
    -------
    importance : Importance or None
        ``None`` where there are too many columns to wait for, or fewer than two rows.
    """
    columns = model.schema.columns
    rng = np.random.RandomState(seed)
    rows = _some_groups(targets.groups, _MOST // max(1, len(columns)), rng)
    if len(rows) < 2:
        return None
    features, targets = features.iloc[rows], targets.take(rows)
    before = _scores(model, [features], targets)[0]
    found: dict[str, list[Any]] = {"column": [], "total": [], "squares": [], "n": []}
    at_once = max(1, _CELLS // (len(features) * features.shape[1]))
    for start in range(0, len(columns), at_once):
        chosen = columns[start : start + at_once]
        tables = [_shuffled(model, features, column, rng) for column in chosen]
        for column, after in zip(chosen, _scores(model, tables, targets), strict=True):
            fall = (before - after)[~np.isnan(before - after)]
            found["column"].append(column)
            found["total"].append(round(float(fall.sum()), 6))
            found["squares"].append(round(float((fall**2).sum()), 6))
            found["n"].append(len(fall))
    return Importance(**found) if all(found["n"]) else None


def _some_groups(groups: Groups, most_rows: int, rng: np.random.RandomState) -> NDArray[np.intp]:
    """Rows of as many whole groups as go into so many rows."""
    if groups.n_rows <= most_rows:
        return np.arange(groups.n_rows)
    order = rng.permutation(groups.n_groups)
    chosen = order[np.cumsum(groups.sizes[order]) <= most_rows]
    return np.flatnonzero(np.isin(groups.codes, chosen))


def _scores(model: TableModel, tables: list[pd.DataFrame], targets: Targets) -> NDArray[np.float64]:
    """Scores of the groups in each of some versions of the same rows, in one question."""
    groups, n = targets.groups, len(tables)
    ids = np.concatenate([groups.codes + k * groups.n_groups for k in range(n)])
    again = Targets(
        np.concatenate([targets.y] * n),
        Groups(ids),
        targets.classes,
        None if targets.domains is None else np.tile(targets.domains, n),
    )
    predictions = model.predictions(pd.concat(tables, ignore_index=True), again.groups)
    return model.supervision.judge(predictions, again).reshape(n, groups.n_groups)


def _shuffled(
    model: TableModel, features: pd.DataFrame, column: str, rng: np.random.RandomState
) -> pd.DataFrame:
    order = rng.permutation(len(features))
    parts = {part: features[part].to_numpy()[order] for part in _parts(model, column)}
    return features.assign(**parts)


def _parts(model: TableModel, column: str) -> list[str]:
    if column in model.schema.dates:
        return [f"{column} ({part})" for part in DATE_PARTS]
    return [column]
