"""A group's label is the class most of its rows have (session-based learning)."""

from groupwise.majority.naive import NaiveGroupClassifier
from groupwise.majority.sboost import SBoostClassifier
from groupwise.majority.selection import GammaSelection, select_gamma
from groupwise.majority.statistics import GroupStatisticsClassifier

__all__ = [
    "GammaSelection",
    "GroupStatisticsClassifier",
    "NaiveGroupClassifier",
    "SBoostClassifier",
    "select_gamma",
]
