"""Grades of groups: cumulative odds of the group's score on packed rows."""

from typing import Any, ClassVar

from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed
from groupwise.nets.packed_loss import PackedLoss, group_weights, pool_scores, softplus

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Ordinal", "best_thresholds"]

_FAR = 1e9  # stands for the infinite thresholds below the first grade and above the last
_MOST_STEPS = 50
_MOST_HALVES = 20


class Ordinal(PackedLoss):
    """:class:`groupwise.losses.OrdinalLoss`: proportional odds of each group's pooled score.

    Targets are codes from 0 on. In training, each member's thresholds are those that fit the
    groups at hand best; in evaluation, those of the last step of training.

    Attributes
    ----------
    thresholds : tensor of shape (..., n_classes - 1) or None
        Of the last step of training.
    """

    needs_all_groups: ClassVar[bool] = True

    def __init__(self, sharpness: float = 0.0):
        super().__init__()
        self.sharpness = sharpness
        self.thresholds: Any = None

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
        if self.training:
            self.thresholds = best_thresholds(score_group.detach(), target, weight)
        elif self.thresholds is None:
            raise RuntimeError("thresholds are found in training, and there was none")
        edges = _edges(self.thresholds.to(score))
        return (weight * _cost(score_group, target, edges)).sum(-1)


def best_thresholds(score_group: Any, target: Any, weight: Any) -> Any:
    """The thresholds that fit scores best, by Newton steps: the loss is convex in them.

    Parameters
    ----------
    score_group : tensor of shape (..., n_groups)
    target : tensor of shape (n_groups,)
        Each class up to the largest must have weight.
    weight : tensor of shape (..., n_groups)

    Returns
    -------
    thresholds : tensor of shape (..., n_classes - 1)
        Ascending, of double precision.
    """
    on_mps = score_group.device.type == "mps"  # which has no double precision
    place = "cpu" if on_mps else score_group.device
    score, target = score_group.to(place).double(), target.to(place)
    weight = weight.to(place).double().expand(score.shape)
    of_class = F.one_hot(target).double()
    total = weight.sum(-1)
    found = _rough(score, of_class, weight)
    done = torch.zeros_like(total, dtype=torch.bool)
    for _ in range(_MOST_STEPS):
        gradient, hessian = _derivatives(score, target, of_class, weight, found)
        step = torch.linalg.solve(hessian, gradient[..., None])[..., 0]
        gain = (gradient * step).sum(-1)
        near = gain <= 1e-4 * total  # where a full step squares the error
        before = (weight * _cost(score, target, _edges(found))).sum(-1)
        length = torch.ones_like(total)
        for _ in range(_MOST_HALVES):
            trial = found - length[..., None] * step
            after = (weight * _cost(score, target, _edges(trial))).sum(-1)
            good = (torch.diff(trial) > 0.0).all(-1)
            good = good & (near | (after <= before - 0.1 * length * gain))
            if bool((good | done).all()):
                break
            length = torch.where(good, length, length / 2.0)
        found = torch.where((good & ~done)[..., None], trial, found)
        done = done | ~good | (gain <= 1e-12 * total)
        if bool(done.all()):
            break
    return found.to(score_group.device) if not on_mps else found.float().to(score_group.device)


def _edges(thresholds: Any) -> Any:
    """Thresholds with one below the first class and one above the last."""
    return F.pad(F.pad(thresholds, (1, 0), value=-_FAR), (0, 1), value=_FAR)


def _cost(score_group: Any, target: Any, edges: Any) -> Any:
    upper, lower = edges[..., target + 1], edges[..., target]
    gap = (upper - lower).clamp(min=torch.finfo(edges.dtype).tiny)
    log_width = torch.log(-torch.expm1(-gap))
    return softplus(score_group - upper) + softplus(lower - score_group) - log_width


def _rough(score: Any, of_class: Any, weight: Any) -> Any:
    """Log-odds of the grades up to each, wider as the scores are."""
    up_to = torch.cumsum(weight @ of_class, -1)
    total = up_to[..., -1:]
    mean = (weight * score).sum(-1, keepdim=True) / total
    variance = (weight * (score - mean) ** 2).sum(-1, keepdim=True) / total
    odds = torch.log(up_to[..., :-1] / (total - up_to[..., :-1]))
    return mean + odds * torch.sqrt(1.0 + 0.35 * variance)  # a logistic plus a normal spread


def _derivatives(
    score: Any, target: Any, of_class: Any, weight: Any, thresholds: Any
) -> tuple[Any, Any]:
    """Gradient and Hessian by the thresholds."""
    edges = _edges(thresholds)
    above, below = edges[..., target + 1] - score, edges[..., target] - score
    by_upper = (weight * torch.sigmoid(-above)) @ of_class
    by_lower = (weight * torch.sigmoid(below)) @ of_class
    bend_upper = (weight * torch.sigmoid(above) * torch.sigmoid(-above)) @ of_class
    bend_lower = (weight * torch.sigmoid(below) * torch.sigmoid(-below)) @ of_class
    gap = torch.diff(thresholds).clamp(1e-150, 600.0)
    inner = (weight @ of_class)[..., 1:-1]  # the outer classes have no width
    narrow, bend = inner / torch.expm1(gap), inner * torch.exp(-gap) / torch.expm1(-gap) ** 2
    gradient = by_lower[..., 1:] - by_upper[..., :-1]
    gradient = gradient + F.pad(narrow, (0, 1)) - F.pad(narrow, (1, 0))
    diagonal = bend_upper[..., :-1] + bend_lower[..., 1:] + F.pad(bend, (0, 1))
    diagonal = diagonal + F.pad(bend, (1, 0)) + 1e-12 * weight.sum(-1, keepdim=True)
    hessian = torch.diag_embed(diagonal)
    if thresholds.shape[-1] > 1:
        hessian = hessian - torch.diag_embed(bend, 1) - torch.diag_embed(bend, -1)
    return gradient, hessian
