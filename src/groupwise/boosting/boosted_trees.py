"""Gradient boosting of weighted rows, by LightGBM, as one strong hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.classifiers import VoteEnsemble
from groupwise.boosting.lightgbm import PickledBooster, can_split, lightgbm_input, thread_count
from groupwise.boosting.protocol import resample_counts
from groupwise.boosting.votes import link
from groupwise.inputs.parameters import check_number
from groupwise.recipes import Recipe

__all__ = ["BoostedTrees", "TreeSum"]


class BoostedTrees(Recipe):
    """LightGBM's gradient boosting on weighted rows: a whole model in each round.

    Made for few fits with weights, as :class:`~groupwise.transfer.WeightedTransferClassifier` does.
    With weights, scikit-learn's ``HistGradientBoostingClassifier`` takes ten times as long for its
    bins as for its trees (version 1.9).

    Parameters
    ----------
    n_estimators : int, default=100
    learning_rate : float, default=0.1
    max_leaf_nodes : int, default=31
    min_samples_leaf : int, default=20
    n_jobs : int, default=None
        Threads. ``None``: all cores, or one for small tables, where more would only wait.

    Examples
    --------
    >>> from groupwise.boosting import BoostedTrees
    >>> from groupwise.transfer import WeightedTransferClassifier
    >>> WeightedTransferClassifier(BoostedTrees(n_estimators=50))
    WeightedTransferClassifier(estimator=BoostedTrees(n_estimators=50))
    """

    accepts_nan = False

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        n_jobs: int | None = None,
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.n_jobs = n_jobs

    def bind(self, X: Rows) -> "_BoundTrees":
        """Remember the rows."""
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_number("learning_rate", self.learning_rate, "(0, inf)")
        check_number("max_leaf_nodes", self.max_leaf_nodes, "[2, inf)", whole=True)
        check_number("min_samples_leaf", self.min_samples_leaf, "[1, inf)", whole=True)
        check_number("n_jobs", self.n_jobs, "[1, inf)", whole=True, none=True)
        return _BoundTrees(self, X)

    def soft(self) -> "_SoftBoostedTrees":
        """The same models, voting with probabilities."""
        return _SoftBoostedTrees(self)


@dataclass(frozen=True)
class _SoftBoostedTrees:
    trees: BoostedTrees
    accepts_nan = False

    def bind(self, X: Rows) -> "_BoundTrees":
        return replace(self.trees.bind(X), is_soft=True)

    def soft(self) -> "_SoftBoostedTrees":
        return self


@dataclass(frozen=True)
class _BoundTrees:
    trees: BoostedTrees
    X: Rows
    is_soft: bool = False

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "_TreesRun":
        return _TreesRun(self, n_classes, rng if resample else None)

    def grow(self, target: NDArray[np.intp], weight: NDArray[Any], n_classes: int) -> "TreeSum":
        """One model of these class codes and weights."""
        trees = self.trees
        params = {
            "objective": "binary" if n_classes == 2 else "multiclass",
            "num_class": 1 if n_classes == 2 else n_classes,
            "learning_rate": trees.learning_rate,
            "num_leaves": trees.max_leaf_nodes,
            "min_data_in_leaf": trees.min_samples_leaf,
            "feature_pre_filter": False,
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": thread_count(trees.n_jobs, self.X),
            "verbosity": -1,
        }
        dataset = lgb.Dataset(
            lightgbm_input(self.X), target, weight=weight, categorical_feature=[], params=params
        ).construct()
        share = np.bincount(target, weight, minlength=n_classes) / weight.sum()
        if not can_split(dataset) or share.max() == 1.0:
            return TreeSum(None, share)
        booster = lgb.train(params, dataset, trees.n_estimators)
        n_rounds = booster.current_iteration()
        return TreeSum(PickledBooster(booster.model_to_string(), n_rounds, trees.n_jobs), share)


@dataclass
class _TreesRun:
    bound: _BoundTrees
    n_classes: int
    rng: np.random.RandomState | None
    hypotheses: list["TreeSum"] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        if self.rng is not None:
            weight = resample_counts(weight, self.rng).astype(float)
        weight = weight * (len(weight) / weight.sum())
        grown = self.bound.grow(target, weight, self.n_classes)
        self.hypotheses.append(grown)
        X = self.bound.X
        return grown.predict_proba(X) if self.bound.is_soft else grown.predict(X)

    def combine(self, weights: Sequence[float]) -> VoteEnsemble:
        kept = self.hypotheses[: len(weights)]
        return VoteEnsemble(list(kept), list(weights), self.n_classes, self.bound.is_soft)


@dataclass(frozen=True)
class TreeSum:
    """A fitted model of :class:`BoostedTrees`.

    Attributes
    ----------
    trees : PickledBooster or None
        ``None`` where nothing could be split.
    share : ndarray of shape (n_classes,)
        Of the weight; the answer where there are no trees.
    """

    trees: PickledBooster | None
    share: NDArray[np.float64]

    def predict_proba(self, X: Rows) -> NDArray[Any]:
        """Probabilities of the classes."""
        if self.trees is None:
            return np.tile(self.share, (X.shape[0], 1))
        return link(self.trees.score(X))

    def predict(self, X: Rows) -> NDArray[np.intp]:
        """Class codes."""
        return self.predict_proba(X).argmax(axis=1)
