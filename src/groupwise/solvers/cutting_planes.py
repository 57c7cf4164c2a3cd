"""One-slack cutting planes: a small quadratic program that grows by one constraint at a time."""

import logging
import sys
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.exceptions import solving
from groupwise.solvers.certificate import Certificate
from groupwise.solvers.solution import Solution

__all__ = ["CutSolution", "Oracle", "SimplexQP", "Violation", "minimise"]

# How far to go from the best plane to the program's plane for the next constraint.
_STEP = 0.1
# Turns without any gain after which only rounding is left; in exact numbers one in two gains.
_MAX_IDLE = 10

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Violation:
    r"""The linear piece :math:`\Delta - \langle u, f \rangle` of a loss, largest at scores f.

    Attributes
    ----------
    loss : float
        :math:`\Delta`.
    share_row : ndarray of shape (n_rows,)
        u, the negative gradient.
    """

    loss: float
    share_row: NDArray[np.float64]

    def value(self, score_row: NDArray[np.float64]) -> float:
        """The piece at given scores."""
        return self.loss - float(self.share_row @ score_row)


class Oracle(Protocol):
    """A loss of row scores that is a maximum of linear pieces, of which it finds the largest."""

    @property
    def n_units(self) -> int:
        """What the loss is a mean of: C counts once for each."""
        ...

    def worst(self, score_row: NDArray[np.float64]) -> Violation:
        """The largest piece at given scores: its value is the loss."""
        ...


@dataclass(frozen=True, kw_only=True)
class CutSolution(Solution):
    """A plane through the origin; ``n_iter`` is the number of cuts.

    Attributes
    ----------
    coef : ndarray of shape (n_columns,)
    certificate, n_iter, status
        As in :class:`Solution`.
    """

    coef: NDArray[np.float64]


@dataclass
class SimplexQP:
    r"""Maximise :math:`\Delta^T \alpha - \frac12 \alpha^T G \alpha` over alpha >= 0, sum = total.

    The first variable is the slack's: no loss, no vector. Wolfe's method: solve on the support,
    walk until a variable reaches zero, drop it; add the variable with the largest gradient.
    """

    total: float
    gram: NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 1)))
    loss: NDArray[np.float64] = field(default_factory=lambda: np.zeros(1))

    def __post_init__(self) -> None:
        self.alpha = np.array([self.total])

    def add(self, products: NDArray[np.float64], square: float, loss: float) -> None:
        """A new variable, given its products with the vectors of the others."""
        n = len(self.loss)
        gram = np.zeros((n + 1, n + 1))
        gram[:n, :n] = self.gram
        gram[n, 1:n] = gram[1:n, n] = products
        gram[n, n] = square
        self.gram = gram
        self.loss = np.append(self.loss, loss)
        self.alpha = np.append(self.alpha, 0.0)

    def solve(self, accuracy: float) -> float:
        """Improve alpha until no exchange gains more than ``accuracy``; the dual value.

        In exact numbers every support is better than the last; one that comes again is rounding.
        """
        seen: set[bytes] = set()
        for _ in range(50 * len(self.loss)):
            gradient = self.loss - self.gram @ self.alpha
            enters = int(np.argmax(gradient))
            if self.total * gradient[enters] - self.alpha @ gradient <= accuracy:
                break
            self._on_support(np.union1d(np.flatnonzero(self.alpha > 0), enters))
            support = (self.alpha > 0).tobytes()
            if support in seen:
                break
            seen.add(support)
        return float(self.loss @ self.alpha - 0.5 * self.alpha @ self.gram @ self.alpha)

    def _on_support(self, support: NDArray[np.intp]) -> None:
        while True:
            goal = self._equality(support)
            alpha = self.alpha[support]
            if (goal > 0).all():
                self.alpha[support] = goal
                return
            falling = goal <= 0
            step = np.min(alpha[falling] / np.maximum(alpha[falling] - goal[falling], 1e-300))
            alpha = np.maximum(alpha + step * (goal - alpha), 0.0)
            alpha[falling & (alpha <= 1e-14 * self.total)] = 0.0
            if (alpha > 0).all():  # rounding: the one that sets the step is the one that goes
                alpha[np.argmin(alpha)] = 0.0
            self.alpha[support] = alpha * (self.total / alpha.sum())
            support = support[alpha > 0]

    def _equality(self, support: NDArray[np.intp]) -> NDArray[np.float64]:
        """The maximum on the support with the sign left free."""
        n = len(support)
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = self.gram[np.ix_(support, support)]
        # a little curvature where the vectors depend on each other
        system[np.arange(n), np.arange(n)] += 1e-12 * max(np.trace(system[:n, :n]), 1e-300)
        system[n, n] = 0.0
        with solving():
            return np.linalg.solve(system, np.append(self.loss[support], self.total))[:n]


def minimise(X: Rows, oracle: Oracle, C: float, *, tol: float, max_cuts: int) -> CutSolution:
    r"""Minimise :math:`\frac12 \|w\|^2 + C n L(Xw)` over planes through the origin.

    L is the oracle's loss and n its ``n_units``. Every turn adds the constraint that is
    violated most (Joachims, Finley and Yu 2009, one slack) and solves the dual of the program with
    all constraints so far, whose value is a lower bound; the objective of a plane, an upper bound,
    comes with the oracle. Constraints are sought not at the program's own plane but on the way
    from the best plane so far to it, which keeps them near the optimum (Franc and Sonnenburg 2009);
    where that one is not violated enough to raise the bound, at the plane itself. Where neither
    bound moves any more, rounding has the last word: the rows are too far apart in size.
    """
    total = C * oracle.n_units
    qp = SimplexQP(total)
    vectors = np.zeros((0, X.shape[1]))
    best, primal, dual = np.zeros(X.shape[1]), sys.float_info.max, 0.0
    coef, bold, n_idle = best, False, 0
    while primal - dual > tol * primal and len(vectors) < max_cuts and n_idle < _MAX_IDLE:
        point = coef if bold else best + _STEP * (coef - best)
        score = X @ point
        cut = oracle.worst(score)
        value = 0.5 * float(point @ point) + total * max(cut.value(score), 0.0)
        n_idle += 1
        if value < primal:
            best, primal, n_idle = point, value, 0
        rows = np.flatnonzero(cut.share_row)
        vector = X[rows].T @ cut.share_row[rows]
        qp.add(vectors @ vector, float(vector @ vector), cut.loss)
        vectors = np.vstack([vectors, vector])
        before, dual = dual, max(dual, qp.solve(0.01 * tol * primal))
        n_idle = 0 if dual > before else n_idle
        coef = qp.alpha[1:] @ vectors
        bold = bool(dual - before < 0.1 * tol * primal) and not bold
    logger.info("%d cuts, objective %.6g, lower bound %.6g", len(vectors), primal, dual)
    proven = primal - dual <= tol * primal
    return CutSolution(
        coef=best,
        certificate=Certificate(primal, dual),
        n_iter=len(vectors),
        status="optimal" if proven else "iteration limit",
    )
