"""AOC-SVM: a support vector machine whose labels are chosen under the known counts."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.exceptions import GroupDataError
from groupwise.inputs import ShareRows, check_choice, check_number, whole_counts
from groupwise.kernels import check_dense, fit_kernel
from groupwise.proportions.alternating_svm import alternate
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.exact_svm import solve_exact
from groupwise.proportions.manifold import (
    LAMBDAS,
    Expansion,
    Grid,
    ManifoldSettings,
    fit_selected,
    select,
)
from groupwise.proportions.probabilities import RowProba
from groupwise.proportions.soft_labels import aggregate_targets, soft_label_proba

__all__ = ["SVMAOCClassifier"]


class SVMAOCClassifier(BaseProportionsClassifier):
    r"""A support vector machine that also chooses the labels, as the groups' counts allow.

    .. math:: \min_{y} \min_{f, c} \tfrac12 |f|^2 + C \sum_i \max(0, 1 - y_i (f(x_i) + c))
              \quad\text{with}\quad \#\{i \in g : y_i = +1\} = n_g^+

    ``method="alternate"`` takes turns: a support vector machine for the labels, then the best
    labels for its scores (in each group the top rows). Both steps lower the objective, so it ends;
    it ends in a local optimum, and the best of several starts is kept. One start is the labelling
    of the AOC-manifold least squares solution, the others are random.

    ``method="exact"`` solves the mixed-integer program with HiGHS and proves how good the result
    is. The norm is then that of linear programming, :math:`\sum_i |\alpha_i|` with
    :math:`f = \sum_i \alpha_i k(x_i, \cdot)`. For two classes and some dozens of rows.

    Parameters
    ----------
    method : {"alternate", "exact"}, default="alternate"
    C : float, default=1.0
        Weight of the rows' errors.
    kernel : {"rbf", "linear"}, default="rbf"
    width : float, default=1.0
        Standard deviation of the Gaussian kernel, in medians of the distance between rows.
    n_restarts : int, default=3
        Random starts beside the first.
    time_limit : float, default=60.0
        Seconds for ``"exact"``; when they are over, the best labels so far are kept and
        ``gap_`` says what is not proven.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    objective_ : float
        Value of the problem at the solution.
    bound_ : float
        Proven lower bound; minus infinity for ``"alternate"``.
    gap_ : float
        ``(objective_ - bound_) / objective_``.
    n_iter_ : int
        Support vector machines fitted.
    function_ : object
        The function f + c.
    transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`. :meth:`predict_transductive` gives the chosen labels.

    Notes
    -----
    More than two classes, which the paper leaves open: one machine per class against the rest, and
    labels by assignment. An exact optimum is a certificate for the alternation; it is not a better
    classifier, as labellings with large margins need not be true ones.

    References
    ----------
    D. Musicant, J. Christensen and J. Olson (2007). Supervised learning by training on aggregate
    outputs. ICDM. F. X. Yu et al. (2013), proportion-SVM for learning with label proportions, ICML,
    for the alternation.

    Examples
    --------
    >>> from groupwise.proportions import SVMAOCClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = SVMAOCClassifier(random_state=0).fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1])
    >>> clf.predict_transductive().tolist(), clf.predict([[0.3], [4.8]]).tolist()
    (['a', 'a', 'b', 'a', 'b', 'b'], ['a', 'b'])
    """

    def __init__(
        self,
        method: str = "alternate",
        *,
        C: float = 1.0,
        kernel: str = "rbf",
        width: float = 1.0,
        n_restarts: int = 3,
        time_limit: float = 60.0,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.method = method
        self.C = C
        self.kernel = kernel
        self.width = width
        self.n_restarts = n_restarts
        self.time_limit = time_limit
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_choice("method", self.method, ("alternate", "exact"))
        check_number("C", self.C, "(0, inf)")
        check_number("n_restarts", self.n_restarts, "[0, inf)", whole=True)
        check_number("time_limit", self.time_limit, "[0, inf]")

    def _learn(self, data: ShareRows) -> RowProba:
        check_dense(data.groups.n_rows, "rows")
        kernel = fit_kernel(self.kernel, self.width, data.X)
        gram = kernel(data.X, data.X)
        counts = whole_counts(data.counts_group)
        best = alternate(
            gram, counts, data.groups, C=self.C, starts=self._starts(data, counts.shape[1])
        )
        self.objective_, self.bound_, self.n_iter_ = best.objective, -np.inf, best.n_iter
        weights, bias = best.weights, best.bias
        if self.method == "exact":
            if data.n_classes != 2:
                raise GroupDataError(f"method='exact' is for two classes, y holds {data.n_classes}")
            proven = solve_exact(
                gram, counts, data.groups, best.codes, C=self.C, time_limit=self.time_limit
            )
            self.objective_, self.bound_ = proven.certificate.primal, proven.certificate.dual
            weights, bias = proven.weights[:, None], np.array([proven.bias])
        self.gap_ = (self.objective_ - self.bound_) / max(self.objective_, 1e-12)
        kept = np.flatnonzero(np.any(weights != 0, axis=1))
        self.function_ = Expansion(kernel, data.X[kept], weights[kept], bias)
        return soft_label_proba(gram[:, kept] @ weights[kept] + bias)

    def _starts(self, data: ShareRows, n_classes: int) -> list[NDArray[np.float64]]:
        """Scores whose decoding the alternation begins with, (n_rows, n_classes) each."""
        settings, target = ManifoldSettings(kernel=self.kernel), aggregate_targets(data)
        grid = Grid.of(self.kernel, (self.width,), (0.0, 1.0, 100.0), LAMBDAS)
        rows, groups = data.X, data.groups
        selection = select(settings, rows, groups, target, grid, goal="transduction", cv=5)
        _, values_row = fit_selected(selection, settings, rows, groups, target)
        guided = np.log(soft_label_proba(values_row).proba + 1e-300)
        rng = check_random_state(self.random_state)
        shape = (data.groups.n_rows, n_classes)
        return [guided, *(rng.normal(size=shape) for _ in range(self.n_restarts))]

    def _proba(self, X: Rows) -> RowProba:
        return soft_label_proba(self.function_.values(X))
