"""Gradient boosting on group losses, inside LightGBM and XGBoost."""

from groupwise.gbdt.classifier import GroupBoostClassifier
from groupwise.gbdt.objective import objective
from groupwise.gbdt.regressor import GroupBoostRegressor
from groupwise.gbdt.rounds import GroupObjective, GroupTrees, Progress

__all__ = [
    "GroupBoostClassifier",
    "GroupBoostRegressor",
    "GroupObjective",
    "GroupTrees",
    "Progress",
    "objective",
]
