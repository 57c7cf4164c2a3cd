"""Answers for rows from models that have not seen their groups."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Rows
from groupwise.measures.base import fit_rows
from groupwise.model_selection import Splitter, split_whole_groups
from groupwise.validation import GroupedRows

__all__ = ["held_out_scores"]


def held_out_scores(
    estimator: BaseEstimator,
    data: GroupedRows,
    score: Callable[[Any, Rows], NDArray[Any]],
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
        ``score(fitted, X) -> score_row``.
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
        model = fit_rows(estimator, data.X[train], data.y_row[train], codes[train], random_state)
        score_row[test] = score(model, data.X[test])
    return score_row
