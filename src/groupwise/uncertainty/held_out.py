"""Any estimator inside another: fitted to some groups, and asked about those it has not seen."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from groupwise._typing import Rows
from groupwise.auto.canonical_order import canonical_order, named_by_place
from groupwise.boosting.sorted_columns import SortedColumns
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import check_groups, check_number
from groupwise.model_selection import Splitter, split_as_given

__all__ = ["Split", "TrainingData", "fit_part", "make_folds", "split_off", "training_data"]

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class TrainingData:
    """Rows in an order that depends on what they hold alone.

    Folds drawn in this order are the same whatever the order of rows and the names of groups.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
        As the estimator takes it.
    groups : Groups
        Named 0, 1, ... in the order in which they lie.
    whole : Groups
        What no fold divides: the groups, or coarser ids.
    position : ndarray of shape (n_groups,)
        Of each group among those given.
    counted : ndarray of shape (n_rows,)
        Rows that are held out in turn; in transfer those of the target.
    order : ndarray of shape (n_rows,)
        Of each row among those given.
    domains : ndarray of shape (n_rows,), default=None
        Codes; the target's is 0.
    """

    X: Any
    y: NDArray[Any]
    groups: Groups
    whole: Groups
    position: NDArray[np.intp]
    counted: NDArray[np.bool_]
    order: NDArray[np.intp]
    domains: NDArray[np.intp] | None = None

    def rows(self, rows: NDArray[np.intp]) -> Any:
        """Some of the rows of X."""
        return _take(self.X, rows)

    def groups_of(self, rows: NDArray[np.intp]) -> Groups:
        """The groups of some rows, in the same order, named 0, 1, ... anew."""
        sizes = np.bincount(self.groups.codes[rows])
        return Groups.of_sizes(sizes[sizes > 0])


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    # of an array quicker than by an index
    return X.take(rows, axis=0) if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def training_data(
    X: Any,
    numbers: Rows,
    y: NDArray[Any],
    groups: Groups,
    *,
    keep_whole: ArrayLike | None = None,
    domains: NDArray[np.intp] | None = None,
    counted: NDArray[np.bool_] | None = None,
) -> TrainingData:
    """Put checked rows in order.

    Parameters
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_rows, n_features)
    numbers : {ndarray, sparse matrix}
        The same as numbers, by which rows are sorted.
    y : ndarray of shape (n_rows,) or (n_rows, n_classes)
    groups : Groups
    keep_whole : array-like of shape (n_rows,), default=None
        Coarser ids that no fold may divide.
    domains : ndarray of shape (n_rows,), default=None
    counted : ndarray of shape (n_rows,), default=None
        ``None``: all rows.
    """
    order, position = canonical_order(numbers, y, groups, domains)
    ordered = whole = Groups.of_sizes(groups.sizes[position])
    if keep_whole is not None:
        coarse = check_groups(keep_whole, groups.n_rows, name="keep_whole").codes
        whole = Groups(named_by_place(coarse[order]))
    return TrainingData(
        X=_take(X, order),
        y=y[order],
        groups=ordered,
        whole=whole,
        position=position,
        counted=np.ones(len(order), bool) if counted is None else counted[order],
        order=order,
        domains=None if domains is None else domains[order],
    )


def make_folds(
    data: TrainingData,
    cv: int | Splitter,
    rng: np.random.RandomState,
    *,
    labels: NDArray[np.intp] | None = None,
) -> list[Split]:
    """Folds that hold every counted row out once.

    Parameters
    ----------
    data : TrainingData
    cv : int or splitter
        A number is lowered where there are fewer groups.
    rng : RandomState
    labels : ndarray of shape (n_rows,), default=None
        Spread over the folds evenly, one label per whole unit.

    Returns
    -------
    splits : list of (train, test)
    """
    if not isinstance(cv, Splitter):
        check_number("cv", cv, "[2, inf)", whole=True)
        wholes = _shuffled(data, rng, labels)
        return list(_splits(data, [wholes[start::cv] for start in range(min(cv, len(wholes)))]))
    splits = split_as_given(
        cv, data.order, data.X, data.y, data.groups, keep_whole=data.whole.codes
    )
    tested = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tested), np.arange(len(data.counted))):
        raise ValueError(f"cv must test every row once, {cv!r} does not")
    return [(train, test[data.counted[test]]) for train, test in splits]


def split_off(data: TrainingData, fraction: float, rng: np.random.RandomState) -> list[Split]:
    """One split that holds a share of the whole units out."""
    wholes = _shuffled(data, rng, None)
    n_test = min(max(1, round(fraction * len(wholes))), len(wholes) - 1)
    return list(_splits(data, [wholes[:n_test]]))


def _shuffled(
    data: TrainingData, rng: np.random.RandomState, labels: NDArray[np.intp] | None
) -> NDArray[np.intp]:
    """Whole units with counted rows at random, those of a label together."""
    wholes = np.flatnonzero(np.bincount(data.whole.codes[data.counted]))
    if len(wholes) < 2:
        raise GroupDataError(
            "there must be two groups at least, to learn from one and check on the other; there "
            f"is one (n_samples={len(data.counted)})"
        )
    by = np.zeros(len(wholes)) if labels is None else labels[data.whole.first_rows][wholes]
    return wholes[np.lexsort((rng.permutation(len(wholes)), by))]


def _splits(data: TrainingData, folds: list[NDArray[np.intp]]) -> Iterator[Split]:
    fold_whole = np.full(data.whole.n_groups, -1)
    for fold, wholes in enumerate(folds):
        fold_whole[wholes] = fold
    fold_row = fold_whole[data.whole.codes]
    for fold in range(len(folds)):
        held = fold_row == fold
        yield np.flatnonzero(~held), np.flatnonzero(held & data.counted)


def _seed(model: Any, rng: np.random.RandomState) -> None:
    """Seeds for what has none of its own."""
    unset = {
        name: int(rng.randint(2**31 - 1))
        for name, value in sorted(model.get_params().items())
        if name.split("__")[-1] == "random_state" and value is None
    }
    model.set_params(**unset)


def fit_part(
    estimator: BaseEstimator,
    data: TrainingData,
    rows: NDArray[np.intp] | None,
    rng: np.random.RandomState,
    columns: SortedColumns | None = None,
) -> Any:
    """Fit a clone to some of the rows (``None``: all), with their groups or domains.

    ``columns``: of ``data.X``, where several parts are fitted; they change no model.
    """
    model: Any = clone(estimator)
    _seed(model, rng)
    X, y, groups, domains = data.X, data.y, data.groups, data.domains
    if rows is not None:
        X, y, groups = data.rows(rows), y[rows], data.groups_of(rows)
        domains = None if domains is None else domains[rows]
    options: dict[str, Any] = {}
    if has_fit_parameter(model, "groups"):
        options["groups"] = groups
    if domains is not None:
        model.set_params(target_domain=0)
        options["domains"] = domains
    with nullcontext() if columns is None else columns.fitting(X, rows):
        return model.fit(X, y, **options)
