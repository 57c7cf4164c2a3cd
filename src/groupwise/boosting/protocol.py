"""What a boosting method needs of a weak learner.

The journey of the data::

    WeakLearner --bind(X)--> BoundLearner --start()--> Run --combine(weights)--> Ensemble

``bind`` does once what does not depend on targets (binning); each ``Run`` is one boosting
run, whose ``fit(target, weight)`` adds a hypothesis and returns its predictions on the training
rows; the ``Ensemble`` predicts on new rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Rows

__all__ = [
    "BoundLearner",
    "Ensemble",
    "HardLearner",
    "LearnerLike",
    "Run",
    "Scores",
    "WeakLearner",
    "resample_counts",
]


class Scores(Protocol):
    """What gives scores to rows."""

    def score(self, X: Rows) -> NDArray[Any]:
        """Scores of rows: (n_rows,) for two classes, (n_rows, n_classes) for more."""
        ...


class Ensemble(Scores, Protocol):
    """A weighted sum of hypotheses, round by round."""

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        """Scores after each round; every one a fresh array."""
        ...

    def tail(self, first: int) -> "Ensemble":
        """The same without the rounds before ``first`` (counted from 0)."""
        ...


class Run(Protocol):
    """One boosting run on bound rows."""

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        """Add the hypothesis for these class codes and weights; what it says of the same rows.

        Class codes (n_rows,), or from a soft learner the probability of each class,
        (n_rows, n_classes).
        """
        ...

    def combine(self, weights: Sequence[float]) -> Ensemble:
        """Weigh the first ``len(weights)`` hypotheses and drop the others."""
        ...


class BoundLearner(Protocol):
    """A weak learner that has seen the training rows."""

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> Run:
        """Begin a run; with ``resample`` hypotheses see rows drawn by weight instead of weights."""
        ...


@runtime_checkable
class WeakLearner(Protocol):
    """A recipe for hypotheses."""

    #: Whether rows may hold missing values.
    accepts_nan: bool

    def bind(self, X: Rows) -> BoundLearner:
        """Do once whatever depends on the rows alone."""
        ...

    def soft(self) -> "WeakLearner":
        """The same hypotheses with probabilities for votes.

        Raises
        ------
        ValueError
            If there are none.
        """
        ...


#: What a user may pass as the ``estimator`` that is boosted.
LearnerLike: TypeAlias = BaseEstimator | WeakLearner | None


class HardLearner:
    """Mixin of the weak learners whose hypotheses only ever name a class."""

    accepts_nan = False

    def soft(self) -> WeakLearner:
        raise ValueError(
            f"{type(self).__name__} has no soft hypotheses, with probabilities for votes; "
            "use hypotheses='hard'"
        )


def resample_counts(weight: NDArray[Any], rng: np.random.RandomState) -> NDArray[np.intp]:
    """Draw ``len(weight)`` rows by weight: how often each one comes.

    Systematic resampling: one random offset, equal steps. A row of relative weight w comes
    floor(n w) or ceil(n w) times, in expectation n w; linear in the number of rows.
    """
    n_rows = len(weight)
    edges = np.cumsum(weight)
    points = (np.arange(n_rows) + rng.uniform()) * (edges[-1] / n_rows)
    hits = np.minimum(np.searchsorted(edges, points, side="right"), n_rows - 1)
    return np.bincount(hits, minlength=n_rows)
