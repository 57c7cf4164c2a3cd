"""Why: what features add to rows, rows to groups, and features to groups that were held out."""

from groupwise.explain.curves import RemovalCurves, removal_curves
from groupwise.explain.group_rows import GroupShares, explain_groups
from groupwise.explain.importance import GroupImportance, group_permutation_importance
from groupwise.explain.rows import RowContributions, explain_rows
from groupwise.explain.shapley import (
    shapley_maximum,
    shapley_mean,
    shapley_noisy_or,
    shapley_vote,
)

__all__ = [
    "GroupImportance",
    "GroupShares",
    "RemovalCurves",
    "RowContributions",
    "explain_groups",
    "explain_rows",
    "group_permutation_importance",
    "removal_curves",
    "shapley_maximum",
    "shapley_mean",
    "shapley_noisy_or",
    "shapley_vote",
]
