"""What the losses on packed rows share: weights of groups, poolings of scores, logistic pieces."""

from typing import Any, ClassVar

from numpy.typing import NDArray

from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = [
    "PackedLoss",
    "cross_entropy",
    "group_weights",
    "pool_scores",
    "probabilities",
    "softplus",
]


class PackedLoss(nn.Module):
    """A weighted sum over groups; a subclass writes :meth:`by_group`.

    Examples
    --------
    >>> import torch
    >>> from groupwise.nets.losses import NoisyOr
    >>> from groupwise.nets.packed import Packed
    >>> score = torch.zeros(3, 1)
    >>> round(float(NoisyOr()(score, torch.tensor([1, 0]), Packed([2, 1]))), 4)
    0.9808
    """

    #: Whether groups are compared with each other, so that a step of training needs all of them.
    needs_all_groups: ClassVar[bool] = False

    def encode(self, target: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        """Targets of :meth:`groupwise.losses.GroupLoss.bind` as :meth:`forward` takes them."""
        return target

    def forward(
        self,
        score: Any,
        target: Any,
        packed: Packed,
        weight_row: Any = None,
        weight_group: Any = None,
    ) -> Any:
        """The loss.

        Parameters
        ----------
        score : tensor of shape (..., n_rows, n_outputs)
        target : tensor of shape (n_groups,) or (n_groups, n_classes)
            Class codes, shares, or numbers; what :meth:`encode` makes of them.
        packed : Packed
        weight_row : tensor of shape (n_rows,), default=None
            As ``weight_row`` of :meth:`groupwise.losses.GroupLoss.bind`.
        weight_group : tensor of shape (..., n_groups), default=None
            More weights of the groups; 0 leaves one out, for each member as it likes.
        """
        weight, part = group_weights(score, packed, weight_row, weight_group)
        return (self.by_group(score, target, packed, part) * weight).sum(-1)

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        """The loss of each group before its weight, (..., n_groups).

        ``part`` is each row's weight over its group's mean, (n_rows, 1), or 1.
        """
        raise NotImplementedError


def group_weights(
    score: Any, packed: Packed, weight_row: Any, weight_group: Any
) -> tuple[Any, Any]:
    """Weights of groups, (n_groups,) or with leading axes, and parts of rows inside them."""
    weight: Any = score.new_ones(packed.n_groups)
    part: Any = 1.0
    if weight_row is not None:
        rows = weight_row.to(score.dtype)[:, None]
        mean = packed.mean(rows)
        weight, part = mean[:, 0], rows / packed.spread(mean)
    if weight_group is not None:
        weight = weight * weight_group
    return weight, part


def pool_scores(score: Any, packed: Packed, part: Any, sharpness: float) -> Any:
    """One score of each group, (..., n_groups): see :class:`groupwise.losses.pooling.Pooled`."""
    if sharpness == 0.0:
        return packed.mean(score * part)[..., 0]
    scaled = sharpness * score
    if not isinstance(part, float):
        scaled = scaled + torch.log(part)
    log_mean = packed.logsumexp(scaled) - torch.log(packed.size_like(score))
    return log_mean[..., 0] / sharpness


def softplus(values: Any) -> Any:
    """log(1 + exp(values)), to the last digit where it is more than the values themselves."""
    return F.softplus(values, threshold=50.0)


def cross_entropy(score: Any, y: Any) -> Any:
    """Of scores (..., n, 1) or (..., n, n_classes) against class codes (n,); (..., n)."""
    if score.shape[-1] == 1:
        return softplus(score[..., 0] * (1 - 2 * y).to(score.dtype))
    index = y[:, None].expand(*score.shape[:-1], 1)
    return -torch.log_softmax(score, -1).gather(-1, index)[..., 0]


def probabilities(score: Any) -> Any:
    """Of the second class, (..., n, 1), or of all classes."""
    return torch.sigmoid(score) if score.shape[-1] == 1 else torch.softmax(score, -1)
