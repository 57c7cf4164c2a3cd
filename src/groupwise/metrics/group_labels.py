"""Scores of groups' labels: the unit that is right or wrong is the group."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, log_loss

from groupwise._typing import Ids
from groupwise.inputs import check_groups

__all__ = ["group_accuracy", "group_balanced_accuracy", "group_f1", "group_log_loss"]


def group_accuracy(y: ArrayLike, y_pred_group: ArrayLike, groups: Ids) -> float:
    """Share of groups predicted right.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        The group's label on each of its rows.
    y_pred_group : array-like of shape (n_groups,)
        One prediction per group, in the order of ``np.unique(groups)``.
    groups : array-like of shape (n_rows,) or None

    Returns
    -------
    accuracy : float

    Examples
    --------
    >>> group_accuracy(["a", "a", "b"], ["a", "a"], [0, 0, 1])
    0.5
    """
    return float(accuracy_score(*_of_groups(y, y_pred_group, groups)))


def group_balanced_accuracy(y: ArrayLike, y_pred_group: ArrayLike, groups: Ids) -> float:
    """Mean over the classes of the share of the class's groups predicted right.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    y_pred_group : array-like of shape (n_groups,)
    groups : array-like of shape (n_rows,) or None

    Returns
    -------
    accuracy : float
    """
    return float(balanced_accuracy_score(*_of_groups(y, y_pred_group, groups)))


def group_f1(
    y: ArrayLike,
    y_pred_group: ArrayLike,
    groups: Ids,
    *,
    average: str = "macro",
) -> float:
    """F1 of the groups' labels.

    Not the measure ``"f1"``, which is computed from the rows of each group.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    y_pred_group : array-like of shape (n_groups,)
    groups : array-like of shape (n_rows,) or None
    average : str, default="macro"
        As in scikit-learn; ``"macro"`` is the mean over classes.

    Returns
    -------
    f1 : float
    """
    y_true, y_pred = _of_groups(y, y_pred_group, groups)
    return float(f1_score(y_true, y_pred, average=average, zero_division=0.0))


def group_log_loss(
    y: ArrayLike,
    proba_group: ArrayLike,
    groups: Ids,
    *,
    classes: ArrayLike,
) -> float:
    """Mean negative log-probability of the groups' labels; finite, as scikit-learn clips at eps.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
    proba_group : array-like of shape (n_groups, n_classes)
        As ``predict_groups_proba`` gives it.
    groups : array-like of shape (n_rows,) or None
    classes : array-like of shape (n_classes,)
        The classes of the columns (``classes_`` of the estimator).

    Returns
    -------
    loss : float
    """
    y_true, proba = _of_groups(y, proba_group, groups)
    names = np.asarray(classes)
    order = np.argsort(names)  # in which scikit-learn takes the columns to be
    return float(log_loss(y_true, proba[:, order], labels=names[order]))


def _of_groups(
    y: ArrayLike, predicted: ArrayLike, groups: Ids
) -> tuple[NDArray[Any], NDArray[Any]]:
    y_row = np.asarray(y)
    encoded = check_groups(groups, len(y_row))
    predicted = np.asarray(predicted)
    if len(predicted) != encoded.n_groups:
        raise ValueError(
            f"expected one prediction per group ({encoded.n_groups}), got {len(predicted)}; "
            "predict_groups gives them"
        )
    return encoded.one_per_group(y_row), predicted
