"""What has to be done to a table's columns before an estimator sees them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

from groupwise._typing import Rows

__all__ = ["Prepared", "fit_preparation", "needs_preparation", "prepare"]

#: Features as an estimator takes them.
Prepared = Rows | pd.DataFrame
#: Columns of a DataFrame by name, or of an array by position.
Columns = Sequence[str] | Sequence[int]


def needs_preparation(X: Prepared, estimator: BaseEstimator) -> bool:
    """Whether the estimator takes no missing values, and the table can be prepared for it."""
    return not issparse(X) and not get_tags(estimator).input_tags.allow_nan


def fit_preparation(
    X: Prepared, numbers: Columns, categories: Columns, estimator: BaseEstimator
) -> ColumnTransformer | None:
    """Learn what makes numbers of the features, where the estimator needs that.

    One that takes missing values (trees) gets the table: numbers as they are, and categories, which
    it splits on or spreads out itself. So does any estimator a sparse matrix. Any other gets
    numbers with the median in gaps (and a column that says so), scaled, and one column per
    category.

    Parameters
    ----------
    X : {array, sparse matrix, DataFrame} of shape (n_rows, n_features)
    numbers, categories : sequence of str or int
        Names of a DataFrame's columns, or positions.
    estimator : estimator
        Its tags say whether it takes missing values.

    Returns
    -------
    preparation : ColumnTransformer or None
        ``None``: the estimator takes the table.
    """
    if not needs_preparation(X, estimator):
        return None
    steps: list[Any] = [
        ("numbers", _filled_and_scaled(), list(numbers)),
        ("categories", _one_column_each(), list(categories)),
    ]
    used = [step for step in steps if step[2]]
    return ColumnTransformer(used, sparse_threshold=0.0).fit(X)


def prepare(X: Prepared, categories: Columns, preparation: ColumnTransformer | None) -> Prepared:
    """What the estimator takes; where it takes tables, category columns are of that type."""
    if preparation is not None:
        return preparation.transform(X)
    if not len(categories):
        return X
    table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    return table.astype(dict.fromkeys(categories, "category"))


def _filled_and_scaled() -> Pipeline:
    fill = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    return make_pipeline(fill, StandardScaler())


def _one_column_each() -> OneHotEncoder:
    return OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=50, sparse_output=False
    )
