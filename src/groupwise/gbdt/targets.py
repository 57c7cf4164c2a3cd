"""From what the caller knows of rows and groups to one target per group."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses import GroupLoss
from groupwise.validation import check_known_classes

__all__ = [
    "GroupTargets",
    "class_codes",
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
    weight_row : ndarray of shape (n_rows,) or None
    """

    X: Any
    y_row: NDArray[Any]
    groups: Groups
    weight_row: NDArray[Any] | None

    def take(self, rows: NDArray[np.intp]) -> "GroupTargets":
        """Some of the rows."""
        return GroupTargets(
            self.X[rows],
            self.y_row[rows],
            Groups(self.groups.names[self.groups.codes[rows]]),
            None if self.weight_row is None else self.weight_row[rows],
        )

    def without_weightless(self) -> "GroupTargets":
        """Rows of weight zero left out, as if they were not there."""
        if self.weight_row is None or (self.weight_row > 0).all():
            return self
        kept = np.flatnonzero(self.weight_row > 0)
        if len(kept) == 0:
            raise GroupDataError("sample_weight must be positive on some row")
        return self.take(kept)


def is_table(y: Any) -> bool:
    """Whether this is a table with more than one column, shares or counts of classes."""
    shape = np.asarray(y).shape
    return len(shape) == 2 and shape[1] > 1


def class_codes(y: Any, groups: Groups, loss: GroupLoss) -> tuple[NDArray[Any], NDArray[Any]]:
    """Class codes of the rows (or a table of shares) and the classes.

    For labels that belong to groups the group's rows must agree.
    """
    if loss.target == "share" and is_table(y):
        return share_table(y, groups)
    labels = np.asarray(y)
    if loss.target == "label":
        groups.one_per_group(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return codes, classes


def known_codes(y: Any, groups: Groups, loss: GroupLoss, classes: NDArray[Any]) -> NDArray[Any]:
    """Class codes of the rows (or a table of shares) for data other than the training data."""
    if loss.target == "share" and is_table(y):
        shares, columns = share_table(y, groups)
        if len(columns) != len(classes):
            raise GroupDataError(
                f"y holds shares of {len(columns)} classes, the model knows {len(classes)}"
            )
        return shares
    labels = np.asarray(y)
    check_known_classes(labels, classes, groups)
    if loss.target == "label":
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


def group_target(
    loss: GroupLoss, y_row: NDArray[Any], groups: Groups, n_classes: int
) -> NDArray[Any]:
    """The target of each group, in the order of ``groups.names``."""
    if loss.target == "share" and y_row.ndim == 1:
        cell = groups.codes * n_classes + y_row
        counts = np.bincount(cell, minlength=groups.n_groups * n_classes)
        return counts.reshape(-1, n_classes) / groups.sizes[:, None]
    return y_row[groups.first_rows]
