"""Gradient boosting on group losses, inside LightGBM and XGBoost."""

from groupwise.gbdt.classifier import GroupBoostClassifier
from groupwise.gbdt.multilabel import GroupBoostMultilabelClassifier, LabelPredictions
from groupwise.gbdt.objective import objective
from groupwise.gbdt.regressor import GroupBoostRegressor
from groupwise.gbdt.rounds import GroupObjective, GroupTrees, Progress

__all__ = [
    "GroupBoostClassifier",
    "GroupBoostMultilabelClassifier",
    "GroupBoostRegressor",
    "GroupObjective",
    "GroupTrees",
    "LabelPredictions",
    "Progress",
    "objective",
]
