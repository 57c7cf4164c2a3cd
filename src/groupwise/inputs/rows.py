"""Features and group ids: the checks that every estimator makes of every table."""

import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from groupwise._typing import MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups

__all__ = [
    "LARGEST_UNSCALED",
    "LARGEST_VALUE",
    "LARGEST_WEIGHT",
    "CategoryColumns",
    "check_features",
    "check_groups",
    "check_rows",
    "check_weights",
    "dense",
    "expecting",
    "expecting_rows_for",
    "known_categories",
    "refuse_dates",
    "refuse_equal_names",
    "refuse_size",
    "remember_features",
    "split_column",
    "take_rows_like",
]


#: The largest magnitude of a feature that methods compute with, unless they say another.
LARGEST_VALUE = 1e50
#: The same where features are scaled before anything is computed with them.
LARGEST_UNSCALED = 1e100
#: And of a weight.
LARGEST_WEIGHT = 1e30
_NUMBERS_OF_DATES = "make numbers of them, such as days since the first"


@contextmanager
def expecting(name: str, what: str) -> Iterator[None]:
    """Let errors of a conversion say which argument failed, and what it should have been.

    >>> with expecting("y", "numbers"):
    ...     float("seven")
    Traceback (most recent call last):
        ...
    groupwise.exceptions.GroupDataError: y must hold numbers: could not convert string to ...
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        if re.search(rf"\b{name}\b|feature names", str(error)):
            raise
        kind = TypeError if isinstance(error, TypeError) else GroupDataError
        raise kind(f"{name} must hold {what}: {error}") from error


@contextmanager
def expecting_rows_for(estimator: BaseEstimator, X: Rows) -> Iterator[None]:
    """Let errors of another estimator's fit say whose they are, and which columns hold nothing."""
    name = type(estimator).__name__
    try:
        with expecting("X", f"rows that {name} can be fitted to"):
            yield
    except ValueError as error:
        empty = [] if issparse(X) else np.flatnonzero(np.isnan(X).all(axis=0)).tolist()
        if not empty:
            raise
        raise GroupDataError(
            f"column {empty[0]} of X (the first is 0) holds no value at all, and {name} cannot be "
            "fitted: leave the column out"
        ) from error


def refuse_equal_names(table: Any, name: str) -> None:
    """Refuse a DataFrame two columns of which have the same name."""
    columns = list(getattr(table, "columns", ()))
    if len(set(columns)) < len(columns):
        twice = next(column for column in columns if columns.count(column) > 1)
        raise GroupDataError(f"{name} has {columns.count(twice)} columns named {twice!r}")


def refuse_dates(values: Any, name: str) -> None:
    """Refuse an array of dates, which would become numbers of an unknown unit."""
    if getattr(getattr(values, "dtype", None), "kind", "") == "M":
        raise GroupDataError(f"{name} holds dates; {_NUMBERS_OF_DATES}")


def check_groups(groups: ArrayLike | Groups | None, n_rows: int, *, name: str = "groups") -> Groups:
    """Encode ids and check that there is one per row; ``None`` makes every row its own group."""
    if groups is None:
        return Groups.singletons(n_rows)
    encoded = groups if isinstance(groups, Groups) else Groups(groups)
    if encoded.n_rows != n_rows:
        raise GroupDataError(
            f"{name} must hold one id per row: got {encoded.n_rows} ids for {n_rows} rows"
        )
    return encoded


def split_column(
    X: MatrixLike,
    column: str | None,
    ids: ArrayLike | Groups | None,
    *,
    name: str = "group",
    required: bool = True,
) -> tuple[Any, ArrayLike | Groups | None]:
    """Take the ids out of a table's column; returns the features and the ids.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    column : str or None
        ``None``: the ids are not in the table.
    ids : array-like of shape (n_rows,) or None
        Ids passed as well must describe the same groups as the column.
    name : {"group", "domain"}, default="group"
        For messages.
    required : bool, default=True
        Whether a table without the column, and no ids beside it, is refused.
    """
    if column is None:
        return X, ids
    columns = getattr(X, "columns", None)
    if columns is None:
        raise GroupDataError(
            f"{name}_column={column!r} needs X to be a DataFrame, got {type(X).__name__}"
        )
    if column not in columns:
        if ids is None and required:
            raise GroupDataError(
                f"X has no column {column!r} ({name}_column); its columns are {list(columns)}"
            )
        return X, ids
    table: Any = X
    found = table[column]
    features = table.drop(columns=column) if isinstance(X, pd.DataFrame) else table.drop(column)
    if ids is not None:
        passed = ids if isinstance(ids, Groups) else Groups(ids)
        if not passed.same_partition(Groups(found)):
            raise GroupDataError(
                f"{name}s and the column {column!r} describe different {name}s; pass one of them"
            )
    return features, found


