"""From scores to labels that agree with the known counts."""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from groupwise.groups import Groups

__all__ = ["decode_counts", "project_simplex"]


def decode_counts(
    score_row: NDArray[np.float64], counts_group: NDArray[np.intp], groups: Groups
) -> NDArray[np.intp]:
    r"""The labelling of highest total score that has the known counts in every group.

    .. math:: \max_{y} \sum_i s_{i, y_i} \quad\text{so that group g has } n_{gc}
              \text{ rows of class } c .

    Two classes: the rows with the largest difference of scores in each group. More: an assignment
    of rows to places, solved for all groups at once.

    Parameters
    ----------
    score_row : ndarray of shape (n_rows, n_classes)
    counts_group : ndarray of int of shape (n_groups, n_classes)
        Each line sums to the group's size.
    groups : Groups

    Returns
    -------
    codes_row : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> from groupwise.proportions import decode_counts
    >>> score = np.array([[0.1, 0.9], [0.2, 0.8], [0.9, 0.1]])
    >>> decode_counts(score, np.array([[2, 1]]), Groups([0, 0, 0])).tolist()
    [1, 0, 0]
    """
    if score_row.shape[1] == 2:
        return _top_rows(score_row[:, 1] - score_row[:, 0], counts_group[:, 1], groups)
    return _assign(score_row, counts_group, groups)


def _top_rows(
    margin_row: NDArray[np.float64], count_group: NDArray[np.intp], groups: Groups
) -> NDArray[np.intp]:
    order = np.lexsort((-margin_row, groups.codes))
    rank = np.empty(groups.n_rows, np.intp)
    rank[order] = np.arange(groups.n_rows) - np.repeat(groups.offsets[:-1], groups.sizes)
    return (rank < count_group[groups.codes]).astype(np.intp)


def _assign(
    score_row: NDArray[np.float64], counts_group: NDArray[np.intp], groups: Groups
) -> NDArray[np.intp]:
    """Every group has as many places as rows; a place belongs to a class."""
    n_classes = score_row.shape[1]
    class_of_place = np.repeat(np.tile(np.arange(n_classes), groups.n_groups), counts_group.ravel())
    size_row = groups.sizes[groups.codes]
    pointer = np.concatenate([[0], np.cumsum(size_row)])
    first_place = groups.offsets[groups.codes]
    place = np.arange(pointer[-1]) - np.repeat(pointer[:-1] - first_place, size_row)
    score = np.repeat(score_row, size_row, axis=0)
    value = score[np.arange(len(place)), class_of_place[place]]
    positive = value - value.min() + 1.0  # the matching takes a zero for a missing edge
    graph = csr_array((positive, place, pointer), shape=(groups.n_rows, groups.n_rows))
    row, column = min_weight_full_bipartite_matching(graph, maximize=True)
    codes = np.empty(groups.n_rows, np.intp)
    codes[row] = class_of_place[column]
    return codes


def project_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nearest distribution to each line: entries >= 0 that sum to one."""
    falling = -np.sort(-values, axis=1)
    excess = (np.cumsum(falling, axis=1) - 1.0) / np.arange(1, values.shape[1] + 1)
    support = (falling > excess).sum(axis=1)
    threshold = excess[np.arange(len(values)), support - 1]
    return np.maximum(values - threshold[:, None], 0.0)
