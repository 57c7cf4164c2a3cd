"""AOC-manifold: the four algorithms of Chen et al. (2009)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from groupwise.groups import Groups
from groupwise.kernels import NeighbourGraph
from groupwise.proportions._base import BaseAggregateClassifier
from groupwise.proportions._decode import project_simplex
from groupwise.proportions._input import AggregateRows
from groupwise.proportions._manifold import Settings, fit_manifold

__all__ = [
    "SLOPE",
    "ManifoldAOCClassifier",
    "SoftLabelClassifier",
    "aggregate_targets",
    "soft_label_proba",
]

#: Log-odds per unit of soft label. A soft label is +-1 for a sure row.
SLOPE = 2.5


def aggregate_targets(data: AggregateRows) -> NDArray[np.float64]:
    """What soft labels of a group's rows should sum to.

    Two classes: rows of the second minus rows of the first (a single output, labels of +-1). More:
    the counts (one output per class, labels of 0 and 1).
    """
    if data.n_classes == 2:
        return data.counts_group[:, 1:] - data.counts_group[:, :1]
    return data.counts_group


def soft_label_proba(values: NDArray[Any]) -> NDArray[Any]:
    """Class probabilities from soft labels (n_rows, n_outputs)."""
    if values.shape[1] == 1:
        return np.column_stack([expit(-SLOPE * values[:, 0]), expit(SLOPE * values[:, 0])])
    return softmax(SLOPE * values, axis=1)


class SoftLabelClassifier(BaseAggregateClassifier):
    """Classifiers whose rows have soft labels: real numbers near +-1, or near 0 and 1 per class.

    A subclass writes ``_fit_values(data)``, the soft labels of the training rows, and
    ``_values(X)``, those of any rows, both (n_rows, n_outputs).
    """

    def _fit_values(self, data: AggregateRows) -> NDArray[Any]:
        raise NotImplementedError  # a subclass's first duty

    def _values(self, X: Any) -> NDArray[Any]:
        raise NotImplementedError  # a subclass's second duty

    def _fit_aggregates(self, data: AggregateRows) -> NDArray[Any]:
        return soft_label_proba(self._fit_values(data))

    def _proba(self, X: Any) -> NDArray[Any]:
        return soft_label_proba(self._values(X))

    def soft_labels(self, X: Any) -> NDArray[Any]:
        """The function f that is learned, on each row.

        Returns
        -------
        values : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            Near -1 and +1 (second class) for two classes; near 0 and 1 for more. Classes that no
            training group had rows of do not count.
        """
        X = self._checked_features(X)
        if self._constant:
            raise AttributeError(
                "all groups had the same shares of the classes, so no function was learned; "
                "predict_proba gives the shares"
            )
        values = self._values(X)
        return values[:, 0] if values.shape[1] == 1 else values

    def predict_groups_proba(
        self, X: Any, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Share of each class in each group.

        The mean soft label of the group's rows, which is what was fitted, brought to the nearest
        distribution.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        shares : ndarray of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``.
        """
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        if self._constant:
            return np.tile(self.prior_, (encoded.n_groups, 1))
        mean = encoded.mean(self.soft_labels(X))
        if mean.ndim == 1:
            second = np.clip(0.5 * (1.0 + mean), 0.0, 1.0)
            return self._expand(np.column_stack([1.0 - second, second]))
        return self._expand(project_simplex(mean))


class ManifoldAOCClassifier(SoftLabelClassifier):
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
    bias : bool, default=True
        A constant that is not penalised. ``False`` is the paper's form.
    epsilon : float, default=0.1
        For ``"l1"``: the error of a group's sum that costs nothing.
    graph : NeighbourGraph, default=None
        ``None``: ten neighbours, heat weights, normalised.
    n_components : int, default=None
        ``None`` solves exactly: to 12,000 rows with a rows' graph, else to 12,000 groups. A number
        approximates the kernel on that many landmarks (Nystroem), for any number of rows.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.proportions.class_counts`.
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
    model_ : object
        The function f.
    prior_ : ndarray of shape (n_classes,)
    n_groups_ : int

    Notes
    -----
    With ``groups=None``, ``gamma2=0`` and ``bias=False`` the L2 form is kernel ridge regression of
    labels +-1 with alpha = gamma1; the L1 form with bias is epsilon-SVR with C = 1 / (2 gamma1).
    Row probabilities are logistic in the soft label with a fixed slope of 2.5: their order is what
    was learned, their size is not calibrated.

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
        bias: bool = True,
        epsilon: float = 0.1,
        graph: NeighbourGraph | None = None,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.level = level
        self.loss = loss
        self.kernel = kernel
        self.width = width
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.bias = bias
        self.epsilon = epsilon
        self.graph = graph
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _settings(self) -> Settings:
        return Settings(
            level=self.level,
            loss=self.loss,
            kernel=self.kernel,
            width=self.width,
            gamma1=self.gamma1,
            gamma2=self.gamma2,
            bias=self.bias,
            epsilon=self.epsilon,
            graph=self.graph,
            n_components=self.n_components,
            random_state=self.random_state,
        )

    def _check_parameters(self) -> None:
        self._settings().check()

    def _fit_values(self, data: AggregateRows) -> NDArray[Any]:
        self.model_, values_row = fit_manifold(
            self._settings(), data.X, data.groups, aggregate_targets(data)
        )
        return values_row

    def _values(self, X: Any) -> NDArray[Any]:
        return self.model_.values(X)
