"""What every user of LightGBM needs: input, threads, running scores, a booster that pickles."""

from typing import Any

import lightgbm as lgb
import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

__all__ = ["PickledBooster", "can_split", "lightgbm_input", "thread_count", "training_scores"]


def lightgbm_input(X: Any) -> Any:
    """LightGBM reads scipy's sparse matrices in silence, but not its sparse arrays."""
    return csr_matrix(X) if issparse(X) else X


def thread_count(n_jobs: int | None, X: Any) -> int:
    """Threads to ask an engine for; 0 is all cores.

    On small tables threads spend more time waiting for each other than they save, and on a busy
    machine a hundred times more.
    """
    if n_jobs is None:
        return 1 if X.shape[0] * X.shape[1] < 500_000 else 0
    return n_jobs if n_jobs >= 0 else max(1, cpu_count() + 1 + n_jobs)


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
