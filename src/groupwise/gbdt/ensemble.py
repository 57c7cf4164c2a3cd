"""A fitted model's trees: a constant and one part for each fit that continued another."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.gbdt.engine import EngineModel

__all__ = ["GroupTrees"]


class GroupTrees:
    """Scores of rows as a constant plus the trees of one or more runs.

    Attributes
    ----------
    init_score : ndarray of shape (1,) or (n_classes,)
        Where boosting began.
    parts : list
        Trees as text in the engine's own format; ``parts[0].booster`` is a live booster.
    """

    def __init__(self, init_score: NDArray[Any], parts: list[EngineModel]):
        self.init_score = init_score
        self.parts = parts

    @property
    def n_rounds(self) -> int:
        """Rounds of all parts."""
        return sum(part.n_rounds for part in self.parts)

    def extended(self, part: EngineModel) -> "GroupTrees":
        """The same with one more part; an empty one adds nothing."""
        return GroupTrees(self.init_score, [*self.parts, *([part] if part.n_rounds else [])])

    def start(self, n_rows: int) -> NDArray[Any]:
        """The constant, for each row."""
        constant = self.init_score[0] if len(self.init_score) == 1 else self.init_score
        return np.zeros((n_rows, *np.shape(constant))) + constant

    def score(self, X: Any) -> NDArray[Any]:
        """Scores (n_rows,) or (n_rows, n_classes)."""
        score = self.start(X.shape[0])
        for part in self.parts:
            score += part.score(X)
        return score

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores after each round; every one a fresh array."""
        score = self.start(X.shape[0])
        for part in self.parts:
            for index in range(part.n_rounds):
                score = score + part.score(X, index, index + 1)
                yield score

    def contributions(self, X: Any) -> NDArray[Any]:
        """SHAP values (n_rows, n_outputs, n_features + 1), the last column the expected score."""
        total = np.zeros((X.shape[0], len(self.init_score), X.shape[1] + 1))
        total[:, :, -1] = self.init_score
        for part in self.parts:
            total += part.contributions(X)
        return total

    def importances(self, n_features: int) -> NDArray[Any]:
        """Share of each feature in the total gain of all splits; zeros without a split."""
        gains = sum((part.gains(n_features) for part in self.parts), np.zeros(n_features))
        return gains / max(gains.sum(), np.finfo(float).tiny)
