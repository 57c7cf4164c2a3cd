"""Learning when labels belong to groups of rows."""

from groupwise.boosting import HistTrees
from groupwise.gbdt import GroupBoostClassifier, GroupBoostRegressor
from groupwise.groups import Groups, flatten_bags, unflatten_bags
from groupwise.majority import (
    GroupStatisticsClassifier,
    NaiveGroupClassifier,
    SBoostClassifier,
    select_gamma,
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
    "flatten_bags",
    "select_gamma",
    "unflatten_bags",
]
