"""An order of rows that depends on what they hold, not on where they stand."""

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from groupwise._typing import Rows
from groupwise.inputs import DomainRows

__all__ = ["content_order", "target_by_content"]


def content_order(X: Rows, *columns: NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the rows, sorted by a digest of their features and then by the columns.

    Folds drawn in this order are the same whatever the order the rows were given in; rows that
    hold the same are interchangeable.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    *columns : ndarray of shape (n_rows,)
        Labels, weights: what else tells rows apart.

    Returns
    -------
    order : ndarray of shape (n_rows,)
    """
    table = csr_matrix(X, dtype=np.float64, copy=True)  # dense and sparse rows alike
    table.sum_duplicates()
    table.eliminate_zeros()
    digest = np.array(
        [
            _digest(table.indices[start:stop], table.data[start:stop])
            for start, stop in zip(table.indptr[:-1], table.indptr[1:], strict=True)
        ]
    )
    return np.lexsort((*columns[::-1], digest))


def target_by_content(data: DomainRows) -> NDArray[np.intp]:
    """Positions of the target's rows in the order of what they hold."""
    rows = np.flatnonzero(data.is_target)
    return rows[content_order(data.X[rows], data.y_row[rows], data.weight_row[rows])]


def _digest(columns: NDArray[Any], values: NDArray[np.float64]) -> int:
    content = columns.astype(np.int64).tobytes() + values.tobytes()
    return int.from_bytes(hashlib.blake2b(content, digest_size=7).digest(), "little")
