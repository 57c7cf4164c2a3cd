"""Cox regression with a ridge penalty: the partial likelihood, its optimum, and that above 0."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from groupwise.exceptions import GroupDataError, solving

__all__ = ["PartialLikelihood", "fit_cox", "fit_cox_from_zero_up"]

_MAX_ITER = 200
# The Newton decrement at which the rest is rounding.
_TOL = 1e-16


class PartialLikelihood:
    """Cox's partial likelihood of a linear score with its derivatives, ties as Breslow has them.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    time : ndarray of shape (n,)
        Negative without the event.
    """

    def __init__(self, X: NDArray[Any], time: NDArray[Any]):
        order = np.argsort(-np.abs(time), kind="stable")  # the last first: who is at risk so far
        self.X, signed = X[order], time[order]
        self.event = (signed > 0).astype(float)
        # where each time ends: those at risk are all up to there
        self.last = np.append(np.flatnonzero(np.diff(np.abs(signed))), len(signed) - 1)
        n_at = np.diff(self.last, prepend=-1)
        self.time_of = np.repeat(np.arange(len(n_at)), n_at)
        self.n_events = np.bincount(self.time_of, self.event)

    def value(self, coef: NDArray[Any]) -> float:
        """Its negative logarithm."""
        score = self.X @ coef
        log_at_risk = np.logaddexp.accumulate(score)[self.last]
        return float(self.n_events @ log_at_risk - self.event @ score)

    def gradient(self, coef: NDArray[Any]) -> NDArray[Any]:
        """Its gradient."""
        return self.X.T @ (self._expected(self.X @ coef) - self.event)

    def hessian(self, coef: NDArray[Any]) -> NDArray[Any]:
        """Its Hessian."""
        score = self.X @ coef
        part = np.exp(score - np.logaddexp.accumulate(score))
        means = self._means_at_risk(part)[self.last]
        of_each = (self.X.T * self._expected(score)) @ self.X
        return np.asarray(of_each - (means.T * self.n_events) @ means)

    def _expected(self, score: NDArray[Any]) -> NDArray[Any]:
        """How many events are expected of each group up to its time."""
        log_at_risk = np.logaddexp.accumulate(score)[self.last]
        with np.errstate(divide="ignore"):
            log_rate = np.log(self.n_events) - log_at_risk
        log_hazard = np.logaddexp.accumulate(log_rate[::-1])[::-1]  # of all times up to this one
        return np.exp(score + log_hazard[self.time_of])

    def _means_at_risk(self, part: NDArray[Any]) -> NDArray[Any]:
        """Means of all so far, weighted by hazards, of which each one's ``part`` is its own.

        One by one, as sums of hazards far apart in size would lose the smaller.
        """
        means, mean = np.empty_like(self.X), np.zeros(self.X.shape[1])
        for place, row in enumerate(self.X):
            mean += part[place] * (row - mean)
            means[place] = mean
        return means


def fit_cox(likelihood: PartialLikelihood, penalty: float) -> tuple[NDArray[Any], int]:
    """The coefficients of least penalised loss by Newton's method, and the number of steps."""
    coef = np.zeros(likelihood.X.shape[1])
    value = likelihood.value(coef)
    for n_iter in range(_MAX_ITER):
        gradient = likelihood.gradient(coef) + penalty * coef
        hessian = likelihood.hessian(coef)
        hessian.flat[:: len(coef) + 1] += penalty
        with solving():
            step = -np.linalg.solve(hessian, gradient)
        decrement = -gradient @ step
        if decrement <= _TOL * (1.0 + abs(value)):
            return coef + step, n_iter + 1
        length = 1.0
        while True:
            tried = coef + length * step
            found = likelihood.value(tried) + 0.5 * penalty * float(tried @ tried)
            # near the end the values differ by rounding alone
            if found <= value - 0.1 * length * decrement + 1e-14 * (1.0 + abs(value)):
                break
            length *= 0.5
        coef, value = tried, found
    raise GroupDataError(
        f"the Newton method did not end in {_MAX_ITER} steps; scale X, or raise alpha"
    )


def fit_cox_from_zero_up(likelihood: PartialLikelihood, penalty: float) -> NDArray[Any]:
    """The same where no coefficient may be below 0."""

    def cost(coef: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        value = likelihood.value(coef) + 0.5 * penalty * float(coef @ coef)
        return value, likelihood.gradient(coef) + penalty * coef

    n_features = likelihood.X.shape[1]
    found = minimize(
        cost, np.zeros(n_features), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n_features
    )
    return np.asarray(found.x)
