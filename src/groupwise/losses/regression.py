"""Groups' means and totals of a number, by squared error."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, Block, BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.median import weighted_median

__all__ = ["GroupMeanLoss"]


class GroupMeanLoss(GroupLoss):
    r"""Squared (or Huber's) error of each group's mean, times its size.

    .. math:: \ell(s) = \sum_i w_i m_i\, \rho(\bar s_i - t_i), \qquad \rho(r) = \tfrac12 r^2 ,

    with :math:`t_i` the known mean of group i. A known total :math:`T_i = m_i t_i` gives the same:
    :math:`m_i (\bar s_i - t_i)^2 = (\sum_j s_{ij} - T_i)^2 / m_i`, the squared error of a sum of
    :math:`m_i` rows over its variance if rows err independently. A group of one row gives least
    squares.

    Parameters
    ----------
    delta : float, default=None
        Huber's loss: errors of a group's mean beyond ``delta`` count linearly.

    Notes
    -----
    The curvature, :math:`w_i`, is a proven majoriser, for steps of any length: the Hessian's block
    is at most :math:`(w_i / m_i) 1 1^\top`, whose row sums are :math:`w_i`, and
    :math:`(\sum_j d_j)^2 \le m_i \sum_j d_j^2`.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = GroupMeanLoss().bind(np.array([2.0, 5.0]), Groups([0, 0, 1]))
    >>> loss.value(np.array([1.0, 2.0, 5.0])), loss.gradient(np.array([1.0, 2.0, 5.0])).tolist()
    (0.25, [-0.5, -0.5, 0.0])
    """

    target_kind: ClassVar[TargetKind] = "number"

    def __init__(self, delta: float | None = None):
        self.delta = delta

    def check_parameters(self) -> None:
        check_number("delta", self.delta, "(0, inf]", none=True)

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _GroupMean(target_group, groups, weight_row, self.delta)


class _GroupMean(AdditiveLoss):
    def __init__(
        self,
        mean_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        delta: float | None,
    ):
        super().__init__(groups, weight_row)
        self.mean_group = np.asarray(mean_group, dtype=float)[self.layout.group_codes]
        self.delta = np.inf if delta is None else delta

    def init_score(self) -> NDArray[Any]:
        weight = self.weight_group * self.layout.sizes
        if np.isinf(self.delta):
            return np.array(
                [self.communicator.allreduce_sum(weight @ self.mean_group) / self.total_weight]
            )
        # Huber: from the median, which no outlier moves
        return np.array([weighted_median(self.mean_group, weight, self.communicator)])

    def _error(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        return self._mean(score, block) - self.mean_group[block.groups]

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        error = np.abs(self._error(score, block))
        inner = np.minimum(error, self.delta)
        return block.layout.sizes * inner * (error - inner / 2.0)

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        error = np.clip(self._error(score, block), -self.delta, self.delta)
        gradient = np.array(block.layout.spread(error, score.dtype))
        return self._scale(gradient, block), self._scale(np.ones_like(score), block)
