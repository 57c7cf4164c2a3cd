r"""AOC-SVM as a mixed-integer linear program, solved by HiGHS with a proven gap.

With :math:`f = K\alpha + c` and :math:`z_i = 1` for the second class,

.. math:: \min \sum_i |\alpha_i| + C \sum_i \xi_i, \quad
          \xi_i \ge 1 - f_i - M (1 - z_i), \quad \xi_i \ge 1 + f_i - M z_i, \quad
          \sum_{i \in g} z_i = n_g^+ .

M is large enough to cut nothing off: if a labelling of value U is known, an optimum has
:math:`\sum|\alpha| \le U`, so :math:`|K\alpha| \le U \max|K| = \kappa`; and there is an optimal c
at which some :math:`|f_i| = 1` (the objective is piecewise linear in c with its corners there), so
:math:`|f| \le 2\kappa + 1` and :math:`M = 2\kappa + 2` will do.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import csr_array, eye_array, hstack, vstack

from groupwise.groups import Groups
from groupwise.proportions.manifold import membership
from groupwise.solvers import Certificate, Solution

__all__ = ["ExactSVM", "solve_exact"]


@dataclass(frozen=True, kw_only=True)
class ExactSVM(Solution):
    """A labelling, its machine, and how good it is proven to be.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
    weights : ndarray of shape (n_rows,)
    bias : float
    certificate, n_iter, status
        As in :class:`groupwise.solvers.Solution`; the bound holds for every labelling.
    """

    codes: NDArray[np.intp]
    weights: NDArray[np.float64]
    bias: float


def solve_exact(
    gram: NDArray[np.float64],
    counts_group: NDArray[np.intp],
    groups: Groups,
    start: NDArray[np.intp],
    *,
    C: float,
    time_limit: float,
) -> ExactSVM:
    """Solve for two classes.

    Parameters
    ----------
    gram : ndarray of shape (n_rows, n_rows)
    counts_group : ndarray of int of shape (n_groups, 2)
    groups : Groups
    start : ndarray of shape (n_rows,)
        Any labelling with the known counts; its value bounds what is worth looking at.
    C : float
    time_limit : float
        Seconds.

    Returns
    -------
    solution : ExactSVM
    """
    first = for_labels(gram, start, C)
    n = len(gram)
    big = 2.0 * first.objective * float(np.abs(gram).max()) + 2.0
    same, kernel, one = eye_array(n), csr_array(gram), np.ones((n, 1))
    # columns: alpha+, alpha-, c, xi, z
    upper = hstack([kernel, -kernel, one, same, -big * same])  # f + xi - M z >= 1 - M
    lower = hstack([-kernel, kernel, -one, same, big * same])  # -f + xi + M z >= 1
    member = membership(groups)
    count = hstack([csr_array((groups.n_groups, 3 * n + 1)), member])
    found = milp(
        c=np.concatenate([np.ones(2 * n), [0.0], np.full(n, C), np.zeros(n)]),
        integrality=np.concatenate([np.zeros(3 * n + 1), np.ones(n)]),
        bounds=Bounds(
            np.concatenate([np.zeros(2 * n), [-np.inf], np.zeros(2 * n)]),
            np.concatenate([np.full(3 * n + 1, np.inf), np.ones(n)]),
        ),
        constraints=[
            LinearConstraint(vstack([upper, lower]), np.r_[np.full(n, 1.0 - big), np.ones(n)]),
            LinearConstraint(count, counts_group[:, 1], counts_group[:, 1]),
        ],
        options={"time_limit": time_limit, "mip_rel_gap": 1e-6},
    )
    best = first
    if found.x is not None:
        best = min(
            first,
            for_labels(gram, np.rint(found.x[-n:]).astype(np.intp), C),
            key=lambda s: s.objective,
        )
    # Stopped before the first relaxation was solved, HiGHS has no bound; zero always is one.
    bound = 0.0 if found.mip_dual_bound is None else float(found.mip_dual_bound)
    bound = min(max(bound, 0.0), best.objective)
    proof = Certificate(best.objective, bound)
    status = "optimal" if proof.is_optimal(1e-5) else "time limit"
    return replace(best, certificate=proof, status=status)


def for_labels(gram: NDArray[np.float64], codes: NDArray[np.intp], C: float) -> ExactSVM:
    """The linear-programming machine for given labels: the same program without a choice."""
    n = len(gram)
    sign = np.where(codes == 1, 1.0, -1.0)
    signed = sign[:, None] * gram
    found = linprog(
        np.concatenate([np.ones(2 * n), [0.0], np.full(n, C)]),
        A_ub=-np.hstack([signed, -signed, sign[:, None], np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * n,
        method="highs",
    )
    weights = found.x[:n] - found.x[n : 2 * n]
    return ExactSVM(
        codes=codes,
        weights=weights,
        bias=float(found.x[2 * n]),
        certificate=Certificate(float(found.fun), 0.0),
    )
