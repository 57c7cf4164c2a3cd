"""Any classifier of rows inside another method: fitted, and asked about groups it has not seen."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from groupwise._compat import set_random_states
from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, expecting_rows_for
from groupwise.model_selection import Splitter, split_whole_groups

__all__ = ["fit_rows", "held_out_scores"]


def fit_rows(
    estimator: BaseEstimator,
    X: Rows,
    y_row: NDArray[np.intp],
    groups: Groups,
    rng: np.random.RandomState,
) -> BaseEstimator:
    """Fit a clone to the rows, with their groups if it takes any."""
    model: Any = clone(estimator)
    set_random_states(model, rng)
    options = {"groups": groups.codes} if has_fit_parameter(model, "groups") else {}
    with expecting_rows_for(model, X):
        return model.fit(X, y_row, **options)


def held_out_scores(
    estimator: BaseEstimator,
    data: GroupedRows,
    score: Callable[[BaseEstimator, Rows, Groups], NDArray[Any]],
    *,
    cv: int | Splitter,
    random_state: np.random.RandomState,
) -> NDArray[np.float64]:
    """Score every row by a clone that was fitted to other groups.

    Parameters
    ----------
    estimator : classifier
        Unfitted.
    data : GroupedRows
    score : callable
        ``score(fitted, X, groups) -> score_row``.
    cv : int or splitter
        Must test every row once.
    random_state : RandomState
        For the folds, then for the estimator.

    Returns
    -------
    score_row : ndarray of shape (n_rows,)
    """
    codes = data.groups.codes
    splits = split_whole_groups(
        cv, data.X, data.y_row, data.groups, stratify=False, random_state=random_state
    )
    n_tests = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(codes))
    if (n_tests != 1).any():
        raise ValueError(f"cv must test every row once, {cv!r} does not")
    score_row = np.empty(len(codes))
    for train, test in splits:
        model = fit_rows(
            estimator, data.X[train], data.y_row[train], Groups(codes[train]), random_state
        )
        score_row[test] = score(model, data.X[test], Groups(codes[test]))
    return score_row
