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
        self.X = X
        return self

    def start(self, n_classes: int, rng: Any, *, resample: bool) -> "ScriptedLearner":
        self.seen: list[np.ndarray] = []
        self.n_classes = n_classes
        return self

    def fit(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        self.seen.append(weight.copy())
        return np.asarray(self.outputs[len(self.seen) - 1])

    def combine(self, weights: Sequence[float]) -> "ScriptedVotes":
        outputs = [np.asarray(output) for output in self.outputs]
        return ScriptedVotes(self.X, outputs, list(weights), self.n_classes)

    accepts_nan = False

    def soft(self) -> "ScriptedLearner":
        return self

    def __sklearn_clone__(self) -> "ScriptedLearner":
        return self


class ScriptedVotes:
    """Votes on all training rows, in their order, or on some of them, which are looked up."""

    def __init__(self, X: Any, outputs: list[np.ndarray], weights: list[float], n_classes: int):
        self.X, self.outputs, self.weights, self.n_classes = X, outputs, weights, n_classes

    def score(self, X: Any) -> np.ndarray:
        return list(self.staged_score(X))[-1]

    def staged_score(self, X: Any) -> Iterator[np.ndarray]:
        rows: Any = slice(None)
        if len(X) < len(self.X):
            rows = [int(np.flatnonzero((row == self.X).all(axis=1))[0]) for row in X]
        coding = vote_coding(self.n_classes)
        total: Any = 0.0
        for weight, output in zip(self.weights, self.outputs, strict=False):
            vote = output @ coding if output.ndim == 2 else coding[output]
            total = total + weight * vote
            yield total[rows]

    def tail(self, first: int) -> "ScriptedVotes":
        return ScriptedVotes(self.X, self.outputs[first:], self.weights[first:], self.n_classes)


@pytest.fixture
def scripted() -> type[ScriptedLearner]:
    return ScriptedLearner


@pytest.fixture
def shifted() -> TransferData:
    return make_shifted_domains(300, 40, random_state=3)


@pytest.fixture
def two_sources():
    """A source like the target, and one with all labels wrong."""
    near = make_shifted_domains(150, 30, angle=10, random_state=0)
    far = make_shifted_domains(150, 0, angle=10, random_state=1)
    X = np.vstack([near.X, far.X])
    y = np.r_[near.y, 1 - far.y]
    return X, y, np.r_[near.domains, np.full(150, "far")]


@pytest.fixture
def regression_task():
    """A source that is half right, a small target, and rows to test on."""

    def make(seed=0, shift=1.0, n_source=150, n_target=25):
        rng = np.random.RandomState(seed)
        X = rng.uniform(size=(n_source + n_target + 400, 2))
        domains = np.repeat(["old", "new", "test"], [n_source, n_target, 400])
        y = np.sin(5 * X[:, 0]) + X[:, 1] + shift * (domains == "old") * (X[:, 0] > 0.5)
        y += 0.05 * rng.normal(size=len(y))
        train, test = domains != "test", domains == "test"
        return X[train], y[train], domains[train], X[test], y[test]

    return make
