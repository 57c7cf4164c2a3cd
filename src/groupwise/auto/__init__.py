"""The best model without choosing: every method competes, the best few are averaged."""

from groupwise.auto.choice import Estimate, HeldOutGroups
from groupwise.auto.classifier import AutoGroupClassifier
from groupwise.auto.regressor import AutoGroupRegressor
from groupwise.preparation import Unprepared

__all__ = ["AutoGroupClassifier", "AutoGroupRegressor", "Estimate", "HeldOutGroups", "Unprepared"]
