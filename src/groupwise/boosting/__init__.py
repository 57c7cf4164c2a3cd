"""Rounds, votes and weak learners of every boosting method: bind to X once, fit many times."""

from collections.abc import Sequence

from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting.boosted_trees import BoostedTrees
from groupwise.boosting.classifiers import ClassifierLearner, VoteEnsemble
from groupwise.boosting.forest import forest
from groupwise.boosting.hist_trees import HistTrees
from groupwise.boosting.linear import LinearLearner
from groupwise.boosting.protocol import (
    BoundLearner,
    Ensemble,
    HardLearner,
    LearnerLike,
    Run,
    WeakLearner,
)
from groupwise.boosting.rounds import Rounds, boost, step_size
from groupwise.boosting.votes import OneVsRest
from groupwise.inputs.parameters import check_choice

__all__ = [
    "BoostedTrees",
    "BoundLearner",
    "ClassifierLearner",
    "Ensemble",
    "HardLearner",
    "HistTrees",
    "LearnerLike",
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
    "forest",
    "get_weak_learner",
    "step_size",
]


def default_learner(n_classes: int) -> WeakLearner:
    """Trees of depth 3: histogram trees for two classes, scikit-learn's for more."""
    if n_classes == 2:
        return HistTrees()
    return ClassifierLearner(DecisionTreeClassifier(max_depth=3))


def get_weak_learner(
    estimator: LearnerLike,
    n_classes: int = 2,
    *,
    hypotheses: str = "hard",
    feature_names: Sequence[str] | None = None,
    categories: Sequence[int] = (),
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
    categories : sequence of int, default=()
        Columns that hold category codes, for a learner that splits on them.

    Returns
    -------
    learner : WeakLearner
    """
    check_choice("hypotheses", hypotheses, ("hard", "soft"))
    if estimator is None:
        estimator = default_learner(n_classes)
    estimator = by_position(estimator, feature_names, categories)
    learner = estimator if isinstance(estimator, WeakLearner) else ClassifierLearner(estimator)
    return learner.soft() if hypotheses == "soft" else learner


def by_position(
    estimator: LearnerLike,
    feature_names: Sequence[str] | None,
    categories: Sequence[int] = (),
) -> LearnerLike:
    """The estimator for rows whose columns have lost their names, and categories are codes."""
    if estimator is None and len(categories):
        estimator = HistTrees()
    if isinstance(estimator, HistTrees) and feature_names is not None:
        estimator = estimator.by_position(len(feature_names), feature_names)
    if isinstance(estimator, HistTrees) and len(categories):
        estimator = estimator.with_categories(categories)
    return estimator


def accepts_nan(estimator: LearnerLike) -> bool:
    """Whether a method that boosts ``estimator`` takes missing values: for scikit-learn's tags."""
    return estimator is None or (isinstance(estimator, WeakLearner) and estimator.accepts_nan)
