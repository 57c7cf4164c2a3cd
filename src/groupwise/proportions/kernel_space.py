"""Training rows in the space of a kernel: all that a model that is linear there needs of them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.kernels import Kernel, LandmarkFeatures, NeighbourGraph, check_dense, fit_kernel
from groupwise.kernels.gram import half_gram, half_group_sums, half_times
from groupwise.proportions.manifold import Expansion, FeatureModel, kernel_features

__all__ = ["FeatureSpace", "GramSpace", "KernelSpace", "kernel_space"]


class KernelSpace(Protocol):
    """Rows as points; a vector of the space is given by its weights on the rows."""

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Products of the rows with vectors, ``K @ weights``, (n_rows, n_vectors)."""
        ...

    def laplacian(self, graph: NeighbourGraph, groups: Groups) -> csr_array:
        """The Laplacian of the graph of the groups' means."""
        ...

    def function(
        self, weights: NDArray[np.float64], bias: NDArray[np.float64]
    ) -> Expansion | FeatureModel:
        """Products of any rows with vectors, plus a bias."""
        ...


@dataclass(frozen=True)
class GramSpace:
    """All kernel values between rows, which is quicker than a factor of them.

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (n_rows, n_features)
    gram : ndarray of shape (n_rows, n_rows)
        The lower half counts.
    """

    kernel: Kernel
    X: Rows
    gram: NDArray[np.float64]

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.column_stack([half_times(self.gram, column) for column in weights.T])

    def laplacian(self, graph: NeighbourGraph, groups: Groups) -> csr_array:
        product = half_group_sums(self.gram, groups)
        product /= groups.sizes[:, None] * groups.sizes
        square = product.diagonal()
        distance = np.sqrt(np.maximum(square[:, None] + square - 2.0 * product, 0.0))
        return graph.laplacian_of_distances(distance)

    def function(self, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> Expansion:
        return Expansion(self.kernel, self.X, weights, bias)


@dataclass(frozen=True)
class FeatureSpace:
    """Features whose products are kernel values, few beside the rows."""

    features: LandmarkFeatures
    phi: NDArray[np.float64]

    def times(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.phi @ (self.phi.T @ weights)

    def laplacian(self, graph: NeighbourGraph, groups: Groups) -> csr_array:
        return graph.laplacian(groups.mean(self.phi))

    def function(self, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> FeatureModel:
        return FeatureModel(self.features, self.phi.T @ weights, bias)


def kernel_space(
    name: str, width: float, X: Rows, n_components: int | None, random_state: RandomState
) -> KernelSpace:
    """The space of a kernel by its name; ``n_components=None``: of all rows."""
    kernel = fit_kernel(name, width, X)
    if n_components is None and name == "rbf":
        check_dense(X.shape[0], "rows")
        return GramSpace(kernel, X, half_gram(kernel, X))
    return FeatureSpace(*kernel_features(kernel, X, n_components, random_state))
