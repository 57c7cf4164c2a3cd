"""XGBoost's binned matrix from partitions that are fetched one at a time."""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xgboost
from numpy.typing import NDArray

from groupwise.boosting.hist_trees import EngineOptions
from groupwise.boosting.xgboost import feature_types

__all__ = ["quantile_matrix"]


class _Batches(xgboost.DataIter):
    def __init__(
        self,
        fetch: Sequence[Callable[[], NDArray[Any]]],
        margins: Sequence[NDArray[Any]] | None,
        types: list[str] | None,
        cache: str | None,
    ):
        self._fetch, self._margins, self._types = fetch, margins, types
        self._at = 0
        super().__init__(cache_prefix=cache, release_data=True)

    def reset(self) -> None:
        self._at = 0

    def next(self, input_data: Any) -> bool:
        if self._at == len(self._fetch):
            return False
        X = self._fetch[self._at]()
        given: dict[str, Any] = {"label": np.zeros(len(X), np.float32)}
        if self._margins is not None:
            given["base_margin"] = self._margins[self._at]
        input_data(data=X, feature_types=self._types, **given)
        self._at += 1
        return True


def quantile_matrix(
    fetch: Sequence[Callable[[], NDArray[Any]]],
    options: EngineOptions,
    n_features: int,
    n_threads: int,
    *,
    margins: Sequence[NDArray[Any]] | None = None,
    like: Any = None,
    folder: str | None = None,
) -> Any:
    """Bin the rows of this worker at cuts that all workers agree on.

    Parameters
    ----------
    fetch : sequence of callables
        Each gives the rows of one partition; called a few times, one after the other, so that no
        more than one partition need be in memory.
    options : EngineOptions
    n_features, n_threads : int
    margins : sequence of ndarray, default=None
        Scores of each partition's rows that boosting starts from.
    like : QuantileDMatrix, default=None
        Take the cuts of this one.
    folder : str, default=None
        Leave the binned rows there, on disk, and read them in every round.

    Returns
    -------
    matrix : xgboost.QuantileDMatrix or xgboost.ExtMemQuantileDMatrix
    """
    kind = xgboost.QuantileDMatrix if folder is None else xgboost.ExtMemQuantileDMatrix
    cache = None if folder is None else f"{folder}/groupwise-{uuid.uuid4().hex}"
    types = feature_types(n_features, options.categorical)
    return kind(
        _Batches(fetch, margins, types, cache),
        max_bin=options.extra.get("max_bin", options.trees.max_bins),
        enable_categorical=bool(options.categorical),
        nthread=n_threads,
        ref=like,
    )
