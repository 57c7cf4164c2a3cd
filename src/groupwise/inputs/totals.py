"""Numbers that are known of groups: means or totals of their rows' values."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _num_samples

from groupwise._typing import MatrixLike, Rows
from groupwise.groups import Groups
from groupwise.inputs.labels import one_entry_per_row, refuse_missing, require_y
from groupwise.inputs.parameters import check_choice
from groupwise.inputs.rows import (
    check_features,
    check_groups,
    expecting,
    refuse_dates,
    refuse_size,
    remember_features,
)

__all__ = ["TotalRows", "check_totals", "group_means", "group_numbers", "group_totals"]


@dataclass(frozen=True)
class TotalRows:
    """Checked training data for regression: rows, groups, and the number of each group.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    groups : Groups
    y_row : ndarray of shape (n_rows,)
        As it was passed, float64.
    target : {"mean", "total"}
    """

    X: Rows
    groups: Groups
    y_row: NDArray[np.float64]
    target: str

    @property
    def sizes(self) -> NDArray[np.float64]:
        return self.groups.sizes.astype(float)

    @property
    def total_group(self) -> NDArray[np.float64]:
        return group_totals(self.y_row, self.groups, target=self.target)

    @property
    def mean_group(self) -> NDArray[np.float64]:
        return group_means(self.y_row, self.groups, target=self.target)


def check_totals(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: ArrayLike | Groups | None,
    *,
    target: str,
) -> TotalRows:
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
    """
    require_y(estimator, y)
    rows = check_features(estimator, X)
    encoded = check_groups(groups, _num_samples(rows))
    y_row = group_numbers(y, encoded, target=target)
    remember_features(estimator, X)
    return TotalRows(rows, encoded, y_row, target)


def group_numbers(y: ArrayLike, groups: Groups, *, target: str) -> NDArray[np.float64]:
    """The rows' numbers, checked; a total must be the same on all rows of its group."""
    check_choice("target", target, ("mean", "total"))
    values = one_entry_per_row(y, groups)
    refuse_missing(values, groups)
    refuse_dates(values, "y")
    with expecting("y", "numbers"):
        values = values if values.dtype.kind in "biuf" else values.astype(float)
        assert_all_finite(values, input_name="y")
    refuse_size("y", values, 1e35, name="regression")
    if target == "total":
        groups.one_per_group(values)
    return np.asarray(values, dtype=float)


def group_totals(y_row: NDArray[np.float64], groups: Groups, *, target: str) -> NDArray[np.float64]:
    """The total of each group, from checked numbers."""
    return y_row[groups.first_rows] if target == "total" else groups.sum(y_row)


def group_means(y_row: NDArray[np.float64], groups: Groups, *, target: str) -> NDArray[np.float64]:
    """The mean of each group, from checked numbers."""
    of_group = y_row[groups.first_rows]
    if target == "total":
        return of_group / groups.sizes
    if (y_row == of_group[groups.codes]).all():  # the mean itself: no sum that would round it
        return of_group
    return groups.mean(y_row)
