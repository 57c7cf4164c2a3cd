r"""Logistic regression that sees labels only through sums over each class.

For scores :math:`s_i = W'\phi_i + b` the multinomial log-likelihood is

.. math:: \sum_i \log \sum_c e^{s_{ic}} - \sum_c w_c' T_c - n'b + \tfrac{1}{2C} \sum_c |w_c|^2 ,
          \qquad T_c = \sum_{i : y_i = c} \phi_i .

The mean operator T is all it needs of the labels; methods differ in how they estimate T from the
groups' shares. All of their estimates are sums over rows, :math:`T_c = \sum_i v_{ic} \phi_i`, with
weights v that may be negative. The problem is convex whatever they are.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_number
from groupwise.proportions.kernel_space import KernelSpace, kernel_space
from groupwise.proportions.probabilities import RowProba

__all__ = ["MeanOperatorMixin", "fit_logistic"]

_MAX_ITER = 1000
_MEMORY = 10  # steps that say how the gradient changes
_TOLERANCE = 1e-12  # of the value, relative: how little a step may improve


class MeanOperatorMixin:
    """Logistic regression in a kernel's space, with an estimate of the mean operator.

    Goes before :class:`BaseProportionsClassifier`. A subclass writes
    ``_weights_of_rows(data, space)``.
    """

    C: float
    kernel: str
    width: float
    n_components: int | None
    random_state: RandomState

    @abstractmethod
    def _weights_of_rows(self, data: ShareRows, space: KernelSpace) -> NDArray[np.float64]:
        """v, the weight of every row in the mean operator of each class, (n_rows, n_classes)."""

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")

    def _learn(self, data: ShareRows) -> RowProba:
        space = kernel_space(self.kernel, self.width, data.X, self.n_components, self.random_state)
        weights, bias, score = fit_logistic(
            space.times,
            self._weights_of_rows(data, space),
            data.counts_group.sum(axis=0),
            self.C,
        )
        self.function_ = space.function(weights, bias)
        return RowProba.of_scores(score)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_scores(self.function_.values(X))


def fit_logistic(
    times: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    pull: NDArray[np.float64],
    count: NDArray[np.float64],
    C: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Minimise the module's formula; the bias is free.

    L-BFGS with the products of the kernel's space. With :math:`w_c = \sum_i a_{ic} \phi_i` the
    gradient is :math:`\sum_i (p_{ic} - v_{ic} + a_{ic} / C) \phi_i`, p the probabilities, so that
    all vectors are weights of rows, and each comes with its products with the rows. What the
    classes have in common is known beforehand: p sums to one, so that the gradient's sum over
    classes vanishes at :math:`\sum_c a_{ic} = C (\sum_c v_{ic} - 1)`. From there on every step sums
    to zero, and the last class needs no product of its own. One product with the kernel matrix per
    other class is an iteration; the line search needs none, and is exact.

    Parameters
    ----------
    times : callable
        Weights of rows (n_rows, n_classes) to ``K @ weights``.
    pull : ndarray of shape (n_rows, n_classes)
        v.
    count : ndarray of shape (n_classes,)
        Rows of each class: the operator of the constant feature.
    C : float

    Returns
    -------
    weights : ndarray of shape (n_rows, n_classes)
        a.
    bias : ndarray of shape (n_classes,)
    score : ndarray of shape (n_rows, n_classes)
    """
    # A vector and its products with the rows, (2, n_rows + 1, n_classes); the bias is the last row.
    here = np.zeros((2, len(pull) + 1, len(count)))
    here[:, -1] = np.log(count / count.sum())
    common = C / len(count) * (pull.sum(axis=1, keepdims=True) - 1.0)
    if np.abs(common).max() > _TOLERANCE * C:
        here[0, :-1], here[1, :-1] = common, times(common)
    goal = np.vstack([pull, count])
    value = np.inf
    steps: deque[NDArray[np.float64]] = deque(maxlen=_MEMORY)
    changes: deque[NDArray[np.float64]] = deque(maxlen=_MEMORY)
    gradient = _gradient(times, here, goal, C)
    for _ in range(_MAX_ITER):
        way = -_times_inverse_hessian(gradient, steps, changes)
        length, following = _line_search(here, way, goal, C)
        if value - following <= _TOLERANCE * max(abs(following), 1.0):
            break
        value = following
        steps.append(length * way)
        here = here + steps[-1]
        before, gradient = gradient, _gradient(times, here, goal, C)
        changes.append(gradient - before)
    else:
        warn(
            f"no minimum after {_MAX_ITER} steps; scale the features, or lower C",
            ConvergenceWarning,
            stacklevel=2,
        )
    return here[0, :-1], here[0, -1], _score(here)


def _score(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    return vector[1, :-1] + vector[1, -1]


def _product(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    return float((one[0] * other[1]).sum())


def _gradient(
    times: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    here: NDArray[np.float64],
    goal: NDArray[np.float64],
    C: float,
) -> NDArray[np.float64]:
    proba = softmax(_score(here), axis=1)
    gradient = np.empty_like(here)
    gradient[0, :-1] = proba - goal[:-1] + here[0, :-1] / C
    gradient[1, :-1, :-1] = times(gradient[0, :-1, :-1])
    gradient[:, -1] = proba.sum(axis=0) - goal[-1]
    gradient[:, :-1, -1] = -gradient[:, :-1, :-1].sum(axis=2)  # the classes' sum is zero
    return gradient


def _times_inverse_hessian(
    gradient: NDArray[np.float64],
    steps: deque[NDArray[np.float64]],
    changes: deque[NDArray[np.float64]],
) -> NDArray[np.float64]:
    """The two loops of Nocedal and Wright (2006), algorithm 7.4."""
    pairs = [(s, c) for s, c in zip(steps, changes, strict=True) if _product(s, c) > 0.0]
    steps, changes = deque(s for s, _ in pairs), deque(c for _, c in pairs)
    found, shares = gradient.copy(), []
    for step, change in zip(reversed(steps), reversed(changes), strict=True):
        shares.append(_product(step, found) / _product(step, change))
        found -= shares[-1] * change
    if steps:
        found *= _product(steps[-1], changes[-1]) / _product(changes[-1], changes[-1])
    for step, change in zip(steps, changes, strict=True):
        found += (shares.pop() - _product(change, found) / _product(step, change)) * step
    return found


def _line_search(
    here: NDArray[np.float64], way: NDArray[np.float64], goal: NDArray[np.float64], C: float
) -> tuple[float, float]:
    """The length of the step that leads lowest, and the value there."""
    score, change = _score(here), _score(way)
    fixed = 0.5 / C * float((here[0, :-1] * here[1, :-1]).sum()) - float((goal * here[1]).sum())
    linear = float((here[0, :-1] * way[1, :-1]).sum()) / C - float((goal * way[1]).sum())
    square = float((way[0, :-1] * way[1, :-1]).sum()) / C
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(60):  # Newton's method for the zero of the slope, kept inside a bracket
        proba = softmax(score + length * change, axis=1)
        mean = (proba * change).sum(axis=1)
        slope = mean.sum() + linear + length * square
        if slope > 0:
            high = length
        else:
            low = length
        bend = float((proba * (change - mean[:, None]) ** 2).sum()) + square
        following = length - slope / bend if bend > 0 else 2.0 * length
        if not low < following < high:
            following = 0.5 * (low + high) if np.isfinite(high) else 2.0 * length
        if abs(following - length) <= 1e-3 * length:
            break
        length = following
    value = logsumexp(score + length * change, axis=1).sum()
    return length, float(value + fixed + length * linear + 0.5 * length**2 * square)
