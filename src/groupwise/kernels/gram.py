"""Kernels between rows, their sums over groups, and both in blocks of bounded memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_blas_funcs
from scipy.sparse import issparse
from sklearn.metrics.pairwise import euclidean_distances, linear_kernel, rbf_kernel

from groupwise.groups import Groups
from groupwise.kernels.shared import shareable

__all__ = [
    "KERNELS",
    "MAX_DENSE",
    "Kernel",
    "check_dense",
    "fit_kernel",
    "gram_matrix",
    "half_gram",
    "half_group_sums",
    "half_times",
    "median_distance",
]

KERNELS = ("rbf", "linear")

#: Largest side of a square matrix that is ever held in memory (12,000: 1.1 GiB of float64).
MAX_DENSE = 12_000

#: Bytes of one block of kernel values.
BLOCK_BYTES = 64 * 2**20

# Bytes of what is computed from a block and soon let go: few enough to be used again.
_WORK_BYTES = 2 * 2**20

_ROWS_FOR_MEDIAN = 1000


@dataclass(frozen=True)
class Kernel:
    r"""A kernel with its width: Gaussian or linear.

    .. math:: k(x, z) = \exp\!\big(-|x - z|^2 / 2\sigma^2\big) \quad\text{or}\quad k(x, z) = x'z

    Parameters
    ----------
    name : {"rbf", "linear"}
    sigma : float, default=1.0
        Standard deviation of the Gaussian; without meaning for ``"linear"``.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.kernels import Kernel
    >>> Kernel("rbf", sigma=1.0)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.1353]]
    """

    name: str
    sigma: float = 1.0

    def __call__(self, X: Any, Z: Any) -> NDArray[Any]:
        """Kernel values (n_x, n_z)."""
        if self.name == "linear":
            return np.asarray(linear_kernel(X, Z, dense_output=True), dtype=float)
        return np.asarray(rbf_kernel(X, Z, gamma=0.5 / self.sigma**2), dtype=float)

    def of_squares(self, squares: NDArray[Any]) -> NDArray[Any]:
        """Values of the Gaussian at squared distances, which kernels of all widths share."""
        values = squares * (-0.5 / self.sigma**2)
        return np.asarray(np.exp(values, out=values), dtype=float)

    def blocks(self, X: Any, Z: Any) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Kernel values of the rows of X, block by block of at most ``BLOCK_BYTES``."""
        for rows in _runs(X.shape[0], Z.shape[0], BLOCK_BYTES):
            yield rows, self(X[rows], Z)

    def times(self, X: Any, Z: Any, weights: NDArray[Any]) -> NDArray[Any]:
        """``k(X, Z) @ weights`` without ever holding ``k(X, Z)``."""
        out = np.empty((X.shape[0], *weights.shape[1:]))
        for rows, block in self.blocks(X, Z):
            out[rows] = block @ weights
        return out

    def group_columns(self, X: Any, Z: Any, groups: Groups) -> NDArray[Any]:
        """``k(X, Z) A'``: kernel values summed over the groups of Z, (n_x, n_groups)."""
        sorted_Z = Z[groups.order]
        out = np.empty((X.shape[0], groups.n_groups))
        if self.name == "linear":
            for rows, block in self.blocks(X, sorted_Z):
                out[rows] = np.add.reduceat(block, groups.offsets[:-1], axis=1)
            return out
        for rows in _runs(X.shape[0], Z.shape[0], BLOCK_BYTES):
            squares, sums = squared_distances(X[rows], sorted_Z), out[rows]
            for part in _runs(len(squares), Z.shape[0], _WORK_BYTES):
                values = self.of_squares(squares[part])
                sums[part] = np.add.reduceat(values, groups.offsets[:-1], axis=1)
        return out

    def group_gram(self, X: Any, groups: Groups) -> NDArray[Any]:
        """The set kernel ``A K A'`` of Gaertner et al. (2002), (n_groups, n_groups); eq. (27)."""
        check_dense(groups.n_groups, "groups")
        sorted_X = X[groups.order]
        codes = groups.codes[groups.order]
        out = np.zeros((groups.n_groups, groups.n_groups))
        for rows, block in self.blocks(sorted_X, sorted_X):
            columns = np.add.reduceat(block, groups.offsets[:-1], axis=1)
            block_codes = codes[rows]
            starts = np.flatnonzero(np.r_[True, block_codes[1:] != block_codes[:-1]])
            out[block_codes[starts]] += np.add.reduceat(columns, starts, axis=0)
        return 0.5 * (out + out.T)


@shareable
def gram_matrix(kernel: Kernel, X: Any) -> NDArray[Any]:
    """All kernel values between rows, (n_rows, n_rows)."""
    return kernel(X, X) if kernel.name == "linear" else kernel.of_squares(squared_distances(X, X))


