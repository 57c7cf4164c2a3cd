"""Class labels of rows or groups."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, assert_all_finite, column_or_1d

from groupwise._typing import MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.rows import (
    check_features,
    check_groups,
    expecting,
    refuse_equal_names,
    remember_features,
)

__all__ = [
    "GroupedRows",
    "check_known_classes",
    "check_labels",
    "class_codes",
    "distinct_labels",
    "one_entry_per_row",
    "refuse_missing",
    "require_y",
]


@dataclass(frozen=True)
class GroupedRows:
    """Checked training data: rows, class codes and groups that fit together.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    y_row : ndarray of shape (n_rows,)
        Positions in ``classes``.
    groups : Groups
    classes : ndarray of shape (n_classes,)
    """

    X: Rows
    y_row: NDArray[np.intp]
    groups: Groups
    classes: NDArray[Any]

    @property
    def y_group(self) -> NDArray[np.intp]:
        """The class code of each group; only where a group has one label."""
        return self.y_row[self.groups.first_rows]


def check_labels(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: ArrayLike | Groups | None,
    *,
    one_label_per_group: bool = True,
) -> GroupedRows:
    """Check training data for classification: see :class:`GroupedRows`.

    Raises
    ------
    GroupDataError
        For labels that are missing, differ inside a group where they may not, or are all the same.
    """
    require_y(estimator, y)
    rows = check_features(estimator, X)
    labels = _one_column(y)
    n_rows = _num_samples(rows)
    if len(labels) != n_rows:
        raise GroupDataError(f"y must hold one label per row: got {len(labels)} for {n_rows} rows")
    encoded = check_groups(groups, n_rows)
    classes, y_row = distinct_labels(labels, encoded)
    if one_label_per_group:
        encoded.one_per_group(labels)
    if len(classes) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(classes[0])}); a classifier needs at least two"
        )
    remember_features(estimator, X)
    return GroupedRows(rows, y_row, encoded, classes)


def require_y(estimator: BaseEstimator, y: ArrayLike | None) -> None:
    """Refuse a missing target in scikit-learn's words."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )


def one_entry_per_row(y: ArrayLike, groups: Groups) -> NDArray[Any]:
    """The target as one column, as long as the rows."""
    values = _one_column(y)
    if len(values) != groups.n_rows:
        raise GroupDataError(
            f"y must hold one entry per row: got {len(values)} for {groups.n_rows} rows"
        )
    return values


def _one_column(y: ArrayLike) -> NDArray[Any]:
    refuse_equal_names(y, "y")
    with expecting("y", "one entry per row"):
        values = column_or_1d(y, warn=True)
    if values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8):  # which pandas lacks
        with np.errstate(over="ignore"):
            return values.astype(float)
    return values


def distinct_labels(labels: NDArray[Any], groups: Groups) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes, sorted, and the code of each row's; labels of no class are refused."""
    refuse_missing(labels, groups)
    assert_all_finite(labels, input_name="y")
    if labels.dtype.kind in "biu":  # hashed: several times quicker than sorted
        codes, classes = pd.factorize(labels, sort=True)
        if 2 * len(classes) <= len(labels):  # else scikit-learn warns that these may be no classes
            return classes, codes
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise GroupDataError(
            "y must hold labels that can be sorted, such as text or whole numbers; it holds "
            f"{' and '.join(kinds)}"
        ) from error
    with expecting("y", "classes"):
        check_classification_targets(labels)
    return classes, codes


def refuse_missing(values: NDArray[Any], groups: Groups) -> None:
    """Refuse NaN and None, naming the first row and its group."""
    missing = np.asarray(pd.isna(values))
    if missing.any():
        row = int(np.argmax(missing))
        raise GroupDataError(
            f"y must hold a value on every row; {int(missing.sum())} are missing, the first in "
            f"group {show(groups.names[groups.codes[row]])} (row {row}; NaN or None)"
        )


def check_known_classes(y: ArrayLike, classes: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """One label per row; refuses those the model has never seen, naming the first and its group."""
    labels = one_entry_per_row(y, groups)
    refuse_missing(labels, groups)
    with expecting("y", "labels of the model's classes"):
        unknown = ~np.isin(labels, classes)
    if unknown.any():
        row = int(np.argmax(unknown))
        raise GroupDataError(
            f"y holds {show(labels[row])} in group {show(groups.names[groups.codes[row]])}, which "
            f"is not among the classes of the model: {classes.tolist()}"
        )
    return labels


def class_codes(y: ArrayLike, classes: NDArray[Any], groups: Groups) -> NDArray[np.intp]:
    """Positions of labels among the classes of a fitted model."""
    labels = check_known_classes(y, classes, groups)
    order = np.argsort(classes)
    return order[np.searchsorted(classes, labels, sorter=order)]
