"""Survival times of groups: Cox's partial likelihood on packed rows."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed
from groupwise.nets.packed_loss import PackedLoss, group_weights, pool_scores

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Cox"]

_NOTHING = -1e30  # the log of what a group without weight brings to a risk set


class Cox(PackedLoss):
    """:class:`groupwise.losses.CoxLoss`: partial likelihood of times, ties as Breslow has them.

    Targets are times, negative where a group was last seen without the event. The risk sets are
    made of the groups at hand; a group of weight 0 is in none of them.
    """

    needs_all_groups: ClassVar[bool] = True

    def __init__(self, sharpness: float = 0.0):
        super().__init__()
        self.sharpness = sharpness

    def encode(self, target: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        """Ranks for times: single precision would tie some of them."""
        _, rank = np.unique(np.abs(target), return_inverse=True)
        return np.sign(target) * (1.0 + rank)

    def forward(
        self,
        score: Any,
        target: Any,
        packed: Packed,
        weight_row: Any = None,
        weight_group: Any = None,
    ) -> Any:
        weight, part = group_weights(score, packed, weight_row, weight_group)
        score_group = pool_scores(score, packed, part, self.sharpness)
        left_out = weight <= 0
        log_weight = torch.log(weight.masked_fill(left_out, 1.0)).masked_fill(left_out, _NOTHING)
        # from the longest time on; groups of one time are at risk at it together
        sooner, order = torch.sort(-target.abs(), stable=True)
        last = torch.searchsorted(sooner, -target.abs(), right=True) - 1
        at_risk = torch.logcumsumexp((score_group + log_weight)[..., order], -1)[..., last]
        log_total = torch.log(weight.sum(-1, keepdim=True).clamp(min=1e-12))
        cost = at_risk - log_total - score_group
        counts = (target > 0) & ~left_out
        return (weight * torch.where(counts, cost, 0.0)).sum(-1)
