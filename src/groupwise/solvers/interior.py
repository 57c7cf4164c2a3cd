r"""An epsilon-insensitive loss of sums, by an interior-point method.

.. math:: \min_{f, c} \sum_i \max(0, |(A f + c\,a - b)_i| - \epsilon) + \alpha |f|^2_K

has the dual, with :math:`G = A K A'`, one unknown per sum and :math:`C = 1/2\alpha`,

.. math:: \min_\beta \tfrac12 \beta' G \beta - b'\beta + \epsilon |\beta|_1
          \quad\text{with}\quad |\beta_i| \le C, \quad a'\beta = 0

(the last only for a free bias). scikit-learn's SVR finds most of the answer; the rest is written by
hand because SVR knows neither a bias with coefficients of its own (``a`` is all ones there) nor a
model without one.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

from groupwise.solvers.certificate import Certificate
from groupwise.solvers.solution import KernelSolution

__all__ = ["solve_l1"]

_MAX_STEPS = 100
_MAX_CORRECTIONS = 10
# Relative gap at which the last digits may stop falling.
_ENOUGH = 1e-9

Floats = NDArray[np.float64]


def solve_l1(
    gram: Floats,
    target: Floats,
    alpha: float,
    bias_weight: Floats | None,
    epsilon: float,
    *,
    tolerance: float = 1e-14,
) -> KernelSolution:
    """Solve for one output.

    With a bias from libsvm's answer by corrections of which unknowns are free; without one, and
    where the corrections stop short of the tolerance, by Mehrotra's predictor-corrector method.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        G.
    target : ndarray of shape (n,)
        b.
    alpha : float
        Weight of the norm.
    bias_weight : ndarray of shape (n,) or None
        a, how often the bias counts in each sum; ``None``: no bias.
    epsilon : float
        Error of a sum that costs nothing.
    tolerance : float, default=1e-14
        Relative duality gap to stop at. The error of f is of the order of its square root.

    Returns
    -------
    solution : KernelSolution
    """
    # In units of C the box is [0, 1] whatever alpha is: beta = C (p - q).
    C = 0.5 / alpha
    G, b, m = C * gram, target, len(target)
    a = np.zeros(m) if bias_weight is None else bias_weight
    if bias_weight is not None:
        point = _by_support_vectors(G, b, a, epsilon)
        if point.gap <= _ENOUGH:
            return point.solution(C)
    x = np.full((2, m), 0.5)  # p and q, each in (0, 1)
    rest = 1.0 - x  # kept apart: the difference has no digits left where x is close to 1
    scale = max(1.0, float(np.abs(b).max()))
    low, high = np.full((2, m), scale), np.full((2, m), scale)  # multipliers of 0 <= x <= 1
    bias = 0.0
    best, stalled = _Point.of(np.zeros(m), 0.0, G, b, a, epsilon), 0
    n_iter = 0
    for _ in range(_MAX_STEPS):
        point = _Point.of(x[0] - x[1], bias, G, b, a, epsilon)
        stalled = stalled + 1 if point.gap > 0.5 * best.gap else 0
        best = point if point.gap < best.gap else best
        products = x * low, rest * high
        mu = float((products[0] + products[1]).sum()) / (4 * m)
        # At the end of the digits the gap stops falling.
        if best.gap <= tolerance or (stalled >= 2 and best.gap <= _ENOUGH) or mu < 1e-18 * scale:
            break
        beta = x[0] - x[1]
        pull = G @ beta + bias * a - b
        residual_dual = np.array([pull, -pull]) + epsilon - low + high
        state = (x, rest, low, high)
        newton = _Newton(G, a, bias_weight is not None, *state)
        residual = residual_dual, float(a @ beta)
        step = newton.step(residual, products)
        length = _longest(*state, step)
        centred = _complementarity(*state, step, length) / (4 * m)
        target_mu = mu * (centred / mu) ** 3
        second_order = step.x * step.low - target_mu, -step.x * step.high - target_mu
        step = newton.step(residual, (products[0] + second_order[0], products[1] + second_order[1]))
        length = min(1.0, 0.995 * _longest(*state, step))
        x, rest = x + length * step.x, rest - length * step.x
        low, high = low + length * step.low, high + length * step.high
        bias += length * step.bias
        n_iter += 1
    if best.gap > 1e-6:
        warnings.warn(
            f"the L1 problem of {m} sums was solved to a relative gap of {best.gap:.1e} only; "
            "a larger penalty on the norm (gamma1) is easier to solve",
            ConvergenceWarning,
            stacklevel=2,
        )
    status = "optimal" if best.gap <= _ENOUGH else "iteration limit"
    return best.solution(C, n_iter=n_iter, status=status)


def _by_support_vectors(G: Floats, b: Floats, a: Floats, epsilon: float) -> "_Point":
    """Solve in units of C: libsvm finds which unknowns are free, linear systems their values.

    Divided by a, as means instead of sums, the bias counts once in every target, and SVR
    has the same problem but for epsilon, which is one number there. It also keeps the kernel in
    single precision: its answer is a start.
    """
    size, scale = a.mean(), np.abs(b / a).max() or 1.0
    svr = SVR(kernel="precomputed", C=size, epsilon=epsilon / size, tol=1e-5 * scale)
    svr.fit(G / np.outer(a, a), b / a, sample_weight=a / size)
    beta = np.zeros(len(b))
    beta[svr.support_] = svr.dual_coef_[0] / a[svr.support_]
    point = _Point.of(beta, float(svr.intercept_[0]), G, b, a, epsilon)
    sign = np.sign(beta)
    free = (sign != 0) & (np.abs(beta) < 1.0 - 1e-9)
    for _ in range(_MAX_CORRECTIONS):
        beta, bias = _solve_free(G, b - epsilon * sign, a, sign, free)
        found = _Point.of(beta, bias, G, b, a, epsilon)
        point = found if found.gap < point.gap else point
        if point.gap <= _ENOUGH:
            break
        # A free unknown that left its side goes to the end it crossed; one that is pulled back, or
        # pulled out of the zone that costs nothing, is freed.
        pull = -np.sign(G @ beta + bias * a - b)
        excess = np.abs(G @ beta + bias * a - b) - epsilon
        crossed_zero, crossed_end = free & (beta * sign < 0), free & (beta * sign > 1)
        freed = ~free & np.where(sign == 0, excess > 0, (excess < 0) | (pull != sign))
        sign = np.where(crossed_zero, 0.0, np.where(freed & (sign == 0), pull, sign))
        free = (free & ~crossed_zero & ~crossed_end) | freed
    return point


def _solve_free(
    G: Floats, right: Floats, a: Floats, sign: Floats, free: NDArray[np.bool_]
) -> tuple[Floats, float]:
    """Values of the free unknowns and the bias where the others are at 0, -1 or 1."""
    beta = np.where(free, 0.0, sign)
    n_free = int(free.sum())
    system = np.zeros((n_free + 1, n_free + 1))
    system[:-1, :-1] = G[np.ix_(free, free)]
    system[-1, :-1] = system[:-1, -1] = a[free]
    solution = np.linalg.lstsq(system, np.append(right[free] - G[free] @ beta, -a @ beta))[0]
    beta[free] = solution[:-1]
    return beta, float(solution[-1])


def _hinge(residual: Floats, epsilon: float) -> float:
    return float(np.maximum(np.abs(residual) - epsilon, 0.0).sum())


@dataclass(frozen=True)
class _Point:
    """A pair of primal and dual solutions in units of C, and their two values."""

    beta: Floats
    bias: float
    certificate: Certificate

    @classmethod
    def of(
        cls, beta: Floats, bias: float, G: Floats, b: Floats, a: Floats, epsilon: float
    ) -> "_Point":
        # Moved onto a'beta = 0 and into the box, so that the dual value is a true bound.
        beta = beta - a * (a @ beta) / max(float(a @ a), 1.0)
        beta = beta / max(1.0, float(np.abs(beta).max()))
        fit = G @ beta
        norm = 0.5 * float(beta @ fit)
        dual = float(b @ beta) - epsilon * float(np.abs(beta).sum()) - norm
        return cls(beta, bias, Certificate(_hinge(fit + bias * a - b, epsilon) + norm, dual))

    @property
    def gap(self) -> float:
        return self.certificate.relative_gap

    def solution(self, C: float, *, n_iter: int = 0, status: str = "optimal") -> KernelSolution:
        return KernelSolution(
            beta=C * self.beta,
            bias=self.bias,
            certificate=self.certificate,
            n_iter=n_iter,
            status=status,
        )


@dataclass(frozen=True)
class _Step:
    x: Floats
    low: Floats
    high: Floats
    bias: float


class _Newton:
    """One linear system per step, of the size of G: p and q are eliminated."""

    def __init__(
        self,
        G: Floats,
        a: Floats,
        free_bias: bool,
        x: Floats,
        rest: Floats,
        low: Floats,
        high: Floats,
    ):
        self._a, self._free_bias = a, free_bias
        self._point = x, rest, low, high
        self._curvature = low / x + high / rest
        self._slack = (1.0 / self._curvature).sum(axis=0)
        system = G.copy()
        system[np.diag_indices_from(system)] += 1.0 / self._slack
        self._factor = cho_factor(system, overwrite_a=True, check_finite=False)
        self._gram = G
        self._toward = cho_solve(self._factor, a, check_finite=False)

    def step(self, residual: tuple[Floats, float], products: tuple[Floats, Floats]) -> _Step:
        """Newton's step for the given residuals and complementarity products."""
        x, rest, low, high = self._point
        (residual_dual, residual_bias), (low_product, high_product) = residual, products
        right = -(residual_dual + low_product / x - high_product / rest)
        free = right / self._curvature
        beta = cho_solve(self._factor, (free[0] - free[1]) / self._slack, check_finite=False)
        bias = 0.0
        if self._free_bias:
            bias = float((self._a @ beta + residual_bias) / (self._a @ self._toward))
            beta = beta - bias * self._toward
        pull = self._gram @ beta + bias * self._a
        step_x = (right - np.array([pull, -pull])) / self._curvature
        # Of p and q the flatter one would be a difference of equals over almost nothing; it
        # follows from the other one and beta.
        flat = self._curvature[0] < self._curvature[1]
        step_x = np.where(
            np.array([flat, ~flat]), np.array([beta + step_x[1], step_x[0] - beta]), step_x
        )
        return _Step(
            step_x,
            -(low_product + low * step_x) / x,
            -(high_product - high * step_x) / rest,
            bias,
        )


def _longest(x: Floats, rest: Floats, low: Floats, high: Floats, step: _Step) -> float:
    """The largest length, at most 1, that keeps everything positive."""
    length = 1.0
    for value, change in (
        (x, step.x),
        (rest, -step.x),
        (low, step.low),
        (high, step.high),
    ):
        falling = change < 0
        if falling.any():
            length = min(length, float((-value[falling] / change[falling]).min()))
    return length


def _complementarity(
    x: Floats, rest: Floats, low: Floats, high: Floats, step: _Step, length: float
) -> float:
    products = (x + length * step.x) * (low + length * step.low)
    products += (rest - length * step.x) * (high + length * step.high)
    return float(products.sum())
