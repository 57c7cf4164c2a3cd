"""Folds of whole groups that depend on what the groups hold, not on their names or order."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise._typing import MatrixLike, RandomState, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import check_number

__all__ = ["Splitter", "check_cv", "draw_folds", "make_folds"]


@runtime_checkable
class Splitter(Protocol):
    """A splitter of scikit-learn or of :mod:`groupwise.model_selection`."""

    def split(
        self, X: MatrixLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]: ...

    def get_n_splits(
        self,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> int: ...


def check_cv(cv: int | Splitter) -> None:
    """Refuse what is neither a number of folds nor a splitter."""
    if not isinstance(cv, Splitter):
        check_number("cv", cv, "[2, inf)", whole=True)


def make_folds(
    cv: int | Splitter,
    X: Rows,
    groups: Groups,
    target_group: NDArray[Any],
    random_state: RandomState,
) -> list[NDArray[np.intp]]:
    """The positions of the groups that each fold holds out.

    Parameters
    ----------
    cv : int or splitter
        A number of folds, drawn with ``random_state``; or a splitter, which is given the rows and
        their groups (and no y) and must keep groups whole.
    X : {array, sparse matrix} of shape (n_rows, n_features)
    groups : Groups
    target_group : ndarray of shape (n_groups, n_outputs)
    random_state : int, RandomState instance or None

    Returns
    -------
    folds : list of ndarray
    """
    if not isinstance(cv, Splitter):
        return draw_folds(X, groups, target_group, cv, random_state)
    return [_whole_groups(test, groups) for _, test in cv.split(X, None, groups.codes)]


def draw_folds(
    X: Rows,
    groups: Groups,
    target_group: NDArray[Any],
    n_folds: int,
    random_state: RandomState,
) -> list[NDArray[np.intp]]:
    """Random folds of groups of nearly equal number."""
    total = groups.sum(np.asarray(X.sum(axis=1)).ravel())
    order = np.lexsort((total.round(9), groups.sizes, target_group[:, 0].round(9)))
    drawn = check_random_state(random_state).permutation(groups.n_groups)
    return np.array_split(order[drawn], min(n_folds, groups.n_groups))


def _whole_groups(test: NDArray[np.intp], groups: Groups) -> NDArray[np.intp]:
    n_held = np.bincount(groups.codes[test], minlength=groups.n_groups)
    part = (n_held > 0) & (n_held < groups.sizes)
    if part.any():
        raise GroupDataError(
            f"cv must keep groups whole; it holds out {n_held[part.argmax()]} of the "
            f"{groups.sizes[part.argmax()]} rows of group {show(groups.names[part.argmax()])}"
        )
    return np.flatnonzero(n_held)
