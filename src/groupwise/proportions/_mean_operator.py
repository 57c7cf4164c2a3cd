r"""Logistic regression that sees labels only through sums over each class.

For scores :math:`s_i = W'\phi_i` the multinomial log-likelihood is

.. math:: \sum_i \log \sum_c e^{s_{ic}} - \sum_c w_c' T_c + \tfrac{1}{2C} \sum_c |w_c|^2 ,
          \qquad T_c = \sum_{i : y_i = c} \phi_i .

The mean operator T is all it needs of the labels; methods differ in how they estimate T from the
groups' shares. The problem is convex whatever T is.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.utils import check_random_state

from groupwise.kernels import LandmarkFeatures, fit_kernel
from groupwise.proportions._base import BaseAggregateClassifier
from groupwise.proportions._input import AggregateRows
from groupwise.proportions._manifold import FeatureModel

__all__ = ["MeanOperatorClassifier", "fit_logistic"]


class MeanOperatorClassifier(BaseAggregateClassifier):
    """Base of the classifiers that estimate the mean operator.

    A subclass writes ``_mean_operator(phi, data)``: T of shape (n_classes, n_features).
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.C = C
        self.kernel = kernel
        self.width = width
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a number > 0, got {self.C!r}")

    def _mean_operator(self, phi: NDArray[Any], data: AggregateRows) -> NDArray[Any]:
        raise NotImplementedError  # a subclass's one duty

    def _fit_aggregates(self, data: AggregateRows) -> NDArray[Any]:
        kernel = fit_kernel(self.kernel, self.width, data.X)
        if self.n_components is None:
            features, phi = LandmarkFeatures.fit_transform(kernel, data.X)
        else:
            rng = check_random_state(self.random_state)
            features = LandmarkFeatures.sample(kernel, data.X, self.n_components, rng)
            phi = features.transform(data.X)
        operator = self._mean_operator(phi, data)
        weights, bias = fit_logistic(phi, operator, data.counts_group.sum(axis=0), self.C)
        self.model_ = FeatureModel(features, weights, bias)
        return softmax(phi @ weights + bias, axis=1)

    def _proba(self, X: Any) -> NDArray[Any]:
        return softmax(self.model_.values(X), axis=1)


def fit_logistic(
    phi: NDArray[Any], operator: NDArray[Any], count: NDArray[Any], C: float
) -> tuple[NDArray[Any], NDArray[Any]]:
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

    def value_and_gradient(packed: NDArray[Any]) -> tuple[float, NDArray[Any]]:
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
