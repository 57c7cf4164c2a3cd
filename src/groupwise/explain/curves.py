"""Whether an explanation is right: what becomes of a group as rows go, or come, in its order."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike
from groupwise.explain.group_rows import class_of_groups
from groupwise.groups import Groups
from groupwise.inputs import check_groups, check_number, split_column

__all__ = ["RemovalCurves", "removal_curves"]


@dataclass(frozen=True)
class RemovalCurves:
    """A group's probability as its rows are taken away, and put in, by their shares.

    Attributes
    ----------
    fraction : ndarray of shape (n_steps,)
        Of the group's rows taken away, or put in.
    deletion : ndarray of shape (n_groups, n_steps)
        Probability without the rows of the largest shares; one row always stays.
    insertion : ndarray of shape (n_groups, n_steps)
        Probability with these rows only.
    """

    fraction: NDArray[np.float64]
    deletion: NDArray[np.float64]
    insertion: NDArray[np.float64]

    @property
    def deletion_area(self) -> float:
        """Mean over groups and steps; the lower, the better the explanation."""
        return float(self.deletion.mean())

    @property
    def insertion_area(self) -> float:
        """Mean over groups and steps; the higher, the better the explanation."""
        return float(self.insertion.mean())


def removal_curves(
    estimator: BaseEstimator,
    X: MatrixLike,
    groups: Ids = None,
    *,
    share_row: ArrayLike,
    label: Any = None,
    n_steps: int = 10,
) -> RemovalCurves:
    """Delete and insert rows in the order of their shares, and ask the model about what is left.

    Compare with another order of the same rows (``share_row`` at random): a good explanation finds
    the rows without which the probability falls.

    Parameters
    ----------
    estimator : fitted classifier
        Of this library.
    X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,), default=None
    share_row : array-like of shape (n_rows,)
        For example ``explain_groups(...).share_row``; of equals the first row goes first.
    label : class, default=None
        Whose probability is followed, as in :func:`explain_groups`.
    n_steps : int, default=10
        Fractions 0, 1/n_steps, ...

    Returns
    -------
    curves : RemovalCurves
    """
    check_number("n_steps", n_steps, "[1, inf)", whole=True)
    model: Any = estimator
    features, ids = split_column(X, getattr(model, "group_column", None), groups, required=False)
    encoded = check_groups(ids, _num_samples(features))
    code = class_of_groups(model.predictions(features, encoded), label)
    rank = _rank(np.asarray(share_row, dtype=float), encoded)
    size = encoded.sizes[encoded.codes]
    fraction = np.arange(n_steps) / n_steps
    gone = [np.minimum(np.floor(part * size + 1e-9), size - 1) for part in fraction]
    come = [np.maximum(np.ceil(part * size - 1e-9), 1) for part in fraction + 1.0 / n_steps]

    def probability(kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        rows = np.flatnonzero(kept)
        found = model.predictions(_safe_indexing(features, rows), encoded.codes[rows])
        return found.proba_group[np.arange(encoded.n_groups), code]

    return RemovalCurves(
        fraction,
        np.column_stack([probability(rank >= n) for n in gone]),
        np.column_stack([probability(rank < n) for n in come]),
    )


def _rank(share_row: NDArray[np.float64], groups: Groups) -> NDArray[np.intp]:
    """Position of each row in its group, the largest share first."""
    if share_row.shape != (groups.n_rows,):
        raise ValueError(f"share_row must hold one number per row, got shape {share_row.shape}")
    order = np.lexsort((-share_row, groups.codes))
    rank = np.empty(groups.n_rows, np.intp)
    rank[order] = np.arange(groups.n_rows) - groups.offsets[groups.codes[order]]
    return rank
