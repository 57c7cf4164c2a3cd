"""Rows are labelled, but most come from other domains than the one that counts."""

from groupwise.transfer.density_ratio import KLIEP, KernelMeanMatching, LogisticRatio
from groupwise.transfer.linear import LinearLearner
from groupwise.transfer.model_selection import TargetKFold, TargetShuffleSplit, make_target_scorer
from groupwise.transfer.safe import NegativeTransferWarning, TargetSelection
from groupwise.transfer.tradaboost import PerfectTargetWarning, TrAdaBoostClassifier
from groupwise.transfer.weighted import WeightedTransferClassifier
from groupwise.transfer.weighting import AuxiliaryRatio, TargetOnly, TargetShare, Union

__all__ = [
    "KLIEP",
    "AuxiliaryRatio",
    "KernelMeanMatching",
    "LinearLearner",
    "LogisticRatio",
    "NegativeTransferWarning",
    "PerfectTargetWarning",
    "TargetKFold",
    "TargetOnly",
    "TargetSelection",
    "TargetShare",
    "TargetShuffleSplit",
    "TrAdaBoostClassifier",
    "Union",
    "WeightedTransferClassifier",
    "make_target_scorer",
]