@dataclass(frozen=True)
class CategoryColumns:
    """The columns of a table that hold categories, with those that training knew.

    Attributes
    ----------
    positions : tuple of int
    categories : tuple of tuple
        The categories of each such column, in the order of their codes.
    as_codes : bool
        Whether the learner splits on categories: then a column becomes codes (unknown and missing
        values NaN), else one column of zeros and ones per category (unknown and missing all zero).
    """

    positions: tuple[int, ...]
    categories: tuple[tuple[Any, ...], ...]
    as_codes: bool

    @classmethod
    def of(cls, X: MatrixLike, *, as_codes: bool) -> "CategoryColumns | None":
        """Those of a table; ``None`` where there are none."""
        frame = _as_pandas(X)
        if frame is None:
            return None
        positions = [
            place
            for place, kind in enumerate(frame.dtypes)
            if isinstance(kind, pd.CategoricalDtype)
        ]
        if not positions:
            return None
        known = tuple(tuple(frame.dtypes.iloc[place].categories) for place in positions)
        return cls(tuple(positions), known, as_codes)

    def to_numbers(self, X: MatrixLike) -> pd.DataFrame:
        """The table with numbers in place of categories."""
        frame = _as_pandas(X)
        if frame is None:
            raise GroupDataError(
                f"the model was fitted to a DataFrame with category columns, got "
                f"{type(X).__name__}: pass a DataFrame with the same columns"
            )
        if self.as_codes:
            table = frame.copy(deep=False)
            for place, known in zip(self.positions, self.categories, strict=True):
                codes = _codes_of(frame.iloc[:, place], known)
                table.isetitem(place, np.where(codes < 0, np.nan, codes))
            return table
        parts, start = [], 0
        for place, known in zip(self.positions, self.categories, strict=True):
            column = frame.iloc[:, place]
            one_each = (_codes_of(column, known)[:, None] == np.arange(len(known))).astype(float)
            names = [f"{column.name}={value}" for value in known]
            parts += [
                frame.iloc[:, start:place],
                pd.DataFrame(one_each, frame.index, names),
            ]
            start = place + 1
        return pd.concat([*parts, frame.iloc[:, start:]], axis=1)


def _codes_of(column: pd.Series, known: Sequence[Any]) -> NDArray[np.intp]:
    """Positions of the values among those known; -1 for others."""
    index = pd.Index(known)
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return index.get_indexer(pd.Index(column.to_numpy(dtype=object)))
    place = np.append(index.get_indexer(pd.Index(list(column.cat.categories))), -1)
    return place[column.cat.codes]  # a missing value's code is -1: the last place


def known_categories(estimator: BaseEstimator) -> CategoryColumns | None:
    """The category columns that a fitted estimator knows; ``None`` where there are none."""
    return getattr(estimator, "_categories", None)


def check_rows(estimator: BaseEstimator, X: MatrixLike) -> Rows:
    """Check features for prediction, against those the estimator was fitted to."""
    _refuse_what_is_no_table(X)
    known: CategoryColumns | None = getattr(estimator, "_categories", None)
    if known is None:
        _refuse_what_is_no_number(X)
        with _expecting_numbers():
            rows = validate_data(estimator, X, reset=False, **_row_options(estimator))
    else:
        numbers = known.to_numbers(X)  # refuses what is no table, in its own words
        validate_data(estimator, X, reset=False, skip_check_array=True)
        rows = _as_rows(estimator, numbers)
    return _of_usual_size(estimator, rows, X if known is None else numbers)


def check_features(estimator: BaseEstimator, X: MatrixLike) -> Rows:
    """Check features for training; the estimator remembers nothing yet."""
    _refuse_what_is_no_table(X)
    categories = _categories_of(estimator, X)
    numbers = X if categories is None else categories.to_numbers(X)
    return _of_usual_size(estimator, _as_rows(estimator, numbers), numbers, to_fit=True)


def remember_features(estimator: BaseEstimator, X: MatrixLike) -> None:
    """Store number, names and categories of the features.

    Called last, when nothing can fail any more: a refused fit leaves no trace.
    """
    validate_data(estimator, X, skip_check_array=True)
    vars(estimator)["_categories"] = _categories_of(estimator, X)


def check_weights(sample_weight: ArrayLike | None, X: Rows) -> NDArray[np.float64] | None:
    """Weights as float64, one per row, none negative; ``None`` stays ``None``."""
    if sample_weight is None:
        return None
    refuse_dates(sample_weight, "sample_weight")
    with expecting("sample_weight", "one number per row"):
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, copy=True)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise GroupDataError(f"sample_weight must not be negative; row {row} holds {weight[row]}")
    refuse_size("sample_weight", weight, LARGEST_WEIGHT, name="fit")
    return weight


def take_rows_like(tags: Tags, estimator: BaseEstimator) -> None:
    """For the tags of an estimator that hands its rows on to another one."""
    if hasattr(estimator, "__sklearn_tags__"):
        inner = get_tags(estimator).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = inner.sparse, inner.allow_nan


