"""AOC-manifold for regression: values of rows from totals or means of groups."""

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import RandomState, Rows
from groupwise.base import BaseGroupRegressor
from groupwise.groups import Groups
from groupwise.inputs import TotalRows
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.manifold.problem import ManifoldSettings, fit_manifold

__all__ = ["ManifoldAOCRegressor"]


class ManifoldAOCRegressor(BaseGroupRegressor):
    r"""Values of rows from the total or mean of each group.

    .. math:: \min_{f, c} L(A f + c\,a, b) + \gamma_1 |f|^2 + \gamma_2 f' M f ,

    the problem of :class:`ManifoldAOCClassifier` with b the groups' totals.

    Parameters
    ----------
    level : {"row", "group"}, default="row"
    loss : {"l2", "l1"}, default="l2"
    target : {"mean", "total"}, default="mean"
        What ``y`` holds on each row of a group: its mean (the rows' own values serve as well, as
        only their mean is used), or its total.
    kernel, width, gamma1, gamma2, fit_intercept, epsilon, graph, n_components, group_column,
    random_state
        As in :class:`ManifoldAOCClassifier`. ``gamma1`` and ``epsilon`` are in units of y.

    Attributes
    ----------
    function_ : object
        The function f.
    transduction_ : ndarray of shape (n_rows,)
        Predicted values of the training rows.
    n_groups_ : int

    Notes
    -----
    With ``groups=None``, ``gamma2=0`` and ``fit_intercept=False`` the L2 form is kernel ridge
    regression. Groups that were formed by looking at the values (sorted, then cut) inflate the
    differences between predicted rows: compare with the spread that is known for single rows, if
    any is.

    References
    ----------
    S. Chen, B. Liu, M. Qian and C. Zhang (2009). Instance- and bag-level manifold regularization
    for aggregate outputs classification. CIKM.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.proportions import ManifoldAOCRegressor
    >>> x = np.arange(12.0)[:, None]
    >>> groups = np.arange(12) % 5
    >>> model = ManifoldAOCRegressor(kernel="linear", gamma1=1e-9)
    >>> model.fit(x, 2 * x[:, 0] + 1, groups=groups).predict([[0.0], [1.0]]).round(3).tolist()
    [1.0, 3.0]
    """

    def __init__(
        self,
        level: str = "row",
        loss: str = "l2",
        *,
        target: str = "mean",
        kernel: str = "rbf",
        width: float = 1.0,
        gamma1: float = 0.1,
        gamma2: float = 0.0,
        fit_intercept: bool = True,
        epsilon: float = 0.1,
        graph: NeighbourGraph | None = None,
        n_components: int | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.level = level
        self.loss = loss
        self.target = target
        self.kernel = kernel
        self.width = width
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.fit_intercept = fit_intercept
        self.epsilon = epsilon
        self.graph = graph
        self.n_components = n_components
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        self._settings()

    def _settings(self) -> ManifoldSettings:
        return ManifoldSettings.of(self.get_params(deep=False))

    def _learn(self, data: TotalRows) -> None:
        rows = data.X.astype(np.float64, copy=False)
        totals = data.total_group[:, None]
        self.function_, values = fit_manifold(self._settings(), rows, data.groups, totals)
        self.transduction_ = values[:, 0]

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return self.function_.values(rows.astype(np.float64, copy=False))[:, 0]
