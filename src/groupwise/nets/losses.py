"""The group losses of :mod:`groupwise.losses` as torch modules on packed rows.

Each is the loss of the same name there, in value and gradient. Scores have the shape
(..., n_rows, 1) for two classes and for numbers, (..., n_rows, n_classes) for more; targets are one
entry per group; what comes back has one number for each of the leading axes (the members of an
ensemble), a scalar if there are none.
"""

import math
from collections.abc import Sequence
from typing import Any

from groupwise import losses as numpy_losses
from groupwise.losses import BoundLoss, GroupLoss
from groupwise.nets.counts import count_loss, relative_entropy
from groupwise.nets.grades import Ordinal
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.number_losses import (
    GroupMean,
    GroupQuantile,
    NegativeBinomialTotal,
    PoissonTotal,
)
from groupwise.nets.packed import Packed
from groupwise.nets.packed_loss import (
    PackedLoss,
    cross_entropy,
    group_weights,
    pool_scores,
    probabilities,
    softplus,
)
from groupwise.nets.reports import ReportedCounts
from groupwise.nets.survival import Cox

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = [
    "CountLikelihood",
    "Cox",
    "GroupMean",
    "GroupQuantile",
    "Majority",
    "NegativeBinomialTotal",
    "NoisyOr",
    "Ordinal",
    "PackedLoss",
    "PoissonTotal",
    "PooledLoss",
    "PresenceLabels",
    "ReportedCounts",
    "SessionSoftmax",
    "Shares",
    "SmoothMax",
    "torch_loss",
]


class Majority(PackedLoss):
    """:class:`groupwise.losses.MajorityLoss`: the log form of SBoost's loss."""

    def __init__(self, gamma: float = 4.0):
        super().__init__()
        self.gamma = gamma

    def forward(
        self,
        score: Any,
        target: Any,
        packed: Packed,
        weight_row: Any = None,
        weight_group: Any = None,
    ) -> Any:
        weight, part = group_weights(score, packed, weight_row, weight_group)
        y_row = target[packed.codes]
        half = 0.5 / (1.0 + self.gamma)
        if score.shape[-1] == 1:
            exponent = -half * score * (2 * y_row - 1).to(score.dtype)[:, None]
            other: Any = None
        else:
            own = y_row[:, None].expand(*score.shape[:-1], 1)
            exponent = half * (score - score.gather(-1, own))
            other = F.one_hot(y_row, score.shape[-1]).bool()  # a class is no pair with itself
        term = exponent + self.gamma * packed.spread(packed.mean(exponent * part))
        log_weight = torch.log(packed.spread(weight[..., None]) * part)
        term = term + log_weight
        if other is not None:
            term = term.masked_fill(other, -torch.inf)
        n_pairs = max(score.shape[-1] - 1, 1)
        total = (weight * packed.size_like(score)[:, 0]).sum(-1)
        log_value = torch.logsumexp(term.flatten(-2), dim=-1)
        return total * (log_value - torch.log(total * n_pairs))


class SessionSoftmax(PackedLoss):
    """:class:`groupwise.losses.SessionSoftmaxLoss`: cross-entropy of rows and of mean scores."""

    def __init__(self, gamma: float = 4.0):
        super().__init__()
        self.session_share = 1.0 if math.isinf(gamma) else gamma / (1.0 + gamma)

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        row = cross_entropy(score, target[packed.codes])[..., None]
        group = cross_entropy(packed.mean(score * part), target)
        share, size = self.session_share, packed.size_like(score)[:, 0]
        return (1.0 - share) * packed.sum(row * part)[..., 0] + share * size * group


class NoisyOr(PackedLoss):
    """:class:`groupwise.losses.NoisyOrLoss`: a group is positive if one row is."""

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        return _noisy_or(score, (target == 1)[:, None], packed, part)[..., 0]


class PresenceLabels(PackedLoss):
    """:class:`groupwise.losses.PresenceLabelsLoss`: a noisy-or per label; NaN costs nothing."""

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        cost = _noisy_or(score, target == 1, packed, part)
        return cost.masked_fill(torch.isnan(target), 0.0).sum(-1)


class SmoothMax(PackedLoss):
    """:class:`groupwise.losses.SmoothMaxLoss`: logistic loss of a smooth largest score."""

    def __init__(self, sharpness: float = 2.0):
        super().__init__()
        self.sharpness = sharpness

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        return cross_entropy(pool_scores(score, packed, part, self.sharpness)[..., None], target)


class Shares(PackedLoss):
    """:class:`groupwise.losses.ShareLoss`: squared error of mean probabilities."""

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        proba = probabilities(score)
        known = target[:, 1:] if score.shape[-1] == 1 else target
        error = packed.mean(proba * part) - known.to(score.dtype)
        return 0.5 * packed.size_like(score)[:, 0] * (error**2).sum(-1)


class CountLikelihood(PackedLoss):
    """:class:`groupwise.losses.CountLikelihoodLoss`: likelihood of the class counts.

    Counts of rows that differ in weight have no likelihood: ``part`` is not looked at.
    """

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        counts = torch.round(target.to(score.dtype) * packed.size_like(score))
        if score.shape[-1] == 1:
            return count_loss(score[..., 0], counts[:, 1], packed)
        return relative_entropy(score, counts, packed)


