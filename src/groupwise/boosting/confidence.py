"""Hypotheses with values in [0, 1] on the weak-learner protocol.

A run's ``fit`` gives the probability of each class for each row, (n_rows, n_classes), where the
protocol has class codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from groupwise.boosting.classifiers import (
    BoundClassifier,
    ClassifierLearner,
    ClassifierRun,
    VoteEnsemble,
    vote_coding,
)
from groupwise.boosting.hist_trees import HistTreeEnsemble, HistTreeRun, HistTrees
from groupwise.boosting.protocol import WeakLearner

__all__ = [
    "ConfidenceEnsemble",
    "ConfidenceLearner",
    "ConfidentTrees",
    "confident_learner",
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


def confident_learner(estimator: Any) -> WeakLearner:
    """Make a weak learner with confidence-rated hypotheses of what a user passes."""
    if isinstance(estimator, HistTrees):
        trees: Any = ConfidentTrees(estimator)  # runs return floats where the protocol has codes
        return trees
    if not isinstance(estimator, WeakLearner):
        plain: Any = ConfidenceLearner(estimator)
        return plain
    if not hasattr(estimator, "confident"):
        raise ValueError(
            f"{type(estimator).__name__} has no confidence-rated hypotheses (a method "
            "'confident'); use hypotheses='hard'"
        )
    return estimator.confident()


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


@dataclass(frozen=True)
class ConfidentTrees:
    """The trees of :class:`HistTrees` with values in [0, 1].

    A leaf's value in the booster is the weighted mean of the labels -1 and +1, twice the share of
    the second class less one.
    """

    trees: HistTrees

    def bind(self, X: Any) -> "_BoundConfidentTrees":
        return _BoundConfidentTrees(self.trees.bind(X))


@dataclass(frozen=True)
class _BoundConfidentTrees:
    bound: Any

    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "_ConfidentTreeRun":
        run = self.bound.start(n_classes, rng, resample=resample)
        return _ConfidentTreeRun(run.booster, run.rng)


class _ConfidentTreeRun(HistTreeRun):
    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        before = self._raw
        super().fit(target, weight)
        if self.rounds[-1][0] is None:  # no split: everyone's share of the second class
            share = float(weight[target == 1].sum() / weight.sum())
            self.rounds[-1] = (None, 2.0 * share - 1.0)
            positive = np.full(len(target), share)
        else:
            positive = 0.5 * (np.clip(self._raw - before, -1.0, 1.0) + 1.0)
        return np.column_stack([1.0 - positive, positive])

    def combine(self, weights: Sequence[float]) -> HistTreeEnsemble:
        """Scale the leaves, so that the booster's sum is the ensemble's."""
        pairs = list(zip(weights, self.rounds, strict=False))
        rounds = [(tree, weight * vote if tree is None else 0.0) for weight, (tree, vote) in pairs]
        info = self.booster.dump_model()["tree_info"] if self.booster else []
        for weight, (tree, _) in pairs:
            if tree is None or self.booster is None:
                continue
            for leaf in range(info[tree]["num_leaves"]):
                value = self.booster.get_leaf_output(tree, leaf)
                self.booster.set_leaf_output(tree, leaf, weight * value)
        return HistTreeEnsemble.of_run(self.booster, rounds)
