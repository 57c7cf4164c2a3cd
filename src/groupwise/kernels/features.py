"""A kernel as features: pivoted Cholesky, on all rows (exact) or on landmarks (Nystroem)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack, solve_triangular

from groupwise.groups import Groups
from groupwise.kernels.gram import BLOCK_BYTES, Kernel, check_dense

__all__ = ["LandmarkFeatures"]


@dataclass(frozen=True)
class LandmarkFeatures:
    r"""Features :math:`\phi(x) = L^{-1} k(Z, x)`, with :math:`k(Z, Z) = L L'` on landmarks Z.

    Then :math:`\phi(x)'\phi(z)` is the Nystroem approximation of k(x, z), and k itself where the
    landmarks are all training rows. Landmarks that others already stand for (a pivot below the
    tolerance: copies of rows, a kernel of low rank) are left out.

    Attributes
    ----------
    kernel : Kernel
    landmarks : array of shape (n_components, n_features)
    factor : ndarray of shape (n_components, n_components)
        L, lower triangular.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.kernels import Kernel, LandmarkFeatures
    >>> X = np.array([[0.0], [1.0], [1.0]])
    >>> features = LandmarkFeatures.fit(Kernel("rbf"), X)
    >>> phi = features.transform(X)
    >>> phi.shape, bool(np.allclose(phi @ phi.T, Kernel("rbf")(X, X)))
    ((3, 2), True)
    """

    kernel: Kernel
    landmarks: Any
    factor: NDArray[Any]

    @classmethod
    def fit(cls, kernel: Kernel, Z: Any, *, tolerance: float = 1e-10) -> "LandmarkFeatures":
        """Choose among the rows Z; pivots below ``tolerance`` (relative) are dropped."""
        return cls.fit_transform(kernel, Z, tolerance=tolerance)[0]

    @classmethod
    def fit_transform(
        cls, kernel: Kernel, Z: Any, *, tolerance: float = 1e-10
    ) -> tuple["LandmarkFeatures", NDArray[Any]]:
        """The features and their values on Z."""
        check_dense(Z.shape[0], "rows")
        gram = kernel(Z, Z)
        scale = max(float(gram.diagonal().max()), np.finfo(float).tiny)
        # The transpose of a symmetric matrix is itself, in the order that LAPACK wants.
        lower, pivot, rank, _ = lapack.dpstrf(gram.T, tol=tolerance * scale, lower=1, overwrite_a=1)
        rank = max(int(rank), 1)
        upper = np.triu(lower.T[:rank])
        if upper[0, 0] == 0.0:  # a linear kernel of rows that are all zero
            upper[0, 0] = 1.0
        order = pivot - 1
        values = np.empty((len(order), rank))
        values[order] = upper.T
        return cls(kernel, Z[order[:rank]], upper[:, :rank].T), values

    @classmethod
    def sample(
        cls, kernel: Kernel, X: Any, n_components: int, rng: np.random.RandomState
    ) -> "LandmarkFeatures":
        """Landmarks drawn at random from the rows of X (all of them where X has no more)."""
        if n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {n_components!r}")
        n_rows = X.shape[0]
        if n_components < n_rows:
            X = X[np.sort(rng.choice(n_rows, n_components, replace=False))]
        return cls.fit(kernel, X)

    @property
    def n_components(self) -> int:
        return len(self.factor)

    def transform(self, X: Any) -> NDArray[Any]:
        """Features of rows, (n_rows, n_components)."""
        return self._whiten(self.kernel(X, self.landmarks))

    def _whiten(self, values: NDArray[Any]) -> NDArray[Any]:
        return solve_triangular(self.factor, values.T, lower=True, check_finite=False).T

    def group_sums(self, X: Any, groups: Groups) -> NDArray[Any]:
        """``A Phi``: features summed over groups, (n_groups, n_components), in blocks."""
        sums = np.zeros((groups.n_groups, self.n_components))
        sorted_X, codes = X[groups.order], groups.codes[groups.order]
        for rows, block in self.kernel.blocks(sorted_X, self.landmarks):
            block_codes = codes[rows]
            starts = np.flatnonzero(np.r_[True, block_codes[1:] != block_codes[:-1]])
            sums[block_codes[starts]] += np.add.reduceat(block, starts, axis=0)
        return self._whiten(sums)

    def times(self, X: Any, weights: NDArray[Any]) -> NDArray[Any]:
        """``Phi @ weights`` in blocks: scores of any number of rows."""
        return self.kernel.times(X, self.landmarks, self.dual(weights))

    def dual(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Weights of kernel values with the landmarks, from weights of the features."""
        return solve_triangular(self.factor, weights, lower=True, trans=1, check_finite=False)

    def smoothness(self, X: Any, laplacian: Any) -> NDArray[Any]:
        """``Phi' R Phi``, (n_components, n_components); float32 features above a gigabyte."""
        n_rows = X.shape[0]
        large = 8 * n_rows * self.n_components > 16 * BLOCK_BYTES
        phi = np.empty((n_rows, self.n_components), dtype=np.float32 if large else float)
        for rows, block in self.kernel.blocks(X, self.landmarks):
            phi[rows] = self._whiten(block)
        return quadratic(phi, laplacian)


def quadratic(phi: NDArray[Any], laplacian: Any) -> NDArray[Any]:
    """``Phi' R Phi``, the rows of R taken in blocks."""
    n_columns = phi.shape[1]
    out = np.zeros((n_columns, n_columns))
    laplacian = laplacian.astype(phi.dtype)
    step = max(1, 4 * BLOCK_BYTES // (phi.itemsize * max(1, n_columns)))
    quarter = max(1, -(-n_columns // 4))
    for start in range(0, len(phi), step):
        rows = slice(start, start + step)
        smoothed = laplacian[rows] @ phi
        for left in range(0, n_columns, quarter):  # what is below the diagonal suffices
            columns = slice(left, left + quarter)
            out[left:, columns] += phi[rows, left:].T @ smoothed[:, columns]
    for left in range(0, n_columns, quarter):
        right = left + quarter
        out[left:right, right:] = out[right:, left:right].T
    return out
