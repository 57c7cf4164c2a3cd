"""AOC-manifold (Chen et al. 2009): one problem, its selection, and three estimators.

``problem`` holds the four algorithms as one problem in as many unknowns as there are groups,
``selection`` the choice of its parameters by held-out groups; the estimators are one file each.
"""

from groupwise.proportions.manifold.classifier import ManifoldAOCClassifier
from groupwise.proportions.manifold.classifier_cv import ManifoldAOCClassifierCV
from groupwise.proportions.manifold.problem import (
    Expansion,
    FeatureModel,
    ManifoldSettings,
    feature_smoothness,
    fit_manifold,
    kernel_features,
    membership,
)
from groupwise.proportions.manifold.regressor import ManifoldAOCRegressor
from groupwise.proportions.manifold.selection import (
    LAMBDAS,
    RHOS,
    Grid,
    Selection,
    chosen,
    fit_selected,
    select,
)

__all__ = [
    "LAMBDAS",
    "RHOS",
    "Expansion",
    "FeatureModel",
    "Grid",
    "ManifoldAOCClassifier",
    "ManifoldAOCClassifierCV",
    "ManifoldAOCRegressor",
    "ManifoldSettings",
    "Selection",
    "chosen",
    "feature_smoothness",
    "fit_manifold",
    "fit_selected",
    "kernel_features",
    "membership",
    "select",
]
