"""Group losses as plain callables for people who call an engine themselves."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.gbdt.targets import class_codes, group_target
from groupwise.groups import Groups
from groupwise.losses import BoundLoss, GroupLoss, GroupMeanLoss, get_loss
from groupwise.validation import check_groups

__all__ = ["GroupObjective", "objective"]


class GroupObjective:
    """A bound loss in the calling convention of LightGBM and XGBoost.

    Called with the scores of the training rows (and the engine's data object, which it has no use
    for), it returns gradient and curvature as float32, shaped like the scores.

    Attributes
    ----------
    loss : BoundLoss
    """

    def __init__(self, loss: BoundLoss, engine: str = "lightgbm"):
        if engine not in ("lightgbm", "xgboost"):
            raise ValueError(f"engine must be 'lightgbm' or 'xgboost', got {engine!r}")
        self.loss = loss
        self.engine = engine

    def __call__(self, scores: NDArray[Any], data: Any = None) -> tuple[NDArray, NDArray]:
        gradient, curvature = self.loss.gradient_and_curvature(scores, np.float32)
        if self.engine == "xgboost":  # class after class in memory is what LightGBM wants
            return np.ascontiguousarray(gradient), np.ascontiguousarray(curvature)
        return gradient, curvature

    def __deepcopy__(self, memo: Any) -> "GroupObjective":
        return self  # lightgbm.train copies its parameters; this one never changes


def objective(
    loss: str | GroupLoss,
    groups: ArrayLike | Groups | None,
    y: ArrayLike,
    *,
    engine: str = "lightgbm",
    gamma: float = 4.0,
    sample_weight: ArrayLike | None = None,
) -> GroupObjective:
    """Make a group loss an objective for ``lightgbm.train`` or ``xgboost.train``.

    Parameters
    ----------
    loss : {"majority", "majority_softmax", "presence", "presence_lse", "proportions", \
"proportions_squared", "mean", "total"} or GroupLoss
        ``"mean"`` and ``"total"`` are for regression: ``y`` holds the group's number.
    groups : array-like of shape (n_rows,)
        In the row order of the engine's data.
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        As :class:`GroupBoostClassifier` takes it. Classes are numbered in sorted order.
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
    gamma : float, default=4.0
        Of the majority losses.
    sample_weight : array-like of shape (n_rows,), default=None

    Returns
    -------
    objective : callable
        ``objective(scores, data) -> (gradient, curvature)``. For three or more classes set
        ``num_class`` in the engine's parameters; the scores are softmax scores.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from groupwise.datasets import make_triangle_sessions
    >>> s = make_triangle_sessions(n_sessions=40, random_state=0)
    >>> loss = objective("majority", s.groups, s.y == "D", engine="lightgbm")
    >>> booster = lgb.train(
    ...     {"objective": loss, "max_depth": 3, "verbosity": -1}, lgb.Dataset(s.X), 5)
    >>> booster.num_trees()
    5
    """
    y_row = np.asarray(y)
    encoded = check_groups(groups, len(y_row))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if isinstance(loss, str) and loss in ("mean", "total"):
        number = encoded.one_per_group(y_row).astype(float)
        bound = GroupMeanLoss().bind(
            number / encoded.sizes if loss == "total" else number, encoded, weight_row=weight
        )
        return GroupObjective(bound, engine)
    recipe = get_loss(loss, gamma=gamma)
    codes, classes = class_codes(y, encoded, recipe)
    target = group_target(recipe, codes, encoded, len(classes))
    return GroupObjective(
        recipe.bind(target, encoded, n_classes=len(classes), weight_row=weight), engine
    )
