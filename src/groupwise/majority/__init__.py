"""A group's label is the class most of its rows have (session-based learning)."""

from groupwise.majority.naive import NaiveGroupClassifier
from groupwise.majority.sboost import SBoostClassifier
from groupwise.majority.sboost_cv import SBoostClassifierCV
from groupwise.majority.statistics import GroupStatisticsClassifier

__all__ = [
    "GroupStatisticsClassifier",
    "NaiveGroupClassifier",
    "SBoostClassifier",
    "SBoostClassifierCV",
]
