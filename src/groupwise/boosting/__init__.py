"""Weak learners for every boosting method of the library: bind to X once, fit many times."""

from groupwise.boosting.classifiers import ClassifierLearner, VoteEnsemble
from groupwise.boosting.hist_trees import HistTrees
from groupwise.boosting.protocol import BoundLearner, Ensemble, Run, WeakLearner, get_weak_learner

__all__ = [
    "BoundLearner",
    "ClassifierLearner",
    "Ensemble",
    "HistTrees",
    "Run",
    "VoteEnsemble",
    "WeakLearner",
    "get_weak_learner",
]
