"""How many rows of each class a group has, from labels, shares or counts.

Whatever comes in, a learner sees one line per group. Labels of rows are counted here and go no
further.
"""

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
from groupwise.inputs.labels import (
    distinct_labels,
    one_entry_per_row,
    refuse_missing,
    require_y,
)
from groupwise.inputs.rows import (
    check_features,
    check_groups,
    refuse_equal_names,
    remember_features,
)

__all__ = [
    "SHARE_TOLERANCE",
    "ShareRows",
    "as_counts",
    "check_shares",
    "class_counts",
    "class_shares",
    "is_table",
    "whole_counts",
]

#: How far a share may be rounded: two decimals (three times 0.33 sum to 0.99). Counts are exact.
SHARE_TOLERANCE = 5e-3
_COUNT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class ShareRows:
    """Checked training data: rows, groups, and the number of rows of each class per group."""

    X: Rows
    groups: Groups
    counts_group: NDArray[np.float64]
    classes: NDArray[Any]

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    @property
    def sizes(self) -> NDArray[np.float64]:
        return self.groups.sizes.astype(float)

    @property
    def shares_group(self) -> NDArray[np.float64]:
        return self.counts_group / self.sizes[:, None]

    @property
    def prior(self) -> NDArray[np.float64]:
        """Share of each class over all rows."""
        return self.counts_group.sum(axis=0) / self.groups.n_rows

    @property
    def present(self) -> NDArray[np.bool_]:
        """Classes that at least one group has rows of."""
        return self.counts_group.sum(axis=0) > 0

    def only_present(self) -> "ShareRows":
        """The same without the classes that no group has rows of."""
        present = self.present
        return ShareRows(self.X, self.groups, self.counts_group[:, present], self.classes[present])

    def all_shares_equal(self) -> bool:
        return bool(np.allclose(self.shares_group, self.prior, rtol=0.0, atol=1e-9))


def check_shares(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: ArrayLike | Groups | None,
    *,
    classes: ArrayLike | None = None,
) -> ShareRows:
    """Check training data for classification: see :class:`ShareRows`.

    Parameters
    ----------
    estimator : estimator
        Remembers the number and names of features.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        Labels, or shares or counts per class repeated on the group's rows.
    groups : array-like of shape (n_rows,) or None
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`class_counts`.
    """
    require_y(estimator, y)
    rows = check_features(estimator, X)
    encoded = check_groups(groups, _num_samples(rows))
    counts, names = class_counts(y, encoded, classes=classes)
    if len(names) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(names[0])}); a classifier needs at least two"
        )
    remember_features(estimator, X)
    return ShareRows(rows, encoded, counts, names)


def is_table(y: ArrayLike) -> bool:
    """Whether y holds a column for each class, rather than a label for each row."""
    shape = np.asarray(y).shape  # np.ndim would ask objects that only know how to become an array
    return len(shape) == 2 and shape[1] > 1


def class_counts(
    y: ArrayLike, groups: Groups, *, classes: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Number of rows of each class per group, and the classes' names.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        Labels; or shares (a group's sum to 1) or counts (they sum to its size), the same on all
        rows of a group. The columns of a DataFrame name the classes.
    groups : Groups
    classes : array-like of shape (n_classes,), default=None
        Names of the classes. For labels: may name classes that no row has. For shares without
        column names: the columns' names, in order; ``None`` numbers them from 0. For a DataFrame:
        the columns to take, in order.

    Returns
    -------
    counts_group : ndarray of shape (n_groups, n_classes)
    classes : ndarray of shape (n_classes,)

    Examples
    --------
    >>> from groupwise import Groups
    >>> from groupwise.inputs import class_counts
    >>> class_counts(["a", "b", "b"], Groups([0, 0, 1]))
    (array([[1., 1.],
           [0., 1.]]), array(['a', 'b'], dtype='<U1'))
    """
    if not is_table(y):
        return _counts_of_labels(one_entry_per_row(y, groups), groups, classes)
    value_group, names = _one_line_per_group(y, groups, classes)
    return as_counts(value_group, groups), names


def as_counts(value_group: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """Counts from shares or counts of each group, told apart by what they sum to.

    Raises
    ------
    GroupDataError
        If some groups' entries add up to neither, or to the other than most groups' do.
    """
    total = _checked_sums(value_group, groups)
    return value_group * (groups.sizes / total)[:, None]


def class_shares(
    y: ArrayLike, groups: Groups, *, classes: ArrayLike | None = None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Share of each class per group, and the classes' names; as :func:`class_counts`."""
    if not is_table(y):
        counts, names = class_counts(y, groups, classes=classes)
        return counts / groups.sizes[:, None], names
    value_group, names = _one_line_per_group(y, groups, classes)
    return value_group / _checked_sums(value_group, groups)[:, None], names


