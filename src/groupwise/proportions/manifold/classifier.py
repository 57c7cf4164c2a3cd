"""AOC-manifold: the four algorithms of Chen et al. (2009)."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.manifold.problem import ManifoldSettings, fit_manifold
from groupwise.proportions.soft_labels import SoftLabelMixin, aggregate_targets

__all__ = ["ManifoldAOCClassifier"]


class ManifoldAOCClassifier(SoftLabelMixin, BaseProportionsClassifier):
    r"""Rows' classes from the class counts of groups: kernel, graph, and a loss of group sums.

    .. math:: \min_{f, c} L(A f + c\,a, b) + \gamma_1 |f|^2 + \gamma_2 f' M f

    A sums rows over groups, a holds the groups' sizes, b what is known: rows of the second class
    minus rows of the first (two classes), or the counts of each class. The four algorithms of Chen
    et al. (2009) are ``level`` times ``loss``:

    ========  ======================================  =====================================
    level     M                                       ``loss="l2"`` / ``"l1"``
    ========  ======================================  =====================================
    "row"     Laplacian of the rows' graph            il-L2, eq. (12) / il-L1, eq. (11)
    "group"   A' R A, R the Laplacian of the groups'  bl-L2, eq. (26) / bl-L1, eq. (25)
    ========  ======================================  =====================================

    L is the squared error, or the absolute error beyond ``epsilon``, of each group's sum. Solved
    with one unknown per group in the kernel deformed by the graph.

    Parameters
    ----------
    level : {"row", "group"}, default="row"
        Whose graph smooths the solution.
    loss : {"l2", "l1"}, default="l2"
    kernel : {"rbf", "linear"}, default="rbf"
    width : float, default=1.0
        Standard deviation of the Gaussian kernel, in medians of the distance between rows.
    gamma1 : float, default=0.1
        Weight of the norm of f.
    gamma2 : float, default=0.0
        Weight of the graph term; 0: no graph, and both levels are the same.
    fit_intercept : bool, default=True
        Add a constant that is not penalised. ``False`` is the paper's form.
    epsilon : float, default=0.1
        For ``"l1"``: the error of a group's sum that costs nothing.
    graph : NeighbourGraph, default=None
        ``None``: ten neighbours, heat weights, normalised.
    n_components : int, default=None
        ``None`` solves exactly: to 12,000 rows with a rows' graph, else to 12,000 groups. A number
        approximates the kernel on that many landmarks (Nystroem), for any number of rows.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_rows,)
        Predicted classes of the training rows; :meth:`predict_transductive` gives those that agree
        with the known counts.
    transduction_proba_ : ndarray of shape (n_rows, n_classes)
    function_ : object
        The function f.
    prior_ : ndarray of shape (n_classes,)
    n_groups_ : int

    Notes
    -----
    With ``groups=None``, ``gamma2=0`` and ``fit_intercept=False`` the L2 form is kernel ridge
    regression of labels +-1 with alpha = gamma1; the L1 form with an intercept is epsilon-SVR with
    C = 1 / (2 gamma1). Row probabilities are logistic in the soft label with a fixed slope of 2.5:
    their order is what was learned, their size is not calibrated.

    The paper does not say how the group graph is made; here it joins groups whose mean embeddings
    are near.

    References
    ----------
    S. Chen, B. Liu, M. Qian and C. Zhang (2009). Instance- and bag-level manifold regularization
    for aggregate outputs classification. CIKM.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import ManifoldAOCClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> d = make_aggregates(scale(X), y, size=10, random_state=0)
    >>> clf = ManifoldAOCClassifier().fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.predict_transductive() == d.y_row).mean() > 0.9)
    True
    """

    def __init__(
        self,
        level: str = "row",
        loss: str = "l2",
        *,
        kernel: str = "rbf",
        width: float = 1.0,
        gamma1: float = 0.1,
        gamma2: float = 0.0,
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
        self.kernel = kernel
        self.width = width
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.fit_intercept = fit_intercept
        self.epsilon = epsilon
        self.graph = graph
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _settings(self) -> ManifoldSettings:
        return ManifoldSettings.of(self.get_params(deep=False))

    def _check_parameters(self) -> None:
        self._settings()

    def _fit_values(self, data: ShareRows) -> NDArray[np.float64]:
        self.function_, values_row = fit_manifold(
            self._settings(), data.X, data.groups, aggregate_targets(data)
        )
        return values_row

    def _values(self, X: Rows) -> NDArray[np.float64]:
        return self.function_.values(X)
