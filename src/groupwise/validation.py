"""The one door: rows, labels and group ids are checked here and nowhere else."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d, validate_data

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show

__all__ = [
    "GroupedRows",
    "check_grouped_rows",
    "check_groups",
    "check_known_classes",
    "check_rows",
    "split_group_column",
]


@dataclass(frozen=True)
class GroupedRows:
    """Checked training data: rows, class codes and groups that fit together."""

    X: Any
    y_row: NDArray[np.intp]
    groups: Groups
    classes: NDArray[Any]

    @property
    def y_group(self) -> NDArray[np.intp]:
        """The class code of each group; only where a group has one label."""
        return self.y_row[self.groups.first_rows]


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


def split_group_column(X: Any, column: str | None, groups: Any, *, required: bool = True) -> Any:
    """Take the ids out of a table's column; returns the features and the ids.

    Ids passed as well must describe the same groups as the column.
    """
    if column is None:
        return X, groups
    columns = getattr(X, "columns", None)
    if columns is None:
        raise GroupDataError(
            f"group_column={column!r} needs X to be a DataFrame, got {type(X).__name__}"
        )
    if column not in columns:
        if groups is None and required:
            raise GroupDataError(
                f"X has no column {column!r} (group_column); its columns are {list(columns)}"
            )
        return X, groups
    ids = X[column]
    features = X.drop(columns=column) if isinstance(X, pd.DataFrame) else X.drop(column)
    if groups is not None:
        passed = groups if isinstance(groups, Groups) else Groups(groups)
        if not passed.same_partition(Groups(ids)):
            raise GroupDataError(
                f"groups and the column {column!r} describe different groups; pass one of them"
            )
    return features, ids


def check_rows(estimator: Any, X: Any, *, reset: bool = False, **options: Any) -> Any:
    """Check features for prediction (or, with ``reset``, remember them)."""
    return validate_data(estimator, X, reset=reset, **_row_options(estimator), **options)


def check_grouped_rows(
    estimator: Any, X: Any, y: Any, groups: Any, *, one_label_per_group: bool = True
) -> GroupedRows:
    """Check training data for classification: see :class:`GroupedRows`.

    Raises
    ------
    GroupDataError
        For labels that are missing, differ inside a group, or are all the same.
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    given, X = X, check_array(X, estimator=estimator, input_name="X", **_row_options(estimator))
    y = column_or_1d(y, warn=True)
    n_rows = _num_samples(X)
    if len(y) != n_rows:
        raise GroupDataError(f"y must hold one label per row: got {len(y)} for {n_rows} rows")
    encoded = check_groups(groups, n_rows)
    _check_no_missing(y, encoded)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    if one_label_per_group:
        encoded.one_per_group(y)
    classes, y_row = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(classes[0])}); a classifier needs at least two"
        )
    # Only now, when nothing can fail any more, does the estimator remember the features.
    validate_data(estimator, given, skip_check_array=True)
    return GroupedRows(X, y_row, encoded, classes)


def check_known_classes(y: ArrayLike, classes: NDArray[Any], groups: Groups) -> None:
    """Refuse labels the model has never seen, naming the first and its group."""
    labels = np.asarray(y)
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise GroupDataError(
            f"y holds {show(labels[row])} in group {show(groups.names[groups.codes[row]])}, which "
            f"is not among the classes of the model: {classes.tolist()}"
        )


def _row_options(estimator: Any) -> dict[str, Any]:
    tags = estimator.__sklearn_tags__().input_tags
    return {
        "accept_sparse": "csr" if tags.sparse else False,
        "dtype": [np.float64, np.float32],
        "ensure_all_finite": "allow-nan" if tags.allow_nan else True,
    }


def _check_no_missing(y: NDArray[Any], groups: Groups) -> None:
    missing = np.asarray(pd.isna(y))
    if missing.any():
        row = int(np.argmax(missing))
        raise GroupDataError(
            f"y must hold a label on every row; {int(missing.sum())} are missing, the first in "
            f"group {show(groups.names[groups.codes[row]])} (row {row}; NaN or None)"
        )