class PooledLoss(PackedLoss):
    """The loss of groups that have a score of their own, each counted once.

    Classes (of labels, and of counts): cross-entropy; shares by squared error and numbers:
    squared (or Huber's) error.

    Parameters
    ----------
    kind : {"label", "share", "number"}
    squared : bool, default=False
        Of shares: squared error of the probabilities.
    delta : float, default=None
        Of numbers: where Huber's loss turns linear.
    """

    def __init__(self, kind: str, *, squared: bool = False, delta: float | None = None):
        super().__init__()
        self.kind, self.squared = kind, squared
        self.delta = math.inf if delta is None else delta

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        if self.kind == "label":
            return cross_entropy(score, target)
        if self.kind == "number":
            error = (score[..., 0] - target.to(score.dtype)).abs()
            inner = error.clamp(max=self.delta)
            return inner * (error - inner / 2.0)
        known = target.to(score.dtype)
        if self.squared:
            proba = probabilities(score)
            known = known[:, 1:] if score.shape[-1] == 1 else known
            return 0.5 * ((proba - known) ** 2).sum(-1)
        if score.shape[-1] == 1:
            log_other, log_one = F.logsigmoid(-score[..., 0]), F.logsigmoid(score[..., 0])
            return -(known[:, 0] * log_other + known[:, 1] * log_one)
        return -(known * torch.log_softmax(score, -1)).sum(-1)


def torch_loss(loss: GroupLoss, bound: Sequence[BoundLoss] = ()) -> PackedLoss:
    """The torch module of a loss of :mod:`groupwise.losses`.

    Parameters
    ----------
    loss : GroupLoss
    bound : sequence of BoundLoss, default=()
        The loss of each member's training groups, for what it takes from them: the dispersion of
        totals unless it is given, the corner of absolute error. One, if it is the same for all.

    Examples
    --------
    >>> from groupwise.losses import MajorityLoss
    >>> from groupwise.nets.losses import torch_loss
    >>> torch_loss(MajorityLoss(gamma=2.0))
    Majority()
    """
    if type(loss) not in _MODULES:
        names = ", ".join(kind.__name__ for kind in _MODULES)
        raise ValueError(f"networks are trained on {names}; got {loss!r}")
    params = loss.get_params(deep=False)
    learned = _FROM_DATA.get(type(loss))
    if learned is not None and params.get(learned) is None:
        if not bound:
            raise ValueError(f"{loss!r} finds its {learned} in the data: pass bound")
        params[learned] = [getattr(each, learned) for each in bound]
    return _MODULES[type(loss)](**params)


_MODULES: dict[type[GroupLoss], type[PackedLoss]] = {
    numpy_losses.MajorityLoss: Majority,
    numpy_losses.SessionSoftmaxLoss: SessionSoftmax,
    numpy_losses.NoisyOrLoss: NoisyOr,
    numpy_losses.SmoothMaxLoss: SmoothMax,
    numpy_losses.ShareLoss: Shares,
    numpy_losses.CountLikelihoodLoss: CountLikelihood,
    numpy_losses.ReportedCountLoss: ReportedCounts,
    numpy_losses.OrdinalLoss: Ordinal,
    numpy_losses.PresenceLabelsLoss: PresenceLabels,
    numpy_losses.GroupMeanLoss: GroupMean,
    numpy_losses.GroupQuantileLoss: GroupQuantile,
    numpy_losses.PoissonTotalLoss: PoissonTotal,
    numpy_losses.NegativeBinomialTotalLoss: NegativeBinomialTotal,
    numpy_losses.CoxLoss: Cox,
}
#: Parameters that bound losses find in their data.
_FROM_DATA: dict[type[GroupLoss], str] = {
    numpy_losses.GroupQuantileLoss: "corner",
    numpy_losses.NegativeBinomialTotalLoss: "dispersion",
}


def _noisy_or(score: Any, positive: Any, packed: Packed, part: Any) -> Any:
    """Of each group and column of scores, (..., n_groups, n_outputs)."""
    log_row = _log_softplus(score)
    if not isinstance(part, float):
        log_row = log_row + torch.log(part)
    log_a = packed.logsumexp(log_row)
    none = torch.exp(log_a.masked_fill(positive, 0.0))
    return torch.where(positive, -_log1mexp(log_a.masked_fill(~positive, 0.0)), none)


def _log_softplus(score: Any) -> Any:
    """log(log(1 + exp(score))), with the right slope for all finite scores."""
    low = score < -35.0
    safe = torch.log(softplus(score.masked_fill(low, 0.0)))
    return torch.where(low, score, safe)


def _log1mexp(log_a: Any) -> Any:
    """log(1 - exp(-A)) from log A."""
    low = log_a < -30.0
    a = torch.exp(log_a.masked_fill(low, 0.0))
    return torch.where(low, log_a, torch.log(-torch.expm1(-a)))
