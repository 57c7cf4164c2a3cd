"""Presence: a group has a class if at least one of its rows has (multiple-instance learning)."""

from groupwise.kernels import share_kernels
from groupwise.presence.apr import APRClassifier
from groupwise.presence.balls import Balls
from groupwise.presence.citation_knn import CitationKNNClassifier
from groupwise.presence.dissimilarity import DissimilarityClassifier
from groupwise.presence.dpboost import DPBoostClassifier
from groupwise.presence.em_dd import EMDDClassifier
from groupwise.presence.fisher import FisherVectorClassifier
from groupwise.presence.fixed_pool import FixedPool
from groupwise.presence.lpboost import LPBoostClassifier
from groupwise.presence.mi_svm import MISVMClassifier
from groupwise.presence.miles import MILESClassifier
from groupwise.presence.set_kernel import SetKernelClassifier
from groupwise.presence.stumps import Stumps
from groupwise.presence.vote import GroupVoteClassifier

__all__ = [
    "APRClassifier",
    "Balls",
    "CitationKNNClassifier",
    "DPBoostClassifier",
    "DissimilarityClassifier",
    "EMDDClassifier",
    "FisherVectorClassifier",
    "FixedPool",
    "GroupVoteClassifier",
    "LPBoostClassifier",
    "MILESClassifier",
    "MISVMClassifier",
    "SetKernelClassifier",
    "Stumps",
    "share_kernels",
]
