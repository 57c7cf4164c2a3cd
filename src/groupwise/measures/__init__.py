"""Classifiers of labelled rows that are judged by a score per group: each user's F1.

The measures themselves are in :mod:`groupwise.metrics`.
"""

from groupwise.measures.adaboost_group import GroupAdaBoostClassifier
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.expected_measure import ExpectedMeasureClassifier
from groupwise.measures.focused import FocusedAdaBoostClassifier
from groupwise.measures.measure_stumps import MeasureStumps
from groupwise.measures.svm_perf import SVMPerfClassifier
from groupwise.measures.threshold import ThresholdTunedClassifier
from groupwise.relative import add_relative_features

__all__ = [
    "BoostedRowsClassifier",
    "ExpectedMeasureClassifier",
    "FocusedAdaBoostClassifier",
    "GroupAdaBoostClassifier",
    "MeasureStumps",
    "SVMPerfClassifier",
    "ThresholdTunedClassifier",
    "add_relative_features",
]
