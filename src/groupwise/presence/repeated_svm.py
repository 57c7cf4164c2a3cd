"""Support vector machines on changing subsets and labels of the same rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn import config_context
from sklearn.svm import SVC, LinearSVC

from groupwise._typing import Rows
from groupwise.kernels import Kernel, LandmarkFeatures, fit_kernel
from groupwise.kernels.gram import gram_matrix

__all__ = ["KernelPlane", "RepeatedSVM", "make_repeated_svm"]

# Up to so many rows the kernel matrix is computed once and kept (0.8 gigabytes).
_KEPT = 10_000

# Megabytes of libsvm's own cache. Its solution does not depend on it. With the matrix at hand a row
# is quickly made again, while every row that shrinking swaps is swapped in all cached rows too.
_CACHE_BESIDE_MATRIX, _CACHE = 10, 500


class RepeatedSVM:
    """What is computed once for all rounds: a kernel matrix, or features for a linear machine.

    A kernel matrix knows rows that are copies of each other as one: those with the same label count
    as one of the sum of their weights, which is the same problem.
    """

    def __init__(self, X: Rows, C: float, kernel: Kernel, features: LandmarkFeatures | None):
        self.C, self.kernel, self.features = C, kernel, features
        self.linear = kernel.name == "linear" or features is not None
        self.X = X
        self.original: NDArray[np.intp] = np.arange(X.shape[0])
        if not self.linear:
            self.X, self.original = _without_copies(X)
        self.phi = X if features is None else features.transform(X)
        kept = not self.linear and self.X.shape[0] <= _KEPT
        self.gram = gram_matrix(kernel, self.X) if kept else None
        self._rows = np.empty(0, dtype=np.intp)  # of the last round
        self._part = np.empty((0, 0))  # and the kernel values between them

    def fit(
        self, rows: NDArray[np.intp], target: NDArray[np.intp], weight: NDArray[Any]
    ) -> tuple["KernelPlane", NDArray[Any]]:
        """Train on some rows with labels 0 and 1; the plane, and its scores of all rows."""
        if self.linear:
            model = LinearSVC(C=self.C, random_state=0, max_iter=20_000, tol=1e-3)
            model.fit(self.phi[rows], target, sample_weight=weight)
            plane = KernelPlane(
                self.kernel, self.features, None, model.coef_[0], model.intercept_[0]
            )
            return plane, np.asarray(self.phi @ plane.coef + plane.intercept)
        rows, target, weight = _merged(self.original[rows], target, weight)
        plane, score = self._fit_kernel(rows, target, weight)
        return plane, score[self.original]

    def _fit_kernel(
        self, rows: NDArray[np.intp], target: NDArray[np.intp], weight: NDArray[Any]
    ) -> tuple["KernelPlane", NDArray[Any]]:
        if self.gram is not None:
            model = SVC(C=self.C, kernel="precomputed", cache_size=_CACHE_BESIDE_MATRIX)
            with config_context(assume_finite=True):  # the rows were checked: no look per round
                model.fit(self._gram_of(rows), target, sample_weight=weight)
        else:
            gamma = 0.5 / self.kernel.sigma**2
            model = SVC(C=self.C, kernel="rbf", gamma=gamma, cache_size=_CACHE)
            model.fit(self.X[rows], target, sample_weight=weight)
        support = rows[model.support_]
        coef = model.dual_coef_.toarray() if issparse(model.dual_coef_) else model.dual_coef_
        plane = KernelPlane(self.kernel, None, self.X[support], coef[0], model.intercept_[0])
        if self.gram is None:
            return plane, plane.score(self.X)
        if len(support) < len(self.gram) // 4:
            return plane, plane.coef @ self.gram[support] + plane.intercept
        # zeros cost less than picking most of the matrix; a row may support both labels
        coef_row = np.bincount(support, plane.coef, minlength=len(self.gram))
        return plane, self.gram @ coef_row + plane.intercept

    def _gram_of(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Kernel values between some rows; between two rounds few of them change."""
        assert self.gram is not None  # only asked where it is kept
        if np.array_equal(rows, np.arange(len(self.gram))):
            return self.gram
        if len(rows) != len(self._rows):
            self._part = self.gram[np.ix_(rows, rows)]
        else:
            new = np.flatnonzero(rows != self._rows)
            self._part[new] = self.gram[np.ix_(rows[new], rows)]
            self._part[:, new] = self.gram[np.ix_(rows, rows[new])]
        self._rows = rows
        return self._part


def _without_copies(X: Rows) -> tuple[Rows, NDArray[np.intp]]:
    """The different rows in the order they come, and which of them each row is."""
    if issparse(X):
        return X, np.arange(X.shape[0])
    _, first, copy_of = np.unique(X, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return X[first[order]], np.argsort(order)[copy_of.ravel()]


def _merged(
    rows: NDArray[np.intp], target: NDArray[np.intp], weight: NDArray[Any]
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[Any]]:
    """Equal rows with equal labels as one, in the order they come."""
    _, first, copy_of = np.unique(2 * rows + target, return_index=True, return_inverse=True)
    total = np.bincount(copy_of, weight)
    order = np.argsort(first)
    return rows[first[order]], target[first[order]], total[order]


class KernelPlane:
    """A trained machine: support vectors and weights, or weights of features."""

    def __init__(
        self,
        kernel: Kernel,
        features: LandmarkFeatures | None,
        support: NDArray[Any] | csr_array | None,
        coef: NDArray[Any],
        intercept: float,
    ):
        self.kernel, self.features, self.support = kernel, features, support
        self.coef, self.intercept = np.asarray(coef, float), float(intercept)

    def score(self, X: Rows) -> NDArray[Any]:
        """Scores of rows."""
        if self.support is not None:
            return self.kernel.times(X, self.support, self.coef) + self.intercept
        phi = X if self.features is None else self.features.transform(X)
        return np.asarray(phi @ self.coef + self.intercept)


def make_repeated_svm(
    X: Rows,
    *,
    C: float,
    kernel: str,
    width: float,
    n_components: int | None,
    rng: np.random.RandomState,
) -> RepeatedSVM:
    """Build the machine for these rows."""
    fitted = fit_kernel(kernel, width, X)
    features = None
    if kernel != "linear" and n_components is not None:
        features = LandmarkFeatures.sample(fitted, X, n_components, rng)
    return RepeatedSVM(X, C, fitted, features)
