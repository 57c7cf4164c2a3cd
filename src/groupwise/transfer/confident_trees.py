"""Histogram trees whose leaves vote by their share of the second class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.boosting import HistTrees
from groupwise.boosting.hist_trees import HistTreeEnsemble, HistTreeRun

__all__ = ["ConfidentTrees"]


@dataclass(frozen=True)
class ConfidentTrees:
    """The trees of :class:`HistTrees` with values in [0, 1].

    A leaf's value in the booster is the weighted mean of the labels -1 and +1, twice the share of
    the second class less one.
    """

    trees: HistTrees

    def bind(self, X: Any) -> "_BoundConfidentTrees":
        return _BoundConfidentTrees(self.trees.bind(X))


@dataclass(frozen=True)
class _BoundConfidentTrees:
    bound: Any

    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "_ConfidentTreeRun":
        run = self.bound.start(n_classes, rng, resample=resample)
        return _ConfidentTreeRun(run.booster, run.rng)


class _ConfidentTreeRun(HistTreeRun):
    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        before = self._raw
        super().fit(target, weight)
        if self.rounds[-1][0] is None:  # no split: everyone's share of the second class
            share = float(weight[target == 1].sum() / weight.sum())
            self.rounds[-1] = (None, 2.0 * share - 1.0)
            positive = np.full(len(target), share)
        else:
            positive = 0.5 * (np.clip(self._raw - before, -1.0, 1.0) + 1.0)
        return np.column_stack([1.0 - positive, positive])

    def combine(self, weights: Sequence[float]) -> HistTreeEnsemble:
        """Scale the leaves, so that the booster's sum is the ensemble's."""
        pairs = list(zip(weights, self.rounds, strict=False))
        bias = float(sum(weight * vote for weight, (tree, vote) in pairs if tree is None))
        rounds = [(tree, weight * vote if tree is None else 0.0) for weight, (tree, vote) in pairs]
        last = max((tree for tree, _ in rounds if tree is not None), default=None)
        if last is None or self.booster is None:
            return HistTreeEnsemble(None, bias, rounds)
        info = self.booster.dump_model()["tree_info"]
        for weight, (tree, _) in pairs:
            if tree is None:
                continue
            for leaf in range(info[tree]["num_leaves"]):
                value = self.booster.get_leaf_output(tree, leaf)
                self.booster.set_leaf_output(tree, leaf, weight * value)
        return HistTreeEnsemble(self.booster.model_to_string(num_iteration=last + 1), bias, rounds)
