"""Thresholded RBF features: balls around training rows (Andrews and Hofmann 2003)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import euclidean_distances

from groupwise.boosting import HardLearner
from groupwise.presence.stumps import BoundStumps, Stumps, StumpSum

__all__ = ["BallSum", "Balls"]


class Balls(HardLearner, BaseEstimator):
    r"""All thresholded RBF features :math:`h(x) = \pm\mathrm{sign}(\theta - |x - c|)` as a pool.

    A Gaussian of any width around c, cut at any height, is a ball; so the pool holds every
    thresholded RBF feature with a centre among the rows, whatever the width.

    Parameters
    ----------
    n_centres : int, default=200
        Rows used as centres: all, or so many of them spread evenly over their order.
    max_radii : int, default=32
        Radii per centre, at quantiles of the rows' distances; ``None``: all.

    Examples
    --------
    >>> from groupwise.presence import Balls, DPBoostClassifier
    >>> from groupwise.datasets import make_presence_bags
    >>> d = make_presence_bags(10, random_state=0)
    >>> clf = DPBoostClassifier(Balls(), nu=0.1).fit(d.X, d.y, groups=d.groups)
    >>> clf.predict_groups(d.X, groups=d.groups).shape == (len(set(d.groups)),)
    True
    """

    def __init__(self, n_centres: int = 200, *, max_radii: int | None = 32):
        self.n_centres = n_centres
        self.max_radii = max_radii

    def bind(self, X: Any) -> "BoundBalls":
        """Measure the rows' distances to the centres."""
        if self.n_centres < 1:
            raise ValueError(f"n_centres must be at least 1, got {self.n_centres!r}")
        n = min(self.n_centres, X.shape[0])
        centres = X[np.linspace(0, X.shape[0] - 1, n).astype(np.intp)]
        return BoundBalls(centres, Stumps(self.max_radii).bind(_distances(X, centres)))


def _distances(X: Any, centres: Any) -> NDArray[Any]:
    if not centres.shape[0]:  # a sum of no balls, where none is better than chance
        return np.empty((X.shape[0], 0))
    return euclidean_distances(X, centres)


class BoundBalls:
    """Balls around given centres, as stumps on distances."""

    def __init__(self, centres: Any, stumps: BoundStumps):
        self.centres = centres
        self.stumps = stumps
        self.blocks, self.values, self.family = stumps.blocks, stumps.values, stumps.family

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[Any]) -> "BallSum":
        return BallSum(self.centres, self.stumps.combine(numbers, weight))

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> Any:
        run = self.stumps.start(n_classes, rng, resample=resample)
        run.pool = self
        return run


@dataclass(frozen=True)
class BallSum:
    """Weighted balls.

    Attributes
    ----------
    centres : array of shape (n_centres, n_features)
    stumps : StumpSum
        On the distances to the centres; a row *outside* gets the weight.
    """

    centres: Any
    stumps: StumpSum

    @property
    def weight(self) -> NDArray[Any]:
        """Weights of the balls."""
        return self.stumps.weight

    def score(self, X: Any) -> NDArray[Any]:
        used, position = np.unique(self.stumps.feature, return_inverse=True)
        local = StumpSum(position, self.stumps.threshold, self.stumps.weight)
        return local.score(_distances(X, self.centres[used]))

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        yield from self.stumps.staged_score(_distances(X, self.centres))

    def tail(self, first: int) -> "BallSum":
        return BallSum(self.centres, self.stumps.tail(first))
