"""Runs and ensembles of histogram trees, all on one live LightGBM booster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.lightgbm import (
    PickledBooster,
    can_split,
    lightgbm_input,
    training_scores,
)
from groupwise.boosting.protocol import resample_counts
from groupwise.rules import two_columns

__all__ = ["BoundHistTrees", "HistTreeEnsemble", "HistTreeRun", "SoftTreeRun"]

# A leaf this close to a tie votes for the first class. Far above the rounding of summed scores, far
# below any vote that matters, so that rows and leaves always agree on the sign.
_TIE = 1e-9


# Of each round: its tree's position in the booster, or a vote without a tree.
_Rounds = list[tuple[int | None, float]]


@dataclass(frozen=True)
class BoundHistTrees:
    """Binned rows and the parameters of the trees to grow on them."""

    dataset: lgb.Dataset
    params: dict[str, Any]
    is_soft: bool = False

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "HistTreeRun":
        if n_classes != 2:
            raise ValueError(
                f"HistTrees vote between two classes, not {n_classes}; boost one class against the "
                "rest, or pass a scikit-learn classifier as estimator"
            )
        params = self.params
        if params["bagging_freq"] or params["feature_fraction"] < 1.0:
            params = {**params, "seed": int(rng.randint(2**31 - 1))}
        booster = lgb.Booster(params, self.dataset) if can_split(self.dataset) else None
        kind = SoftTreeRun if self.is_soft else HistTreeRun
        return kind(booster, rng if resample else None)


class HistTreeRun:
    """Trees grown for one weighting of the rows after another; a leaf votes by its sign."""

    def __init__(self, booster: lgb.Booster | None, rng: np.random.RandomState | None):
        self.booster = booster
        self.rng = rng
        self.rounds: _Rounds = []
        self._raw: NDArray[Any] | float = 0.0

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        grown = self._grow(target, weight)
        if grown is None:
            vote = self.rounds[-1][1]
            return np.full(len(target), int(vote > 0), dtype=np.intp)
        return (grown > _TIE).astype(np.intp)

    def _grow(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any] | None:
        """The new tree's value for each row; ``None`` where no split was found."""
        if self.rng is not None:
            weight = resample_counts(weight, self.rng).astype(float)
        hess = (weight * (len(weight) / weight.sum())).astype(np.float32)
        grad = np.where(target == 1, -hess, hess)  # the step -grad/hess is the label, -1 or +1
        # update() says whether it got stuck, for want of a split
        if self.booster is None or self.booster.update(fobj=lambda _scores, _data: (grad, hess)):
            self.rounds.append((None, 1.0 if grad.sum() < 0 else -1.0))  # the heavier class
            return None
        self.rounds.append((self.booster.num_trees() - 1, 0.0))
        raw = training_scores(self.booster)
        value_row = raw - self._raw
        self._raw = raw
        return value_row

    def combine(self, weights: Sequence[float]) -> "HistTreeEnsemble":
        """Write each vote's weight into the leaves, so that the booster's sum is the ensemble's."""
        rounds: _Rounds = []
        info = self.booster.dump_model()["tree_info"] if self.booster else []
        for weight, (tree, vote) in zip(weights, self.rounds, strict=False):
            rounds.append((tree, weight * vote if tree is None else 0.0))
            if tree is None or self.booster is None:
                continue
            for leaf in range(info[tree]["num_leaves"]):
                value = self.booster.get_leaf_output(tree, leaf)
                self.booster.set_leaf_output(tree, leaf, weight * self._vote(value))
        return HistTreeEnsemble.of_booster(self.booster, rounds)

    def _vote(self, leaf: float) -> float:
        return 1.0 if leaf > _TIE else -1.0


class SoftTreeRun(HistTreeRun):
    """The same trees; a leaf votes by its share of the classes."""

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        grown = self._grow(target, weight)
        if grown is None:  # everyone's share of the second class
            share = float(weight[target == 1].sum() / weight.sum())
            self.rounds[-1] = (None, 2.0 * share - 1.0)
            return two_columns(np.full(len(target), share))
        return two_columns(0.5 * (np.clip(grown, -1.0, 1.0) + 1.0))

    def _vote(self, leaf: float) -> float:
        return leaf


class HistTreeEnsemble:
    """Weighted histogram trees: one pass over one booster.

    Attributes
    ----------
    trees : PickledBooster or None
        ``None`` if no round found a split.
    bias : float
        The sum of the votes without a tree.
    rounds : list of (int or None, float)
        Of each round: its tree's position in the booster, or a vote without a tree.
    """

    def __init__(self, trees: PickledBooster | None, rounds: _Rounds):
        self.trees = trees
        self.rounds = rounds
        self.bias = float(sum(vote for tree, vote in rounds if tree is None))

    @classmethod
    def of_booster(cls, booster: lgb.Booster | None, rounds: _Rounds) -> "HistTreeEnsemble":
        """Keep the trees of these rounds of a live booster."""
        n_trees = 1 + max((tree for tree, _ in rounds if tree is not None), default=-1)
        if booster is None or not n_trees:
            return cls(None, rounds)
        return cls(PickledBooster(booster.model_to_string(num_iteration=n_trees), n_trees), rounds)

    @property
    def booster(self) -> lgb.Booster:
        """The live LightGBM booster."""
        if self.trees is None:
            raise AttributeError("no round found a split, so there is no booster")
        return self.trees.booster

    def score(self, X: Rows) -> NDArray[Any]:
        score = np.full(X.shape[0], self.bias)
        return score if self.trees is None else score + self.trees.score(X)

    def staged_score(self, X: Rows) -> Iterator[NDArray[Any]]:
        X = lightgbm_input(X)
        score = np.zeros(X.shape[0])
        for tree, vote in self.rounds:
            if tree is None or self.trees is None:
                score = score + vote
            else:
                score = score + self.trees.score(X, tree, tree + 1)
            yield score

    def importances(self, n_features: int) -> NDArray[Any]:
        """Share of each feature in each round's gain, (n_rounds, n_features); zeros if none."""
        shares = np.zeros((len(self.rounds), n_features))
        if self.trees is not None:
            gains = self.trees.gains_by_round()
            for line, (tree, _) in zip(shares, self.rounds, strict=True):
                if tree is not None:
                    line[:] = gains[tree] / max(gains[tree].sum(), np.finfo(float).tiny)
        return shares

    def tail(self, first: int) -> "HistTreeEnsemble":
        kept = self.rounds[first:]
        trees = [tree for tree, _ in kept if tree is not None]
        if not trees or self.trees is None:
            return HistTreeEnsemble(None, kept)
        moved = [(None if tree is None else tree - trees[0], vote) for tree, vote in kept]
        return HistTreeEnsemble(self.trees.part(trees[0], trees[-1] + 1), moved)
