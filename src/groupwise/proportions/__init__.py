"""The number of rows of each class is known per group (aggregate outputs, label proportions)."""

from groupwise.proportions._base import share_error
from groupwise.proportions._decode import decode_counts
from groupwise.proportions._input import EqualSharesWarning, broadcast, class_counts
from groupwise.proportions.knn import KNNAOCClassifier
from groupwise.proportions.manifold import ManifoldAOCClassifier
from groupwise.proportions.manifold_cv import ManifoldAOCClassifierCV
from groupwise.proportions.regressor import ManifoldAOCRegressor
from groupwise.proportions.svm import SVMAOCClassifier

__all__ = [
    "EqualSharesWarning",
    "KNNAOCClassifier",
    "ManifoldAOCClassifier",
    "ManifoldAOCClassifierCV",
    "ManifoldAOCRegressor",
    "SVMAOCClassifier",
    "broadcast",
    "class_counts",
    "decode_counts",
    "share_error",
]
