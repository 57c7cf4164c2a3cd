"""Everything of LightGBM: input, bins, threads, scores, boosters that pickle, the engine."""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import joblib
import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from groupwise._compat import call_lightgbm
from groupwise._typing import Rows
from groupwise.boosting.sorted_columns import PartOfRows, part_in_hand

if TYPE_CHECKING:  # which bins by what is in this file
    from groupwise.boosting.hist_trees import EngineOptions, Objective

__all__ = [
    "LightGBMEngine",
    "LightGBMModel",
    "PickledBooster",
    "binned",
    "can_split",
    "lightgbm_input",
    "share_bins",
    "thread_count",
    "training_scores",
]


def lightgbm_input(X: Any) -> Any:
    """LightGBM reads scipy's sparse matrices in silence, but not its sparse arrays."""
    return csr_matrix(X) if issparse(X) else X


# Parameters of growing, which leave the bins as they are.
_GROWING = {
    "objective", "metric", "num_class", "learning_rate", "max_depth", "num_leaves",
    "min_data_in_leaf", "min_sum_hessian_in_leaf", "lambda_l2", "bagging_fraction",
    "bagging_freq", "feature_fraction", "cat_l2", "cat_smooth", "min_data_per_group",
}  # fmt: skip


# By their content, those used last behind the others.
_shared: ContextVar[dict[str, lgb.Dataset] | None] = ContextVar("_shared", default=None)
_MOST_SHARED = 4


@contextmanager
def share_bins() -> Iterator[None]:
    """Bin the same rows once inside this block, whatever is then boosted on them."""
    token = _shared.set({})
    try:
        yield
    finally:
        _shared.reset(token)


def binned(
    X: Rows,
    params: Mapping[str, Any],
    categorical: Sequence[int] = (),
    start_score: NDArray[Any] | None = None,
) -> lgb.Dataset:
    """The rows in bins, to be given gradients; inside :func:`share_bins` the same only once.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (n_rows, n_features)
    params : mapping
        LightGBM's. Pre-filtering of features must be off: it would depend on the trees.
    categorical : sequence of int, default=()
    start_score : ndarray of shape (n_rows,) or (n_rows, n_outputs), default=None
        Where boosting begins.
    """
    of_bins = {name: value for name, value in params.items() if name not in _GROWING}
    columns = [int(column) for column in categorical]
    shared = _shared.get()
    if shared is None:
        dataset = _construct(X, of_bins, columns)
    else:  # a start that is set cannot be taken away
        told = X, of_bins, columns, start_score is not None
        key = str(joblib.hash(told, hash_name="sha1"))
        dataset = shared.pop(key) if key in shared else _construct(X, of_bins, columns)
        shared[key] = dataset
        if len(shared) > _MOST_SHARED:
            del shared[next(iter(shared))]
    if start_score is not None:
        dataset.set_init_score(start_score.ravel(order="F"))
    return dataset


def _construct(X: Rows, params: dict[str, Any], categorical: list[int]) -> lgb.Dataset:
    part = part_in_hand(X)
    kind = lgb.Dataset if part is None or _samples_rows(X, params) else _PresortedDataset
    dataset = kind(
        lightgbm_input(X),
        label=np.zeros(X.shape[0], dtype=np.float32),
        categorical_feature=categorical or "auto",
        params=params,
    )
    if isinstance(dataset, _PresortedDataset):
        dataset.part = part
    return dataset.construct()


def _samples_rows(X: Rows, params: Mapping[str, Any]) -> bool:
    """Whether LightGBM looks at some of the rows only to choose its bins."""
    names = ("bin_construct_sample_cnt", "subsample_for_bin")
    return X.shape[0] > min(int(params.get(name, 200_000)) for name in names)


class _PresortedDataset(lgb.Dataset):
    """Rows whose columns are sorted already, which LightGBM would do again."""

    part: PartOfRows | None

    # What LightGBM calls its own method; a version that calls it otherwise sorts as ever.
    def _Dataset__init_from_np2d(
        self, mat: NDArray[Any], params_str: str, ref_dataset: Any
    ) -> lgb.Dataset:
        assert self.part is not None
        assert ref_dataset is None
        n_rows, n_columns = mat.shape
        values, places = self.part.samples(int((self.params or {}).get("num_threads", 0)))
        n_values = np.array([len(column) for column in values], dtype=np.int32)
        self._handle = ctypes.c_void_p()
        call_lightgbm(
            "LGBM_DatasetCreateFromSampledColumn",
            _pointers(values),
            _pointers(places),
            ctypes.c_int32(n_columns),
            ctypes.c_void_p(n_values.ctypes.data),
            ctypes.c_int32(n_rows),
            ctypes.c_int32(n_rows),
            ctypes.c_int64(n_rows),
            params_str.encode(),
            ctypes.byref(self._handle),
        )
        call_lightgbm(
            "LGBM_DatasetPushRows",
            self._handle,
            ctypes.c_void_p(mat.ctypes.data),
            ctypes.c_int(0 if mat.dtype == np.float32 else 1),
            ctypes.c_int32(n_rows),
            ctypes.c_int32(n_columns),
            ctypes.c_int32(0),
        )
        return self


