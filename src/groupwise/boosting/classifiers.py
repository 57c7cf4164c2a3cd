"""Any scikit-learn classifier as a weak learner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from groupwise._compat import set_random_states
from groupwise.boosting.protocol import resample_counts

__all__ = ["BoundClassifier", "ClassifierLearner", "ClassifierRun", "VoteEnsemble", "vote_coding"]


def vote_coding(n_classes: int) -> NDArray[Any]:
    """What a vote for each class adds to the scores, before its weight.

    Two classes: -1 and +1. More: the code of SAMME (Zhu et al. 2009), 1 for the class voted for and
    -1/(n_classes - 1) for each other, one line a class.
    """
    if n_classes == 2:
        return np.array([-1.0, 1.0])
    rest = -1.0 / (n_classes - 1)
    return np.full((n_classes, n_classes), rest) + (1.0 - rest) * np.eye(n_classes)


@dataclass(frozen=True)
class ClassifierLearner:
    """Weak hypotheses from clones of a scikit-learn classifier.

    Parameters
    ----------
    estimator : classifier
        Must take ``sample_weight`` in ``fit``, unless rows are resampled by weight.
    """

    estimator: Any

    def __post_init__(self) -> None:
        if not (hasattr(self.estimator, "fit") and is_classifier(self.estimator)):
            raise ValueError(
                "estimator must be a scikit-learn classifier or a weak learner such as "
                f"HistTrees(), got {self.estimator!r}"
            )

    def bind(self, X: Any) -> "BoundClassifier":
        return BoundClassifier(self.estimator, X)


@dataclass(frozen=True)
class BoundClassifier:
    """A classifier and the rows it will be fitted to."""

    estimator: Any
    X: Any

    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "ClassifierRun":
        if not resample and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight; "
                "use resample=True, which draws the rows by weight instead"
            )
        return ClassifierRun(self.estimator, self.X, n_classes, rng, resample)


@dataclass
class ClassifierRun:
    """Clones of a classifier, fitted to one weighting of the rows after another."""

    estimator: Any
    X: Any
    n_classes: int
    rng: np.random.RandomState
    resample: bool
    hypotheses: list[Any] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[np.intp]:
        return self.fit_one(target, weight).predict(self.X)

    def fit_one(self, target: NDArray[np.intp], weight: NDArray[Any]) -> Any:
        """One more fitted clone, kept for :meth:`combine`."""
        hypothesis = clone(self.estimator)
        set_random_states(hypothesis, self.rng)
        if self.resample:
            drawn = np.repeat(np.arange(len(weight)), resample_counts(weight, self.rng))
            hypothesis.fit(self.X[drawn], target[drawn])
        else:
            hypothesis.fit(self.X, target, sample_weight=weight * (len(weight) / weight.sum()))
        self.hypotheses.append(hypothesis)
        return hypothesis

    def combine(self, weights: Sequence[float]) -> "VoteEnsemble":
        return VoteEnsemble(self.hypotheses[: len(weights)], list(weights), self.n_classes)


@dataclass(frozen=True)
class VoteEnsemble:
    """The weighted votes of fitted classifiers."""

    estimators: list[Any]
    weights: list[float]
    n_classes: int

    def score(self, X: Any) -> NDArray[Any]:
        score = self._zeros(X)
        for stage in self.staged_score(X):
            score = stage
        return score

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        score = self._zeros(X)
        for weight, estimator in zip(self.weights, self.estimators, strict=True):
            score = score + weight * self.votes(estimator, X)
            yield score

    def votes(self, estimator: Any, X: Any) -> NDArray[Any]:
        """What one classifier adds to the scores, before its weight."""
        return vote_coding(self.n_classes)[estimator.predict(X)]

    def _zeros(self, X: Any) -> NDArray[Any]:
        shape = (X.shape[0],) if self.n_classes == 2 else (X.shape[0], self.n_classes)
        return np.zeros(shape)
