"""LPBoost: boosting as a linear program, by column generation."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from groupwise.presence._base import BaseProgramBooster
from groupwise.presence._disjunctions import labelled_rows
from groupwise.presence._master import Master
from groupwise.presence._order import arrange
from groupwise.presence._pool import bind_pool

__all__ = ["LPBoostClassifier"]


class LPBoostClassifier(BaseProgramBooster):
    r"""LPBoost with the 1-norm soft margin; every row takes its group's label.

    The ensemble :math:`f(x) = \sum_k a_k h_k(x)` minimises

    .. math:: \sum_k a_k + C \sum_i \xi_i \quad\text{with}\quad
              y_i f(x_i) + \xi_i \ge 1,\ a \ge 0,\ \xi \ge 0

    over all hypotheses of a pool. Columns are generated: the dual weights rows, the hypothesis with
    the largest weighted score enters, until none exceeds 1. At any time the objective over that
    largest score is a lower bound of the optimum.

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
    n_asked : int, default=200
        Largest number of hypotheses asked of a weak learner; pools have no limit.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For weak learners that draw.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensembles_ : list
        One ensemble of weighted hypotheses; with three or more classes one for each.
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

    def __init__(
        self,
        estimator: Any = None,
        *,
        nu: float = 0.05,
        C: float | None = None,
        background: Any = "auto",
        tol: float = 1e-6,
        n_asked: int = 200,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.nu = nu
        self.C = C
        self.background = background
        self.tol = tol
        self.n_asked = n_asked
        self.group_column = group_column
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> "LPBoostClassifier":
        """Fit to rows and their labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's label, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None
            Only checked: training takes every row for itself.

        Returns
        -------
        self : LPBoostClassifier
        """
        self._check_parameters()
        data = self._check_training(X, y, groups)
        self._background()
        order = arrange(data.X, data.y_row, data.groups.singletons(data.groups.n_rows)).order
        rng = check_random_state(self.random_state)
        pool = bind_pool(self._learner(), data.X[order], rng, self.n_asked)
        problem = labelled_rows(data.y_row[order], self._cost(len(order)), len(data.classes))
        master = Master(problem, pool)
        generated = master.generate(self.tol)
        self._store(master, generated.point.weight)
        self.n_columns_ = len(master.columns)
        self.lower_bound_ = generated.bound
        self.upper_bound_ = master.cost_of(generated.point.weight)
        self.gap_ = max(0.0, 1.0 - self.lower_bound_ / self.upper_bound_)
        self.duality_gap_ = generated.point.solution.gap
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = False
        return tags
