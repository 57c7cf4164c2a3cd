"""Any scikit-learn classifier as a weak learner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from groupwise._compat import set_random_states
from groupwise._typing import Rows
from groupwise.boosting.protocol import resample_counts
from groupwise.boosting.votes import cast, link

__all__ = ["BoundClassifier", "ClassifierLearner", "ClassifierRun", "VoteEnsemble"]


@dataclass(frozen=True)
class ClassifierLearner:
    """Weak hypotheses from clones of a scikit-learn classifier.

    Parameters
    ----------
    estimator : classifier
        Must take ``sample_weight`` in ``fit``, unless rows are resampled by weight.
    is_soft : bool, default=False
        Vote with probabilities: ``predict_proba``, or where there is none the logistic function of
        ``decision_function`` (the softmax for three classes or more).
    """

    estimator: Any
    is_soft: bool = False
    accepts_nan = False

    def __post_init__(self) -> None:
        if not (hasattr(self.estimator, "fit") and is_classifier(self.estimator)):
            raise ValueError(
                "estimator must be a scikit-learn classifier or a weak learner such as "
                f"HistTrees(), got {self.estimator!r}"
            )

    def bind(self, X: Rows) -> "BoundClassifier":
        return BoundClassifier(self.estimator, X, self.is_soft)

    def soft(self) -> "ClassifierLearner":
        if not hasattr(self.estimator, "predict_proba") and not hasattr(
            self.estimator, "decision_function"
        ):
            raise ValueError(
                f"{type(self.estimator).__name__} has neither predict_proba nor "
                "decision_function; use hypotheses='hard'"
            )
        return replace(self, is_soft=True)


@dataclass(frozen=True)
class BoundClassifier:
    """A classifier and the rows it will be fitted to."""

    estimator: Any
    X: Rows
    is_soft: bool = False

    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "ClassifierRun":
        if not resample and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"{type(self.estimator).__name__} takes no sample_weight; "
                "use resample=True, which draws the rows by weight instead"
            )
        return ClassifierRun(self, n_classes, rng, resample)


@dataclass
class ClassifierRun:
    """Clones of a classifier, fitted to one weighting of the rows after another."""

    bound: BoundClassifier
    n_classes: int
    rng: np.random.RandomState
    resample: bool
    hypotheses: list[Any] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        X = self.bound.X
        hypothesis = clone(self.bound.estimator)
        set_random_states(hypothesis, self.rng)
        if self.resample:
            drawn = np.repeat(np.arange(len(weight)), resample_counts(weight, self.rng))
            hypothesis.fit(X[drawn], target[drawn])
        else:
            hypothesis.fit(X, target, sample_weight=weight * (len(weight) / weight.sum()))
        self.hypotheses.append(hypothesis)
        return _output(hypothesis, X, self.n_classes, self.bound.is_soft)

    def combine(self, weights: Sequence[float]) -> "VoteEnsemble":
        kept = self.hypotheses[: len(weights)]
        return VoteEnsemble(kept, list(weights), self.n_classes, self.bound.is_soft)


@dataclass(frozen=True)
class VoteEnsemble:
    """The weighted votes of fitted classifiers.

    Attributes
    ----------
    estimators : list of classifiers
        Fitted to class codes.
    weights : list of float
    n_classes : int
    is_soft : bool
        Whether a vote is a probability, or 0 or 1.
    """

    estimators: list[Any]
    weights: list[float]
    n_classes: int
    is_soft: bool = False

    def score(self, X: Rows) -> NDArray[Any]:
        score = np.zeros(X.shape[0] if self.n_classes == 2 else (X.shape[0], self.n_classes))
        for stage in self.staged_score(X):
            score = stage
        return score

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        score: Any = 0.0
        for weight, estimator in zip(self.weights, self.estimators, strict=True):
            output = _output(estimator, X, self.n_classes, self.is_soft)
            score = score + weight * cast(output, self.n_classes)
            yield score

    def importances(self, n_features: int) -> NDArray[Any]:
        """Importances of the features to each hypothesis, (n_rounds, n_features)."""
        return np.array([each.feature_importances_ for each in self.estimators])

    def tail(self, first: int) -> Self:
        return replace(self, estimators=self.estimators[first:], weights=self.weights[first:])


def _output(classifier: Any, X: Rows, n_classes: int, is_soft: bool) -> NDArray[Any]:
    """Class codes (n_rows,), or probabilities (n_rows, n_classes): zero for classes not seen."""
    if not is_soft:
        return classifier.predict(X)
    if hasattr(classifier, "predict_proba"):
        seen = classifier.predict_proba(X)
    else:
        seen = link(classifier.decision_function(X))
    if seen.shape[1] == n_classes:
        return seen
    proba = np.zeros((seen.shape[0], n_classes))
    proba[:, classifier.classes_] = seen
    return proba
