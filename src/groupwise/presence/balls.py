"""Thresholded RBF features: balls around training rows (Andrews and Hofmann 2003)."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import euclidean_distances

from groupwise._typing import Rows
from groupwise.boosting import HardLearner
from groupwise.inputs import check_number
from groupwise.presence.program.pool import WholePool
from groupwise.presence.stumps import BoundStumps, Stumps, StumpSum
from groupwise.recipes import Recipe

__all__ = ["BallSum", "Balls"]


class Balls(HardLearner, Recipe):
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

    def bind(self, X: Rows) -> "BoundBalls":
        """Measure the rows' distances to the centres."""
        check_number("n_centres", self.n_centres, "[1, inf)", whole=True)
        n = min(self.n_centres, X.shape[0])
        centres = X[np.linspace(0, X.shape[0] - 1, n).astype(np.intp)]
        return BoundBalls(centres, Stumps(self.max_radii).bind(_distances(X, centres)))


def _distances(X: Rows, centres: Rows) -> NDArray[np.float64]:
    if not centres.shape[0]:  # a sum of no balls, where none is better than chance
        return np.empty((X.shape[0], 0))
    return euclidean_distances(X, centres)


@dataclass(frozen=True)
class BoundBalls(WholePool):
    """Balls around given centres, as stumps on distances."""

    centres: Rows
    stumps: BoundStumps

    def blocks(self, weight: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        return self.stumps.blocks(weight)

    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.stumps.values(numbers)

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return self.stumps.family(numbers)

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> "BallSum":
        return BallSum(self.centres, self.stumps.combine(numbers, weight))


@dataclass(frozen=True)
class BallSum:
    """Weighted balls.

    Attributes
    ----------
    centres : array of shape (n_centres, n_features)
    stumps : StumpSum
        On the distances to the centres; a row *outside* gets the weight.
    """

    centres: Rows
    stumps: StumpSum

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights of the balls."""
        return self.stumps.weight

    def score(self, X: Rows) -> NDArray[np.float64]:
        used, position = np.unique(self.stumps.feature, return_inverse=True)
        local = StumpSum(position, self.stumps.threshold, self.stumps.weight)
        return local.score(_distances(X, self.centres[used]))

    def staged_score(self, X: Rows) -> Iterator[NDArray[np.float64]]:
        yield from self.stumps.staged_score(_distances(X, self.centres))

    def tail(self, first: int) -> "BallSum":
        return BallSum(self.centres, self.stumps.tail(first))
