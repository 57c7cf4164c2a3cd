"""Means and totals of groups' numbers: squared, absolute and Poisson's loss on packed rows."""

import math
from collections.abc import Sequence
from typing import Any

from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed
from groupwise.nets.packed_loss import PackedLoss, pool_scores, softplus

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["GroupMean", "GroupQuantile", "NegativeBinomialTotal", "PoissonTotal"]

_LARGEST = 60.0  # log of a rate beyond which the loss goes on as a straight line


class GroupMean(PackedLoss):
    """:class:`groupwise.losses.GroupMeanLoss`: squared or Huber's error of means, times sizes."""

    def __init__(self, delta: float | None = None):
        super().__init__()
        self.delta = math.inf if delta is None else delta

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        error = (packed.mean(score * part)[..., 0] - target.to(score.dtype)).abs()
        inner = error.clamp(max=self.delta)
        return packed.size_like(score)[:, 0] * inner * (error - inner / 2.0)


class GroupQuantile(PackedLoss):
    """:class:`groupwise.losses.GroupQuantileLoss`: pinball loss of means, times sizes.

    Parameters
    ----------
    quantile : float, default=0.5
    corner : float or sequence of float, default=0.01
        How wide the corner of the loss is; one for each member, or for all.
    """

    def __init__(self, quantile: float = 0.5, corner: float | Sequence[float] = 0.01):
        super().__init__()
        self.quantile = quantile
        self.corner = _of_members(corner)

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        left = target.to(score.dtype) - packed.mean(score * part)[..., 0]
        distance, corner = left.abs(), self.corner.to(score)
        rounded = distance - corner * torch.log1p(distance / corner)
        return packed.size_like(score)[:, 0] * (0.5 * rounded + (self.quantile - 0.5) * left)


class PoissonTotal(PackedLoss):
    """:class:`groupwise.losses.PoissonTotalLoss`: likelihood of totals; scores are log rates.

    Targets are totals over the number of rows. The log of an exposure is added to the scores.
    """

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        log_mean = pool_scores(score, packed, part, 1.0)
        mean = torch.exp(log_mean.clamp(max=_LARGEST))
        mean = mean * (1.0 + (log_mean - _LARGEST).clamp(min=0.0))
        return packed.size_like(score)[:, 0] * (mean - target.to(score.dtype) * log_mean)


class NegativeBinomialTotal(PackedLoss):
    """:class:`groupwise.losses.NegativeBinomialTotalLoss`: the same for totals that scatter more.

    Parameters
    ----------
    dispersion : float or sequence of float
        One for each member, or for all.
    """

    def __init__(self, dispersion: float | Sequence[float]):
        super().__init__()
        self.dispersion = _of_members(dispersion)

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        size = packed.size_like(score)[:, 0]
        dispersion = self.dispersion.to(score)
        total = target.to(score.dtype) * size
        log_total = pool_scores(score, packed, part, 1.0) + torch.log(size)
        above = softplus(log_total + torch.log(dispersion))
        return (total + 1.0 / dispersion) * above - total * log_total


def _of_members(value: float | Sequence[float]) -> Any:
    """A number for all groups of each member, (n_members, 1), or for those of all."""
    found = torch.as_tensor(value, dtype=torch.float64)
    return found[0] if found.numel() == 1 and found.ndim else found[..., None]
