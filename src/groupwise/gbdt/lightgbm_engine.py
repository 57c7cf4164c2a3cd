"""LightGBM behind the engine interface."""

from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from groupwise.boosting.lightgbm_tools import (
    PickledBooster,
    can_split,
    lightgbm_input,
    thread_count,
    training_scores,
)
from groupwise.gbdt.engine import Objective, TreeOptions

__all__ = ["LightGBMEngine", "LightGBMModel"]


class LightGBMEngine:
    """Histogram trees of LightGBM."""

    def prepare(self, X: Any, options: TreeOptions) -> Any:
        return lightgbm_input(X)

    def start(self, X: Any, options: TreeOptions, start_score: NDArray[Any]) -> "_LightGBMRun":
        n_outputs = 1 if start_score.ndim == 1 else start_score.shape[1]
        params = _params(options, n_outputs, thread_count(options.n_threads, X))
        dataset = lgb.Dataset(
            lightgbm_input(X),
            label=np.zeros(X.shape[0], dtype=np.float32),
            init_score=start_score.ravel(order="F"),
            categorical_feature=list(options.categorical_features) or "auto",
            params=params,
        ).construct()
        return _LightGBMRun(lgb.Booster(params, dataset), options.n_threads, can_split(dataset))


def _params(options: TreeOptions, n_outputs: int, n_threads: int) -> dict[str, Any]:
    depth = options.max_depth
    params = {
        "objective": "none",
        "metric": "none",
        "num_class": n_outputs,
        "learning_rate": options.learning_rate,
        "max_depth": depth,
        "num_leaves": options.max_leaves or 2 ** min(depth, 17),
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "min_sum_hessian_in_leaf": options.min_leaf_weight,
        "lambda_l2": options.reg_lambda,
        "bagging_fraction": options.subsample,
        "bagging_freq": 1 if options.subsample < 1.0 else 0,
        "feature_fraction": options.feature_fraction,
        "max_bin": options.max_bins,
        "feature_pre_filter": False,
        "num_threads": n_threads,
        "seed": options.seed,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    if options.monotone_constraints is not None:
        params["monotone_constraints"] = list(options.monotone_constraints)
    return params | options.extra


class _LightGBMRun:
    def __init__(self, booster: lgb.Booster, n_threads: int | None, can_split: bool):
        self.booster = booster
        self.n_threads = n_threads
        self.can_split = can_split

    def grow(self, objective: Objective) -> bool:
        return self.can_split and not self.booster.update(fobj=objective)

    def scores(self) -> NDArray[Any]:
        return training_scores(self.booster)

    def round_score(self, X: Any, index: int) -> NDArray[Any]:
        options: dict[str, Any] = {"start_iteration": index, "num_iteration": 1}
        options["num_threads"] = thread_count(self.n_threads, X)
        return np.asarray(self.booster.predict(X, raw_score=True, **options))

    def model(self, n_rounds: int) -> "LightGBMModel":
        text = self.booster.model_to_string(num_iteration=n_rounds)
        return LightGBMModel(text, n_rounds, self.n_threads)


class LightGBMModel(PickledBooster):
    """A booster in LightGBM's own text format."""

    def contributions(self, X: Any) -> NDArray[Any]:
        values = self.predict(X, pred_contrib=True)
        if isinstance(values, list):  # sparse in, sparse out: one matrix an output
            return np.stack([part.toarray() for part in values], axis=1)
        if issparse(values):
            values = values.toarray()
        return values.reshape(X.shape[0], -1, X.shape[1] + 1)

    def gains(self, n_features: int) -> NDArray[Any]:
        return self.booster.feature_importance("gain").astype(float)
