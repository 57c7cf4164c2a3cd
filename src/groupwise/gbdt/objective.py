"""Group losses as plain callables for people who call an engine themselves."""

import numpy as np
from numpy.typing import ArrayLike

from groupwise._typing import Ids
from groupwise.gbdt.rounds import GroupObjective
from groupwise.inputs import check_groups
from groupwise.losses import (
    NUMBER_LOSSES,
    GroupLoss,
    GroupMeanLoss,
    SeveralGroupings,
    get_loss,
    get_number_loss,
)
from groupwise.targets import codes_and_classes, group_target, mean_of_rows

__all__ = ["objective"]


def objective(
    loss: str | GroupLoss,
    groups: Ids,
    y: ArrayLike,
    *,
    engine: str = "lightgbm",
    sample_weight: ArrayLike | None = None,
) -> GroupObjective:
    """Make a group loss an objective for ``lightgbm.train`` or ``xgboost.train``.

    Parameters
    ----------
    loss : {"majority", "majority_softmax", "presence", "presence_lse", "proportions", \
"proportions_squared", "reported_counts", "ordinal", "mean", "total", "absolute_error", "poisson", \
"negative_binomial", "cox"} or GroupLoss
        ``"mean"`` and those after it are for regression: ``y`` holds the group's number, which is
        the group's mean but for ``"total"``. With
        :class:`~groupwise.losses.PresenceLabelsLoss` it holds a table of labels.
    groups : array-like of shape (n_rows,)
        In the row order of the engine's data.
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        As :class:`GroupBoostClassifier` takes it. Classes are numbered in sorted order.
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
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
    if isinstance(loss, SeveralGroupings):
        raise ValueError(
            "several groupings have no objective of their own: fit a GroupBoostClassifier or "
            "GroupBoostRegressor, or give losses.SeveralGroupings(...).bind(...) to GroupObjective"
        )
    y_row = np.asarray(y)
    encoded = check_groups(groups, len(y_row))
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    is_mean_or_total = isinstance(loss, str) and loss in ("mean", "total")
    recipe: GroupLoss
    if is_mean_or_total:
        recipe = GroupMeanLoss()
    elif isinstance(loss, str) and loss in NUMBER_LOSSES:
        recipe = get_number_loss(loss)
    else:
        recipe = get_loss(loss)
    n_classes = 2
    if recipe.target_kind in ("number", "time"):
        codes = mean_of_rows(y_row, encoded, "total" if loss == "total" else "mean")
    else:
        codes, classes = codes_and_classes(y, encoded, recipe)
        n_classes = len(classes)
    target = group_target(recipe, codes, encoded, n_classes)
    bound = recipe.bind(target, encoded, n_classes=n_classes, weight_row=weight)
    return GroupObjective(bound, engine)
