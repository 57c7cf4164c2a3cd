"""One step of training, and the rate of each."""

import math
from typing import Any

import numpy as np

from groupwise.nets.losses import PackedLoss
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["clip", "mean_loss", "one_cycle", "train_step"]


def one_cycle(step: int, n_steps: int, peak: float) -> float:
    """Rate of a step: up for three tenths of the way, then down to nothing, along cosines.

    Examples
    --------
    >>> [round(one_cycle(step, 11, 1.0), 3) for step in (0, 3, 10)]
    [0.04, 1.0, 0.0]
    """
    turn = 0.3 * (n_steps - 1)
    if step < turn:
        low, high, part = peak / 25.0, peak, step / turn
    else:
        low, high, part = 0.0, peak, 1.0 - (step - turn) / max(n_steps - 1 - turn, 1.0)
    return low + (high - low) * 0.5 * (1.0 - math.cos(math.pi * part))


def train_step(
    network: GroupNet,
    loss: PackedLoss,
    optimiser: Any,
    rows: Any,
    packed: Packed,
    target: Any,
    *,
    weight_row: Any = None,
    weight_group: Any = None,
    offset: Any = None,
    max_norm: float | None = None,
) -> Any:
    """One step of training, for loops of one's own.

    Parameters
    ----------
    network : GroupNet
    loss : PackedLoss
    optimiser : torch.optim.Optimizer
    rows : tensor of shape (n_rows, ...)
        Group after group.
    packed : Packed
    target : tensor of shape (n_groups,) or (n_groups, n_classes)
    weight_row, weight_group : tensor, default=None
        As in :class:`~groupwise.nets.losses.PackedLoss`.
    offset : tensor of shape (n_rows,), or (n_groups,) where these are scored, default=None
        What is added to the scores: the log of an exposure.
    max_norm : float, default=None
        Longest gradient of a member.

    Returns
    -------
    value : tensor of shape (n_members,)
        Loss over the weight.
    """
    optimiser.zero_grad(set_to_none=True)
    value = mean_loss(network, loss, rows, packed, target, weight_row, weight_group, offset)
    value.sum().backward()
    if max_norm is not None:
        clip(network, max_norm)
    optimiser.step()
    return value.detach()


def mean_loss(
    network: GroupNet,
    loss: PackedLoss,
    rows: Any,
    packed: Packed,
    target: Any,
    weight_row: Any = None,
    weight_group: Any = None,
    offset: Any = None,
) -> Any:
    """Loss of each member over the weight of its rows, or of its groups where these are scored."""
    score = network(rows, packed)
    if offset is not None:
        score = score + offset.to(score.dtype)[:, None]
    pooled = network.pooling is not None
    if pooled and weight_row is not None:
        mean = packed.mean(weight_row.to(score.dtype)[:, None])[:, 0]
        weight_group = mean if weight_group is None else weight_group * mean
        weight_row = None
    layout = Packed(np.ones(packed.n_groups, np.int64), packed.device) if pooled else packed
    value = loss(score, target, layout, weight_row, weight_group)
    weight: Any = layout.size_like(score)[:, 0]
    if weight_row is not None:
        weight = packed.sum(weight_row.to(score.dtype)[:, None])[:, 0]
    if weight_group is not None:
        weight = weight * weight_group
    return value / weight.sum(-1).clamp(min=1e-12)


def clip(network: GroupNet, max_norm: float) -> None:
    """Shorten each member's gradient to ``max_norm``."""
    grads = [p.grad for p in network.weights.values() if p.grad is not None]
    square = torch.stack([g.square().flatten(1).sum(1) for g in grads]).sum(0)
    parts = [[p.grad for p in each.parameters() if p.grad is not None] for each in network.encoders]
    if parts:
        square = square + torch.stack([_square(part, square) for part in parts])
    factor = (max_norm / square.sqrt().clamp(min=1e-12)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor.reshape(-1, *[1] * (grad.ndim - 1)))
    for place, part in enumerate(parts):
        for grad in part:
            grad.mul_(factor[place])


def _square(grads: list[Any], like: Any) -> Any:
    """The squared length of an encoder's gradient; a frozen one has none."""
    if not grads:
        return like.new_zeros(())
    return torch.stack([grad.square().sum() for grad in grads]).sum()
