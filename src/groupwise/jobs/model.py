"""A fitted method that takes tables."""

import itertools
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from groupwise.groups import Groups
from groupwise.jobs.answer import Predictions, predict_all
from groupwise.jobs.methods import Method
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets
from groupwise.tables import Schema

__all__ = [
    "TableModel",
    "fit_model",
    "make_preparation",
    "row_weights",
    "search_params",
    "with_categories",
]


E = TypeVar("E", bound=BaseEstimator)


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

    def predictions(self, features: pd.DataFrame, groups: Groups) -> Predictions:
        """Predict rows whose features agree with the schema, and their groups."""
        return self.predictions_of_matrix(self.matrix(features), groups)

    def predictions_of_matrix(self, X: NDArray[Any], groups: Groups) -> Predictions:
        """Predict rows that are prepared already."""
        return with_all_classes(predict_all(self.estimator, X, groups), len(self.classes))

    def matrix(self, features: pd.DataFrame) -> NDArray[Any]:
        """The matrix the estimator takes."""
        return self.preparation.transform(features)


def row_weights(predictions: Predictions) -> NDArray[np.float64]:
    """Each row's part in its group's label: its probability of it, as a share of the group."""
    if predictions.proba_row is None:
        raise ValueError("the method gives no probabilities of rows")
    groups = predictions.groups
    code = groups.spread(predictions.code_group)
    proba = predictions.proba_row[np.arange(len(code)), code]
    total = groups.sum(proba)[groups.codes]
    even = 1.0 / groups.sizes[groups.codes]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, proba / total, even)


def with_all_classes(predictions: Predictions, n_classes: int) -> Predictions:
    """One column per class of the table, also of those that a training fold did not hold."""
    known = np.asarray(predictions.classes).astype(np.intp)
    if len(known) == n_classes:
        return predictions

    def spread(values: NDArray[Any], missing: float) -> NDArray[Any]:
        wide = np.full((len(values), n_classes), missing)
        wide[:, known] = values
        return wide

    score, proba = predictions.score_row, predictions.proba_row
    if score.ndim == 1:  # of two classes among more
        score = np.column_stack([-score, score])
    return replace(
        predictions,
        classes=np.arange(n_classes),
        score_row=spread(score, -np.inf),
        proba_row=None if proba is None else spread(proba, 0.0),
        proba_group=spread(predictions.proba_group, 0.0),
        code_row=known[predictions.code_row],
    )


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
    estimator = with_categories(method.build(supervision, params, seed), schema)
    preparation = make_preparation(schema, estimator)
    X = preparation.fit_transform(features)
    estimator.fit(X, targets.y, **supervision.fit_options(targets))
    return TableModel(
        supervision=supervision,
        method=method.name,
        schema=schema,
        classes=targets.classes,
        explains=supervision.explains and method.explains and hasattr(estimator, "predict_proba"),
        preparation=preparation,
        estimator=estimator,
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
    ) -> NDArray[np.float64]:
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
        return supervision.judge(model.predictions(features.iloc[test], inside.groups), inside)

    splits = supervision.splits(targets, 3, seed)
    means = [
        np.nanmean(np.concatenate([held_out_scores(candidate, *split) for split in splits]))
        for candidate in candidates
    ]
    return candidates[int(np.argmax(means))]


def make_preparation(schema: Schema, estimator: BaseEstimator) -> ColumnTransformer:
    """What has to be done to features before this estimator sees them.

    One that takes missing values (histogram trees) gets numbers as they are and categories as
    codes; any other gets numbers with the median in gaps (and a column that says so), scaled, and
    one column per category.
    """
    numbers, categories = list(schema.numbers), list(schema.categories)
    if get_tags(estimator).input_tags.allow_nan:
        steps: list[Any] = [
            ("numbers", "passthrough", numbers),
            ("categories", _codes(), categories),
        ]
    else:
        steps = [
            ("numbers", _filled_and_scaled(), numbers),
            ("categories", _one_column_each(), categories),
        ]
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0.0)


def with_categories(estimator: E, schema: Schema) -> E:
    """Tell an estimator that splits on categories which columns hold their codes."""
    first, total = len(schema.numbers), len(schema.columns)
    known = estimator.get_params()
    for name in ("categorical_features", "trees__categorical_features"):
        if first < total and name in known:
            estimator.set_params(**{name: list(range(first, total))})
    return estimator


def _codes() -> OrdinalEncoder:
    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, encoded_missing_value=np.nan
    )


def _filled_and_scaled() -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler())


def _one_column_each() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
    )
