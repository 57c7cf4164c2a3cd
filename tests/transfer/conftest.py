"""Weak learners whose hypotheses are written down, and data with two domains."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from groupwise.boosting.votes import vote_coding
from groupwise.datasets import TransferData, make_shifted_domains


class ScriptedLearner(BaseEstimator):
    """Gives the outputs of a list, round by round, and remembers the weights it was shown."""

    def __init__(self, outputs: Any = ()):
        self.outputs = outputs

    def bind(self, X: Any) -> "ScriptedLearner":
        return self

    def start(self, n_classes: int, rng: Any, *, resample: bool) -> "ScriptedLearner":
        self.seen: list[np.ndarray] = []
        self.n_classes = n_classes
        return self

    def fit(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        self.seen.append(weight.copy())
        return np.asarray(self.outputs[len(self.seen) - 1])

    def combine(self, weights: Sequence[float]) -> "ScriptedVotes":
        return ScriptedVotes([np.asarray(o) for o in self.outputs], list(weights), self.n_classes)

    accepts_nan = False

    def soft(self) -> "ScriptedLearner":
        return self

    def __sklearn_clone__(self) -> "ScriptedLearner":
        return self


class ScriptedVotes:
    """Votes on the training rows, which X must be."""

    def __init__(self, outputs: list[np.ndarray], weights: list[float], n_classes: int):
        self.outputs, self.weights, self.n_classes = outputs, weights, n_classes

    def score(self, X: Any) -> np.ndarray:
        return list(self.staged_score(X))[-1]

    def staged_score(self, X: Any) -> Iterator[np.ndarray]:
        coding = vote_coding(self.n_classes)
        total: Any = 0.0
        for weight, output in zip(self.weights, self.outputs, strict=False):
            vote = output @ coding if output.ndim == 2 else coding[output]
            total = total + weight * vote
            yield total

    def tail(self, first: int) -> "ScriptedVotes":
        return ScriptedVotes(self.outputs[first:], self.weights[first:], self.n_classes)


@pytest.fixture
def scripted() -> type[ScriptedLearner]:
    return ScriptedLearner


@pytest.fixture
def shifted() -> TransferData:
    return make_shifted_domains(300, 40, random_state=3)
