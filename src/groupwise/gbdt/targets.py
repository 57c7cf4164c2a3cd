"""Checked training data of the boosters: rows, and what the loss is told of their groups."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    column_or_1d,
    validate_data,
)

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses import BoundLoss, GroupLoss
from groupwise.validation import (
    check_grouped_rows,
    check_groups,
    check_known_classes,
    check_rows,
)

__all__ = [
    "GroupTargets",
    "check_class_targets",
    "check_known_targets",
    "check_number_targets",
    "class_codes",
    "group_means",
    "group_target",
    "is_table",
    "known_codes",
    "share_table",
]


@dataclass(frozen=True)
class GroupTargets:
    """Checked rows with what is known of their groups: what a loss is bound to.

    Attributes
    ----------
    X : array or sparse matrix of shape (n_rows, n_features)
    y_row : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Class codes, numbers, or shares, as far as the rows know them.
    groups : Groups
    weight_row : ndarray of shape (n_rows,), default=None
    classes : ndarray of shape (n_classes,), default=None
        ``None`` for numbers.
    """

    X: Rows
    y_row: NDArray[Any]
    groups: Groups
    weight_row: NDArray[Any] | None = None
    classes: NDArray[Any] | None = None

    @property
    def n_classes(self) -> int:
        """How many classes; 2 for numbers, which have one score as two classes do."""
        return 2 if self.classes is None else len(self.classes)

    def take(self, rows: NDArray[np.intp]) -> "GroupTargets":
        """Some of the rows."""
        return replace(
            self,
            X=self.X[rows],
            y_row=self.y_row[rows],
            groups=Groups(self.groups.names[self.groups.codes[rows]]),
            weight_row=None if self.weight_row is None else self.weight_row[rows],
        )

    def with_weight(self) -> "GroupTargets":
        """Rows of weight zero left out, as if they were not there."""
        kept = self
        if self.weight_row is not None and not (self.weight_row > 0).all():
            rows = np.flatnonzero(self.weight_row > 0)
            if len(rows) == 0:
                raise GroupDataError("sample_weight must be positive on some row")
            kept = self.take(rows)
        one_class = self.classes is not None and kept.y_row.ndim == 1
        if one_class and (kept.y_row == kept.y_row[0]).all():
            raise GroupDataError(
                "only one class is left after rows of weight 0 are left out; "
                "a classifier needs at least two"
            )
        return kept

    def bind(self, loss: GroupLoss) -> BoundLoss:
        """The loss of these rows' scores."""
        target = group_target(loss, self.y_row, self.groups, self.n_classes)
        return loss.bind(target, self.groups, n_classes=self.n_classes, weight_row=self.weight_row)


def check_class_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: Ids,
    sample_weight: ArrayLike | None,
    loss: GroupLoss,
) -> GroupTargets:
    """Check training data of a classifier.

    Raises
    ------
    GroupDataError
        For labels that differ inside a group where they may not, shares that do not add up, or
        fewer than two classes.
    """
    if loss.target_kind == "share" and is_table(y):
        rows = check_rows(estimator, X, reset=True)
        encoded = check_groups(groups, _num_samples(rows))
        y_row, classes = share_table(y, encoded)
    else:
        data = check_grouped_rows(
            estimator, X, y, groups, one_label_per_group=loss.target_kind == "label"
        )
        rows, y_row, encoded, classes = data.X, data.y_row, data.groups, data.classes
    if loss.binary and len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported by {loss!r}, which knows groups with and "
            f"without a positive row; y holds {len(classes)} classes"
        )
    return GroupTargets(rows, y_row, encoded, _check_weights(sample_weight, rows), classes)


def check_number_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    groups: Ids,
    sample_weight: ArrayLike | None,
    target: str,
) -> GroupTargets:
    """Check training data of a regressor; ``y_row`` holds the groups' means.

    Raises
    ------
    GroupDataError
        For numbers that differ inside a group.
    """
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan",
        y_numeric=True,
    )
    encoded = check_groups(groups, _num_samples(X))
    weight_row = _check_weights(sample_weight, X)
    return GroupTargets(X, group_means(y, encoded, target), encoded, weight_row)


