"""Weak learners as transfer takes them, and the last rounds of a run."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting import Ensemble, HistTrees, VoteEnsemble, WeakLearner, get_weak_learner
from groupwise.boosting.confidence import confident_learner
from groupwise.boosting.hist_trees import HistTreeEnsemble
from groupwise.transfer.linear import LinearEnsemble

__all__ = ["Tail", "get_transfer_learner", "last_rounds"]


def get_transfer_learner(
    estimator: Any, n_classes: int, *, confident: bool = False, X_unlabeled: Any = None
) -> WeakLearner:
    """Make a weak learner of what a user passes as ``estimator``.

    ``None`` stands for trees of depth 3: histogram trees for two classes, scikit-learn's for more.
    """
    if estimator is None:
        estimator = HistTrees() if n_classes == 2 else DecisionTreeClassifier(max_depth=3)
    if X_unlabeled is not None:
        if not hasattr(estimator, "with_unlabeled"):
            raise ValueError(
                f"{type(estimator).__name__} has no use for X_unlabeled; pass none, or "
                "TransductiveSVC() as estimator"
            )
        estimator = estimator.with_unlabeled(X_unlabeled)
    return confident_learner(estimator) if confident else get_weak_learner(estimator)


def last_rounds(ensemble: Ensemble, first: int) -> Any:
    """The vote of the rounds from ``first`` on (counted from 0)."""
    if first == 0:
        return ensemble
    if isinstance(ensemble, VoteEnsemble):  # one of confidence-rated votes too
        return replace(
            ensemble, estimators=ensemble.estimators[first:], weights=ensemble.weights[first:]
        )
    if isinstance(ensemble, LinearEnsemble):
        return LinearEnsemble(
            ensemble.coef[first:],
            ensemble.intercept[first:],
            ensemble.weights[first:],
            ensemble.n_classes,
            ensemble.confident,
        )
    if isinstance(ensemble, HistTreeEnsemble):
        return ensemble.tail(first)
    return Tail(ensemble, first)


@dataclass(frozen=True)
class Tail:
    """The last rounds of any ensemble, as a difference of its staged scores."""

    ensemble: Any
    first: int

    def score(self, X: Any) -> NDArray[Any]:
        return list(self.staged_score(X))[-1]

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        before: Any = 0.0
        for position, score in enumerate(self.ensemble.staged_score(X)):
            if position < self.first:
                before = score
            else:
                yield score - before
