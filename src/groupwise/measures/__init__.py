"""Rows are labelled; what counts is a score per group: each user's F1, each query's NDCG."""

from groupwise.measures.adaboost_group import GroupAdaBoostClassifier
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.counts import Accuracy, BalancedAccuracy, FBeta, Matthews
from groupwise.measures.expected_measure import ExpectedMeasureClassifier
from groupwise.measures.focused import FocusedAdaBoostClassifier
from groupwise.measures.measure import CallableMeasure, GroupMeasure
from groupwise.measures.ranking import NDCG, AveragePrecision, PrecisionAtK, ROCArea
from groupwise.measures.registry import get_measure
from groupwise.measures.relative import add_relative_features
from groupwise.measures.scorer import make_measure_scorer
from groupwise.measures.stumps import MeasureStumps
from groupwise.measures.summary import (
    GroupMean,
    GroupQuantile,
    GroupScores,
    WorstGroup,
    score_groups,
)
from groupwise.measures.svm_perf import SVMPerfClassifier
from groupwise.measures.threshold import ThresholdTunedClassifier

__all__ = [
    "NDCG",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "BoostedRowsClassifier",
    "CallableMeasure",
    "ExpectedMeasureClassifier",
    "FBeta",
    "FocusedAdaBoostClassifier",
    "GroupAdaBoostClassifier",
    "GroupMean",
    "GroupMeasure",
    "GroupQuantile",
    "GroupScores",
    "Matthews",
    "MeasureStumps",
    "PrecisionAtK",
    "ROCArea",
    "SVMPerfClassifier",
    "ThresholdTunedClassifier",
    "WorstGroup",
    "add_relative_features",
    "get_measure",
    "make_measure_scorer",
    "score_groups",
]
