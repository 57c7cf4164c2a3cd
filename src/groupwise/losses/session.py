"""SBoost's loss: the product of a session's error and its rows' errors, both exponential."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.losses.exponential import session_weights
from groupwise.losses.segments import Segments

__all__ = ["SessionLoss"]


@dataclass(frozen=True)
class SessionLoss:
    r"""The loss of Jin and Liu (2005), eqs. (3) and (4), as a function of the rows' margins.

    With :math:`z_{ij} = y_i H(x_{ij})` the margin of row j of group i, m_i the group's size and
    :math:`\bar z_i` its mean,

    .. math:: L(z) = \sum_i e^{-\gamma \bar z_i} \sum_j e^{-z_{ij}} = \sum_{ij} e^{s_{ij}},
              \qquad s_{ij} = -z_{ij} - \gamma \bar z_i ,

    which is convex. The weights of the next round are the negative gradient,

    .. math:: D_{ij} = -\partial L/\partial z_{ij}
                     = e^{s_{ij}} + \frac{\gamma}{m_i} \sum_k e^{s_{ik}} ,
              \qquad \sum_{ij} D_{ij} = (1 + \gamma)\, L .

    Margins of any finite size give finite results: everything is computed relative to the largest
    exponent.

    Parameters
    ----------
    groups : Groups
    gamma : float
        Weight of the session term. 0 is the exponential loss of AdaBoost.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = SessionLoss(Groups([0, 0, 1]), gamma=4.0)
    >>> log_value, weight = loss.log_value_and_weights(np.zeros(3))
    >>> float(np.exp(log_value).round(6)), weight.round(6).tolist()
    (3.0, [0.333333, 0.333333, 0.333333])
    """

    groups: Groups
    gamma: float

    @cached_property
    def _segments(self) -> Segments:
        return Segments(self.groups)

    def log_value_and_weights(self, margin_row: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """The logarithm of the loss, and D scaled to sum to one."""
        margin = self._segments.enter(np.asarray(margin_row))
        weight = np.empty(len(margin))
        log_value = session_weights(lambda rows: -margin[rows], self._segments, self.gamma, weight)
        return log_value, self._segments.leave(weight)
