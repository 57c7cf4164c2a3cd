r"""Logistic regression that sees labels only through sums over each class.

For scores :math:`s_i = W'\phi_i` the multinomial log-likelihood is

.. math:: \sum_i \log \sum_c e^{s_{ic}} - \sum_c w_c' T_c + \tfrac{1}{2C} \sum_c |w_c|^2 ,
          \qquad T_c = \sum_{i : y_i = c} \phi_i .

The mean operator T is all it needs of the labels; methods differ in how they estimate T from the
groups' shares. The problem is convex whatever T is.
"""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_number
from groupwise.kernels import fit_kernel
from groupwise.proportions.manifold import FeatureModel, kernel_features
from groupwise.proportions.probabilities import RowProba

__all__ = ["MeanOperatorMixin", "fit_logistic"]


class MeanOperatorMixin:
    """Logistic regression on kernel features, with an estimate of the mean operator.

    Goes before :class:`BaseProportionsClassifier`. A subclass writes ``_operator(phi, data)``.
    """

    C: float
    kernel: str
    width: float
    n_components: int | None
    random_state: RandomState

    @abstractmethod
    def _operator(self, phi: NDArray[np.float64], data: ShareRows) -> NDArray[np.float64]:
        """T, (n_classes, n_features), from features (n_rows, n_features) and groups' counts."""

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")

    def _learn(self, data: ShareRows) -> RowProba:
        kernel = fit_kernel(self.kernel, self.width, data.X)
        features, phi = kernel_features(kernel, data.X, self.n_components, self.random_state)
        operator = self._operator(phi, data)
        weights, bias = fit_logistic(phi, operator, data.counts_group.sum(axis=0), self.C)
        self.function_ = FeatureModel(features, weights, bias)
        return RowProba.of_scores(phi @ weights + bias)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_scores(self.function_.values(X))


def fit_logistic(
    phi: NDArray[np.float64], operator: NDArray[np.float64], count: NDArray[np.float64], C: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise the module's formula; the bias is free.

    Parameters
    ----------
    phi : ndarray of shape (n_rows, n_features)
    operator : ndarray of shape (n_classes, n_features)
    count : ndarray of shape (n_classes,)
        Rows of each class: the operator of the constant feature.
    C : float

    Returns
    -------
    weights : ndarray of shape (n_features, n_classes)
    bias : ndarray of shape (n_classes,)
    """
    n_features, n_classes = phi.shape[1], len(count)

    def value_and_gradient(packed: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w = packed[: n_features * n_classes].reshape(n_features, n_classes)
        bias = packed[n_features * n_classes :]
        score = phi @ w + bias
        value = logsumexp(score, axis=1).sum() - (w * operator.T).sum() - bias @ count
        proba = softmax(score, axis=1)
        gradient = phi.T @ proba - operator.T + w / C
        packed_gradient = np.concatenate([gradient.ravel(), proba.sum(axis=0) - count])
        return float(value + 0.5 / C * (w**2).sum()), packed_gradient

    start = np.concatenate([np.zeros(n_features * n_classes), np.log(count / count.sum())])
    found = minimize(
        value_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 1000, "ftol": 1e-12, "gtol": 1e-7},
    )
    weights = found.x[: n_features * n_classes].reshape(n_features, n_classes)
    return weights, found.x[n_features * n_classes :]
