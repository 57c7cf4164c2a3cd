"""The number of rows of each class is known per group (aggregate outputs, label proportions)."""

from groupwise.proportions._broadcast import broadcast
from groupwise.proportions._decode import decode_counts
from groupwise.proportions._input import EqualSharesWarning, class_counts
from groupwise.proportions.counts import KernelCountClassifier
from groupwise.proportions.easy_llp import EasyLLPClassifier
from groupwise.proportions.graph import GraphAOCClassifier
from groupwise.proportions.knn import KNNAOCClassifier
from groupwise.proportions.laplacian_mean_map import LaplacianMeanMapClassifier
from groupwise.proportions.manifold import ManifoldAOCClassifier
from groupwise.proportions.manifold_cv import ManifoldAOCClassifierCV
from groupwise.proportions.mean_map import MeanMapClassifier
from groupwise.proportions.mlp import MLPAOCClassifier
from groupwise.proportions.regressor import ManifoldAOCRegressor
from groupwise.proportions.svm import SVMAOCClassifier

__all__ = [
    "EasyLLPClassifier",
    "EqualSharesWarning",
    "GraphAOCClassifier",
    "KNNAOCClassifier",
    "KernelCountClassifier",
    "LaplacianMeanMapClassifier",
    "MLPAOCClassifier",
    "ManifoldAOCClassifier",
    "ManifoldAOCClassifierCV",
    "ManifoldAOCRegressor",
    "MeanMapClassifier",
    "SVMAOCClassifier",
    "broadcast",
    "class_counts",
    "decode_counts",
]
