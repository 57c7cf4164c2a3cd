"""Features of a table spread over bins, so that a network can bend where a tree would split."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["PiecewiseLinear"]


@dataclass(frozen=True)
class PiecewiseLinear:
    r"""The piecewise linear encoding of Gorishniy, Rubachev and Babenko (2022).

    A feature with bins :math:`b_0 < \dots < b_T` becomes T numbers, how far each bin is passed:

    .. math:: e_t = \min(1, \max(0, (x - b_{t-1}) / (b_t - b_{t-1})))

    A first layer on them is a piecewise linear function of each feature. A feature with fewer than
    two bins (few values, as of rare words) stays as it is.

    Attributes
    ----------
    column : ndarray of shape (n_encoded,)
        The feature that each number is made of.
    low, width : ndarray of shape (n_encoded,)
        Of its bin; 0 and 1 where the feature stays as it is.
    is_bin : ndarray of shape (n_encoded,)

    References
    ----------
    Y. Gorishniy, I. Rubachev, A. Babenko (2022). On embeddings for numerical features in tabular
    deep learning. NeurIPS.
    """

    column: NDArray[np.intp]
    low: NDArray[np.float64]
    width: NDArray[np.float64]
    is_bin: NDArray[np.bool_]

    @classmethod
    def fit(cls, X: NDArray[Any], n_bins: int) -> "PiecewiseLinear":
        """Bins between quantiles of each feature.

        Examples
        --------
        >>> X = np.column_stack([np.arange(5.0), [0, 0, 0, 0, 1]])
        >>> bins = PiecewiseLinear.fit(X, 2)
        >>> bins.column.tolist(), bins.low.tolist()
        ([0, 0, 1], [0.0, 2.0, 0.0])
        >>> bins.encode(np.array([[3.0, 1.0]])).tolist()
        [[1.0, 0.5, 1.0]]
        """
        at = np.linspace(0.0, 1.0, n_bins + 1)
        knots = np.quantile(X, at, axis=0, method="inverted_cdf")  # values that there are
        column, low, width, is_bin = [], [], [], []
        for place, of_feature in enumerate(knots.T):
            ends = np.unique(of_feature)
            binned = len(ends) > 2
            column.append(np.full(len(ends) - 1 if binned else 1, place))
            low.append(ends[:-1] if binned else np.zeros(1))
            width.append(np.diff(ends) if binned else np.ones(1))
            is_bin.append(np.full(len(low[-1]), binned))
        return cls(*(np.concatenate(each) for each in (column, low, width, is_bin)))

    def encode(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Rows (n_rows, n_features) as rows (n_rows, n_encoded)."""
        with np.errstate(over="ignore"):  # of far values beside narrow bins: passed is passed
            passed = (X[:, self.column] - self.low) / self.width
        return np.where(self.is_bin, passed.clip(0.0, 1.0), passed)
