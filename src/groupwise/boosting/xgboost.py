"""XGBoost behind the engine interface; an optional extra."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.hist_trees import EngineOptions, Objective
from groupwise.boosting.lightgbm import lightgbm_input as scipy_matrix
from groupwise.boosting.lightgbm import thread_count
from groupwise.forks import use_engine

__all__ = [
    "XGBoostEngine",
    "XGBoostModel",
    "XGBoostRun",
    "feature_types",
    "load_xgboost",
    "tree_params",
]


def load_xgboost() -> Any:
    """The module, or an error that says which extra is missing."""
    try:
        import xgboost
    except ImportError as error:
        raise ImportError(
            "engine='xgboost' needs the package xgboost: install groupwise[xgboost]"
        ) from error
    use_engine("xgboost")
    return xgboost


class XGBoostEngine:
    """Histogram trees of XGBoost. Entries a sparse matrix does not store are missing to it."""

    def prepare(self, X: Rows, options: EngineOptions) -> Any:
        return _matrix(X, options.categorical, options.trees.n_jobs)

    def start(self, X: Rows, options: EngineOptions, start_score: NDArray[Any]) -> "XGBoostRun":
        data = load_xgboost().QuantileDMatrix(
            scipy_matrix(X),
            label=np.zeros(X.shape[0], dtype=np.float32),
            base_margin=start_score,
            max_bin=options.extra.get("max_bin", options.trees.max_bins),
            feature_types=feature_types(X.shape[1], options.categorical),
            enable_categorical=bool(options.categorical),
            nthread=options.trees.n_jobs,
        )
        n_outputs = 1 if start_score.ndim == 1 else start_score.shape[1]
        threads = thread_count(options.trees.n_jobs, X)
        booster = load_xgboost().Booster(tree_params(options, n_outputs, threads), [data])
        return XGBoostRun(booster, data, options)


def feature_types(n_features: int, categorical: Sequence[int]) -> list[str] | None:
    """XGBoost's word for each column, where some hold categories."""
    if not categorical:
        return None
    return ["c" if column in categorical else "q" for column in range(n_features)]


def _matrix(X: Rows, categorical: Sequence[int], n_jobs: int | None) -> Any:
    return load_xgboost().DMatrix(
        scipy_matrix(X),
        feature_types=feature_types(X.shape[1], categorical),
        enable_categorical=bool(categorical),
        nthread=n_jobs,
    )


def tree_params(options: EngineOptions, n_outputs: int, n_threads: int) -> dict[str, Any]:
    """The options in XGBoost's words."""
    trees = options.trees
    params: dict[str, Any] = {
        "tree_method": "hist",
        "base_score": 0.0,
        "learning_rate": options.learning_rate,
        "max_depth": trees.max_depth,
        "min_child_weight": trees.min_leaf_weight,
        "reg_lambda": options.l2,
        "subsample": trees.subsample,
        "colsample_bytree": trees.max_features,
        "max_bin": trees.max_bins,
        "nthread": n_threads,
        "seed": options.seed,
        "verbosity": 0,
    }
    if n_outputs > 1:
        params |= {"num_class": n_outputs, "objective": "multi:softprob"}
    if trees.max_leaf_nodes is not None:
        params |= {"max_leaves": trees.max_leaf_nodes, "grow_policy": "lossguide"}
    if options.monotonic is not None:
        params["monotone_constraints"] = tuple(options.monotonic)
    return params | options.extra


class XGBoostRun:
    """Boosting on a live booster and the matrix it grows on."""

    def __init__(self, booster: Any, data: Any, options: EngineOptions):
        self.booster = booster
        self.data = data
        self.options = options
        self.n_rounds = 0

    def grow(self, objective: Objective) -> bool:
        self.booster.update(self.data, self.n_rounds, fobj=objective)
        self.n_rounds += 1
        return True

    def scores(self) -> NDArray[Any]:
        return self.booster.predict(self.data, output_margin=True, training=True)

    def round_score(self, X: Any, index: int) -> NDArray[Any]:
        return self.booster.predict(X, output_margin=True, iteration_range=(index, index + 1))

    def model(self, n_rounds: int) -> "XGBoostModel":
        text = self.booster[:n_rounds].save_raw("json").decode()
        return XGBoostModel(text, n_rounds, self.options.categorical, self.options.trees.n_jobs)


class XGBoostModel:
    """A booster in XGBoost's JSON format."""

    def __init__(
        self, text: str, n_rounds: int, categorical: Sequence[int], n_jobs: int | None = None
    ):
        self.text = text
        self.n_rounds = n_rounds
        self.categorical = categorical
        self.n_jobs = n_jobs
        self._booster: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_booster": None}

    @property
    def booster(self) -> Any:
        """The live booster."""
        if self._booster is None:
            self._booster = load_xgboost().Booster({"nthread": self.n_jobs or 0})
            self._booster.load_model(bytearray(self.text.encode()))
        return self._booster

    def _predict(self, X: Rows, **options: Any) -> Any:
        data = _matrix(X, self.categorical, self.n_jobs)
        return self.booster.predict(data, validate_features=False, **options)

    def score(self, X: Rows, first: int = 0, last: int | None = None) -> NDArray[Any]:
        last = self.n_rounds if last is None else last
        return self._predict(X, output_margin=True, iteration_range=(first, last)).astype(float)

    def contributions(self, X: Rows) -> NDArray[Any]:
        values = self._predict(X, pred_contribs=True).astype(float)
        return values.reshape(X.shape[0], -1, X.shape[1] + 1)

    def gains(self, n_features: int) -> NDArray[Any]:
        gains = np.zeros(n_features)
        for name, gain in self.booster.get_score(importance_type="total_gain").items():
            gains[int(name[1:])] = gain
        return gains
