"""Learning when labels belong to groups of rows."""

from groupwise.boosting import HistTrees
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.groups import Groups, flatten_bags, unflatten_bags
from groupwise.majority import (
    GroupStatisticsClassifier,
    NaiveGroupClassifier,
    SBoostClassifier,
    SBoostClassifierCV,
)

__version__ = "0.1.0"

__all__ = [
    "GroupBoostClassifier",
    "GroupBoostRegressor",
    "GroupStatisticsClassifier",
    "Groups",
    "HistTrees",
    "NaiveGroupClassifier",
    "SBoostClassifier",
    "SBoostClassifierCV",
    "flatten_bags",
    "unflatten_bags",
]