def _pointers(arrays: Sequence[NDArray[Any]]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))


def thread_count(n_jobs: int | None, X: Any) -> int:
    """Threads to ask an engine for; 0 is all cores.

    On small tables threads spend more time waiting for each other than they save, and on a busy
    machine a hundred times more.
    """
    if n_jobs is None:
        return 1 if X.shape[0] * X.shape[1] < 500_000 else 0
    return n_jobs if n_jobs >= 0 else max(1, joblib.cpu_count() + 1 + n_jobs)


def can_split(dataset: lgb.Dataset) -> bool:
    """Whether a feature has two bins; LightGBM refuses to train where all are constant."""
    return any(dataset.feature_num_bin(column) > 1 for column in range(dataset.num_feature()))


def training_scores(booster: lgb.Booster) -> NDArray[Any]:
    """The booster's running scores of its training rows, which it keeps: no pass over the trees."""
    seen = []

    def keep(scores: NDArray[Any], _data: lgb.Dataset) -> tuple[str, float, bool]:
        seen.append(scores.copy())
        return "scores", 0.0, False

    booster.eval_train(keep)
    return seen[0]


class PickledBooster:
    """A booster in LightGBM's own text format, alive when it is asked.

    Parameters
    ----------
    text : str
    n_rounds : int
        Rounds in ``text``.
    n_jobs : int, default=None
        Threads for predictions: see :func:`thread_count`.
    """

    def __init__(self, text: str, n_rounds: int, n_jobs: int | None = None):
        self.text = text
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs
        self._booster: lgb.Booster | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_booster": None}

    @property
    def booster(self) -> lgb.Booster:
        """The live booster."""
        if self._booster is None:
            self._booster = lgb.Booster(model_str=self.text)
        return self._booster

    def predict(self, X: Any, **options: Any) -> Any:
        """The booster's ``predict`` with these options."""
        threads = thread_count(self.n_jobs, X)
        return self.booster.predict(
            lightgbm_input(X), num_threads=threads, validate_features=False, **options
        )

    def score(self, X: Any, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Raw scores of the rounds from ``first`` up to, not including, ``last``."""
        last = self.n_rounds if last is None else last
        options = {"start_iteration": first, "num_iteration": last - first}
        return np.asarray(self.predict(X, raw_score=True, **options))

    def part(self, first: int, last: int) -> "PickledBooster":
        """The rounds from ``first`` up to, not including, ``last``, as a booster of their own."""
        text = self.booster.model_to_string(start_iteration=first, num_iteration=last - first)
        return PickledBooster(text, last - first, self.n_jobs)

    def gains_by_round(self) -> NDArray[Any]:
        """Gain of the splits on each feature in each round, (n_rounds, n_features)."""
        upto = [
            self.booster.feature_importance("gain", iteration=n + 1) for n in range(self.n_rounds)
        ]
        return np.diff(np.array(upto), axis=0, prepend=0.0)


class LightGBMEngine:
    """Histogram trees of LightGBM."""

    def prepare(self, X: Rows, options: "EngineOptions") -> Any:
        return lightgbm_input(X)

    def start(self, X: Rows, options: "EngineOptions", start_score: NDArray[Any]) -> "_LightGBMRun":
        n_outputs = 1 if start_score.ndim == 1 else start_score.shape[1]
        n_jobs = options.trees.n_jobs
        params = _params(options, n_outputs, thread_count(n_jobs, X))
        dataset = binned(X, params, options.categorical, start_score)
        return _LightGBMRun(lgb.Booster(params, dataset), n_jobs, can_split(dataset))


def _params(options: "EngineOptions", n_outputs: int, n_threads: int) -> dict[str, Any]:
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

    def grow(self, objective: "Objective") -> bool:
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
