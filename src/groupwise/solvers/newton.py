"""Linear models for rows with weights: a primal Newton method that starts from any plane."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import entr, expit

from groupwise._typing import Rows
from groupwise.solvers.certificate import Certificate
from groupwise.solvers.solution import Solution

__all__ = ["LOSSES", "Plane", "PlaneSolution", "fit_plane", "plane_objective"]

_MAX_NEWTON = 200
_MAX_CG = 100
# Up to so many dense features the Hessian is formed and factorised.
_FEW_FEATURES = 200


@dataclass(frozen=True)
class Plane:
    """A separating plane, :math:`f(x) = w^T x + b`."""

    coef: NDArray[np.float64]
    intercept: float

    @classmethod
    def zero(cls, n_features: int) -> "Plane":
        return cls(np.zeros(n_features), 0.0)

    def score(self, X: Rows) -> NDArray[Any]:
        return X @ self.coef + self.intercept


@dataclass(frozen=True, kw_only=True)
class PlaneSolution(Solution):
    r"""The plane of least cost.

    With :math:`\alpha_i = -c_i\, \ell'(s_i f(x_i))` the dual value of the certificate is
    :math:`-\frac12\|\sum_i \alpha_i s_i x_i\|^2 - \sum_i c_i\, \ell^*(-\alpha_i / c_i)`, a
    bound where :math:`\sum_i \alpha_i s_i`, the residual, is zero.

    Attributes
    ----------
    plane : Plane
    certificate, n_iter, status
        As in :class:`Solution`.
    """

    plane: Plane


def fit_plane(
    X: Rows,
    sign: NDArray[Any],
    cost: NDArray[Any],
    *,
    loss: str = "squared_hinge",
    start: Plane | None = None,
    tol: float = 1e-4,
) -> PlaneSolution:
    r"""Minimise :math:`\frac12\|w\|^2 + \sum_i c_i\, \ell(s_i (w^T x_i + b))` from a given start.

    Truncated Newton steps (conjugate gradients on the generalised Hessian) with an exact line
    search, which costs no further pass over ``X`` (Keerthi and DeCoste 2005; Chapelle 2007). The
    intercept is not penalised. One iteration of either loop is two products with ``X``, so sparse
    rows stay as they are and nothing of their size is copied.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    sign : ndarray of shape (n_rows,)
        -1 or +1.
    cost : ndarray of shape (n_rows,)
        :math:`c_i \ge 0`.
    loss : {"squared_hinge", "logistic"}
        :math:`\ell(u) = \max(0, 1-u)^2` or :math:`\ln(1 + e^{-u})`.
    start : Plane, default=None
        ``None`` starts at zero.
    tol : float, default=1e-4
        The gradient's norm at the end, as a share of that at the zero plane.

    Returns
    -------
    solution : PlaneSolution

    Raises
    ------
    RuntimeError
        If the gradient does not fall below ``tol``.
    """
    parts = LOSSES[loss]
    transposed = X.T
    coef = np.zeros(X.shape[1]) if start is None else start.coef.copy()
    intercept = 0.0 if start is None else start.intercept
    slope = cost * sign * parts.slope(np.zeros(len(sign)))
    goal = tol * np.hypot(np.linalg.norm(transposed @ slope), slope.sum())
    score = X @ coef + intercept
    for n_iter in range(_MAX_NEWTON):
        slope = cost * sign * parts.slope(sign * score)
        grad, grad_b = coef + transposed @ slope, slope.sum()
        norm = np.hypot(np.linalg.norm(grad), grad_b)
        if norm <= max(goal, 1e-14):
            plane = Plane(coef, float(intercept))
            proof = _certify(parts, cost, sign * score, slope, coef, coef - grad)
            return PlaneSolution(plane=plane, certificate=proof, n_iter=n_iter)
        curvature = cost * parts.curvature(sign * score)
        step, step_b = _newton_step(
            X, transposed, curvature, grad, grad_b, min(0.1, np.sqrt(norm) * 0.1)
        )
        step_score = X @ step + step_b
        length = _line_search(parts, sign, cost, score, step_score, coef @ step, step @ step)
        coef += length * step
        intercept += length * step_b
        score += length * step_score
    raise RuntimeError(
        f"the Newton method did not reach a gradient below {goal:.2g} in {_MAX_NEWTON} steps "
        f"(it is {norm:.2g}); scale the features, or raise tol"
    )


def plane_objective(
    X: Rows, sign: NDArray[Any], cost: NDArray[Any], plane: Plane, *, loss: str = "squared_hinge"
) -> float:
    """The value :func:`fit_plane` minimises, at a given plane."""
    value = LOSSES[loss].value(sign * plane.score(X))
    return float(0.5 * plane.coef @ plane.coef + cost @ value)


def _certify(
    parts: "_Loss",
    cost: NDArray[Any],
    margin: NDArray[Any],
    slope: NDArray[Any],
    coef: NDArray[Any],
    dual_coef: NDArray[Any],
) -> Certificate:
    """Primal and dual value; ``dual_coef`` is the sum of alpha s x, which the gradient holds."""
    primal = 0.5 * coef @ coef + cost @ parts.value(margin)
    dual = cost @ parts.dual(-parts.slope(margin)) - 0.5 * dual_coef @ dual_coef
    return Certificate(float(primal), float(dual), abs(float(slope.sum())))


def _newton_step(
    X: Rows,
    transposed: Rows,
    curvature: NDArray[Any],
    grad: NDArray[Any],
    grad_b: float,
    accuracy: float,
) -> tuple[NDArray[Any], float]:
    """Solve H step = -grad by conjugate gradients, H = [I + X'DX, X'D1; 1'DX, 1'D1]."""
    if len(grad) <= _FEW_FEATURES and not issparse(X):
        return _direct_step(X, curvature, grad, grad_b)
    total = curvature.sum()
    # the intercept's scale: without it one stiff direction sets the pace
    scale_b = 1.0 / np.sqrt(max(total, 1e-12))
    step, step_b = np.zeros_like(grad), 0.0
    residual, residual_b = -grad, -grad_b * scale_b
    way, way_b = residual.copy(), residual_b
    square = residual @ residual + residual_b**2
    stop = accuracy**2 * square
    for _ in range(_MAX_CG):
        bent = curvature * (X @ way + way_b * scale_b)
        image, image_b = way + transposed @ bent, bent.sum() * scale_b
        length = square / (way @ image + way_b * image_b)
        step += length * way
        step_b += length * way_b
        residual -= length * image
        residual_b -= length * image_b
        previous, square = square, residual @ residual + residual_b**2
        if square <= stop:
            break
        way = residual + (square / previous) * way
        way_b = residual_b + (square / previous) * way_b
    return step, step_b * scale_b


def _direct_step(
    X: NDArray[Any], curvature: NDArray[Any], grad: NDArray[Any], grad_b: float
) -> tuple[NDArray[Any], float]:
    """The same by one factorisation, where the Hessian is small."""
    bent = X * curvature[:, None]
    hessian = np.empty((len(grad) + 1, len(grad) + 1))
    hessian[:-1, :-1] = X.T @ bent
    hessian[:-1, :-1].flat[:: len(grad) + 1] += 1.0
    hessian[-1, :-1] = hessian[:-1, -1] = bent.sum(axis=0)
    hessian[-1, -1] = max(curvature.sum(), 1e-12)
    step = -np.linalg.solve(hessian, np.append(grad, grad_b))
    return step[:-1], float(step[-1])


def _line_search(
    parts: "_Loss",
    sign: NDArray[Any],
    cost: NDArray[Any],
    score: NDArray[Any],
    step_score: NDArray[Any],
    linear: float,
    square: float,
) -> float:
    """The zero of the derivative along the step, by Newton's method kept inside a bracket."""
    low, high, length = 0.0, np.inf, 1.0
    margin, change = sign * score, sign * step_score
    for _ in range(60):
        here = margin + length * change
        slope = linear + length * square + cost @ (change * parts.slope(here))
        if slope == 0:  # nowhere to go, and where all margins are met no curvature either
            return length
        if slope > 0:
            high = length
        else:
            low = length
        bend = square + cost @ (change**2 * parts.curvature(here))
        following = length - slope / bend if bend > 0 else 2.0 * length
        if not low < following < high:
            following = 0.5 * (low + high) if np.isfinite(high) else 2.0 * length
        if abs(following - length) <= 1e-6 * length:
            return following
        length = following
    return length


