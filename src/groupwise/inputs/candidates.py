"""Labels of groups as sets of candidate classes: one class each, or a table of zeros and ones."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from groupwise._typing import MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.labels import GroupedRows
from groupwise.inputs.rows import check_features, check_groups, remember_features

__all__ = ["CandidateRows", "candidates_of_labels", "check_candidates"]


@dataclass(frozen=True)
class CandidateRows:
    """Checked training data.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
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


def candidates_of_labels(data: GroupedRows) -> CandidateRows:
    """One candidate for each group: its label."""
    table = np.eye(len(data.classes), dtype=bool)[data.y_group]
    return CandidateRows(data.X, data.groups, table, data.classes)


def check_candidates(
    estimator: BaseEstimator, X: MatrixLike, y: ArrayLike, groups: ArrayLike | Groups | None
) -> CandidateRows:
    """Check rows and a table of candidates, the same on all rows of a group."""
    values = np.asarray(y)
    classes = np.asarray(y.columns) if isinstance(y, pd.DataFrame) else np.arange(values.shape[1])
    rows = check_features(estimator, X)
    n_rows = _num_samples(rows)
    if len(values) != n_rows:
        raise GroupDataError(
            f"a table of candidates must have one line per row: got {len(values)} for {n_rows}"
        )
    encoded = check_groups(groups, n_rows)
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
    remember_features(estimator, X)
    return CandidateRows(rows, encoded, table, classes)
