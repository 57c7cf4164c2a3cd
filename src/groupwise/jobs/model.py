"""A fitted method that takes tables."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from groupwise.groups import Groups
from groupwise.jobs.answer import Answer, ask
from groupwise.jobs.known import Known
from groupwise.jobs.method import Method
from groupwise.jobs.prepare import make_preparation, with_categories
from groupwise.jobs.supervision import Supervision
from groupwise.tables import Schema

__all__ = ["TableModel", "fit_model", "tuned"]


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
    preparation : ColumnTransformer
    estimator : estimator
        Trained on class codes.
    """

    supervision: Supervision
    method: str
    schema: Schema
    classes: tuple[str, ...]
    explains: bool
    preparation: ColumnTransformer
    estimator: Any

    def answer(self, features: pd.DataFrame, groups: Groups) -> Answer:
        """Predict rows whose features agree with the schema, and their groups."""
        return ask(self.estimator, self.matrix(features), groups, len(self.classes))

    def matrix(self, features: pd.DataFrame) -> NDArray[Any]:
        """The matrix the estimator takes."""
        return self.preparation.transform(features)


def fit_model(
    features: pd.DataFrame,
    known: Known,
    *,
    supervision: Supervision,
    schema: Schema,
    method: Method,
    params: dict[str, Any],
    seed: int,
) -> TableModel:
    """Fit a method to features that agree with the schema."""
    estimator = with_categories(method.build(supervision, params, seed), schema)
    preparation = make_preparation(schema, estimator)
    X = preparation.fit_transform(features)
    estimator.fit(X, known.y, **supervision.fit_options(known))
    return TableModel(
        supervision=supervision,
        method=method.name,
        schema=schema,
        classes=known.classes,
        explains=supervision.explains and method.explains and hasattr(estimator, "predict_proba"),
        preparation=preparation,
        estimator=estimator,
    )


def tuned(
    features: pd.DataFrame, known: Known, *, method: Method, params: dict[str, Any], **job: Any
) -> dict[str, Any]:
    """The method's small search on whole groups of these rows; the best parameters.

    Every candidate meets the same three folds; of equals the first is taken. A parameter given by
    the caller is not searched.
    """
    grid = {name: values for name, values in method.search.items() if name not in params}
    candidates = [
        dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())
    ]
    if len(candidates) < 2:
        return params
    supervision, seed = job["supervision"], job["seed"]
    splits = supervision.splits(known, 3, seed)
    means = []
    for candidate in candidates:
        scores = [
            _held_out(features, known, train, test, method=method, params=params | candidate, **job)
            for train, test in splits
        ]
        means.append(np.nanmean(np.concatenate(scores)))
    return params | candidates[int(np.argmax(means))]


def _held_out(
    features: pd.DataFrame, known: Known, train: Any, test: Any, **options: Any
) -> NDArray[Any]:
    model = fit_model(features.iloc[train], known.take(train), **options)
    inside = known.take(test)
    return options["supervision"].judge(model.answer(features.iloc[test], inside.groups), inside)
