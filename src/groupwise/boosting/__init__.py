"""Rounds, votes and weak learners of every boosting method: bind to X once, fit many times."""

from collections.abc import Sequence
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting.classifiers import ClassifierLearner, VoteEnsemble
from groupwise.boosting.hist_trees import HistTrees
from groupwise.boosting.linear import LinearLearner
from groupwise.boosting.protocol import BoundLearner, Ensemble, HardLearner, Run, WeakLearner
from groupwise.boosting.rounds import Rounds, boost, step_size
from groupwise.boosting.votes import OneVsRest
from groupwise.inputs.parameters import check_choice

__all__ = [
    "BoundLearner",
    "ClassifierLearner",
    "Ensemble",
    "HardLearner",
    "HistTrees",
    "LinearLearner",
    "OneVsRest",
    "Rounds",
    "Run",
    "VoteEnsemble",
    "WeakLearner",
    "accepts_nan",
    "boost",
    "by_position",
    "default_learner",
    "get_weak_learner",
    "step_size",
]


def default_learner(n_classes: int) -> WeakLearner:
    """Trees of depth 3: histogram trees for two classes, scikit-learn's for more."""
    if n_classes == 2:
        return HistTrees()
    return ClassifierLearner(DecisionTreeClassifier(max_depth=3))


def get_weak_learner(
    estimator: Any,
    n_classes: int = 2,
    *,
    hypotheses: str = "hard",
    feature_names: Sequence[str] | None = None,
) -> WeakLearner:
    """Make a weak learner of what a user passes as ``estimator``.

    Parameters
    ----------
    estimator : classifier, weak learner or None
        ``None``: :func:`default_learner`.
    n_classes : int, default=2
    hypotheses : {"hard", "soft"}, default="hard"
        Whether a hypothesis votes with classes or with probabilities.
    feature_names : sequence of str, default=None
        For a learner that names columns.

    Returns
    -------
    learner : WeakLearner
    """
    check_choice("hypotheses", hypotheses, ("hard", "soft"))
    estimator = by_position(estimator, feature_names)
    if estimator is None:
        learner = default_learner(n_classes)
    elif isinstance(estimator, WeakLearner):
        learner = estimator
    else:
        learner = ClassifierLearner(estimator)
    return learner.soft() if hypotheses == "soft" else learner


def by_position(estimator: Any, feature_names: Sequence[str] | None) -> Any:
    """The estimator for rows whose columns have lost their names."""
    if isinstance(estimator, HistTrees) and feature_names is not None:
        return estimator.by_position(len(feature_names), feature_names)
    return estimator


def accepts_nan(estimator: Any) -> bool:
    """Whether a method that boosts ``estimator`` takes missing values: for scikit-learn's tags."""
    return estimator is None or (isinstance(estimator, WeakLearner) and estimator.accepts_nan)
