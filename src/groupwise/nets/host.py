"""The same as :mod:`groupwise.nets.packed` in numpy: small networks answer without torch."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

__all__ = ["HostPacked"]


class HostPacked:
    """Groups of neighbouring rows, as :class:`groupwise.nets.packed.Packed`, for numpy arrays.

    Parameters
    ----------
    sizes : ndarray of shape (n_groups,)

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.nets.host import HostPacked
    >>> HostPacked(np.array([2, 1])).max(np.array([[1.0], [2.0], [5.0]])).tolist()
    [[2.0], [5.0]]
    """

    def __init__(self, sizes: NDArray[np.intp]):
        self.counts = sizes
        self.n_groups, self.n_rows = len(sizes), int(sizes.sum())
        self.largest = int(sizes.max())
        self.starts = np.cumsum(sizes) - sizes
        self.codes = np.repeat(np.arange(self.n_groups), sizes)

    def size_like(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.counts.astype(values.dtype)[:, None]

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.add.reduceat(values, self.starts, axis=-2)

    def mean(self, values: NDArray[Any]) -> NDArray[Any]:
        return self.sum(values) / self.size_like(values)

    def max(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.maximum.reduceat(values, self.starts, axis=-2)

    def spread(self, values_group: NDArray[Any]) -> NDArray[Any]:
        return values_group.take(self.codes, axis=-2)

    def softmax(self, values: NDArray[Any]) -> NDArray[Any]:
        term = np.exp(values - self.spread(self.max(values)))
        return term / self.spread(self.sum(term))

    def weighted_sum(self, weight: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
        return self.sum(weight * values)

    tanh = staticmethod(np.tanh)
    sigmoid = staticmethod(expit)

    @staticmethod
    def relu(values: NDArray[Any]) -> NDArray[Any]:
        return np.maximum(values, 0.0)

    @staticmethod
    def cat(parts: list[NDArray[Any]]) -> NDArray[Any]:
        return np.concatenate(parts, axis=-1)

    @staticmethod
    def stack(parts: list[NDArray[Any]]) -> NDArray[Any]:
        return np.stack(parts, axis=-1)

    @staticmethod
    def halves(values: NDArray[Any]) -> list[NDArray[Any]]:
        return np.split(values, 2, axis=-1)

    @staticmethod
    def shares(values: NDArray[Any]) -> NDArray[Any]:
        return softmax(values, axis=-1)

    def linear(
        self, values: NDArray[Any], weight: NDArray[Any], bias: NDArray[Any]
    ) -> NDArray[Any]:
        return values @ weight + bias

    def like(self, sizes: NDArray[np.intp]) -> "HostPacked":
        """Other groups in the same place."""
        return HostPacked(sizes)
