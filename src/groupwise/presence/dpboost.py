"""DPBoost: boosting where one row of a group has to have the group's label."""

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.inputs import (
    CandidateRows,
    candidates_of_labels,
    check_candidates,
    check_choice,
    check_number,
    is_table,
)
from groupwise.presence.background import find_background
from groupwise.presence.base import BasePresenceClassifier
from groupwise.presence.canonical_order import CanonicalOrder, canonical_order
from groupwise.presence.program import (
    CutSettings,
    Disjunctions,
    ProgramSettings,
    SolvedProgram,
    bind_pool,
    example_cost,
    margin_proba,
    present_rows,
    solve_program,
    used_hypotheses,
)
from groupwise.presence.stumps import Stumps
from groupwise.rules import Presence

__all__ = ["DPBoostClassifier"]


class DPBoostClassifier(BasePresenceClassifier):
    r"""Disjunctive programming boosting: a positive group needs one positive row, its witness.

    With :math:`f(x) = \sum_k a_k h_k(x)`, DPBoost minimises

    .. math:: \sum_k a_k + \sum_i C_i \xi_i \quad\text{with}\quad
              \max_{x \in X_i} y_i f(x) + \xi_i \ge 1

    over weights :math:`a \ge 0` of all hypotheses of a pool. A convex relaxation gives a bound from
    below; from its optimum, witnesses and weights are chosen in turn, which gives the model and a
    bound from above; branch and bound closes the gap where that is asked for. The paper's own
    classifier is that of the relaxation: ``relaxation="lifted", solution="relaxation",
    background_cost="row"``.

    Parameters
    ----------
    estimator : pool, weak learner or classifier, default=None
        As in :class:`LPBoostClassifier`; ``None``: ``Stumps(32)``.
    nu : float, default=0.02
        C is 1 / (nu n_groups); with ``background_cost="row"`` every row of a background group
        counts as a group.
    C : float, default=None
        Cost of a group's slack, instead of ``nu``.
    background_cost : {"group", "row"}, default="group"
        What the slack of a row of a background group costs. ``"group"``: C over the size of its
        group. ``"row"``: C, as in the paper, whose negative groups are single rows.
    relaxation : {"cuts", "lifted", "embedding"}, default="cuts"
        ``"lifted"``: the paper's program, with weights copied for every row of an ambiguous group
        and parallel reductions as rows; slow, and the reference. ``"cuts"``: the same relaxation in
        the original variables, by projected disjunctive cuts. ``"embedding"``: without reductions,
        a group counts as the maximum of each hypothesis over its rows.
    solution : {"witnesses", "relaxation"}, default="witnesses"
        Whose weights the model has. ``"witnesses"``: those of the best choice of witnesses found.
        ``"relaxation"``: those of the relaxation's optimum, as in the paper; without
        alternation, restarts or search.
    exact : bool, default=False
        Go on with branch and bound until the gap is below ``tol`` or time is up.
    background : "auto", None or class, default="auto"
        The class that a group has only if *all* of its rows have it; its rows are then examples of
        their own. ``None``: groups of every class promise one row only. ``"auto"``: the first of
        two classes (multiple-instance learning), ``None`` for more.
    n_restarts : int, default=0
        Random choices of witnesses tried beside those of the relaxation, with and without cuts.
        They help on small sets and cost time on large ones.
    cut_rounds : int, default=10
        Rounds of cuts at most.
    n_reductions : int or None, default=60
        Certain margins that each group's cut may use, the hardest; ``None``: all.
    max_disjuncts : int or None, default=16
        Larger groups keep the maximum embedding and are not cut off; ``None``: no limit.
    max_effort : float or None, default=5e7
        What the search for cuts may cost, counted in rows times columns of its linear programs: the
        default is some five to ten seconds, and the same on every machine. ``None``: no limit.
    time_limit : float, default=None
        Seconds for everything; what has been proven by then is reported. A fit that ran out of time
        depends on the machine.
    tol : float, default=1e-6
    max_queries : int, default=200
        Largest number of hypotheses asked of a weak learner; pools have no limit.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : ProgramEnsemble
        The weighted hypotheses: ``ensemble_.outputs`` holds one sum for two classes, else one for
        each class.
    estimator_weights_ : ndarray of shape (n_hypotheses,)
        The weights a that are not zero.
    lower_bound_, upper_bound_ : float
        No model over the pool costs less than the first; this one costs the second. For a weak
        learner that is asked, the pool is what it has given.
    gap_ : float
        Their difference over the upper bound.
    witnesses_ : ndarray of shape (n_groups,)
        The row that carries each group, in the order of ``np.unique(groups)``; -1 for groups whose
        rows all count.
    n_reductions_, n_active_reductions_ : int
        Cuts (or, lifted, parallel reductions) made, and those with a dual value at the end.
    n_columns_, n_nodes_ : int
        Hypotheses generated, and nodes of the search (0 without).
    duality_gap_ : float
        Of the relaxation's last linear program.

    Notes
    -----
    The paper is binary. Three or more classes have scores f_c, and a row carries class y if
    :math:`f_y(x) - f_c(x) \ge 1 - \xi_i` for all other c; a group then needs one row and one of its
    candidate classes.

    Where the gap is large, the relaxation's own weights satisfy groups in pieces, no row of which
    has the margin, and classify badly.

    References
    ----------
    S. Andrews and T. Hofmann (2003). Multiple instance learning via disjunctive programming
    boosting. NIPS. Equations 3 to 10.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import DPBoostClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = DPBoostClassifier(C=0.2, random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> clf.lower_bound_ <= clf.upper_bound_
    True
    >>> bool((d.groups[clf.witnesses_] == range(40)).all())  # the row that carries each group
    True
    """

    _multi_class = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        nu: float = 0.02,
        C: float | None = None,
        background_cost: str = "group",
        relaxation: str = "cuts",
        solution: str = "witnesses",
        exact: bool = False,
        background: Any = "auto",
        n_restarts: int = 0,
        cut_rounds: int = 10,
        n_reductions: int | None = 60,
        max_disjuncts: int | None = 16,
        max_effort: float | None = 5e7,
        time_limit: float | None = None,
        tol: float = 1e-6,
        max_queries: int = 200,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.nu = nu
        self.C = C
        self.background_cost = background_cost
        self.relaxation = relaxation
        self.solution = solution
        self.exact = exact
        self.background = background
        self.n_restarts = n_restarts
        self.cut_rounds = cut_rounds
        self.n_reductions = n_reductions
        self.max_disjuncts = max_disjuncts
        self.max_effort = max_effort
        self.time_limit = time_limit
        self.tol = tol
        self.max_queries = max_queries
        self.group_column = group_column
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None) -> "DPBoostClassifier":
        """Fit to rows and their groups' labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            The group's label, repeated on each of its rows; or a table of zeros and ones, the
            classes that the group may have (a DataFrame's columns are their names).
        groups : array-like of shape (n_rows,), default=None
            Group ids. ``None``: each row is a group, which is LPBoost.

        Returns
        -------
        self : DPBoostClassifier
        """
        trial = self._trial()
        trial._fit(X, y, groups)
        return self._take_over(trial)

    def _fit(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> None:
        check_number("nu", self.nu, "(0, 1]")
        check_number("C", self.C, "(0, inf)", none=True)
        check_choice("background_cost", self.background_cost, ("group", "row"))
        check_number("time_limit", self.time_limit, "[0, inf]", none=True)
        check_number("max_queries", self.max_queries, "[1, inf)", whole=True)
        settings = self._settings()
        deadline = np.inf if self.time_limit is None else time.monotonic() + self.time_limit
        data = self._check_candidates(X, y, groups)
        background = find_background(self.background, data.classes)
        ordered = canonical_order(data.X, data.sort_key, data.groups)
        learner = Stumps(32) if self.estimator is None else self.estimator
        rng = check_random_state(self.random_state)
        pool = bind_pool(learner, data.X[ordered.order], rng, self.max_queries)
        problem = self._problem(data, ordered, background)
        solved = solve_program(problem, pool, settings, rng, deadline)
        self.rule_ = Presence(background)
        self.ensemble_, self.estimator_weights_ = used_hypotheses(
            solved.master, solved.incumbent.weight
        )
        self.witnesses_ = _witnesses(solved.incumbent.witness, ordered, problem)
        self._store_proof(solved)

    def _check_candidates(self, X: MatrixLike, y: ArrayLike, groups: Ids) -> CandidateRows:
        """Check training data, with one candidate per group or a table of them."""
        if not is_table(y):
            return candidates_of_labels(self._check_training(X, y, groups))
        X, groups = self._groups_to_fit(X, groups)
        data = check_candidates(self, X, y, groups)
        self.classes_ = data.classes
        self._remember_groups(groups, data.groups)
        return data

    def _problem(
        self, data: CandidateRows, ordered: CanonicalOrder, background: int | None
    ) -> Disjunctions:
        table = data.table[ordered.group]
        whole = np.zeros(len(table), dtype=bool)
        if background is not None:
            whole = table[:, background] & (table.sum(axis=1) == 1)
        n_examples = len(table)
        if self.background_cost == "row":
            n_examples += int((ordered.groups.sizes[whole] - 1).sum())
        cost = example_cost(self.nu, self.C, n_examples)
        return present_rows(table, ordered.groups, whole, cost, whole_cost=self.background_cost)

    def _store_proof(self, solved: SolvedProgram) -> None:
        self.lower_bound_, self.upper_bound_ = solved.bound, solved.incumbent.cost
        self.gap_ = max(0.0, 1.0 - solved.bound / solved.incumbent.cost)
        self.n_reductions_, self.n_active_reductions_ = solved.n_made, solved.n_active
        self.n_columns_, self.n_nodes_ = len(solved.master.columns), solved.n_nodes
        self.duality_gap_ = abs(solved.certificate.relative_gap)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        return self.ensemble_.score(rows)

    def _proba(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        return margin_proba(score)

    def _settings(self) -> ProgramSettings:
        return ProgramSettings(
            relaxation=self.relaxation,
            solution=self.solution,
            exact=self.exact,
            n_restarts=self.n_restarts,
            cuts=CutSettings(
                n_rounds=self.cut_rounds,
                n_reductions=self.n_reductions,
                max_disjuncts=self.max_disjuncts,
                max_effort=self.max_effort,
                tol=self.tol,
            ),
        )


def _witnesses(
    witness: NDArray[np.intp], ordered: CanonicalOrder, problem: Disjunctions
) -> NDArray[np.intp]:
    """The given row that carries each given group; -1 where more than one example is of it."""
    row = problem.row[problem.first_margin[witness]]
    group = ordered.groups.codes[row]
    out = np.full(ordered.groups.n_groups, -1, dtype=np.intp)
    single = np.bincount(group, minlength=len(out)) == 1
    out[ordered.group[group[single[group]]]] = ordered.order[row[single[group]]]
    return out
