"""Laplacian mean map: class means that may differ from group to group, but smoothly."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, coo_array, csr_array, eye_array, kron
from scipy.sparse.linalg import splu

from groupwise._typing import RandomState
from groupwise.inputs import ShareRows, check_number
from groupwise.kernels import NeighbourGraph
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.kernel_space import KernelSpace
from groupwise.proportions.mean_operator import MeanOperatorMixin

__all__ = ["LaplacianMeanMapClassifier"]


class LaplacianMeanMapClassifier(MeanOperatorMixin, BaseProportionsClassifier):
    r"""Mean map with class means of each group's own, alike in groups that are alike.

    .. math:: \min_{\mu} \sum_g n_g \Big|\bar\phi_g - \sum_c \pi_{gc} \mu_{gc}\Big|^2
              + \lambda \sum_c \mu_{\cdot c}' R\, \mu_{\cdot c}

    with R the Laplacian of the graph of group means. Then :math:`T_c = \sum_g n_g \pi_{gc}
    \mu_{gc}` is the mean operator of logistic regression. A large weight of the graph gives
    :class:`MeanMapClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty, as in scikit-learn's ``LogisticRegression``.
    graph_weight : float, default=1.0
        :math:`\lambda`.
    kernel, width, n_components, classes, group_column, random_state
        As in :class:`MeanMapClassifier`.

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` and a small ``graph_weight`` this is multinomial logistic regression on
    kernel features.

    References
    ----------
    G. Patrini, R. Nock, P. Rivera and T. Caetano (2014). (Almost) no label no cry. NeurIPS. The
    graph of group means with an unnormalised Laplacian is ours.

    Examples
    --------
    >>> from groupwise.proportions import LaplacianMeanMapClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = LaplacianMeanMapClassifier(C=100)
    >>> clf.fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1]).predict([[0.3], [4.8]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        graph_weight: float = 1.0,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.C = C
        self.graph_weight = graph_weight
        self.kernel = kernel
        self.width = width
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("graph_weight", self.graph_weight, "(0, inf)")

    def _weights_of_rows(self, data: ShareRows, space: KernelSpace) -> NDArray[np.float64]:
        laplacian = space.laplacian(NeighbourGraph(normalised=False), data.groups)
        return weights_of_local_means(data, laplacian, self.graph_weight)


def weights_of_local_means(
    data: ShareRows, laplacian: csr_array, graph_weight: float
) -> NDArray[np.float64]:
    r"""Weights of rows in the sums of each class, by the class means of each group.

    The class means solve :math:`(B + \lambda R)\mu = r` with r linear in the group means, and the
    sums are linear in the class means; the matrix is symmetric, so that one system per class
    gives their weights on the group means.
    """
    shares, sizes = data.shares_group, data.sizes
    n_groups, n_classes = shares.shape
    # unknowns in the order group, class; each group's squared error is a block of rank one
    squares = sizes[:, None, None] * shares[:, :, None] * shares[:, None]
    blocks = block_diag([coo_array(square) for square in squares])
    smooth = kron(laplacian, eye_array(n_classes))
    # A class that no group of a connected part has rows of is undetermined there: a hair of ridge.
    ridge = 1e-9 * float(sizes.mean()) * eye_array(n_groups * n_classes)
    factor = splu(coo_array(blocks + graph_weight * smooth + ridge).tocsc())
    # of the sum of class c, the weight of the class mean (g, c) is the group's count
    sums = data.counts_group[:, :, None] * np.eye(n_classes)
    solved = factor.solve(sums.reshape(n_groups * n_classes, n_classes))
    on_means = (sizes[:, None] * shares)[:, :, None] * solved.reshape(n_groups, n_classes, -1)
    return data.groups.spread(on_means.sum(axis=1) / sizes[:, None])
