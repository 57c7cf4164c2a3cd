"""Where columns come from: a pool that is searched whole, or a weak learner that is queried.

A pool holds hypotheses h_0, h_1, ... with values -1 and +1; each may also be used negated. It
answers one question: for weights w on the rows, what is sum_x w(x) h(x) of every hypothesis?
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise._typing import Rows
from groupwise.boosting import Ensemble, Run, get_weak_learner

__all__ = ["LearnerPool", "Pool", "PoolRun", "WholePool", "bind_pool"]


@runtime_checkable
class Pool(Protocol):
    """Hypotheses on bound rows."""

    @property
    def is_complete(self) -> bool:
        """Whether the hypotheses scored are all there are, so that a best one is proven best."""
        ...

    def ask(self, weight: NDArray[np.float64]) -> None:
        """Take in a hypothesis for signed weights of the rows, where the pool is not complete."""
        ...

    def blocks(self, weight: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        """Score hypotheses for each line of a sparse ``weight`` (n_lines, n_rows), in blocks.

        Yields the hypotheses' numbers (k,) and their scores (n_lines, k).
        """
        ...

    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        """Values -1 and +1 of hypotheses on the bound rows, (n_rows, k)."""
        ...

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """What hypotheses that resemble each other share: their feature or centre."""
        ...

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> Ensemble:
        """The sum of hypotheses with weights of either sign, (k,) or (k, n_outputs)."""
        ...


class WholePool(ABC):
    """Base of the finite pools, all of whose hypotheses can be scored.

    It is a bound weak learner of :mod:`groupwise.boosting` as well: one for two classes that takes
    weights.
    """

    is_complete = True

    def ask(self, weight: NDArray[np.float64]) -> None:
        """Nothing to ask for: everything is known already."""
        return

    @abstractmethod
    def blocks(
        self, weight: csr_array
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]: ...

    @abstractmethod
    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]: ...

    @abstractmethod
    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]: ...

    @abstractmethod
    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> Ensemble: ...

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "PoolRun":
        if n_classes != 2 or resample:
            raise ValueError("a pool votes between two classes, with weights, not resampling")
        return PoolRun(self)


@dataclass
class LearnerPool:
    """What a weak learner of the library has given so far, on request.

    It answers for linear weights only and finds good hypotheses, not proven best ones.
    """

    run: Run
    max_queries: int
    columns: list[NDArray[np.float64]] = field(default_factory=list)

    is_complete = False

    def ask(self, weight: NDArray[np.float64]) -> None:
        """Have a hypothesis fitted to signed weights of the rows, unless there are enough."""
        if len(self.columns) >= self.max_queries or not weight.any():
            return
        target = (weight > 0).astype(np.intp)
        vote = 2.0 * self.run.fit(target, np.abs(weight)) - 1.0
        self.columns.append(vote.astype(np.float64, copy=False))

    def blocks(self, weight: csr_array) -> Iterator[tuple[NDArray[np.intp], NDArray[np.float64]]]:
        numbers = np.arange(len(self.columns))
        if len(numbers):
            yield numbers, weight @ self.values(numbers)

    def values(self, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        return np.column_stack([self.columns[number] for number in numbers])

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return numbers

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[np.float64]) -> Ensemble:
        total = np.zeros(len(self.columns))
        np.add.at(total, numbers, weight)
        return self.run.combine(total.tolist())


def bind_pool(estimator: Any, X: Rows, rng: np.random.RandomState, max_queries: int) -> Pool:
    """Bind a pool, or a weak learner or classifier (queried ``max_queries`` times), to the rows."""
    bound = get_weak_learner(estimator).bind(X)
    if isinstance(bound, Pool):
        return bound
    return LearnerPool(bound.start(2, rng, resample=False), max_queries)


def best_of(
    pool: WholePool, target: NDArray[np.intp], weight: NDArray[np.float64]
) -> tuple[int, float]:
    """Number and sign of the hypothesis with the least weighted error."""
    signed = np.where(target == 1, weight, -weight)
    best, found = -np.inf, (0, 1.0)
    for numbers, score in pool.blocks(csr_array(signed[None])):
        position = int(np.abs(score[0]).argmax())
        if abs(score[0, position]) > best:
            best = abs(score[0, position])
            found = int(numbers[position]), 1.0 if score[0, position] >= 0 else -1.0
    return found


@dataclass
class PoolRun:
    """A boosting run on a whole pool: the weak-learner protocol."""

    pool: WholePool
    numbers: list[int] = field(default_factory=list)
    signs: list[float] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[np.float64]) -> NDArray[np.intp]:
        number, sign = best_of(self.pool, target, weight)
        self.numbers.append(number)
        self.signs.append(sign)
        return (sign * self.pool.values(np.array([number]))[:, 0] > 0).astype(np.intp)

    def combine(self, weights: Sequence[float]) -> Ensemble:
        n = len(weights)
        signed = np.array(self.signs[:n]) * np.array(weights, dtype=float)
        return self.pool.combine(np.array(self.numbers[:n], dtype=np.intp), signed)
