"""Laplacian mean map: class means that may differ from group to group, but smoothly."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import block_diag, coo_array, eye_array, kron
from scipy.sparse.linalg import splu

from groupwise.kernels import NeighbourGraph
from groupwise.proportions._input import AggregateRows
from groupwise.proportions._mean_operator import MeanOperatorClassifier

__all__ = ["LaplacianMeanMapClassifier"]


class LaplacianMeanMapClassifier(MeanOperatorClassifier):
    r"""Mean map with class means of each group's own, alike in groups that are alike.

    .. math:: \min_{\mu} \sum_g n_g \Big|\bar\phi_g - \sum_c \pi_{gc} \mu_{gc}\Big|^2
              + \gamma \sum_c \mu_{\cdot c}' R\, \mu_{\cdot c}

    with R the Laplacian of the graph of group means. Then :math:`T_c = \sum_g n_g \pi_{gc}
    \mu_{gc}` is the mean operator of logistic regression. A large gamma gives
    :class:`MeanMapClassifier`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty, as in scikit-learn's ``LogisticRegression``.
    gamma : float, default=1.0
        Weight of the graph.
    kernel : {"rbf", "linear"}, default="rbf"
    width : float, default=1.0
        Standard deviation of the Gaussian kernel, in medians of the distance between rows.
    n_components : int, default=None
        Number of landmarks of the kernel's features; ``None``: all rows, to 12,000.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.proportions.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks.

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, model_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` and a small gamma this is multinomial logistic regression on kernel
    features.

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
        gamma: float = 1.0,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: Any = None,
    ):
        super().__init__(
            C,
            kernel=kernel,
            width=width,
            n_components=n_components,
            classes=classes,
            group_column=group_column,
            random_state=random_state,
        )
        self.gamma = gamma

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be a number > 0, got {self.gamma!r}")

    def _mean_operator(self, phi: NDArray[Any], data: AggregateRows) -> NDArray[Any]:
        mean_group = data.groups.mean(phi)
        means = local_class_means(mean_group, data.shares_group, data.sizes, self.gamma)
        return np.einsum("gc,gcp->cp", data.counts_group, means)


def local_class_means(
    mean_group: NDArray[Any], shares_group: NDArray[Any], sizes: NDArray[Any], gamma: float
) -> NDArray[Any]:
    """Solve for the class means of each group, (n_groups, n_classes, n_features)."""
    n_groups, n_classes = shares_group.shape
    laplacian = NeighbourGraph(normalised=False).laplacian(mean_group)
    # unknowns in the order group, class; each group's squared error is a block of rank one
    blocks = block_diag(
        list(sizes[:, None, None] * shares_group[:, :, None] * shares_group[:, None])
    )
    smooth = kron(laplacian, eye_array(n_classes))
    # A class that no group of a connected part has rows of is undetermined there: a hair of ridge.
    ridge = 1e-9 * float(sizes.mean()) * eye_array(n_groups * n_classes)
    right = (sizes[:, None] * shares_group)[:, :, None] * mean_group[:, None, :]
    factor = splu(coo_array(blocks + gamma * smooth + ridge).tocsc())
    solution = factor.solve(right.reshape(n_groups * n_classes, -1))
    return solution.reshape(n_groups, n_classes, -1)
