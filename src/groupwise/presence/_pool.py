"""Where columns come from: a pool that can be searched whole, or a weak learner that is asked.

A pool holds hypotheses h_0, h_1, ... with values -1 and +1; each may also be used negated. It is
asked one question: for weights w on the rows, what is sum_x w(x) h(x) of every hypothesis?
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise.boosting import BoundLearner, Ensemble, Run, get_weak_learner

__all__ = ["AskedPool", "Pool", "bind_pool"]


@runtime_checkable
class Pool(Protocol):
    """A finite set of hypotheses on bound rows, all of which can be scored."""

    def blocks(self, weight: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        """Score hypotheses for each line of a sparse ``weight`` (n_lines, n_rows), in blocks.

        Yields the hypotheses' numbers (k,) and their scores (n_lines, k).
        """
        ...

    def values(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        """Values -1 and +1 of hypotheses on the bound rows, (n_rows, k)."""
        ...

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """What hypotheses that resemble each other share: their feature or centre."""
        ...

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[Any]) -> Ensemble:
        """The sum of hypotheses with weights of either sign, (k,) or (k, n_outputs)."""
        ...


@dataclass
class AskedPool:
    """What a weak learner of the library has given so far, on request.

    It answers for linear weights only and finds good hypotheses, not proven best ones.
    """

    run: Run
    n_most: int
    columns: list[NDArray[Any]] = field(default_factory=list)

    def ask(self, weight: NDArray[Any]) -> None:
        """Have a hypothesis fitted to signed weights of the rows, unless there are enough."""
        if len(self.columns) >= self.n_most or not weight.any():
            return
        target = (weight > 0).astype(np.intp)
        self.columns.append(2.0 * self.run.fit(target, np.abs(weight)) - 1.0)

    def blocks(self, weight: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
        numbers = np.arange(len(self.columns))
        if len(numbers):
            yield numbers, weight @ self.values(numbers)

    def values(self, numbers: NDArray[np.intp]) -> NDArray[Any]:
        return np.column_stack([self.columns[number] for number in numbers])

    def family(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        return numbers

    def combine(self, numbers: NDArray[np.intp], weight: NDArray[Any]) -> Ensemble:
        total = np.zeros(len(self.columns))
        np.add.at(total, numbers, weight)
        return self.run.combine(total.tolist())


def bind_pool(
    estimator: Any, X: Any, rng: np.random.RandomState, n_most: int
) -> "Pool | AskedPool":
    """Bind a pool, or a weak learner or classifier (asked ``n_most`` times), to the rows."""
    bound: Any = get_weak_learner(estimator).bind(X)
    if isinstance(bound, Pool):
        return bound
    return AskedPool(_start(bound, rng), n_most)


def _start(bound: BoundLearner, rng: np.random.RandomState) -> Run:
    return bound.start(2, rng, resample=False)


def best_of(pool: Pool, target: NDArray[np.intp], weight: NDArray[Any]) -> tuple[int, float]:
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
    """A boosting run on a pool: the weak-learner protocol for any pool."""

    pool: Any
    numbers: list[int] = field(default_factory=list)
    signs: list[float] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[np.intp]:
        number, sign = best_of(self.pool, target, weight)
        self.numbers.append(number)
        self.signs.append(sign)
        return (sign * self.pool.values(np.array([number]))[:, 0] > 0).astype(np.intp)

    def combine(self, weights: Sequence[float]) -> Ensemble:
        n = len(weights)
        signed = np.array(self.signs[:n]) * np.array(weights, dtype=float)
        return self.pool.combine(np.array(self.numbers[:n], dtype=np.intp), signed)
