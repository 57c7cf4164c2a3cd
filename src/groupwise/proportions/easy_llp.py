"""EasyLLP: an unbiased loss for random groups."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import RandomState
from groupwise.inputs import ShareRows
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.mean_operator import MeanOperatorMixin

__all__ = ["EasyLLPClassifier"]


class EasyLLPClassifier(MeanOperatorMixin, BaseProportionsClassifier):
    r"""Every row gets its group's share as label, corrected so that random groups do no harm.

    A row of group g counts as class c with the weight

    .. math:: v_{gc} = m_g (\pi_{gc} - p_c) + p_c ,

    m the group's size, :math:`\pi` its shares and p the shares over all rows. If the rows of groups
    are drawn at random, any loss with these weights has the expectation of the loss with the true
    labels. Weights may be negative; for the logistic loss, which is linear in them, the problem
    stays convex with the mean operator :math:`T_c = \sum_i v_{g(i)c} \phi_i`.

    Parameters
    ----------
    C : float, default=1.0
        Inverse of the penalty, as in scikit-learn's ``LogisticRegression``.
    kernel, width, n_components, classes, group_column, random_state
        As in :class:`MeanMapClassifier`.

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, function_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is multinomial logistic regression on kernel features. The variance
    grows with the size of the groups, and groups that are not random bring a bias.

    References
    ----------
    R. Busa-Fekete, H. Choi, T. Dick, C. Gentile and A. Munoz Medina (2023). Easy learning from
    label proportions. NeurIPS.

    Examples
    --------
    >>> from groupwise.proportions import EasyLLPClassifier
    >>> X = [[0.0], [0.2], [5.0], [0.1], [5.1], [5.2]]
    >>> clf = EasyLLPClassifier(C=100).fit(X, list("aabbba"), groups=[0, 0, 0, 1, 1, 1])
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
        return debiased_operator(phi, data)


def debiased_operator(phi: NDArray[np.float64], data: ShareRows) -> NDArray[np.float64]:
    """T with every row weighted by v of its group."""
    weight = data.sizes[:, None] * (data.shares_group - data.prior) + data.prior
    return weight.T @ data.groups.sum(phi)
