"""All folds of a cross-validation trained at once."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from groupwise._typing import Ids, MatrixLike
from groupwise.inputs import check_number
from groupwise.model_selection import Splitter, split_whole_groups
from groupwise.nets.base import GroupNetMixin

__all__ = ["Fold", "fit_folds"]

_MOST = 2**27  # numbers of tables over bins at a time, 1 GiB


@dataclass(frozen=True)
class Fold:
    """A fitted model and the rows of its fold.

    Attributes
    ----------
    train, test : ndarray
        Positions of rows.
    model : GroupNetClassifier or GroupNetRegressor
        Fitted to the training rows.
    """

    train: NDArray[np.intp]
    test: NDArray[np.intp]
    model: Any


def fit_folds(
    model: GroupNetMixin,
    X: MatrixLike,
    y: ArrayLike,
    *,
    groups: Ids,
    cv: int | Splitter = 5,
    sample_weight: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
    test_rows_known: bool = False,
    networks_at_once: int = 250,
) -> list[Fold]:
    """Fit a model to the training part of every fold, all in the same steps of training.

    The networks of all folds and members have a place in one batched product; on small tables that
    costs little more than one of them. Features are standardised, and their bins found, by each
    fold's training rows.
    Every training has as many steps as one on all groups would have.

    Parameters
    ----------
    model : GroupNetClassifier or GroupNetRegressor
        Not changed. ``encoder`` gives sizes; no early stopping.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : array-like of shape (n_rows,) or (n_rows, n_classes)
    groups : array-like of shape (n_rows,)
    cv : int or splitter, default=5
        Of whole groups.
    sample_weight : array-like of shape (n_rows,), default=None
        Positive.
    exposure : array-like of shape (n_rows,), default=None
        Of losses of counts.
    test_rows_known : bool, default=False
        Standardise features by all rows: as if each fold's test rows had been ``X_unlabeled``.
    networks_at_once : int, default=250
        More networks are trained one part of the folds after the other.

    Returns
    -------
    folds : list of Fold
        In the order of the splits.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.nets import GroupNetClassifier, fit_folds
    >>> s = make_triangle_sessions(n_sessions=30, random_state=0)
    >>> model = GroupNetClassifier(epochs=10, n_members=2, random_state=0)
    >>> folds = fit_folds(model, s.X, s.y, groups=s.groups, cv=3)
    >>> [len(np.unique(s.groups[fold.test])) for fold in folds]
    [10, 10, 10]
    """
    check_number("networks_at_once", networks_at_once, "[1, inf)", whole=True)
    if model.early_stopping:
        raise ValueError("early_stopping has groups of its own; fit_folds trains all epochs")
    base = clone(model)
    prepared = base._prepare(X, y, groups, sample_weight, exposure=exposure)
    data = prepared.data
    splits = split_whole_groups(
        cv, X, y, data.groups, stratify=prepared.loss.target_kind == "label", random_state=0
    )
    rng = check_random_state(model.random_state)
    folds = []
    at_once = max(1, networks_at_once // model.n_members)
    if model.n_bins is not None and not test_rows_known:  # folds have tables of their own
        fit_in = _MOST // (prepared.X.size * model.n_bins) if model.encoder else 1
        at_once = max(1, min(at_once, fit_in))
    if model.checkpoint is not None and len(splits) > at_once:
        raise ValueError(
            f"checkpoint holds one training, and {len(splits)} folds take several, {at_once} at a "
            "time: leave it out, or raise networks_at_once"
        )
    for part in _parts(splits, at_once):
        train = np.zeros((len(part), data.groups.n_groups))
        for line, (rows, _) in zip(train, part, strict=True):
            line[data.groups.codes[rows]] = 1.0
        from groupwise.nets.fitting import fit_networks

        known = np.ones_like(train) if test_rows_known else None
        found = fit_networks(base, prepared, train, None, rng, known_group=known)
        for (rows, test), fitted in zip(part, found, strict=True):
            one = copy(base)
            one._store(prepared, fitted)
            one.n_groups_ = len(np.unique(data.groups.codes[rows]))
            folds.append(Fold(rows, test, one))
    return folds


def _parts(splits: list[Any], at_once: int) -> Iterator[list[Any]]:
    for start in range(0, len(splits), at_once):
        yield splits[start : start + at_once]
