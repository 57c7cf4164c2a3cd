"""AOC-manifold with its parameters chosen by held-out groups."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.folds import Splitter, check_cv
from groupwise.proportions.manifold.problem import ManifoldSettings
from groupwise.proportions.manifold.selection import (
    LAMBDAS,
    RHOS,
    Grid,
    fit_selected,
    select,
)
from groupwise.proportions.soft_labels import SoftLabelMixin, aggregate_targets

__all__ = ["ManifoldAOCClassifierCV"]


class ManifoldAOCClassifierCV(SoftLabelMixin, BaseProportionsClassifier):
    r"""``ManifoldAOCClassifier`` that chooses kernel width and penalties itself.

    No row labels are needed: what is judged is how well the sums of groups are predicted that the
    model was not fitted to. For the L2 forms, leaving out one group at a time has a closed form,

    .. math:: b_i - \hat b_i^{(-i)} = \beta_i / P_{ii} ,

    and one factorisation per width and rho serves every gamma1. Where that is not honest (a graph
    that still holds the rows left out) or not possible (L1), whole groups are held out in folds.

    Parameters
    ----------
    level : {"row", "group"}, default="row"
    loss : {"l2", "l1"}, default="l2"
    goal : {"induction", "transduction"}, default="induction"
        What the model is for: rows it has never seen, or the training rows themselves. Decides
        whether the graph may hold the rows of a group that is left out.
    kernel : {"rbf", "linear"}, default="rbf"
    widths : tuple of float, default=None
        Kernel widths to choose from, in medians of the distance between rows. ``None``: seven, from
        0.5 to 4 for induction and from 0.25 to 2 for transduction.
    rhos : tuple of float, default=(0, 0.1, 1, 10, 100, 1000)
        Ratios gamma2 / gamma1 to choose from; 0 is no graph.
    lambdas : tuple of float, default=17 values from 1e-6 to 100
        gamma1 to choose from, in units of the mean diagonal of the groups' deformed Gram matrix.
    cv : int or splitter, default=5
        Where there are folds: their number, or a splitter that keeps groups whole, such as
        ``WholeGroupKFold``. It is given no y.
    fit_intercept, epsilon, graph, n_components, classes, group_column, random_state
        As in :class:`ManifoldAOCClassifier`; ``random_state`` also draws the folds.

    Attributes
    ----------
    width_, gamma1_, gamma2_ : float
        What was chosen.
    error_ : ndarray of shape (n_widths, n_rhos, n_lambdas)
        Mean squared error of held-out groups' sums over their sizes, at every point of the grid.
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    References
    ----------
    S. Chen, B. Liu, M. Qian and C. Zhang (2009). Instance- and bag-level manifold regularization
    for aggregate outputs classification. CIKM.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import ManifoldAOCClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> d = make_aggregates(X, y, size=5, random_state=0)
    >>> clf = ManifoldAOCClassifierCV(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> clf.error_.shape, bool((clf.predict(X) == y).mean() > 0.9)
    ((7, 6, 17), True)
    """

    def __init__(
        self,
        level: str = "row",
        loss: str = "l2",
        *,
        goal: str = "induction",
        kernel: str = "rbf",
        widths: tuple[float, ...] | None = None,
        rhos: tuple[float, ...] = RHOS,
        lambdas: tuple[float, ...] = LAMBDAS,
        cv: int | Splitter = 5,
        fit_intercept: bool = True,
        epsilon: float = 0.1,
        graph: NeighbourGraph | None = None,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.level = level
        self.loss = loss
        self.goal = goal
        self.kernel = kernel
        self.widths = widths
        self.rhos = rhos
        self.lambdas = lambdas
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.epsilon = epsilon
        self.graph = graph
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _settings(self) -> ManifoldSettings:
        return ManifoldSettings.of(self.get_params(deep=False))

    def _grid(self) -> Grid:
        return Grid.for_goal(self.goal, self.kernel, self.widths, self.rhos, self.lambdas)

    def _check_parameters(self) -> None:
        self._settings()
        self._grid()
        check_cv(self.cv)

    def _fit_values(self, data: ShareRows) -> NDArray[np.float64]:
        target_group, settings = aggregate_targets(data), self._settings()
        selection = select(
            settings,
            data.X,
            data.groups,
            target_group,
            self._grid(),
            goal=self.goal,
            cv=self.cv,
        )
        self.width_ = selection.width
        self.gamma1_ = selection.gamma1
        self.gamma2_ = selection.gamma2
        self.error_ = selection.error
        self.function_, values_row = fit_selected(
            selection, settings, data.X, data.groups, target_group
        )
        return values_row

    def _values(self, X: Rows) -> NDArray[np.float64]:
        return self.function_.values(X)
