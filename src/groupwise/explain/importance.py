"""Which features groups are told apart by, on groups that the model has not seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike, RandomState
from groupwise.base import NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import (
    check_groups,
    check_number,
    class_codes,
    class_shares,
    group_means,
    group_numbers,
    group_totals,
    is_table,
    split_column,
)
from groupwise.metrics import bootstrap_interval
from groupwise.metrics.survival import concordance_parts
from groupwise.model_selection import Splitter, split_whole_groups

__all__ = ["GroupImportance", "group_permutation_importance"]


@dataclass(frozen=True)
class GroupImportance:
    """What groups lose when a feature is shuffled.

    Attributes
    ----------
    names : list of str
    loss_group : ndarray of shape (n_groups, n_features)
        Mean over the repeats of what each group loses.
    """

    names: list[str]
    loss_group: NDArray[np.float64]

    @property
    def table(self) -> pd.DataFrame:
        """``feature``, ``importance`` and its 95 % interval over groups, the largest first."""
        mean = self.loss_group.mean(axis=0)
        bounds = [bootstrap_interval(column) for column in self.loss_group.T]
        table = pd.DataFrame(
            {
                "feature": self.names,
                "importance": mean,
                "low": [low for low, _ in bounds],
                "high": [high for _, high in bounds],
            }
        )
        return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def group_permutation_importance(
    estimator: BaseEstimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: Ids = None,
    keep_whole: ArrayLike | None = None,
    cv: int | Splitter | None = 5,
    n_repeats: int = 5,
    random_state: RandomState = None,
) -> GroupImportance:
    """How much worse groups are predicted when one feature's values are shuffled over the rows.

    A group's score is the probability of its label (of its rows' labels, where rows have their
    own), one less the error of its shares, or for numbers minus the absolute error.

    Parameters
    ----------
    estimator : estimator
        Of this library.
    X : {array-like, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
        As in ``fit``.
    groups : array-like of shape (n_rows,), default=None
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that no fold may divide.
    cv : int or splitter, default=5
        Clones are fitted to folds, and every group counts where it was held out. ``None``: the
        estimator is fitted already, and has not seen these groups.
    n_repeats : int, default=5
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    importance : GroupImportance
        Its ``table`` has intervals, groups drawn with replacement.
    """
    check_number("n_repeats", n_repeats, "[1, inf)", whole=True)
    X, ids = split_column(X, getattr(estimator, "group_column", None), groups)
    encoded = check_groups(ids, _num_samples(X))
    table: Any = X.toarray() if issparse(X) else X
    table = table if hasattr(table, "columns") else np.asarray(table)
    y_row: Any = y if hasattr(y, "columns") else np.asarray(y)
    rng = check_random_state(random_state)
    every = np.arange(encoded.n_rows)
    splits: list[Any] = [(None, every)]
    if cv is not None:
        splits = split_whole_groups(
            cv, table, None, encoded, keep_whole=keep_whole, stratify=False, random_state=rng
        )
    loss = np.full((encoded.n_groups, table.shape[1]), np.nan)
    for train, test in splits:
        model: Any = estimator
        if train is not None:
            model = clone(estimator)
            part = _safe_indexing(table, train), _safe_indexing(y_row, train)
            model.fit(*part, groups=encoded.codes[train])
        inside = Groups(encoded.codes[test])
        part = _safe_indexing(table, test), _safe_indexing(y_row, test)
        lost = _lost(model, *part, inside, n_repeats, rng)
        loss[inside.names] = lost
    if np.isnan(loss).any():
        raise ValueError(f"cv must test every group, {cv!r} does not")
    columns = getattr(table, "columns", [f"feature {k}" for k in range(table.shape[1])])
    return GroupImportance([str(name) for name in columns], loss)


def _tells_times(model: Any) -> bool:
    """Whether what it says of groups are log hazards, which only order their times."""
    of_loss = getattr(getattr(model, "loss_", None), "target_kind", "")
    return of_loss == "time" or bool(get_tags(model).target_tags.positive_only)


def _lost(
    model: Any,
    X: Any,
    y_row: Any,
    groups: Groups,
    n_repeats: int,
    rng: np.random.RandomState,
) -> NDArray[np.float64]:
    """What each group loses by each feature, (n_groups, n_features)."""
    before = _group_quality(model, X, y_row, groups)
    lost = np.zeros((groups.n_groups, X.shape[1]))
    for column in range(X.shape[1]):
        for _ in range(n_repeats):
            order = rng.permutation(groups.n_rows)
            changed = X.copy()
            if isinstance(X, pd.DataFrame):
                changed.isetitem(column, X.iloc[order, column].array)
            else:
                changed[:, column] = X[order, column]
            lost[:, column] += before - _group_quality(model, changed, y_row, groups)
    return lost / n_repeats


def _group_quality(model: Any, X: Any, y_row: Any, groups: Groups) -> NDArray[np.float64]:
    found = model.predictions(X, groups)
    if _tells_times(model):
        time = group_numbers(y_row, groups, target="total")[groups.first_rows]
        return concordance_parts(time, found.y_group)
    if isinstance(found, NumberPredictions):
        numbers = group_numbers(y_row, groups, target=model.target_)
        known = group_totals if model.target_ == "total" else group_means
        return -np.abs(known(numbers, groups, target=model.target_) - found.y_group)
    if is_table(y_row):
        shares = class_shares(y_row, groups, classes=found.classes)[0]
        return 1.0 - 0.5 * np.abs(shares - found.proba_group).sum(axis=1)
    code = class_codes(y_row, found.classes, groups)
    first = code[groups.first_rows]
    if (code == first[groups.codes]).all():
        return found.proba_group[np.arange(groups.n_groups), first]
    return groups.mean(found.proba_row[np.arange(groups.n_rows), code])
