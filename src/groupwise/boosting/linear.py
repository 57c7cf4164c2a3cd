"""Linear weak learners with warm starts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.protocol import resample_counts
from groupwise.boosting.votes import cast, decide, link
from groupwise.inputs.parameters import check_choice, check_number
from groupwise.recipes import Recipe
from groupwise.solvers.newton import LOSSES, Plane, fit_plane

__all__ = ["LinearEnsemble", "LinearLearner"]


class LinearLearner(Recipe):
    r"""Linear classifiers for boosting, every round started from the last round's plane.

    A round minimises :math:`\frac12\|w\|^2 + C \sum_i d_i\, \ell(y_i (w^T x_i + b))`, the weights
    d with mean 1. Weights move little from round to round, so a round costs a few Newton steps.
    More than two classes: one plane per class against the rest.

    Parameters
    ----------
    loss : {"squared_hinge", "logistic"}, default="squared_hinge"
        A linear support vector machine, or logistic regression.
    C : float, default=1.0
        Inverse strength of the penalty.
    tol : float, default=1e-4
        Gradient at which a round is solved, as a share of that at zero.

    Examples
    --------
    >>> from groupwise.boosting import LinearLearner
    >>> from groupwise.transfer import TrAdaBoostClassifier
    >>> TrAdaBoostClassifier(LinearLearner("logistic"))
    TrAdaBoostClassifier(estimator=LinearLearner(loss='logistic'))
    """

    accepts_nan = False

    def __init__(self, loss: str = "squared_hinge", *, C: float = 1.0, tol: float = 1e-4):
        self.loss = loss
        self.C = C
        self.tol = tol

    def bind(self, X: Rows) -> "_BoundLinear":
        """Remember the rows."""
        check_choice("loss", self.loss, sorted(LOSSES))
        check_number("C", self.C, "(0, inf)")
        check_number("tol", self.tol, "(0, inf)")
        return _BoundLinear(self, X)

    def soft(self) -> "_SoftLinear":
        """The same planes as hypotheses with values in [0, 1]: the logistic function of f."""
        return _SoftLinear(self)


@dataclass(frozen=True)
class _SoftLinear:
    learner: LinearLearner
    accepts_nan = False

    def bind(self, X: Rows) -> "_BoundLinear":
        return replace(self.learner.bind(X), is_soft=True)

    def soft(self) -> "_SoftLinear":
        return self


@dataclass(frozen=True)
class _BoundLinear:
    learner: LinearLearner
    X: Rows
    is_soft: bool = False

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "_LinearRun":
        n_planes = 1 if n_classes == 2 else n_classes
        start: list[Plane | None] = [None] * n_planes
        return _LinearRun(self, n_classes, rng if resample else None, start)


@dataclass
class _LinearRun:
    bound: _BoundLinear
    n_classes: int
    rng: np.random.RandomState | None
    last: list[Plane | None]
    rounds: list[list[Plane]] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        if self.rng is not None:
            weight = resample_counts(weight, self.rng).astype(float)
        learner, X = self.bound.learner, self.bound.X
        cost = weight * (learner.C * len(weight) / weight.sum())
        positives = [1] if self.n_classes == 2 else range(self.n_classes)
        planes = [
            fit_plane(
                X,
                np.where(target == code, 1.0, -1.0),
                cost,
                loss=learner.loss,
                start=start,
                tol=learner.tol,
            ).plane
            for code, start in zip(positives, self.last, strict=True)
        ]
        self.last = list(planes)
        self.rounds.append(planes)
        score = np.column_stack([plane.score(X) for plane in planes])
        return _output(score, self.bound.is_soft)

    def combine(self, weights: Sequence[float]) -> "LinearEnsemble":
        rounds = self.rounds[: len(weights)]
        coef = np.array([[plane.coef for plane in planes] for planes in rounds])
        intercept = np.array([[plane.intercept for plane in planes] for planes in rounds])
        return LinearEnsemble(coef, intercept, list(weights), self.n_classes, self.bound.is_soft)


@dataclass(frozen=True)
class LinearEnsemble:
    """Weighted votes of planes.

    Attributes
    ----------
    coef : ndarray of shape (n_rounds, n_planes, n_features)
    intercept : ndarray of shape (n_rounds, n_planes)
    weights : list of float
    n_classes : int
    is_soft : bool
        Whether a vote is a probability, or 0 or 1.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    weights: list[float]
    n_classes: int
    is_soft: bool

    def score(self, X: Rows) -> NDArray[Any]:
        score = np.zeros(X.shape[0] if self.n_classes == 2 else (X.shape[0], self.n_classes))
        for stage in self.staged_score(X):
            score = stage
        return score

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        total: Any = 0.0
        for weight, coef, intercept in zip(self.weights, self.coef, self.intercept, strict=True):
            output = _output(X @ coef.T + intercept, self.is_soft)
            total = total + weight * cast(output, self.n_classes)
            yield total

    def tail(self, first: int) -> "LinearEnsemble":
        return replace(
            self,
            coef=self.coef[first:],
            intercept=self.intercept[first:],
            weights=self.weights[first:],
        )


def _output(score: NDArray[Any], is_soft: bool) -> NDArray[Any]:
    """Class codes or probabilities from the scores of one plane or of one per class."""
    if is_soft:
        return link(score)
    return decide(score[:, 0] if score.shape[1] == 1 else score)