class _Loss(Protocol):
    """A loss of the margin u: value, slope, (generalised) curvature, and -l*(-v) of v = -slope."""

    def value(self, margin: NDArray[Any]) -> NDArray[Any]: ...
    def slope(self, margin: NDArray[Any]) -> NDArray[Any]: ...
    def curvature(self, margin: NDArray[Any]) -> NDArray[Any]: ...
    def dual(self, pull: NDArray[Any]) -> NDArray[Any]: ...


class _SquaredHinge:
    def value(self, margin: NDArray[Any]) -> NDArray[Any]:
        return np.maximum(1.0 - margin, 0.0) ** 2

    def slope(self, margin: NDArray[Any]) -> NDArray[Any]:
        return -2.0 * np.maximum(1.0 - margin, 0.0)

    def curvature(self, margin: NDArray[Any]) -> NDArray[Any]:
        return 2.0 * (margin < 1.0)

    def dual(self, pull: NDArray[Any]) -> NDArray[Any]:
        return pull - 0.25 * pull**2


class _Logistic:
    def value(self, margin: NDArray[Any]) -> NDArray[Any]:
        return np.logaddexp(0.0, -margin)

    def slope(self, margin: NDArray[Any]) -> NDArray[Any]:
        return -expit(-margin)

    def curvature(self, margin: NDArray[Any]) -> NDArray[Any]:
        proba = expit(margin)
        return proba * (1.0 - proba)

    def dual(self, pull: NDArray[Any]) -> NDArray[Any]:
        return entr(pull) + entr(1.0 - pull)


LOSSES: dict[str, _Loss] = {"squared_hinge": _SquaredHinge(), "logistic": _Logistic()}
