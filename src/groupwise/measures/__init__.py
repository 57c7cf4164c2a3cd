"""Rows are labelled; what counts is a score per group: each user's F1, each query's NDCG."""

from groupwise.measures.counts import Accuracy, BalancedAccuracy, FBeta, Matthews
from groupwise.measures.measure import CallableMeasure, GroupMeasure
from groupwise.measures.ranking import NDCG, AveragePrecision, PrecisionAtK, ROCArea
from groupwise.measures.registry import get_measure
from groupwise.measures.summary import (
    GroupMean,
    GroupQuantile,
    GroupScores,
    WorstGroup,
    score_groups,
)

__all__ = [
    "NDCG",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "CallableMeasure",
    "FBeta",
    "GroupMean",
    "GroupMeasure",
    "GroupQuantile",
    "GroupScores",
    "Matthews",
    "PrecisionAtK",
    "ROCArea",
    "WorstGroup",
    "get_measure",
    "score_groups",
]