def dense(X: Rows) -> NDArray[np.float64]:
    """Rows as a dense table of floats."""
    table: Any = X
    return np.asarray(table.toarray() if issparse(X) else table, dtype=np.float64)


def _categories_of(estimator: BaseEstimator, X: MatrixLike) -> CategoryColumns | None:
    as_codes = bool(getattr(estimator, "_splits_on_categories", False))
    return CategoryColumns.of(X, as_codes=as_codes)


def _as_rows(estimator: BaseEstimator, X: MatrixLike) -> Rows:
    _refuse_what_is_no_number(X)
    with _expecting_numbers():
        return check_array(X, estimator=estimator, input_name="X", **_row_options(estimator))


def _expecting_numbers() -> AbstractContextManager[None]:
    return expecting("X", "a table of numbers")


def _row_options(estimator: BaseEstimator) -> dict[str, Any]:
    tags = get_tags(estimator).input_tags
    return {
        "accept_sparse": "csr" if tags.sparse else False,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if tags.allow_nan else True,
    }


def _as_pandas(X: MatrixLike) -> pd.DataFrame | None:
    """A DataFrame of pandas or polars as one of pandas; ``None`` for anything else."""
    if isinstance(X, pd.DataFrame):
        return X
    other: Any = X
    return other.to_pandas() if hasattr(X, "columns") and hasattr(X, "to_pandas") else None


def _refuse_what_is_no_number(X: MatrixLike) -> None:
    refuse_dates(X, "X")
    frame = _as_pandas(X)
    if frame is None:
        return
    for place, kind in enumerate(frame.dtypes):
        if pd.api.types.is_numeric_dtype(kind):
            continue
        column = frame.iloc[:, place]
        if pd.api.types.infer_dtype(column, skipna=True) == "string":
            raise GroupDataError(
                f"column {column.name!r} of X holds text; make it a category "
                f"(X.astype({{{column.name!r}: 'category'}})) or leave it out"
            )
        if pd.api.types.is_datetime64_any_dtype(kind):
            raise GroupDataError(f"column {column.name!r} of X holds dates; {_NUMBERS_OF_DATES}")


def _of_usual_size(
    estimator: BaseEstimator, rows: Rows, X: MatrixLike, *, to_fit: bool = False
) -> Rows:
    """Refuse numbers whose products overflow, and training data whose products all vanish.

    Learners that only compare values take any. ``X`` is what the rows were made of: it may know
    the columns' names.
    """
    table: Any = rows
    if issparse(table) and max(table.nnz, *table.shape) <= np.iinfo(np.int32).max:
        places = [each.astype(np.int32, copy=False) for each in (table.indices, table.indptr)]
        table = type(table)((table.data, *places), shape=table.shape)  # as compiled code wants it
    limit = float(getattr(estimator, "_largest_value", LARGEST_VALUE))
    refuse_size(
        "X",
        table,
        limit,
        name=type(estimator).__name__,
        also_small=to_fit,
        columns=getattr(X, "columns", None),
    )
    return table


def refuse_size(
    argument: str,
    numbers: Rows,
    limit: float,
    *,
    name: str,
    also_small: bool = True,
    columns: Sequence[Any] | None = None,
) -> None:
    """Refuse numbers beyond a limit, and with ``also_small`` those that all stay below one over it.

    Missing values count for nothing. ``columns`` are a table's names.
    """
    table: Any = numbers
    values = table.data if issparse(table) else table
    if np.isinf(limit) or not np.size(values):
        return
    extremes = (float(part.reduce(values, axis=None)) for part in (np.fmax, np.fmin))
    largest = max(map(abs, extremes))
    if largest > limit:
        where = argument if table.ndim == 1 else _column_of_largest(table, columns, argument)
        raise GroupDataError(
            f"{where} holds {largest:g}; {name} computes with values up to {limit:g}"
        )
    if also_small and 0 < largest < 1 / limit:
        raise GroupDataError(
            f"{argument} holds nothing above {largest:g}; {name} computes with values from "
            f"{1 / limit:g} on: scale it"
        )


def _column_of_largest(table: Any, columns: Sequence[Any] | None, argument: str) -> str:
    """The column of a table that holds the number farthest from 0, in words."""
    if issparse(table):
        cells = table.tocoo()
        place = int(cells.col[np.nanargmax(np.abs(cells.data))])
    else:
        place = int(np.nanargmax(np.abs(table)) % table.shape[1])
    if columns is None:
        return f"column {place} of {argument} (the first is 0)"
    return f"column {columns[place]!r} of {argument}"


def _refuse_what_is_no_table(X: MatrixLike) -> None:
    refuse_equal_names(X, "X")
    if isinstance(X, list | tuple) and len(X) and all(np.ndim(bag) == 2 for bag in X[:3]):
        raise GroupDataError(
            "X is a list of bags; rows come in one flat table with one group id per row: "
            "X, y, groups = groupwise.flatten_bags(bags, labels)"
        )