def half_gram(kernel: Kernel, X: Any, dtype: Any = float) -> NDArray[Any]:
    """Kernel values between rows, of which what is above the diagonal is not all there.

    The Gaussian of dense rows is made where it stays, in the precision it has there.
    """
    n_rows = X.shape[0]
    gram = np.empty((n_rows, n_rows), dtype=dtype)
    if kernel.name == "linear" or issparse(X):
        for rows in _runs(n_rows, n_rows, BLOCK_BYTES):
            gram[rows, : rows.stop] = kernel(X[rows], X[: rows.stop])
        return gram
    X = np.ascontiguousarray(X)  # the order in memory would change the last bits of sums
    scaled = (X - X.mean(axis=0)) / kernel.sigma
    half = (0.5 * (scaled**2).sum(axis=1)).astype(dtype)
    scaled = scaled.astype(dtype)
    for rows in _runs(n_rows, n_rows, _WORK_BYTES):
        values = gram[rows, : rows.stop]  # the exponent x'z - (x'x + z'z) / 2
        np.matmul(scaled[rows], scaled[: rows.stop].T, out=values)
        values -= half[rows, None]
        values -= half[: rows.stop]
        np.exp(np.minimum(values, 0.0, out=values), out=values)
    return gram


def half_times(gram: NDArray[Any], vector: NDArray[Any]) -> NDArray[Any]:
    """The product of a symmetric matrix, given by its lower half, with a vector.

    Half the matrix is read: twice as quick as ``@``.
    """
    (product,) = get_blas_funcs(("symv",), (gram,))
    return product(1.0, gram.T, vector)  # the transpose is in the order of BLAS


def half_group_sums(gram: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """``A K A'``, sums over pairs of groups, of a symmetric matrix given by its lower half."""
    below = np.zeros((groups.n_groups, groups.n_groups))
    for rows in _runs(len(gram), len(gram), 4 * _WORK_BYTES):
        columns = Groups(groups.codes[: rows.stop])
        values = np.tril(gram[rows, : rows.stop], rows.start - 1)[:, columns.order]
        sums = np.add.reduceat(values, columns.offsets[:-1], axis=1)
        np.add.at(below, (groups.codes[rows][:, None], columns.names), sums)
    return below + below.T + np.diag(groups.sum(gram.diagonal()))


@shareable
def squared_distances(X: Any, Z: Any) -> NDArray[Any]:
    """Squares of the distances between rows, (n_x, n_z)."""
    return np.asarray(euclidean_distances(X, Z, squared=True))


def _runs(n_rows: int, n_columns: int, n_bytes: int) -> Iterator[slice]:
    """Runs of rows that fill so many bytes at most, each at least one row."""
    step = max(1, n_bytes // (8 * max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def fit_kernel(name: str, width: float, X: Any) -> Kernel:
    """A kernel whose width is a multiple of the median distance between rows.

    Parameters
    ----------
    name : {"rbf", "linear"}
    width : float
        The Gaussian's standard deviation over the median distance.
    X : {array, sparse matrix} of shape (n_rows, n_features)

    Returns
    -------
    kernel : Kernel
    """
    if name not in KERNELS:
        raise ValueError(f"kernel must be one of {KERNELS}, got {name!r}")
    if name == "linear":
        return Kernel(name)
    if not (np.isfinite(width) and width > 0):
        raise ValueError(f"width must be a number > 0, got {width!r}")
    return Kernel(name, float(width) * median_distance(X))


@shareable
def median_distance(X: Any) -> float:
    """Median distance between different rows, of at most 1,000 that do not depend on their order.

    Rows that are all equal have no distance; then 1.0.
    """
    n_rows = X.shape[0]
    by_total = np.argsort(np.asarray(X.sum(axis=1)).ravel(), kind="stable")
    chosen = by_total[np.linspace(0, n_rows - 1, min(n_rows, _ROWS_FOR_MEDIAN)).astype(np.intp)]
    distance = euclidean_distances(X[chosen])[np.triu_indices(len(chosen), k=1)]
    distance = distance[distance > 0]
    return float(np.median(distance)) if len(distance) else 1.0


def check_dense(side: int, what: str) -> None:
    """Refuse a square matrix above the stated limit, and say what to do instead."""
    if side > MAX_DENSE:
        raise ValueError(
            f"the exact solution holds a matrix of {side} x {side} {what}, above the limit of "
            f"{MAX_DENSE} (groupwise.kernels.MAX_DENSE); n_components=1000 approximates the kernel "
            "and GraphAOCClassifier needs no kernel at all"
        )