def check_known_targets(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike | None,
    groups: Ids,
    loss: GroupLoss,
    *,
    classes: NDArray[Any] | None = None,
    target: str = "mean",
) -> GroupTargets:
    """Check rows that are looked at, not trained on: of known classes, or with numbers."""
    if y is None:
        raise ValueError("X_val needs y_val")
    rows = check_rows(estimator, X)
    encoded = check_groups(groups, _num_samples(rows), name="groups_val")
    if classes is None:
        return GroupTargets(rows, group_means(y, encoded, target), encoded)
    return GroupTargets(rows, known_codes(y, encoded, loss, classes), encoded, classes=classes)


def _check_weights(sample_weight: ArrayLike | None, X: Rows) -> NDArray[Any] | None:
    """Weights as float64, one per row, none negative."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise GroupDataError(f"sample_weight must not be negative; row {row} holds {weight[row]}")
    return weight


def is_table(y: ArrayLike) -> bool:
    """Whether this is a table with more than one column, shares or counts of classes."""
    shape = np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


def class_codes(y: ArrayLike, groups: Groups, loss: GroupLoss) -> tuple[NDArray[Any], NDArray[Any]]:
    """Class codes of the rows (or a table of shares) and the classes.

    For labels that belong to groups the group's rows must agree.
    """
    if loss.target_kind == "share" and is_table(y):
        return share_table(y, groups)
    labels = np.asarray(y)
    if loss.target_kind == "label":
        groups.one_per_group(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return codes, classes


def known_codes(
    y: ArrayLike, groups: Groups, loss: GroupLoss, classes: NDArray[Any]
) -> NDArray[Any]:
    """Class codes of the rows (or a table of shares) for data other than the training data."""
    if loss.target_kind == "share" and is_table(y):
        shares, columns = share_table(y, groups)
        if len(columns) != len(classes):
            raise GroupDataError(
                f"y holds shares of {len(columns)} classes, the model knows {len(classes)}"
            )
        return shares
    labels = np.asarray(y)
    check_known_classes(labels, classes, groups)
    if loss.target_kind == "label":
        groups.one_per_group(labels)
    return np.searchsorted(classes, labels)


def share_table(y: ArrayLike, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
    """Shares of each class from a table of shares or counts, repeated on the group's rows.

    Returns
    -------
    shares : ndarray of shape (n_rows, n_classes)
    classes : ndarray of shape (n_classes,)
        The names of the columns, or their numbers.
    """
    table = np.asarray(y, dtype=float)
    columns = getattr(y, "columns", None)
    classes = np.arange(table.shape[1]) if columns is None else np.asarray(columns)
    table_group = groups.one_per_group(table)
    total = table_group.sum(axis=1)
    is_share = np.abs(total - 1.0) <= 0.02
    is_count = np.abs(total - groups.sizes) <= 1e-6 * groups.sizes
    wrong = ~(is_share | is_count) | (table_group < 0).any(axis=1)
    if wrong.any():
        group = int(np.argmax(wrong))
        raise GroupDataError(
            "a line of y must hold shares that add up to 1, or counts that add up to the group's "
            f"rows; group {show(groups.names[group])} of {groups.sizes[group]} rows holds "
            f"{table_group[group].tolist()}"
        )
    return table / groups.spread(total)[:, None], classes


def group_means(y: ArrayLike, groups: Groups, target: str) -> NDArray[Any]:
    """The group's mean on each of its rows, from its mean or (``target="total"``) its total."""
    number = column_or_1d(y, dtype=np.float64)
    groups.one_per_group(number)
    return number / groups.sizes[groups.codes] if target == "total" else number


def group_target(
    loss: GroupLoss, y_row: NDArray[Any], groups: Groups, n_classes: int
) -> NDArray[Any]:
    """The target of each group, in the order of ``groups.names``."""
    if loss.target_kind == "share" and y_row.ndim == 1:
        cell = groups.codes * n_classes + y_row
        counts = np.bincount(cell, minlength=groups.n_groups * n_classes)
        return counts.reshape(-1, n_classes) / groups.sizes[:, None]
    return y_row[groups.first_rows]