def whole_counts(counts_group: NDArray[np.float64]) -> NDArray[np.intp]:
    """Round counts to whole rows, each group keeping its size (largest remainders first)."""
    size = np.rint(counts_group.sum(axis=1)).astype(np.intp)
    # A hair is added so that 2.9999999 is three and not two and a remainder.
    low = np.floor(counts_group + 1e-9).astype(np.intp)
    remainder = counts_group - low
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    return low + (rank < (size - low.sum(axis=1))[:, None])


def _counts_of_labels(
    labels: NDArray[Any], groups: Groups, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    names, codes = distinct_labels(labels, groups)
    if classes is not None:
        names = _class_names(classes)
        codes = pd.Index(names).get_indexer(pd.Index(labels))
        unknown = codes < 0
        if unknown.any():
            row = int(np.argmax(unknown))
            raise GroupDataError(
                f"y holds {show(labels[row])} in group {show(groups.names[groups.codes[row]])}, "
                f"which is not among the classes: {names.tolist()}"
            )
    cell = groups.codes * len(names) + codes
    counts = np.bincount(cell, minlength=groups.n_groups * len(names))
    return counts.reshape(groups.n_groups, len(names)).astype(float), names


def _one_line_per_group(
    y: ArrayLike, groups: Groups, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    table, names = _named_table(y, groups, classes)
    refuse_missing(table.sum(axis=1), groups)
    return groups.one_per_group(table), names


def _named_table(
    y: Any, groups: Groups, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    refuse_equal_names(y, "y")
    columns = getattr(y, "columns", None)
    if columns is not None:
        names = _class_names(columns if classes is None else classes)
        absent = [name for name in names.tolist() if name not in list(columns)]
        if absent:
            raise GroupDataError(f"y has no column for the classes {absent}: {list(columns)}")
        y = y[names.tolist()]
    table = np.asarray(y)
    if columns is None:
        names = np.arange(table.shape[1]) if classes is None else _class_names(classes)
    if table.shape != (groups.n_rows, len(names)):
        raise GroupDataError(
            "y must hold one label per row, or one column of shares or counts for each of "
            f"{len(names)} classes and {groups.n_rows} rows; got shape {table.shape}"
        )
    try:
        if np.iscomplexobj(table):
            raise TypeError("they are complex")
        return table.astype(float), names
    except (TypeError, ValueError, OverflowError) as error:
        raise GroupDataError(f"shares or counts must be numbers: {error}") from error


def _checked_sums(value_group: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
    """What each group's entries add up to: 1 in all groups, or its size in all."""
    negative = (value_group < 0).any(axis=1)
    if negative.any():
        group = int(np.argmax(negative))
        raise GroupDataError(
            f"shares and counts cannot be negative; group {show(groups.names[group])} holds "
            f"{value_group[group].tolist()}"
        )
    total = value_group.sum(axis=1)
    are_counts = np.abs(total - groups.sizes) <= _COUNT_TOLERANCE * groups.sizes
    are_shares = np.abs(total - 1.0) <= value_group.shape[1] * SHARE_TOLERANCE
    if not (are_counts.all() or are_shares.all()):
        mostly_counts = are_counts.sum() >= are_shares.sum()
        group = int(np.argmin(are_counts if mostly_counts else are_shares))
        raise GroupDataError(
            "counts must add up to the size of their group, or shares to 1, in all groups; "
            f"group {show(groups.names[group])} has {groups.sizes[group]} rows and its entries "
            f"add up to {total[group]:g}; divide by their sum for shares, or add a class for rows "
            "that have none of these"
        )
    return total


def _class_names(classes: Any) -> NDArray[Any]:
    names = np.asarray(classes)
    if names.ndim != 1 or len(np.unique(names)) != len(names):
        raise ValueError(f"classes must be a list of different names, got {classes!r}")
    return names
