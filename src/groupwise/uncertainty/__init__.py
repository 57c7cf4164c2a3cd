"""How sure a model is: sets and intervals that hold, calibrated probabilities, wrong labels."""

from groupwise.uncertainty.calibrated import CalibratedGroupClassifier
from groupwise.uncertainty.classifier import ConformalGroupClassifier
from groupwise.uncertainty.label_issues import LabelIssues, find_label_issues, rank_label_issues
from groupwise.uncertainty.regressor import ConformalGroupRegressor

__all__ = [
    "CalibratedGroupClassifier",
    "ConformalGroupClassifier",
    "ConformalGroupRegressor",
    "LabelIssues",
    "find_label_issues",
    "rank_label_issues",
]
