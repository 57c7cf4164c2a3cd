"""From features of mixed kinds to the matrix a learner takes."""

from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import get_tags

from groupwise.tables import Schema

__all__ = ["make_preparation", "with_categories"]


def make_preparation(schema: Schema, estimator: Any) -> ColumnTransformer:
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


def with_categories(estimator: Any, schema: Schema) -> Any:
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


def _filled_and_scaled() -> Any:
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler())


def _one_column_each() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
    )
