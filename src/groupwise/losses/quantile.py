"""Groups' means and totals of a number, by absolute and quantile loss."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, BoundLoss, RowWeights
from groupwise.losses.layout import Block
from groupwise.losses.median import weighted_median, weighted_quantile
from groupwise.losses.regression import NumberLoss

__all__ = ["GroupQuantileLoss"]

_ROUNDED = 0.01  # of the spread of the groups' means: how wide the corner of the loss is


class GroupQuantileLoss(NumberLoss, name="absolute_error"):
    r"""Quantile (pinball) loss of each group's mean, times its size.

    .. math:: \ell(s) = \sum_i w_i m_i\, \rho(t_i - \bar s_i), \qquad
              \rho(r) = \tfrac12 |r| + (\tau - \tfrac12) r
                        - \tfrac{\epsilon}{2} \log(1 + |r| / \epsilon) ,

    with :math:`t_i` the known mean; totals give the same, as :math:`m_i \rho` of means is
    :math:`\rho` of totals. The last term rounds the corner off; :math:`\epsilon` is a hundredth of
    the groups' mean distance from their median. What is learned is a sum of rows that lies at the
    quantile of the groups' totals; it says nothing of quantiles of rows. A group of one row gives
    quantile regression.

    Parameters
    ----------
    quantile : float, default=0.5
        :math:`\tau`; the median makes it half of the absolute error.

    Notes
    -----
    The curvature, :math:`w_i / (2 (\epsilon + |r_i|))`, is a proven majoriser for steps of any
    length: :math:`\rho` lies below the parabola of that curvature that touches it at r (Hunter and
    Lange), and :math:`(\sum_j d_j)^2 \le m_i \sum_j d_j^2`.

    References
    ----------
    D. R. Hunter and K. Lange (2000). Quantile regression via an MM algorithm. Journal of
    Computational and Graphical Statistics 9.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = GroupQuantileLoss(quantile=0.9).bind(np.array([2.0, 5.0]), Groups([0, 0, 1]))
    >>> loss.gradient(np.array([0.0, 0.0, 9.0])).round(2).tolist()  # too low costs more
    [-0.9, -0.9, 0.1]
    """

    def __init__(self, quantile: float = 0.5):
        self.quantile = quantile

    def check_parameters(self) -> None:
        check_number("quantile", self.quantile, "(0, 1)")

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Quantile(target_group, groups, weight_row, self.quantile)


class _Quantile(AdditiveLoss):
    def __init__(
        self,
        mean_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        quantile: float,
    ):
        super().__init__(groups, weight_row)
        self.mean_group = np.asarray(mean_group, dtype=float)[self.layout.group_codes]
        self.quantile = quantile
        self._corner: float | None = None

    @property
    def corner(self) -> float:
        """How wide the corner is."""
        # no cached_property: its lock (Python 3.11) keeps machines that are threads from meeting
        if self._corner is None:
            self._corner = self._find_corner()
        return self._corner

    def _find_corner(self) -> float:
        weight = self.weight_group * self.layout.sizes
        median = weighted_median(self.mean_group, weight, self.communicator)
        distance = self.communicator.allreduce_sum(float(weight @ np.abs(self.mean_group - median)))
        return _ROUNDED * distance / self.total_weight or 1e-12

    @property
    def unit(self) -> float:
        """Twice the spread of the groups' means: the curvature is one over the residuals."""
        return 2.0 * self.corner / _ROUNDED

    def init_score(self) -> NDArray[Any]:
        weight = self.weight_group * self.layout.sizes
        start = weighted_quantile(self.mean_group, weight, self.quantile, self.communicator)
        return np.array([start])

    def _left(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        return self.mean_group[block.groups] - self._mean(score, block)

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        left = self._left(score, block)
        size = np.abs(left)
        rounded = size - self.corner * np.log1p(size / self.corner)
        return block.layout.sizes * (0.5 * rounded + (self.quantile - 0.5) * left)

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        left = self._left(score, block)
        width = 0.5 / (self.corner + np.abs(left))
        first = 0.5 - self.quantile - left * width
        gradient = np.array(block.layout.spread(first, score.dtype))
        curvature = np.array(block.layout.spread(width, score.dtype))
        return self._scale(gradient, block), self._scale(curvature, block)
