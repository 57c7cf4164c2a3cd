"""Kernels and distances between groups of rows, from those between rows, in blocks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.metrics.pairwise import euclidean_distances

from groupwise.groups import Groups
from groupwise.kernels.gram import BLOCK_BYTES, Kernel
from groupwise.kernels.shared import shareable

__all__ = [
    "hausdorff_distances",
    "largest_similarity",
    "mean_least_distances",
    "set_kernel",
    "set_norms",
]


@shareable
def set_kernel(kernel: Kernel, X: Any, groups: Groups, Z: Any, groups_z: Groups) -> NDArray[Any]:
    r"""Mean kernel value over all pairs of rows of two groups, (n_groups, n_groups_z).

    .. math:: K(A, B) = \frac{1}{|A| |B|} \sum_{x \in A} \sum_{z \in B} k(x, z)
    """
    sums = groups.sum(kernel.group_columns(X, Z, groups_z))
    return sums / groups.sizes[:, None] / groups_z.sizes


@shareable
def set_norms(kernel: Kernel, X: Any, groups: Groups) -> NDArray[Any]:
    r"""Norm of every group, :math:`\sqrt{K(A, A)}`: the set kernel over both norms is normalised.

    Only pairs inside groups are computed, and those of larger groups one group at a time: together
    they would need the whole matrix.
    """
    rows = X[groups.order]
    if kernel.name == "linear":
        return np.sqrt(np.maximum(_linear_norms(X, groups), np.finfo(float).tiny))
    out = np.ones(groups.n_groups)  # a row's Gaussian similarity with itself is one
    # hundreds of small matrices of rows that were checked before
    with config_context(assume_finite=True, skip_parameter_validation=True):
        for group in np.flatnonzero(groups.sizes > 1):
            own = rows[groups.offsets[group] : groups.offsets[group + 1]]
            out[group] = kernel(own, own).mean()
    return np.sqrt(out)


def _linear_norms(X: Any, groups: Groups) -> NDArray[Any]:
    shape = (groups.n_groups, groups.n_rows)
    share = 1.0 / groups.sizes[groups.codes]
    mean = csr_array((share, (groups.codes, np.arange(groups.n_rows))), shape=shape) @ X
    return np.asarray((mean * mean).sum(axis=1)).ravel()


@shareable
def largest_similarity(kernel: Kernel, X: Any, groups: Groups, Z: Any) -> NDArray[Any]:
    r"""The largest kernel value of any row of a group with each row of Z, (n_groups, n_z)."""
    sorted_X = X[groups.order]
    out = np.empty((groups.n_groups, Z.shape[0]))
    for rows, block in kernel.blocks(Z, sorted_X):
        out[:, rows] = np.maximum.reduceat(block, groups.offsets[:-1], axis=1).T
    return out


@shareable
def hausdorff_distances(X: Any, groups: Groups, Z: Any, groups_z: Groups) -> NDArray[Any]:
    r"""Distances of the nearest rows of two groups, the least Hausdorff distance.

    .. math:: H(A, B) = \min_{x \in A} \min_{z \in B} |x - z|

    Returns
    -------
    distance : ndarray of shape (n_groups, n_groups_z)
    """
    sorted_X, sorted_Z = X[groups.order], Z[groups_z.order]
    codes = groups.codes[groups.order]
    out = np.full((groups.n_groups, groups_z.n_groups), np.inf)
    step = max(1, BLOCK_BYTES // (8 * max(1, Z.shape[0])))
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        distance = euclidean_distances(sorted_X[rows], sorted_Z)
        nearest = np.minimum.reduceat(distance, groups_z.offsets[:-1], axis=1)
        block = codes[rows]
        first = np.flatnonzero(np.r_[True, block[1:] != block[:-1]])
        here = np.minimum.reduceat(nearest, first, axis=0)
        out[block[first]] = np.minimum(out[block[first]], here)
    return out


@shareable
def mean_least_distances(
    X: Any, groups: Groups, Z: Any, groups_z: Groups
) -> tuple[NDArray[Any], NDArray[Any]]:
    r"""How far the rows of one group lie from another group in the mean, and the reverse.

    .. math:: d(A, B) = \frac{1}{|A|} \sum_{x \in A} \min_{z \in B} |x - z|

    Returns
    -------
    there, back : ndarrays of shape (n_groups, n_groups_z)
        d(A, B) and d(B, A).
    """
    sorted_X, sorted_Z = X[groups.order], Z[groups_z.order]
    there = np.empty((X.shape[0], groups_z.n_groups))
    back = np.empty((groups.n_groups, Z.shape[0]))
    step = max(1, BLOCK_BYTES // (8 * max(1, X.shape[0])))
    for first, last in _whole_groups(groups_z, step):
        rows = slice(groups_z.offsets[first], groups_z.offsets[last])
        distance = euclidean_distances(sorted_Z[rows], sorted_X)
        starts = groups_z.offsets[first:last] - rows.start
        there[:, first:last] = np.minimum.reduceat(distance, starts, axis=0).T
        back[:, rows] = np.minimum.reduceat(distance, groups.offsets[:-1], axis=1).T
    sums_there = np.add.reduceat(there, groups.offsets[:-1], axis=0)
    sums_back = np.add.reduceat(back, groups_z.offsets[:-1], axis=1)
    return sums_there / groups.sizes[:, None], sums_back / groups_z.sizes


def _whole_groups(groups: Groups, n_rows: int) -> list[tuple[int, int]]:
    """Runs of whole groups of about that many rows, at least one group each."""
    ends = np.unique(np.searchsorted(groups.offsets, np.arange(0, groups.n_rows, n_rows), "left"))
    ends = np.unique(np.concatenate([[0], ends, [groups.n_groups]]))
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
