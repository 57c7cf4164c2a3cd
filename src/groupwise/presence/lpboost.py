"""LPBoost: boosting as a linear program, by column generation."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number
from groupwise.presence.background import find_background
from groupwise.presence.base import BasePresenceClassifier
from groupwise.presence.canonical_order import canonical_order
from groupwise.presence.program import (
    Master,
    bind_pool,
    example_cost,
    labelled_rows,
    margin_proba,
    used_hypotheses,
)
from groupwise.presence.stumps import Stumps
from groupwise.rules import Presence

__all__ = ["LPBoostClassifier"]


class LPBoostClassifier(BasePresenceClassifier):
    r"""LPBoost with the 1-norm soft margin; every row takes its group's label.

    The ensemble :math:`f(x) = \sum_k a_k h_k(x)` minimises

    .. math:: \sum_k a_k + C \sum_i \xi_i \quad\text{with}\quad
              y_i f(x_i) + \xi_i \ge 1,\ a \ge 0,\ \xi \ge 0

    over all hypotheses of a pool. Columns are generated: the dual weights rows, the hypothesis with
    the largest weighted score enters, until none exceeds 1. At any time the objective over that
    largest score is a lower bound of the optimum. Groups play no part in training.

    Parameters
    ----------
    estimator : pool, weak learner or classifier, default=None
        :class:`Stumps`, :class:`Balls` and :class:`FixedPool` are searched whole, and the bound
        holds over the whole pool. Any other weak learner of the library (``HistTrees()``) or
        scikit-learn classifier that takes ``sample_weight`` is asked for good hypotheses, and the
        bound holds over those it gave. ``None``: ``Stumps(32)``.
    nu : float, default=0.05
        C is 1 / (nu n_rows): about a share nu of the rows may fall short of the margin.
    C : float, default=None
        Cost of a slack, instead of ``nu``.
    background : "auto", None or class, default="auto"
        How rows decide for groups: see :class:`DPBoostClassifier`.
    tol : float, default=1e-6
        How far the largest score may exceed 1.
    max_queries : int, default=200
        How often a weak learner is asked for a hypothesis; pools have no limit.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For weak learners that draw.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : ProgramEnsemble
        The weighted hypotheses: ``ensemble_.outputs`` holds one sum for two classes, else one for
        each class.
    estimator_weights_ : ndarray of shape (n_hypotheses,)
        The weights a that are not zero.
    lower_bound_, upper_bound_, gap_ : float
        Proven bound, objective, and their difference over the objective.
    n_columns_ : int
        Hypotheses generated.
    duality_gap_ : float
        Of the last linear program, from its primal and dual values.

    Notes
    -----
    Three or more classes have scores f_c of their own and margins f_y - f_c (Crammer and Singer's).

    References
    ----------
    A. Demiriz, K. Bennett and J. Shawe-Taylor (2002). Linear programming boosting via column
    generation. Machine Learning 46.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.presence import LPBoostClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    >>> clf = LPBoostClassifier(C=1.0).fit(X, y)
    >>> clf.estimator_weights_, clf.upper_bound_
    (array([1.]), 1.0)
    """

    _learns_from_groups = False
    _multi_class = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        nu: float = 0.05,
        C: float | None = None,
        background: Any = "auto",
        tol: float = 1e-6,
        max_queries: int = 200,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.nu = nu
        self.C = C
        self.background = background
        self.tol = tol
        self.max_queries = max_queries
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("nu", self.nu, "(0, 1]")
        check_number("C", self.C, "(0, inf)", none=True)
        check_number("tol", self.tol, "(0, inf)")
        check_number("max_queries", self.max_queries, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        self.rule_ = Presence(find_background(self.background, data.classes))
        order = canonical_order(data.X, data.y_row, Groups.singletons(len(data.y_row))).order
        learner = Stumps(32) if self.estimator is None else self.estimator
        rng = check_random_state(self.random_state)
        pool = bind_pool(learner, data.X[order], rng, self.max_queries)
        cost = example_cost(self.nu, self.C, len(order))
        master = Master(labelled_rows(data.y_row[order], cost, len(data.classes)), pool)
        generated = master.generate(self.tol)
        weight = generated.point.weight
        self.ensemble_, self.estimator_weights_ = used_hypotheses(master, weight)
        self.n_columns_ = len(master.columns)
        self.lower_bound_ = generated.bound
        self.upper_bound_ = master.cost_of(weight)
        self.gap_ = max(0.0, 1.0 - self.lower_bound_ / self.upper_bound_)
        self.duality_gap_ = abs(generated.point.solution.certificate.relative_gap)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        return self.ensemble_.score(rows)

    def _proba(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return margin_proba(score)
