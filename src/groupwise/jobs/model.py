"""A fitted method that takes tables."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.groups import Groups
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets
from groupwise.methods import AUTO, Method
from groupwise.preparation import Prepared, fit_preparation, prepare
from groupwise.tables import Schema

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
    """

    supervision: Supervision
    method: str
    schema: Schema
    classes: tuple[str, ...]
    explains: bool
    preparation: ColumnTransformer | None
    estimator: BaseGroupClassifier

    def predictions(self, features: pd.DataFrame, groups: Groups) -> Predictions:
        """Predict rows whose features agree with the schema, and their groups."""
        return self.predictions_of(self.prepare(features), groups)

    def predictions_of(self, X: Prepared, groups: Groups) -> Predictions:
        """Predict rows that are prepared already; one column per class of the table."""
        codes = np.arange(len(self.classes))
        return self.estimator.predictions(X, groups).with_classes(codes)

    def prepare(self, features: pd.DataFrame) -> Prepared:
        """What the estimator takes."""
        return prepare(features, self.schema.categories, self.preparation)


def fit_model(
    features: pd.DataFrame,
    targets: Targets,
    *,
    supervision: Supervision,
    schema: Schema,
    method: Method,
    params: dict[str, Any],
    seed: int,
) -> TableModel:
    """Fit a method to features that agree with the schema."""
    estimator = method.build(supervision.constructor(), params, seed)
    model = TableModel(
        supervision=supervision,
        method=method.name,
        schema=schema,
        classes=targets.classes,
        explains=supervision.explains and method.explains,
        preparation=fit_preparation(features, schema.numbers, schema.categories, estimator),
        estimator=estimator,
    )
    ids = supervision.ids(targets)
    if method.name == AUTO:  # its folds keep groups whole in transfer too
        ids = {"groups": targets.groups} | ids
    estimator.fit(model.prepare(features), targets.y, **ids)
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
