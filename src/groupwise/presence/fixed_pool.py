"""A pool of given classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise._typing import Rows
from groupwise.boosting import HardLearner
from groupwise.presence.program.pool import WholePool
from groupwise.recipes import Recipe

__all__ = ["ClassifierSum", "FixedPool"]


class FixedPool(HardLearner, Recipe):
    """Given classifiers, each used as it is or negated.

    Parameters
    ----------
    classifiers : list
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

    def __init__(self, classifiers: list[Any]):
        self.classifiers = classifiers

    def bind(self, X: Rows) -> "BoundFixedPool":
        """Have every classifier predict the rows."""
        if not self.classifiers:
            raise ValueError("classifiers must hold at least one classifier, got none")
        return BoundFixedPool(list(self.classifiers), _votes(self.classifiers, X))


def _votes(classifiers: list[Any], X: Rows) -> NDArray[np.float64]:
    return np.column_stack([np.where(c.predict(X) > 0, 1.0, -1.0) for c in classifiers])


@dataclass(frozen=True)
class BoundFixedPool(WholePool):
    """Given classifiers and their votes on the rows."""

    classifiers: list[Any]
    votes: NDArray[np.float64]

    def blocks(self, weight: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        yield np.arange(len(self.classifiers)), weight @ self.votes

    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        return self.votes[:, numbers]

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return numbers

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> "ClassifierSum":
        chosen = [self.classifiers[number] for number in numbers]
        return ClassifierSum(chosen, np.asarray(weight, float))


@dataclass(frozen=True)
class ClassifierSum:
    """Weighted classifiers."""

    classifiers: list[Any]
    weight: NDArray[np.float64]

    def score(self, X: Rows) -> NDArray[np.float64]:
        if not self.classifiers:
            return np.zeros((X.shape[0], *self.weight.shape[1:]))
        return _votes(self.classifiers, X) @ self.weight

    def staged_score(self, X: Rows) -> Iterator[NDArray[np.float64]]:
        for end in range(1, len(self.classifiers) + 1):
            yield ClassifierSum(self.classifiers[:end], self.weight[:end]).score(X)

    def tail(self, first: int) -> "ClassifierSum":
        return ClassifierSum(self.classifiers[first:], self.weight[first:])
