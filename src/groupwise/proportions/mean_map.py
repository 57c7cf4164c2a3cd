"""Mean map: class means by least squares from group means."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import RandomState
from groupwise.inputs import ShareRows
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.mean_operator import MeanOperatorMixin

__all__ = ["MeanMapClassifier"]


class MeanMapClassifier(MeanOperatorMixin, BaseProportionsClassifier):
    r"""Logistic regression whose class means are solved for from the group means.

    If rows of a class are alike in all groups, the mean of group g is
    :math:`\bar\phi_g = \sum_c \pi_{gc} \mu_c`. Least squares over the groups, weighted by size,
    gives the class means, and these give the mean operator :math:`T_c = n_c \mu_c`, which is all
    that logistic regression needs of the labels.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty, as in scikit-learn's ``LogisticRegression``.
    kernel : {"rbf", "linear"}, default="rbf"
    width : float, default=1.0
        Standard deviation of the Gaussian kernel, in medians of the distance between rows.
    n_components : int, default=None
        Number of landmarks of the kernel's features; ``None``: all rows, to 12,000.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        For the choice of landmarks.

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is multinomial logistic regression on kernel features.

    References
    ----------
    N. Quadrianto, A. Smola, T. Caetano and Q. Le (2009). Estimating labels from label proportions.
    JMLR 10.

    Examples
    --------
    >>> from groupwise.proportions import MeanMapClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = MeanMapClassifier(C=100).fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1])
    >>> clf.predict([[0.3], [4.8]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str = "rbf",
        width: float = 1.0,
        n_components: int | None = None,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.C = C
        self.kernel = kernel
        self.width = width
        self.n_components = n_components
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _operator(self, phi: NDArray[np.float64], data: ShareRows) -> NDArray[np.float64]:
        return operator_of_class_means(phi, data)


def operator_of_class_means(phi: NDArray[np.float64], data: ShareRows) -> NDArray[np.float64]:
    """T from one mean per class, by least squares from the group means."""
    scale = np.sqrt(data.sizes)[:, None]
    mean_group = data.groups.mean(phi)
    mean_class = np.linalg.lstsq(scale * data.shares_group, scale * mean_group, rcond=None)[0]
    return data.counts_group.sum(axis=0)[:, None] * mean_class
