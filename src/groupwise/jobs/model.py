"""A fitted method that takes tables: how it is made, asked, and what its columns are worth."""

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import get_tags

from groupwise.base import BaseGroupClassifier, BaseGroupRegressor
from groupwise.groups import Groups
from groupwise.jobs.fold_result import Importance
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets
from groupwise.methods import AUTO, Method
from groupwise.preparation import (
    Preparation,
    Prepared,
    TextEncoder,
    Unprepared,
    learn_preparation,
)
from groupwise.tables import Schema
from groupwise.tables.cells import DATE_PARTS
from groupwise.tables.read import TableLike
from groupwise.threads import few_threads

__all__ = ["TableModel", "column_importance", "fit_model", "search_params"]

# What is left of a time limit at least, however long texts have taken.
_LEAST_TIME = 0.2
# Columns times rows that are predicted again: what can be waited for.
_MOST = 100_000
# Values that are held at once: many versions of a small table are predicted in one go.
_CELLS = 2_000_000


@dataclass(frozen=True)
class TableModel:
    """What a model file holds: a fitted estimator and all it takes to use it on a table.

    Attributes
    ----------
    supervision : Supervision
    method : str
    schema : Schema
        The features it wants.
    classes : tuple of str
        None, where numbers are predicted.
    explains : bool
        Whether rows have a weight towards their group's label.
    preparation : Preparation or None
        What makes of features what the estimator takes; ``None``: it takes them as they are.
    estimator : BaseGroupClassifier or BaseGroupRegressor
        Trained on class codes, or on numbers.
    """

    supervision: Supervision
    method: str
    schema: Schema
    classes: tuple[str, ...]
    explains: bool
    preparation: Preparation | None
    estimator: BaseGroupClassifier | BaseGroupRegressor

    def predictions(self, features: pd.DataFrame, groups: Groups) -> Any:
        """Predict rows whose features agree with the schema, and their groups.

        Returns
        -------
        predictions : Predictions or NumberPredictions
        """
        return self.predictions_of(self.prepare(features), groups)

    def predictions_of(self, X: Prepared, groups: Groups) -> Any:
        """Predict rows that are prepared already; one column per class of the table."""
        with few_threads(groups.n_rows):
            found = self.estimator.predictions(X, groups)
        return found.with_classes(np.arange(len(self.classes))) if self.classes else found

    def predict(
        self, table: TableLike, *, groups_table: TableLike | None = None, keep: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Predict the rows of a table: a file, or a DataFrame of pandas or polars.

        Parameters
        ----------
        table : str, Path or DataFrame
        groups_table : str, Path or DataFrame, default=None
            One line per group, where the model has features of groups.
        keep : sequence of str, default=()
            Columns of the table to put in front.

        Returns
        -------
        lines : DataFrame
            In the order of the rows: the group, ``predicted``, ``p_CLASS``, ``weight``; of numbers
            the group and ``predicted``.
        """
        return self._asked(table, groups_table, "row", keep)

    def predict_groups(
        self, table: TableLike, *, groups_table: TableLike | None = None, keep: Sequence[str] = ()
    ) -> pd.DataFrame:
        """Predict the groups of a table; see :meth:`predict`."""
        return self._asked(table, groups_table, "group", keep)

    def _asked(
        self, table: TableLike, groups_table: TableLike | None, level: str, keep: Sequence[str]
    ) -> pd.DataFrame:
        from groupwise.jobs.answers import predict_table  # which knows this class
        from groupwise.jobs.options import read_tables

        loaded = read_tables(
            table,
            groups_table=groups_table,
            group=self.supervision.group,
            texts=self.schema.categories + self.schema.texts,
        )
        return predict_table(self, loaded, level=level, keep=keep)

    @property
    def wants(self) -> str:
        """What a table must have to be predicted, in words.

        Examples
        --------
        >>> from groupwise.jobs import make_supervision
        >>> known = make_supervision("majority", group="visit", label="ill")
        >>> schema = Schema(("age", "pulse"), ("ward",))
        >>> TableModel(known, "sboost", schema, ("no", "yes"), True, None, None).wants
        "numbers: 'age', 'pulse'; categories: 'ward'; the group: 'visit'"
        """
        named = {
            "numbers": self.schema.numbers,
            "categories": self.schema.categories,
            "dates": self.schema.dates,
            "texts": self.schema.texts,
            "the group": () if self.supervision.group is None else (self.supervision.group,),
        }
        return "; ".join(f"{what}: {', '.join(map(repr, c))}" for what, c in named.items() if c)

    def prepare(self, features: pd.DataFrame) -> Prepared:
        """What the estimator takes."""
        return features if self.preparation is None else self.preparation.transform(features)


def fit_model(
    features: pd.DataFrame,
    targets: Targets,
    *,
    supervision: Supervision,
    schema: Schema,
    method: Method,
    params: dict[str, Any],
    seed: int,
    unlabelled: tuple[pd.DataFrame, Groups] | None = None,
) -> TableModel:
    """Fit a method to features that agree with the schema.

    ``unlabelled`` are features and groups of rows without a label, for a method that uses them.
    """
    started = time.monotonic()
    estimator = method.build(supervision.constructor(targets), params, seed)
    preparation, X = _prepared(features, schema, estimator)
    model = TableModel(
        supervision=supervision,
        method=method.name,
        schema=schema,
        classes=targets.classes,
        explains=supervision.explains and method.explains,
        preparation=preparation,
        estimator=estimator,
    )
    ids = supervision.ids(targets)
    if method.name == AUTO:  # its folds keep groups whole in transfer too
        ids = {"groups": targets.groups, "keep_whole": targets.whole} | ids
        if schema.texts:  # of which they learn the words of their own training rows
            words = TextEncoder(schema.texts, schema.categories)
            ids["unprepared"] = Unprepared(features, words)
            limit = params.get("time_limit")
            if limit is not None:  # texts take long, and their time is part of it
                left = limit - (time.monotonic() - started)
                estimator.set_params(time_limit=max(left, _LEAST_TIME * limit))
    if unlabelled is not None:
        more, groups = unlabelled
        ids |= {"X_unlabeled": model.prepare(more), **supervision.unlabelled_ids(groups)}
    estimator.fit(X, targets.known, **ids)
    return model


def _prepared(
    features: pd.DataFrame, schema: Schema, estimator: BaseGroupClassifier | BaseGroupRegressor
) -> tuple[Preparation | None, Prepared]:
    """Features as the estimator takes them: numbers as they are, if it takes missing ones."""
    only_numbers = not (schema.categories or schema.texts)
    if only_numbers and get_tags(estimator).input_tags.allow_nan:
        return None, features
    return learn_preparation(
        features,
        estimator,
        numbers=schema.numeric,
        categories=schema.categories,
        texts=schema.texts,
    )


def search_params(
    features: pd.DataFrame,
    targets: Targets,
    *,
    supervision: Supervision,
    schema: Schema,
    method: Method,
    params: dict[str, Any],
    seed: int,
) -> dict[str, Any]:
    """The method's small search on whole groups of these rows; the best parameters.

    Every candidate meets the same three folds; of equals the first is taken. A parameter given by
    the caller is not searched.
    """
    grid = {name: values for name, values in method.search.items() if name not in params}
    candidates = [
        params | dict(zip(grid, values, strict=True))
        for values in itertools.product(*grid.values())
    ]
    if len(candidates) < 2:
        return params

    def held_out_scores(
        candidate: dict[str, Any], train: NDArray[np.intp], test: NDArray[np.intp]
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        model = fit_model(
            features.iloc[train],
            targets.take(train),
            supervision=supervision,
            schema=schema,
            method=method,
            params=candidate,
            seed=seed,
        )
        inside = targets.take(test)
        predictions = model.predictions(features.iloc[test], inside.groups)
        return supervision.judge(predictions, inside), inside.groups.sizes

    splits = supervision.splits(targets, 3, seed)
    means = []
    for candidate in candidates:
        scores, sizes = zip(*(held_out_scores(candidate, *split) for split in splits), strict=True)
        means.append(supervision.mean_score(np.concatenate(scores), np.concatenate(sizes)))
    return candidates[int(np.argmax(means))]


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
    apart = model.supervision.compares_groups
    at_once = 1 if apart else max(1, _CELLS // (len(features) * features.shape[1]))
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
        exposure=None if targets.exposure is None else np.tile(targets.exposure, n),
        variance=targets.variance,
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
