"""What a boosting method needs of a weak learner, and how one is looked up.

The journey of the data::

    WeakLearner --bind(X)--> BoundLearner --start()--> Run --combine(weights)--> Ensemble

``bind`` does once what does not depend on targets (binning); each ``Run`` is one boosting
run, whose ``fit(target, weight)`` adds a hypothesis and returns its predictions on the training
rows; the ``Ensemble`` predicts on new rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["BoundLearner", "Ensemble", "Run", "WeakLearner", "get_weak_learner", "resample_counts"]


class Ensemble(Protocol):
    """A weighted sum of hypotheses."""

    def score(self, X: Any) -> NDArray[Any]:
        """Scores of rows: (n_rows,) for two classes, (n_rows, n_classes) for more."""
        ...

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores after each round; every one a fresh array."""
        ...


class Run(Protocol):
    """One boosting run on bound rows."""

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[np.intp]:
        """Add the hypothesis for these class codes and weights; its codes on the same rows."""
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

    def bind(self, X: Any) -> BoundLearner:
        """Do once whatever depends on the rows alone."""
        ...


def get_weak_learner(estimator: Any) -> WeakLearner:
    """Make a weak learner of ``None`` (histogram trees), a weak learner, or a classifier."""
    from groupwise.boosting.classifiers import ClassifierLearner
    from groupwise.boosting.hist_trees import HistTrees

    if estimator is None:
        return HistTrees()
    if isinstance(estimator, WeakLearner):
        return estimator
    return ClassifierLearner(estimator)


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
