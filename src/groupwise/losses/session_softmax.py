"""Majority supervision by cross-entropy: of the rows, and of the group's mean score."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, BoundLoss, GroupLoss, RowWeights
from groupwise.losses.layout import Block
from groupwise.losses.logistic import log_softmax, sigmoid, softplus

__all__ = ["SessionSoftmaxLoss"]


class SessionSoftmaxLoss(GroupLoss, name="majority_softmax"):
    r"""Cross-entropy of rows and of sessions, mixed.

    .. math:: \ell(s) = \frac{1}{1 + \gamma} \sum_i w_i \Big[\sum_j -\log \sigma_{y_i}(s_{ij})
                        + \gamma\, m_i \cdot -\log \sigma_{y_i}(\bar s_i) \Big] ,

    with :math:`\sigma` the softmax (for two classes the logistic function of one score). gamma = 0
    is logistic regression on the naive labels, an infinite gamma looks at the sessions' mean scores
    only. A group of one row gives logistic regression whatever gamma is. Where SBoost multiplies
    exponential errors of session and rows, this adds logistic ones: hopeless rows and groups get
    bounded weights. The form is ours, for any number of classes.

    Parameters
    ----------
    gamma : float, default=4.0
        May be ``inf``.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian: the session term's is
    :math:`m_i Q(\bar d_i) \le \sum_j Q(d_{ij})` for the quadratic form Q of the softmax at
    :math:`\bar s_i` (Jensen), and :math:`Q = \mathrm{diag}(p) - p p^\top` is at most
    :math:`\mathrm{diag}(2 p (1 - p))` by its absolute row sums; for two classes with one score it
    is p (1 - p) itself.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = SessionSoftmaxLoss(np.inf).bind(np.array([1, 0]), Groups([0, 0, 1]))
    >>> loss.gradient(np.array([3.0, -3.0, 0.0])).tolist()
    [-0.5, -0.5, 0.5]
    """

    def __init__(self, gamma: float = 4.0):
        self.gamma = gamma

    def check_parameters(self) -> None:
        check_number("gamma", self.gamma, "[0, inf]")

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Bound(target_group, groups, n_classes, weight_row, self.gamma)


class _Bound(AdditiveLoss):
    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
        weight_row: NDArray[Any] | None,
        gamma: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.layout.group_codes]
        self.y_row = self.layout.spread(self.y_group)
        self.n_classes = n_classes
        self.session_share = 1.0 if np.isinf(gamma) else gamma / (1.0 + gamma)

    def init_score(self) -> NDArray[Any]:
        weight = self._class_weights(self.y_group, self.n_classes)
        if self.n_classes == 2:
            return np.log(weight[1:] / weight[:1])
        return np.log(weight / weight.sum())

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        row = _cross_entropy(score, self.y_row[block.rows])
        group = _cross_entropy(self._mean(score, block), self.y_group[block.groups])
        share = self.session_share
        return (1.0 - share) * self._sum(row, block) + share * block.layout.sizes * group

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        of_rows = _derivatives(score, self.y_row[block.rows])
        of_groups = _derivatives(self._mean(score, block), self.y_group[block.groups])
        for row, group in zip(of_rows, of_groups, strict=True):
            row *= 1.0 - self.session_share
            row += block.layout.spread(group * self.session_share, score.dtype)
            self._scale(row, block)
        return of_rows


def _cross_entropy(score: NDArray[Any], y: NDArray[np.intp]) -> NDArray[Any]:
    if score.ndim == 1:
        return softplus(np.where(y == 1, -score, score))
    return -np.take_along_axis(log_softmax(score), y[None, :], axis=0)[0]


def _derivatives(score: NDArray[Any], y: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Gradient and curvature of the cross-entropy."""
    if score.ndim == 1:
        proba, other = sigmoid(score)
        other *= proba
        proba -= y
        return proba, other
    proba = np.exp(log_softmax(score))
    curvature = 2.0 * proba * (1.0 - proba)
    proba[y, np.arange(len(y))] -= 1.0
    return proba, curvature
