"""Networks on group losses, trained by torch; small ones predict without it.

The losses, the poolings and the network are torch modules of their own, for networks and loops of
one's own: :mod:`groupwise.nets.losses`, :mod:`groupwise.nets.network`, :mod:`groupwise.nets.packed`
and :func:`groupwise.nets.steps.train_step`, which need torch to be imported.
"""

from groupwise.nets.classifier import GroupNetClassifier
from groupwise.nets.folds import Fold, fit_folds
from groupwise.nets.progress import NetProgress
from groupwise.nets.regressor import GroupNetRegressor
from groupwise.nets.rows import FolderRows, read_folder

__all__ = [
    "Fold",
    "FolderRows",
    "GroupNetClassifier",
    "GroupNetRegressor",
    "NetProgress",
    "fit_folds",
    "read_folder",
]
