"""The neighbour graph of rows (or of groups) and its Laplacian."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, eye_array
from sklearn.neighbors import NearestNeighbors

__all__ = ["NeighbourGraph"]


@dataclass(frozen=True)
class NeighbourGraph:
    r"""A symmetric graph of nearest neighbours, and the smoothness penalty it stands for.

    Two rows are joined where one is among the other's nearest neighbours. With weights W and
    degrees :math:`D = \mathrm{diag}(W 1)` the penalty is :math:`f' R f`,

    .. math:: R = I - D^{-1/2} W D^{-1/2} \quad\text{(normalised) or}\quad R = D - W .

    Parameters
    ----------
    n_neighbors : int, default=10
    weights : {"heat", "binary"}, default="heat"
        :math:`\exp(-d^2 / 2 h^2)` with h the mean distance of neighbours, or 1.
    normalised : bool, default=True
    method : {"exact", "pynndescent"}, default="exact"
        How neighbours are found. ``"pynndescent"`` (an extra) is approximate and serves hundreds of
        thousands of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.kernels import NeighbourGraph
    >>> graph = NeighbourGraph(n_neighbors=1, weights="binary", normalised=False)
    >>> graph.laplacian(np.array([[0.0], [1.0], [9.0]])).toarray().tolist()
    [[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]]
    """

    n_neighbors: int = 10
    weights: str = "heat"
    normalised: bool = True
    method: str = "exact"

    def __post_init__(self) -> None:
        if self.n_neighbors < 1:
            raise ValueError(f"n_neighbors must be at least 1, got {self.n_neighbors!r}")
        if self.weights not in ("heat", "binary"):
            raise ValueError(f"weights must be 'heat' or 'binary', got {self.weights!r}")
        if self.method not in ("exact", "pynndescent"):
            raise ValueError(f"method must be 'exact' or 'pynndescent', got {self.method!r}")

    def laplacian(self, X: Any) -> csr_array:
        """R of the rows of X, (n_rows, n_rows)."""
        k = min(self.n_neighbors, X.shape[0] - 1)
        if k == 0:
            return csr_array((X.shape[0], X.shape[0]))
        return self._from_neighbours(*self._neighbours(X, k))

    def laplacian_of_distances(self, distance: NDArray[Any]) -> csr_array:
        """R where all distances are known, (n, n): the group graph."""
        k = min(self.n_neighbors, len(distance) - 1)
        if k == 0:
            return csr_array(distance.shape)
        apart = distance.copy()
        np.fill_diagonal(apart, np.inf)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :k]
        return self._from_neighbours(np.take_along_axis(apart, nearest, axis=1), nearest)

    def _neighbours(self, X: Any, k: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Distances and positions of each row's k neighbours, the row itself left out."""
        if self.method == "exact":
            return NearestNeighbors(n_neighbors=k).fit(X).kneighbors()
        try:
            import pynndescent
        except ImportError as error:
            raise ImportError(
                "method='pynndescent' needs the package pynndescent: the extra groupwise[large] "
                "brings it"
            ) from error
        index = pynndescent.NNDescent(
            np.ascontiguousarray(X, dtype=np.float32), n_neighbors=k + 1, random_state=0
        )
        nearest, distance = (found[:, 1:] for found in index.neighbor_graph)
        lost = nearest < 0  # a neighbour it did not find: the row itself, which says nothing
        own = np.arange(len(nearest))[:, None]
        return np.where(lost, 0.0, distance), np.where(lost, own, nearest)

    def _from_neighbours(self, distance: NDArray[Any], nearest: NDArray[Any]) -> csr_array:
        n, k = nearest.shape
        if self.weights == "heat":
            scale = float(np.mean(distance)) or 1.0  # copies of one row: all at distance zero
            value = np.exp(-0.5 * (distance / scale) ** 2)
        else:
            value = np.ones(distance.shape)
        pointer = np.arange(0, n * k + 1, k)
        directed = csr_array((value.ravel(), nearest.ravel(), pointer), shape=(n, n))
        joined = directed.maximum(directed.T).tocsr()
        degree = joined.sum(axis=1)
        if not self.normalised:
            return (diags_array(degree) - joined).tocsr()
        scale_row = diags_array(1.0 / np.sqrt(np.maximum(degree, np.finfo(float).tiny)))
        return (eye_array(n) - scale_row @ joined @ scale_row).tocsr()
