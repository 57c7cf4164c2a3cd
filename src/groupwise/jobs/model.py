"""A fitted method that takes tables."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.groups import Groups
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets
from groupwise.methods import AUTO, Method
from groupwise.preparation import (
    Prepared,
    TextEncoder,
    Unprepared,
    encode_texts,
    fit_preparation,
    fit_texts,
    prepare,
    text_columns,
)
from groupwise.tables import Schema
from groupwise.tables.read import TableLike

__all__ = ["TableModel", "fit_model", "search_params"]


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
    explains : bool
        Whether rows have a weight towards their group's label.
    preparation : ColumnTransformer or None
        What makes numbers of the features; ``None``: the estimator takes tables as they are.
    estimator : BaseGroupClassifier
        Trained on class codes.
    texts : dict of str to Pipeline
        What makes numbers of columns of text.
    """

    supervision: Supervision
    method: str
    schema: Schema
    classes: tuple[str, ...]
    explains: bool
    preparation: ColumnTransformer | None
    estimator: BaseGroupClassifier
    texts: dict[str, Pipeline] = field(default_factory=dict)

    def predictions(self, features: pd.DataFrame, groups: Groups) -> Predictions:
        """Predict rows whose features agree with the schema, and their groups."""
        return self.predictions_of(self.prepare(features), groups)

    def predictions_of(self, X: Prepared, groups: Groups) -> Predictions:
        """Predict rows that are prepared already; one column per class of the table."""
        codes = np.arange(len(self.classes))
        return self.estimator.predictions(X, groups).with_classes(codes)

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
            In the order of the rows: the group, ``predicted``, ``p_CLASS``, ``weight``.
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

        loaded = read_tables(table, groups_table=groups_table, group=self.supervision.group)
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
        table = encode_texts(features, self.schema.texts, self.texts)
        return prepare(table, self.schema.categories, self.preparation)


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
    estimator = method.build(supervision.constructor(targets), params, seed)
    texts = fit_texts(features, schema.texts)
    table = encode_texts(features, schema.texts, texts)
    model = TableModel(
        supervision=supervision,
        method=method.name,
        schema=schema,
        classes=targets.classes,
        explains=supervision.explains and method.explains,
        preparation=fit_preparation(
            table, schema.numeric, schema.categories, estimator, text_columns(texts)
        ),
        estimator=estimator,
        texts=texts,
    )
    ids = supervision.ids(targets)
    if method.name == AUTO:  # its folds keep groups whole in transfer too
        ids = {"groups": targets.groups, "keep_whole": targets.whole} | ids
        if schema.texts:  # of which they learn the words of their own training rows
            words = TextEncoder(schema.texts, schema.categories)
            ids["unprepared"] = Unprepared(features, words)
    if unlabelled is not None:
        more, groups = unlabelled
        ids |= {"X_unlabeled": model.prepare(more), **supervision.unlabelled_ids(groups)}
    estimator.fit(prepare(table, schema.categories, model.preparation), targets.known, **ids)
    return model


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
