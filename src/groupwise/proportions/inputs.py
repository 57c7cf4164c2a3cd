"""What is known of each group, from labels, shares, counts or totals.

Whatever comes in, a learner sees one line per group: how many of its rows have each class, or the
total of its rows' values. Labels of rows are summed here and go no further.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, column_or_1d

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.validation import check_groups, check_rows

__all__ = [
    "AggregateRows",
    "EqualSharesWarning",
    "TotalRows",
    "as_counts",
    "check_aggregates",
    "check_totals",
    "class_counts",
    "totals",
    "whole_counts",
]

# Shares may come with two decimals only (three times 0.33 sums to 0.99); counts are exact.
_SHARE_TOLERANCE = 5e-3
_COUNT_TOLERANCE = 1e-6


class EqualSharesWarning(UserWarning):
    """All groups have the same shares of the classes: they say nothing about single rows."""


@dataclass(frozen=True)
class AggregateRows:
    """Checked training data: rows, groups, and the number of rows of each class per group."""

    X: Any
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

    def only_present(self) -> "AggregateRows":
        """The same without the classes that no group has rows of."""
        present = self.present
        return AggregateRows(
            self.X, self.groups, self.counts_group[:, present], self.classes[present]
        )

    def all_shares_equal(self) -> bool:
        return bool(np.allclose(self.shares_group, self.prior, rtol=0.0, atol=1e-9))


@dataclass(frozen=True)
class TotalRows:
    """Checked training data for regression: rows, groups, and the total of each group."""

    X: Any
    groups: Groups
    total_group: NDArray[np.float64]

    @property
    def sizes(self) -> NDArray[np.float64]:
        return self.groups.sizes.astype(float)


def check_aggregates(
    estimator: Any, X: Any, y: Any, groups: Any, *, classes: ArrayLike | None = None
) -> AggregateRows:
    """Check training data for classification: see :class:`AggregateRows`.

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

    Returns
    -------
    data : AggregateRows
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    encoded = check_groups(groups, _checked_length(estimator, X))
    counts, names = class_counts(y, encoded, classes=classes)
    if len(names) < 2:
        raise GroupDataError(
            f"y holds one class only ({show(names[0])}); a classifier needs at least two"
        )
    # Last, as the estimator remembers the features, and a refused fit shall leave no trace.
    X = check_rows(estimator, X, reset=True)
    return AggregateRows(_as_float64(X), encoded, counts, names)


def check_totals(estimator: Any, X: Any, y: Any, groups: Any, *, target: str) -> TotalRows:
    """Check training data for regression.

    Parameters
    ----------
    estimator : estimator
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,)
    groups : array-like of shape (n_rows,) or None
    target : {"mean", "total"}
        ``"mean"``: y holds the group's mean on its rows (or the rows' values, whose mean it is);
        ``"total"``: the group's total on each of its rows.

    Returns
    -------
    data : TotalRows
    """
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    encoded = check_groups(groups, _checked_length(estimator, X))
    total_group = totals(y, encoded, target=target)
    X = check_rows(estimator, X, reset=True)
    return TotalRows(_as_float64(X), encoded, total_group)


def totals(y: Any, groups: Groups, *, target: str) -> NDArray[np.float64]:
    """Total of each group; ``target`` as in :func:`check_totals`."""
    if target not in ("mean", "total"):
        raise ValueError(f"target must be 'mean' or 'total', got {target!r}")
    values = _one_column(y, groups)
    if values.dtype.kind not in "biuf":
        values = values.astype(float)
    _refuse_missing(values, groups)
    assert_all_finite(values, input_name="y")
    total = groups.one_per_group(values) if target == "total" else groups.sum(values)
    return np.asarray(total, dtype=float)


