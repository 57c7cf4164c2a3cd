"""Labels of groups as sets of candidate classes: one class each, or a table of zeros and ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.validation import GroupedRows, check_groups

__all__ = [
    "Candidates",
    "candidates_of_labels",
    "check_candidates",
    "find_background",
    "is_table",
]


@dataclass(frozen=True)
class Candidates:
    """Checked training data.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
    groups : Groups
    table : ndarray of bool of shape (n_groups, n_classes)
        The classes that each group may have.
    classes : ndarray of shape (n_classes,)
    """

    X: Rows
    groups: Groups
    table: NDArray[np.bool_]
    classes: NDArray[Any]

    @property
    def sort_key(self) -> NDArray[np.intp]:
        """A number per row that is the same for groups with the same candidates."""
        return self.groups.spread(np.unique(self.table, axis=0, return_inverse=True)[1].ravel())


def is_table(y: ArrayLike) -> bool:
    """Whether y holds a column for each class, rather than a label for each row."""
    values = np.asarray(y)  # np.ndim would ask objects that only know how to become an array
    return values.ndim == 2 and values.shape[1] > 1


def candidates_of_labels(data: GroupedRows) -> Candidates:
    """One candidate for each group: its label."""
    table = np.eye(len(data.classes), dtype=bool)[data.y_group]
    return Candidates(data.X, data.groups, table, data.classes)


def check_candidates(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, groups: Ids
) -> Candidates:
    """Check rows and a table of candidates, the same on all rows of a group."""
    values = np.asarray(y)
    classes = np.asarray(y.columns) if isinstance(y, pd.DataFrame) else np.arange(values.shape[1])
    given = X
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
    if len(values) != X.shape[0]:
        raise GroupDataError(
            f"a table of candidates must have one line per row: got {len(values)} for {X.shape[0]}"
        )
    encoded = check_groups(groups, X.shape[0])
    strange = ~np.isin(values, [0, 1])
    if strange.any():
        row, column = np.argwhere(strange)[0]
        raise GroupDataError(
            f"a table of candidates holds 0 and 1; group {show(encoded.names[encoded.codes[row]])} "
            f"has {show(values[row, column])} for class {show(classes[column])}"
        )
    table = encoded.one_per_group(values.astype(bool))
    if not table.any(axis=1).all():
        group = int(np.argmin(table.any(axis=1)))
        raise GroupDataError(f"group {show(encoded.names[group])} has no candidate class")
    validate_data(estimator, given, skip_check_array=True)
    return Candidates(X, encoded, table, classes)


def find_background(background: Any, classes: NDArray[Any]) -> int | None:
    """Position of the class that a group has only if all of its rows have it.

    Parameters
    ----------
    background : "auto", None or class
        ``"auto"``: the first of two classes, none of more.
    classes : ndarray of shape (n_classes,)
    """
    if isinstance(background, str) and background == "auto":
        return 0 if len(classes) == 2 else None
    if background is None:
        return None
    at = np.flatnonzero(classes == background)
    if not len(at):
        raise GroupDataError(
            f"background must be 'auto', None or one of the classes {classes.tolist()}, "
            f"got {show(background)}"
        )
    return int(at[0])
