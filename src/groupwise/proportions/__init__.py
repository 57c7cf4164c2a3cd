"""The number of rows of each class is known per group (aggregate outputs, label proportions)."""

from groupwise.proportions.alternating_mean_map import AlternatingMeanMapClassifier
from groupwise.proportions.broadcast import broadcast
from groupwise.proportions.decode import decode_counts
from groupwise.proportions.decode_refit import DecodeRefitClassifier
from groupwise.proportions.easy_llp import EasyLLPClassifier
from groupwise.proportions.graph import GraphAOCClassifier
from groupwise.proportions.group_cox import GroupMeansCoxRegressor, GroupStatisticsCoxRegressor
from groupwise.proportions.group_means import GroupMeansClassifier, GroupMeansRegressor
from groupwise.proportions.group_statistics import GroupStatisticsRegressor
from groupwise.proportions.kernel_count import KernelCountClassifier
from groupwise.proportions.knn import KNNAOCClassifier
from groupwise.proportions.laplacian_mean_map import LaplacianMeanMapClassifier
from groupwise.proportions.linear_count import LinearCountClassifier
from groupwise.proportions.manifold import (
    ManifoldAOCClassifier,
    ManifoldAOCClassifierCV,
    ManifoldAOCRegressor,
)
from groupwise.proportions.mean_map import MeanMapClassifier
from groupwise.proportions.mlp import MLPAOCClassifier
from groupwise.proportions.naive import NaiveGroupRegressor
from groupwise.proportions.naive_shares import NaiveSharesClassifier
from groupwise.proportions.svm import SVMAOCClassifier

__all__ = [
    "AlternatingMeanMapClassifier",
    "DecodeRefitClassifier",
    "EasyLLPClassifier",
    "GraphAOCClassifier",
    "GroupMeansClassifier",
    "GroupMeansCoxRegressor",
    "GroupMeansRegressor",
    "GroupStatisticsCoxRegressor",
    "GroupStatisticsRegressor",
    "KNNAOCClassifier",
    "KernelCountClassifier",
    "LaplacianMeanMapClassifier",
    "LinearCountClassifier",
    "MLPAOCClassifier",
    "ManifoldAOCClassifier",
    "ManifoldAOCClassifierCV",
    "ManifoldAOCRegressor",
    "MeanMapClassifier",
    "NaiveGroupRegressor",
    "NaiveSharesClassifier",
    "SVMAOCClassifier",
    "broadcast",
    "decode_counts",
]
