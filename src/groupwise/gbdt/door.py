"""Where data come in for boosting on group losses, on top of the library's one door."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight, _num_samples

from groupwise.exceptions import GroupDataError
from groupwise.gbdt.targets import GroupTargets, is_table, known_codes, share_table
from groupwise.losses import GroupLoss
from groupwise.validation import (
    check_grouped_rows,
    check_groups,
    check_rows,
    split_group_column,
)

__all__ = ["check_held_out", "check_targets", "check_weights"]


def check_targets(
    estimator: Any, X: Any, y: Any, groups: Any, sample_weight: Any, loss: GroupLoss
) -> GroupTargets:
    """Check training data of a classifier and store what it knows of them: classes and groups.

    Raises
    ------
    GroupDataError
        For labels that differ inside a group where they may not, shares that do not add up, or
        fewer than two classes (after rows of weight zero are left out).
    """
    X, groups = split_group_column(X, estimator.group_column, groups)
    if loss.target == "share" and is_table(y):
        X = check_rows(estimator, X, reset=True)
        encoded = check_groups(groups, _num_samples(X))
        y_row, classes = share_table(y, encoded)
    else:
        rows = check_grouped_rows(
            estimator, X, y, groups, one_label_per_group=loss.target == "label"
        )
        X, y_row, encoded, classes = rows.X, rows.y_row, rows.groups, rows.classes
    if loss.binary and len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported by {loss!r}, which knows groups with and "
            f"without a positive row; y holds {len(classes)} classes"
        )
    weight = check_weights(sample_weight, X)
    data = GroupTargets(X, y_row, encoded, weight).without_weightless()
    if data.y_row.ndim == 1 and (data.y_row == data.y_row[0]).all():
        raise GroupDataError(
            "only one class is left after rows of weight 0 are left out; "
            "a classifier needs at least two"
        )
    estimator.classes_ = classes
    estimator.n_groups_ = encoded.n_groups
    estimator._fitted_with_groups = groups is not None
    return data


def check_held_out(estimator: Any, X: Any, y: Any, groups: Any, loss: GroupLoss) -> GroupTargets:
    """Check rows that are looked at, not trained on."""
    if y is None:
        raise ValueError("X_val needs y_val")
    X, groups = split_group_column(X, estimator.group_column, groups)
    rows = check_rows(estimator, X)
    encoded = check_groups(groups, _num_samples(rows), name="groups_val")
    return GroupTargets(rows, known_codes(y, encoded, loss, estimator.classes_), encoded, None)


def check_weights(sample_weight: Any, X: Any) -> NDArray[Any] | None:
    """Weights as float64, one a row, none negative."""
    if sample_weight is None:
        return None
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weight < 0).any():
        row = int(np.argmax(weight < 0))
        raise GroupDataError(f"sample_weight must not be negative; row {row} holds {weight[row]}")
    return weight
