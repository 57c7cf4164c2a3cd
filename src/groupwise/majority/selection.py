"""Choosing SBoost's gamma and number of rounds on groups kept whole."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from groupwise.majority.sboost import SBoostClassifier
from groupwise.model_selection import WholeGroupKFold, paper_split
from groupwise.validation import check_groups, split_group_column

__all__ = ["GammaSelection", "select_gamma"]


@dataclass(frozen=True)
class GammaSelection:
    """What :func:`select_gamma` found.

    Attributes
    ----------
    gamma : float
    n_estimators : int
    estimator : SBoostClassifier
        With both set, not fitted.
    table : DataFrame
        Mean error and its standard error over the splits for each gamma (at its best round).
    """

    gamma: float
    n_estimators: int
    estimator: SBoostClassifier
    table: pd.DataFrame


def select_gamma(
    estimator: SBoostClassifier,
    X: Any,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    gammas: tuple[float, ...] = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0),
    cv: Any = "repeated",
    tune_rounds: bool = True,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> GammaSelection:
    """Choose gamma (and the number of rounds) by the error on held-out sessions.

    Parameters
    ----------
    estimator : SBoostClassifier
        Its ``n_estimators`` is the largest number of rounds tried.
    X, y, groups
        As for ``fit``.
    gammas : tuple of float
    cv : {"repeated", "paper"} or splitter, default="repeated"
        ``"repeated"``: five times five folds of whole groups. ``"paper"``: one split of 80 to 20 %,
        which on a hundred sessions is close to noise.
    tune_rounds : bool, default=True
        Choose the number of rounds as well; every round's error is known from one fit.
    n_jobs : int, default=None
        Fits at a time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Of the splits.

    Returns
    -------
    selection : GammaSelection
        Among equals the smaller gamma, then fewer rounds.
    """
    groups = split_group_column(X, estimator.group_column, groups)[1]
    encoded = check_groups(groups, _num_samples(X))
    y = np.asarray(y)
    if cv == "repeated":
        cv = WholeGroupKFold(5, n_repeats=5, random_state=random_state)
    elif cv == "paper":
        cv = paper_split(random_state)
    splits = list(cv.split(X, y, encoded))
    gammas = tuple(sorted(gammas))
    ids = encoded.spread(encoded.names)
    errors = Parallel(n_jobs=n_jobs)(
        delayed(_errors_by_round)(clone(estimator).set_params(gamma=gamma), X, y, ids, train, test)
        for gamma in gammas
        for train, test in splits
    )
    error = np.array(errors).reshape(len(gammas), len(splits), -1)
    mean = error.mean(axis=1)
    if not tune_rounds:
        mean = np.where(np.arange(mean.shape[1]) == mean.shape[1] - 1, mean, np.inf)
    best_round = mean.argmin(axis=1)
    rows = np.arange(len(gammas))
    best = int(mean[rows, best_round].argmin())
    spread = error[rows, :, best_round].std(axis=1, ddof=1) if len(splits) > 1 else np.nan
    table = pd.DataFrame(
        {
            "gamma": gammas,
            "n_estimators": best_round + 1,
            "error": mean[rows, best_round],
            "standard_error": spread / np.sqrt(len(splits)),
        }
    )
    chosen: dict[str, Any] = {"gamma": gammas[best], "n_estimators": int(best_round[best]) + 1}
    return GammaSelection(**chosen, estimator=clone(estimator).set_params(**chosen), table=table)


def _errors_by_round(
    estimator: SBoostClassifier, X: Any, y: Any, ids: Any, train: Any, test: Any
) -> np.ndarray:
    """Error on the test sessions after each round; a run that ended early keeps its last."""
    estimator.fit(_safe_indexing(X, train), y[train], groups=ids[train])
    accuracy = list(estimator.staged_score(_safe_indexing(X, test), y[test], groups=ids[test]))
    if not accuracy:  # no hypothesis was better than chance
        accuracy = [estimator.score(_safe_indexing(X, test), y[test], groups=ids[test])]
    missing = estimator.n_estimators - len(accuracy)
    return 1.0 - np.array(accuracy + accuracy[-1:] * missing)
