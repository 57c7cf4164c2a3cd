"""SBoost's loss: the product of a session's error and its rows' errors, both exponential."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups

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

    def log_value_and_weights(self, margin_row: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        """The logarithm of the loss, and D scaled to sum to one."""
        groups, gamma = self.groups, self.gamma
        mean_group = groups.mean(margin_row)
        top_group = groups.max(-margin_row)
        e = np.exp(-margin_row - groups.spread(top_group))  # largest entry of each group is 1
        sum_group = groups.sum(e)
        log_scale = top_group - gamma * mean_group
        top = log_scale.max()
        scale_group = np.exp(log_scale - top)  # largest entry is 1
        value = float(scale_group @ sum_group)
        weight = groups.spread(scale_group) * e
        weight += groups.spread(scale_group * (gamma / groups.sizes) * sum_group)
        weight /= (1.0 + gamma) * value
        return float(np.log(value) + top), weight
