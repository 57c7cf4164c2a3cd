"""Rows are labelled, but most come from other domains than the one that counts."""

from groupwise.transfer.augmentation import FeatureAugmentationClassifier
from groupwise.transfer.balanced import BalancedTransferClassifier
from groupwise.transfer.density_ratio import KLIEP, KernelMeanMatching, LogisticRatio
from groupwise.transfer.model_selection import TargetKFold, TargetShuffleSplit
from groupwise.transfer.multisource import MultiSourceTrAdaBoostClassifier
from groupwise.transfer.regression import TrAdaBoostRegressor
from groupwise.transfer.safe import SafeTrAdaBoostClassifier
from groupwise.transfer.source_prior import Prior, SourcePriorClassifier
from groupwise.transfer.source_scores import SourceScoresClassifier
from groupwise.transfer.target_selection import NegativeTransferWarning, TargetSelection
from groupwise.transfer.task import TaskTrAdaBoostClassifier
from groupwise.transfer.tradaboost import (
    PerfectTargetWarning,
    TrAdaBoostClassifier,
    WorseThanGuessingWarning,
)
from groupwise.transfer.tsvm import TransductiveSVC
from groupwise.transfer.two_stage import TwoStageTrAdaBoostRegressor
from groupwise.transfer.weighted import WeightedTransferClassifier
from groupwise.transfer.weighting import AuxiliaryRatio, PooledRows, TargetOnly, TargetShare

__all__ = [
    "KLIEP",
    "AuxiliaryRatio",
    "BalancedTransferClassifier",
    "FeatureAugmentationClassifier",
    "KernelMeanMatching",
    "LogisticRatio",
    "MultiSourceTrAdaBoostClassifier",
    "NegativeTransferWarning",
    "PerfectTargetWarning",
    "PooledRows",
    "Prior",
    "SafeTrAdaBoostClassifier",
    "SourcePriorClassifier",
    "SourceScoresClassifier",
    "TargetKFold",
    "TargetOnly",
    "TargetSelection",
    "TargetShare",
    "TargetShuffleSplit",
    "TaskTrAdaBoostClassifier",
    "TrAdaBoostClassifier",
    "TrAdaBoostRegressor",
    "TransductiveSVC",
    "TwoStageTrAdaBoostRegressor",
    "WeightedTransferClassifier",
    "WorseThanGuessingWarning",
]
