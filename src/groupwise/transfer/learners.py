"""Hypotheses with values in [0, 1], and the last rounds of a run, on the weak-learner protocol."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.tree import DecisionTreeClassifier

from groupwise.boosting import ClassifierLearner, Ensemble, HistTrees, VoteEnsemble, WeakLearner
from groupwise.boosting.classifiers import BoundClassifier, ClassifierRun, vote_coding
from groupwise.boosting.hist_trees import HistTreeEnsemble
from groupwise.transfer.confident_trees import ConfidentTrees
from groupwise.transfer.linear import LinearEnsemble

__all__ = [
    "ConfidenceEnsemble",
    "ConfidenceLearner",
    "Tail",
    "get_transfer_learner",
    "last_rounds",
    "row_loss",
]


def row_loss(output: NDArray[Any], target: NDArray[np.intp]) -> NDArray[np.float64]:
    r"""The loss :math:`|h(x_i) - c(x_i)|` of each row, in [0, 1].

    ``output`` holds class codes (loss 0 or 1) or probabilities of the classes, (n_rows, n_classes),
    whose loss is 1 minus that of the true class.
    """
    if output.ndim == 2:
        return 1.0 - output[np.arange(len(target)), target]
    return (output != target).astype(float)


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
    if not isinstance(estimator, WeakLearner):
        plain: Any = ConfidenceLearner if confident else ClassifierLearner
        return plain(estimator)
    if not confident:
        return estimator
    if isinstance(estimator, HistTrees):
        trees: Any = ConfidentTrees(estimator)  # runs return floats where the protocol has codes
        return trees
    if not hasattr(estimator, "confident"):
        raise ValueError(
            f"{type(estimator).__name__} has no confidence-rated hypotheses (a method "
            "'confident'); use hypotheses='hard'"
        )
    return estimator.confident()


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
        return _last_trees(ensemble, first)
    return Tail(ensemble, first)


def _last_trees(ensemble: HistTreeEnsemble, first: int) -> HistTreeEnsemble:
    kept = ensemble.rounds[first:]
    trees = [tree for tree, _ in kept if tree is not None]
    bias = float(sum(vote for tree, vote in kept if tree is None))
    if not trees:
        return HistTreeEnsemble(None, bias, kept)
    skipped = trees[0]
    text = ensemble.booster.model_to_string(
        start_iteration=skipped, num_iteration=trees[-1] + 1 - skipped
    )
    moved = [(None if tree is None else tree - skipped, vote) for tree, vote in kept]
    return HistTreeEnsemble(text, bias, moved)


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


@dataclass(frozen=True)
class ConfidenceLearner(ClassifierLearner):
    """Hypotheses with values in [0, 1] from clones of a scikit-learn classifier.

    A classifier without ``predict_proba`` gives the logistic function of its decision function
    (the softmax for three classes or more).

    Parameters
    ----------
    estimator : classifier
        Must take ``sample_weight`` in ``fit``, unless rows are resampled by weight.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not hasattr(self.estimator, "predict_proba") and not hasattr(
            self.estimator, "decision_function"
        ):
            raise ValueError(
                f"{type(self.estimator).__name__} has neither predict_proba nor "
                "decision_function; use hypotheses='hard'"
            )

    def bind(self, X: Any) -> "_BoundConfidence":
        return _BoundConfidence(self.estimator, X)


class _BoundConfidence(BoundClassifier):
    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "_ConfidenceRun":
        run = super().start(n_classes, rng, resample=resample)
        return _ConfidenceRun(run.estimator, run.X, n_classes, rng, resample)


class _ConfidenceRun(ClassifierRun):
    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        return _probabilities(self.fit_one(target, weight), self.X, self.n_classes)

    def combine(self, weights: Sequence[float]) -> "ConfidenceEnsemble":
        return ConfidenceEnsemble(self.hypotheses[: len(weights)], list(weights), self.n_classes)


class ConfidenceEnsemble(VoteEnsemble):
    """The weighted confidence-rated votes of fitted classifiers."""

    def votes(self, estimator: Any, X: Any) -> NDArray[Any]:
        return _probabilities(estimator, X, self.n_classes) @ vote_coding(self.n_classes)


def _probabilities(classifier: Any, X: Any, n_classes: int) -> NDArray[np.float64]:
    """(n_rows, n_classes), zero for classes the classifier has not seen."""
    if hasattr(classifier, "predict_proba"):
        seen = classifier.predict_proba(X)
    else:
        score = classifier.decision_function(X)
        positive = expit(score) if score.ndim == 1 else None
        seen = (
            softmax(score, axis=1)
            if positive is None
            else np.column_stack([1.0 - positive, positive])
        )
    if seen.shape[1] == n_classes:
        return seen
    proba = np.zeros((seen.shape[0], n_classes))
    proba[:, classifier.classes_] = seen
    return proba