def class_counts(
    y: Any, groups: Groups, *, classes: ArrayLike | None = None
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
    >>> from groupwise.proportions import class_counts
    >>> class_counts(["a", "b", "b"], Groups([0, 0, 1]))
    (array([[1., 1.],
           [0., 1.]]), array(['a', 'b'], dtype='<U1'))
    """
    shape = y.shape if hasattr(y, "columns") else np.asarray(y).shape
    if len(shape) < 2 or shape[1] == 1:
        return _counts_of_labels(_one_column(y, groups), groups, classes)
    return _counts_of_table(y, groups, classes)


def _counts_of_labels(
    labels: NDArray[Any], groups: Groups, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    _refuse_missing(labels, groups)
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    if classes is None:
        names, codes = np.unique(labels, return_inverse=True)
    else:
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


def _counts_of_table(
    y: Any, groups: Groups, classes: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[Any]]:
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
    if table.ndim != 2 or table.shape != (groups.n_rows, len(names)):
        raise GroupDataError(
            "y must hold one label per row, or one column of shares or counts for each of "
            f"{len(names)} classes and {groups.n_rows} rows; got shape {table.shape}"
        )
    try:
        table = table.astype(float)
    except (TypeError, ValueError) as error:
        raise GroupDataError(f"shares or counts must be numbers: {error}") from error
    _refuse_missing(table.sum(axis=1), groups)
    value_group = groups.one_per_group(table)
    return as_counts(value_group, groups.sizes, groups.names), names


def as_counts(
    value_group: NDArray[np.float64], sizes: NDArray[Any], names: NDArray[Any]
) -> NDArray[np.float64]:
    """Counts from shares or counts of each group, told apart by what they sum to."""
    negative = (value_group < 0).any(axis=1)
    if negative.any():
        group = int(np.argmax(negative))
        raise GroupDataError(
            f"shares and counts cannot be negative; group {show(names[group])} holds "
            f"{value_group[group].tolist()}"
        )
    total = value_group.sum(axis=1)
    are_counts = np.abs(total - sizes) <= _COUNT_TOLERANCE * sizes
    are_shares = np.abs(total - 1.0) <= value_group.shape[1] * _SHARE_TOLERANCE
    if not (are_counts.all() or are_shares.all()):
        mostly_counts = are_counts.sum() >= are_shares.sum()
        group = int(np.argmin(are_counts if mostly_counts else are_shares))
        raise GroupDataError(
            "counts must add up to the size of their group, or shares to 1, in all groups; "
            f"group {show(names[group])} has {sizes[group]} rows and its entries add up to "
            f"{total[group]:g}"
        )
    return value_group * (sizes / total)[:, None]


def whole_counts(counts_group: NDArray[np.float64]) -> NDArray[np.intp]:
    """Round counts to whole rows, each group keeping its size (largest remainders first)."""
    size = np.rint(counts_group.sum(axis=1)).astype(np.intp)
    # A hair is added so that 2.9999999 is three and not two and a remainder.
    low = np.floor(counts_group + 1e-9).astype(np.intp)
    remainder = counts_group - low
    rank = np.argsort(np.argsort(-remainder, axis=1, kind="stable"), axis=1, kind="stable")
    return low + (rank < (size - low.sum(axis=1))[:, None])


def _checked_length(estimator: Any, X: Any) -> int:
    n_rows = _num_samples(X)
    if n_rows == 0:
        check_rows(estimator, X, reset=True)  # says so
    return n_rows


def _one_column(y: Any, groups: Groups) -> NDArray[Any]:
    values = column_or_1d(y, warn=True)
    if len(values) != groups.n_rows:
        raise GroupDataError(
            f"y must hold one entry per row: got {len(values)} for {groups.n_rows} rows"
        )
    return values


def _class_names(classes: Any) -> NDArray[Any]:
    names = np.asarray(classes)
    if names.ndim != 1 or len(np.unique(names)) != len(names):
        raise ValueError(f"classes must be a list of different names, got {classes!r}")
    return names


def _refuse_missing(values: NDArray[Any], groups: Groups) -> None:
    missing = np.asarray(pd.isna(values))
    if missing.any():
        row = int(np.argmax(missing))
        raise GroupDataError(
            f"y must hold a value on every row; {int(missing.sum())} are missing, the first in "
            f"group {show(groups.names[groups.codes[row]])} (row {row}; NaN or None)"
        )


def _as_float64(X: Any) -> Any:
    return X.astype(np.float64, copy=False) if issparse(X) else np.asarray(X, dtype=np.float64)
