"""LightGBM behind the engine interface."""

from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise._typing import Rows
from groupwise.boosting.lightgbm_tools import (
    PickledBooster,
    can_split,
    lightgbm_input,
    thread_count,
    training_scores,
)
from groupwise.gbdt.rounds import EngineOptions, Objective

__all__ = ["LightGBMEngine", "LightGBMModel"]


class LightGBMEngine:
    """Histogram trees of LightGBM."""

    def prepare(self, X: Rows, options: EngineOptions) -> Any:
        return lightgbm_input(X)

    def start(self, X: Rows, options: EngineOptions, start_score: NDArray[Any]) -> "_LightGBMRun":
        n_outputs = 1 if start_score.ndim == 1 else start_score.shape[1]
        n_jobs = options.trees.n_jobs
        params = _params(options, n_outputs, thread_count(n_jobs, X))
        dataset = lgb.Dataset(
            lightgbm_input(X),
            label=np.zeros(X.shape[0], dtype=np.float32),
            init_score=start_score.ravel(order="F"),
            categorical_feature=options.categorical or "auto",
            params=params,
        ).construct()
        return _LightGBMRun(lgb.Booster(params, dataset), n_jobs, can_split(dataset))


def _params(options: EngineOptions, n_outputs: int, n_threads: int) -> dict[str, Any]:
    trees = options.trees
    params = {
        "objective": "none",
        "metric": "none",
        "num_class": n_outputs,
        "learning_rate": options.learning_rate,
        "max_depth": trees.max_depth,
        "num_leaves": trees.max_leaf_nodes or 2 ** min(trees.max_depth, 17),
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": trees.min_leaf_weight,
        "lambda_l2": options.l2,
        "bagging_fraction": trees.subsample,
        "bagging_freq": 1 if trees.subsample < 1.0 else 0,
        "feature_fraction": trees.max_features,
        "max_bin": trees.max_bins,
        "feature_pre_filter": False,
        "num_threads": n_threads,
        "seed": options.seed,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    if options.monotonic is not None:
        params["monotone_constraints"] = options.monotonic
    return params | options.extra


class _LightGBMRun:
    def __init__(self, booster: lgb.Booster, n_jobs: int | None, can_split: bool):
        self.booster = booster
        self.n_jobs = n_jobs
        self.can_split = can_split

    def grow(self, objective: Objective) -> bool:
        return self.can_split and not self.booster.update(fobj=objective)

    def scores(self) -> NDArray[Any]:
        return training_scores(self.booster)

    def round_score(self, X: Any, index: int) -> NDArray[Any]:
        options: dict[str, Any] = {"start_iteration": index, "num_iteration": 1}
        options["num_threads"] = thread_count(self.n_jobs, X)
        return np.asarray(self.booster.predict(X, raw_score=True, **options))

    def model(self, n_rounds: int) -> "LightGBMModel":
        text = self.booster.model_to_string(num_iteration=n_rounds)
        return LightGBMModel(text, n_rounds, self.n_jobs)


class LightGBMModel(PickledBooster):
    """A booster in LightGBM's own text format."""

    def contributions(self, X: Rows) -> NDArray[Any]:
        values = self.predict(X, pred_contrib=True)
        if isinstance(values, list):  # sparse in, sparse out: one matrix per output
            return np.stack([part.toarray() for part in values], axis=1)
        if issparse(values):
            values = values.toarray()
        return values.reshape(X.shape[0], -1, X.shape[1] + 1)

    def gains(self, n_features: int) -> NDArray[Any]:
        return self.booster.feature_importance("gain").astype(float)
