"""Numbers of groups: what their losses share, and squared error of means and totals."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.layout import Block
from groupwise.losses.median import weighted_median

__all__ = ["NUMBER_LOSSES", "GroupMeanLoss", "NumberLoss", "get_number_loss"]

#: The losses for regression by name.
NUMBER_LOSSES: dict[str, type["NumberLoss"]] = {}


class NumberLoss(GroupLoss):
    """A loss for regression: how scores become numbers of rows and of groups.

    ``class LogLoss(NumberLoss, name="log")`` is known to :func:`get_number_loss` as ``"log"``.
    """

    target_kind: ClassVar[TargetKind] = "number"
    #: Whether rows may have an exposure, which multiplies their numbers.
    takes_exposure: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            NUMBER_LOSSES[name] = cls

    def predict(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Numbers of rows."""
        return score_row

    def combine(self, y_row: NDArray[Any], groups: Groups, *, target: str) -> NDArray[Any]:
        """Means or totals of groups, in the order of ``groups.names``, from numbers of rows."""
        return groups.sum(y_row) if target == "total" else groups.mean(y_row)


def get_number_loss(loss: str | NumberLoss) -> NumberLoss:
    """A copy of a loss for regression, by name or as it is.

    Examples
    --------
    >>> get_number_loss("squared_error")
    GroupMeanLoss()
    """
    if isinstance(loss, NumberLoss):
        return clone(loss)
    if isinstance(loss, str) and loss in NUMBER_LOSSES:
        return NUMBER_LOSSES[loss]()
    raise ValueError(f"loss must be one of {list(NUMBER_LOSSES)} or a NumberLoss, got {loss!r}")


class GroupMeanLoss(NumberLoss, name="squared_error"):
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

    by_sums: ClassVar[bool] = True

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
