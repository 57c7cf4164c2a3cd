"""How good predictions are: measures of rows and of groups, the table by group, scorers."""

from groupwise.metrics.aggregate import (
    Aggregate,
    GroupMean,
    GroupQuantile,
    GroupScores,
    WorstGroup,
    bootstrap_interval,
    get_aggregate,
    score_groups,
)
from groupwise.metrics.counts import (
    Accuracy,
    BalancedAccuracy,
    CountMeasure,
    FBeta,
    Matthews,
)
from groupwise.metrics.group_labels import (
    group_accuracy,
    group_balanced_accuracy,
    group_f1,
    group_log_loss,
)
from groupwise.metrics.measure import CallableMeasure, GroupMeasure, MeasureLike, get_measure
from groupwise.metrics.ranking import (
    NDCG,
    AveragePrecision,
    PrecisionAtK,
    RankingMeasure,
    ROCArea,
)
from groupwise.metrics.scorers import Scorer, ask, make_scorer
from groupwise.metrics.shares import constant_shares, share_error
from groupwise.metrics.survival import concordance

__all__ = [
    "NDCG",
    "Accuracy",
    "Aggregate",
    "AveragePrecision",
    "BalancedAccuracy",
    "CallableMeasure",
    "CountMeasure",
    "FBeta",
    "GroupMean",
    "GroupMeasure",
    "GroupQuantile",
    "GroupScores",
    "Matthews",
    "MeasureLike",
    "PrecisionAtK",
    "ROCArea",
    "RankingMeasure",
    "Scorer",
    "WorstGroup",
    "ask",
    "bootstrap_interval",
    "concordance",
    "constant_shares",
    "get_aggregate",
    "get_measure",
    "group_accuracy",
    "group_balanced_accuracy",
    "group_f1",
    "group_log_loss",
    "make_scorer",
    "score_groups",
    "share_error",
]
