"""Graph only: soft labels that are smooth over neighbours and sum to what is known."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.neighbors import NearestNeighbors

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import ShareRows, check_number
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.folds import draw_folds
from groupwise.proportions.soft_labels import SoftLabelMixin, aggregate_targets

__all__ = ["GraphAOCClassifier"]

_RIDGE = 1e-5


class GraphAOCClassifier(SoftLabelMixin, BaseProportionsClassifier):
    r"""Soft labels from group counts and a neighbour graph alone, for very many rows.

    .. math:: \min_f |A f - b|^2 + \lambda f' R f + 10^{-5} |f|^2

    is a sparse linear system, solved by conjugate gradients: memory and time go with the number of
    rows, not its square. Soft labels of new rows are the mean of their nearest training rows'. b is
    counted from what the prior shares would give.

    Parameters
    ----------
    graph_weights : tuple of float, default=(0.01, 0.1, 1, 10)
        Weights of the graph to choose from, by the squared error of held-out groups' sums.
    graph : NeighbourGraph, default=None
        ``None``: ten neighbours, heat weights, normalised. For hundreds of thousands of rows
        ``NeighbourGraph(method="pynndescent")``.
    n_neighbors : int, default=5
        Training rows a new row takes its soft label from.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For the groups held out (a fifth of them).

    Attributes
    ----------
    graph_weight_ : float
        What was chosen.
    values_row_ : ndarray of shape (n_rows, n_outputs)
        Soft labels of the training rows.
    neighbours_ : NearestNeighbors
        Of the training rows.
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    References
    ----------
    The graph term of S. Chen et al. (2009), CIKM, eq. (10), without their kernel norm; ours.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import GraphAOCClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(1000, centers=2, random_state=0)
    >>> d = make_aggregates(X, y, size=10, random_state=0)
    >>> clf = GraphAOCClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.transduction_ == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        graph_weights: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0),
        *,
        graph: NeighbourGraph | None = None,
        n_neighbors: int = 5,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.graph_weights = graph_weights
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if len(self.graph_weights) == 0:
            raise ValueError("graph_weights must hold at least one number, got none")
        for weight in self.graph_weights:
            check_number("graph_weights", weight, "(0, inf)")
        check_number("n_neighbors", self.n_neighbors, "[1, inf)", whole=True)

    def _fit_values(self, data: ShareRows) -> NDArray[np.float64]:
        laplacian = (NeighbourGraph() if self.graph is None else self.graph).laplacian(data.X)
        target = aggregate_targets(data)
        prior = target.sum(axis=0) / data.groups.n_rows
        rest = target - data.sizes[:, None] * prior
        self.graph_weight_ = float(self.graph_weights[0])
        if len(self.graph_weights) > 1:
            held_out = draw_folds(data.X, data.groups, target, 5, self.random_state)[0]
            errors = [
                _held_out_error(data.groups, laplacian, rest, held_out, weight)
                for weight in self.graph_weights
            ]
            self.graph_weight_ = float(self.graph_weights[int(np.argmin(errors))])
        known = np.ones(data.groups.n_groups)
        self.values_row_ = prior + solve_graph(
            data.groups, laplacian, rest, known, self.graph_weight_
        )
        k = min(self.n_neighbors, data.groups.n_rows)
        self.neighbours_ = NearestNeighbors(n_neighbors=k).fit(data.X)
        return self.values_row_

    def _values(self, X: Rows) -> NDArray[np.float64]:
        nearest = self.neighbours_.kneighbors(X, return_distance=False)
        return self.values_row_[nearest].mean(axis=1)


def solve_graph(
    groups: Groups,
    laplacian: csr_array,
    target_group: NDArray[np.float64],
    known: NDArray[np.float64],
    weight: float,
) -> NDArray[np.float64]:
    """Conjugate gradients on (A' D A + weight R + ridge) f = A' D b, one output at a time.

    ``known`` is the diagonal of D: 1 for groups that count, 0 for those held out.
    """
    n_rows = groups.n_rows
    diagonal = known[groups.codes] + weight * laplacian.diagonal() + _RIDGE

    def times(f: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = known * groups.sum(f.ravel())
        return sums[groups.codes] + weight * (laplacian @ f.ravel()) + _RIDGE * f.ravel()

    shape = (n_rows, n_rows)
    system = LinearOperator(shape, matvec=times, dtype=float)
    scale = LinearOperator(shape, matvec=lambda r: r.ravel() / diagonal, dtype=float)
    columns = [
        cg(system, (known * column)[groups.codes], rtol=1e-6, maxiter=2000, M=scale)[0]
        for column in target_group.T
    ]
    return np.column_stack(columns)


def _held_out_error(
    groups: Groups,
    laplacian: csr_array,
    target_group: NDArray[np.float64],
    held_out: NDArray[np.intp],
    weight: float,
) -> float:
    known = np.ones(groups.n_groups)
    known[held_out] = 0.0
    values = solve_graph(groups, laplacian, target_group, known, weight)
    residual = (target_group - groups.sum(values))[held_out]
    return float((residual**2 / groups.sizes[held_out, None]).sum())
