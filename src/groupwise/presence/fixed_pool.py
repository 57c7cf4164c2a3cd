"""A pool of hypotheses that somebody else has made."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from groupwise.boosting import HardLearner
from groupwise.presence._pool import PoolRun

__all__ = ["FixedPool", "HypothesisSum"]


class FixedPool(HardLearner, BaseEstimator):
    """Given hypotheses, each used as it is or negated.

    Parameters
    ----------
    hypotheses : list
        Fitted classifiers of the codes 0 and 1, or of -1 and +1: ``predict(X)`` above zero is a
        vote for the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from groupwise.presence import FixedPool, LPBoostClassifier
    >>> X, y = np.zeros((3, 1)), [1, 1, 0]
    >>> always = DummyClassifier(strategy="constant", constant=1).fit(X, y)
    >>> clf = LPBoostClassifier(FixedPool([always]), C=1.0).fit(X, y)
    >>> clf.estimator_weights_  # costs 1 + 2 for the row that is wrong, against 3 without
    array([], dtype=float64)
    """

    def __init__(self, hypotheses: list[Any]):
        self.hypotheses = hypotheses

    def bind(self, X: Any) -> "_BoundFixed":
        """Ask every hypothesis about the rows."""
        if not self.hypotheses:
            raise ValueError("FixedPool needs at least one hypothesis")
        return _BoundFixed(list(self.hypotheses), _votes(self.hypotheses, X))


def _votes(hypotheses: list[Any], X: Any) -> NDArray[Any]:
    return np.column_stack([np.where(h.predict(X) > 0, 1.0, -1.0) for h in hypotheses])


@dataclass(frozen=True)
class _BoundFixed:
    hypotheses: list[Any]
    votes: NDArray[Any]

    def blocks(self, weight: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        yield np.arange(len(self.hypotheses)), weight @ self.votes

    def values(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        return self.votes[:, numbers]

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return numbers

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[Any]) -> "HypothesisSum":
        chosen = [self.hypotheses[number] for number in numbers]
        return HypothesisSum(chosen, np.asarray(weight, float))

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> PoolRun:
        if n_classes != 2 or resample:
            raise ValueError("a pool votes between two classes, with weights, not resampling")
        return PoolRun(self)


@dataclass(frozen=True)
class HypothesisSum:
    """Weighted classifiers."""

    hypotheses: list[Any]
    weight: NDArray[np.float64]

    def score(self, X: Any) -> NDArray[Any]:
        if not self.hypotheses:
            return np.zeros((X.shape[0], *self.weight.shape[1:]))
        return _votes(self.hypotheses, X) @ self.weight

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        for end in range(1, len(self.hypotheses) + 1):
            yield HypothesisSum(self.hypotheses[:end], self.weight[:end]).score(X)

    def tail(self, first: int) -> "HypothesisSum":
        return HypothesisSum(self.hypotheses[first:], self.weight[first:])
