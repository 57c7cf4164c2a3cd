"""Mean map: class means by least squares from group means."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.proportions._input import AggregateRows
from groupwise.proportions._mean_operator import MeanOperatorClassifier

__all__ = ["MeanMapClassifier"]


class MeanMapClassifier(MeanOperatorClassifier):
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

    def _mean_operator(self, phi: NDArray[Any], data: AggregateRows) -> NDArray[Any]:
        scale = np.sqrt(data.sizes)[:, None]
        mean_group = data.groups.mean(phi)
        mean_class = np.linalg.lstsq(scale * data.shares_group, scale * mean_group, rcond=None)[0]
        return data.counts_group.sum(axis=0)[:, None] * mean_class
