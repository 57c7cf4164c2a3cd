"""The transductive support vector machine as Joachims (1999) prints it."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.extmath import row_norms

from groupwise._typing import Rows
from groupwise.solvers.newton import Plane
from groupwise.transfer.transduction import Labelling, highest, n_positive

__all__ = ["PairSwitching", "gram_matrix", "hinge_plane", "switchable_pair"]

# Up to so many rows libsvm works on their inner products; above, liblinear on the rows.
_EXACT_ROWS = 2000
_INTERCEPT = 3.0
_MAX_PASSES = 1_000_000
# C*- at the start, and times num+ / (k - num+) that of the other class.
_FIRST_COST = 1e-5


@dataclass(frozen=True)
class PairSwitching:
    r"""The algorithm of Joachims (1999): one pair of labels is changed, then all is solved again.

    The labelling :math:`\hat y` and the plane minimise

    .. math:: \tfrac12 \|w\|^2 + \sum_i c_i \xi_i + C^*_- \sum_{j: \hat y_j = -1} \xi_j
              + C^*_+ \sum_{j: \hat y_j = 1} \xi_j, \quad \xi = \max(0, 1 - y f(x)),

    while :math:`C^*_-` and :math:`C^*_+` double from next to nothing up to :math:`C^*`. As printed
    the loop ends before it solves at :math:`C^*` itself; here labels are checked there too.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_labeled + n_unlabeled, n_features)
    n_labeled : int
    cost_unlabeled : float
        :math:`C^*`.
    tol : float
        Of the solver, in units of f; a pair is switchable if its slacks exceed 2 by more.
    """

    X: Rows
    n_labeled: int
    cost_unlabeled: float
    tol: float

    @cached_property
    def gram(self) -> NDArray[np.float64] | None:
        """The rows' inner products."""
        return gram_matrix(self.X)

    def search(self, sign: NDArray[Any], cost: NDArray[Any], fraction: float) -> Labelling:
        """Loop 1: double the costs of the unlabelled rows.

        Parameters
        ----------
        sign, cost : ndarray of shape (n_labeled,)
        fraction : float
            Share of positive labels.
        """
        top, labeled = self.cost_unlabeled, self.X[: self.n_labeled]
        plane = hinge_plane(labeled, sign, cost, self.tol, gram_matrix(labeled))
        n_unlabeled = self.X.shape[0] - self.n_labeled
        n_high = n_positive(fraction, n_unlabeled)
        guess = highest(plane.score(self.X)[self.n_labeled :], n_high)
        negative = min(_FIRST_COST, top)
        positive = min(_FIRST_COST * n_high / max(n_unlabeled - n_high, 1), top)
        while True:
            for found in self.switch(sign, cost, guess, negative, positive):
                guess = found.sign
            if negative == positive == top:
                return found
            negative, positive = min(2.0 * negative, top), min(2.0 * positive, top)

    def switch(
        self,
        sign: NDArray[Any],
        cost: NDArray[Any],
        guess: NDArray[Any],
        negative: float,
        positive: float,
    ) -> Iterator[Labelling]:
        """Loop 2: change a pair of labels while one is left, and solve after each change.

        Every change lowers the objective (his Theorem 2), so that no labelling comes twice; one
        that does, by the solver's rounding, ends the loop.

        Parameters
        ----------
        sign, cost : ndarray of shape (n_labeled,)
        guess : ndarray of shape (n_unlabeled,)
        negative, positive : float
            Costs of the unlabelled rows by their label.
        """
        seen: set[bytes] = set()
        while guess.tobytes() not in seen:
            seen.add(guess.tobytes())
            signs = np.concatenate([sign, guess])
            costs = np.concatenate([cost, np.where(guess > 0, positive, negative)])
            plane = hinge_plane(self.X, signs, costs, self.tol, self.gram)
            score = plane.score(self.X)
            slack = np.maximum(1.0 - signs * score, 0.0)
            yield Labelling(plane, guess, float(0.5 * plane.coef @ plane.coef + costs @ slack))
            pair = switchable_pair(slack[self.n_labeled :], guess, self.tol)
            if pair is None:
                return
            guess = guess.copy()
            guess[list(pair)] *= -1.0


def switchable_pair(
    slack: NDArray[Any], guess: NDArray[Any], tol: float = 0.0
) -> tuple[int, int] | None:
    r"""The positive and the negative row of largest slack, if both are positive and exceed 2."""
    high, low = np.flatnonzero(guess > 0), np.flatnonzero(guess < 0)
    if len(high) == 0 or len(low) == 0:
        return None
    m, n = int(high[slack[high].argmax()]), int(low[slack[low].argmax()])
    is_worth_it = min(slack[m], slack[n]) > 0 and slack[m] + slack[n] > 2.0 + tol
    return (m, n) if is_worth_it else None


def gram_matrix(X: Rows) -> NDArray[np.float64] | None:
    """Inner products of the rows, dense; ``None`` where there are too many."""
    if X.shape[0] > _EXACT_ROWS:
        return None
    gram: Any = X @ X.T
    return gram.toarray() if issparse(gram) else gram


def hinge_plane(
    X: Rows,
    sign: NDArray[Any],
    cost: NDArray[Any],
    tol: float,
    gram: NDArray[np.float64] | None,
) -> Plane:
    r"""Minimise :math:`\frac12\|w\|^2 + \sum_i c_i \max(0, 1 - s_i f(x_i))`.

    With the rows' inner products by libsvm, whose intercept is not penalised, as in SVMlight.
    Without them by liblinear, which adds :math:`b^2 / (18 l^2)`, l the rows' mean length.
    """
    if gram is not None:
        svm = SVC(kernel="precomputed", C=1.0, tol=tol).fit(gram, sign, sample_weight=cost)
        coef = svm.dual_coef_[0] @ X[svm.support_]
        return Plane(np.asarray(coef).ravel(), float(svm.intercept_[0]))
    length = float(row_norms(X).mean())
    linear = LinearSVC(
        loss="hinge",
        intercept_scaling=_INTERCEPT * max(length, np.finfo(float).tiny),
        tol=tol,
        max_iter=_MAX_PASSES,
        random_state=0,
    ).fit(X, sign, sample_weight=cost)
    return Plane(linear.coef_[0], float(linear.intercept_[0]))
