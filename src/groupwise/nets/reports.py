"""The likelihood of counts as they were published, on packed rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.losses.poisson_binomial import LARGEST_EXACT
from groupwise.losses.reported import Reported
from groupwise.losses.reported_counts import ends_of_classes
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed
from groupwise.nets.packed_loss import PackedLoss

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["ReportedCounts"]

_NEVER = -1e30  # the log of the probability of what cannot be


class ReportedCounts(PackedLoss):
    """:class:`groupwise.losses.ReportedCountLoss`: likelihood of what was reported of counts.

    Targets are :meth:`encode`'s: of each group (and class, where there are three or more) the log
    of P(report | count) for counts from 0 on. Counts of rows that differ in weight have no
    likelihood: ``part`` is not looked at.
    """

    def __init__(self, reported: Reported | None = None):
        super().__init__()
        self.reported = reported

    def encode(self, target: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        """Tables (n_groups, largest size + 1), or (n_groups, n_classes, largest size + 1)."""
        if target.ndim == 2 and target.shape[1] == 2:
            return self._table(target, sizes)
        told = ends_of_classes(target)
        return np.stack([self._table(each, sizes) for each in told.swapaxes(0, 1)], axis=1)

    def _table(self, ends: NDArray[Any], sizes: NDArray[Any]) -> NDArray[Any]:
        size = np.asarray(sizes, np.intp)
        out = np.full((len(size), int(size.max()) + 1), _NEVER)
        reported = self.reported or Reported()
        possible = np.arange(out.shape[1]) <= size[:, None]
        out[possible] = reported.log_likelihood_here(ends[:, 0], ends[:, 1], size)
        return out

    def by_group(self, score: Any, target: Any, packed: Packed, part: Any) -> Any:
        log_report = target.to(score.dtype)
        if score.shape[-1] == 1:
            return _unlikeliness(score[..., 0], log_report, packed)
        # each class against the rest; half, as with two classes each would say the same
        costs = [
            _unlikeliness(_log_odds(score, k), log_report[:, k], packed)
            for k in range(score.shape[-1])
        ]
        return 0.5 * torch.stack(costs).sum(0)


def _log_odds(score: Any, k: int) -> Any:
    """Of class k against the rest, (..., n_rows)."""
    rest = torch.cat([score[..., :k], score[..., k + 1 :]], -1)
    return score[..., k] - torch.logsumexp(rest, -1)


def _unlikeliness(score: Any, log_report: Any, packed: Packed) -> Any:
    """Minus the log-likelihood of each group's report, (..., n_groups)."""
    out = score.new_zeros((*score.shape[:-1], packed.n_groups))
    starts = np.cumsum(packed.counts) - packed.counts
    # groups of like size together: a power of two, or all that are large
    width = 1 << np.ceil(np.log2(packed.counts)).astype(np.int64)
    width[packed.counts > LARGEST_EXACT] = 0
    for each in np.unique(width):
        chosen = np.flatnonzero(width == each)
        sizes = packed.counts[chosen]
        part = Packed(sizes, packed.device)
        first = np.repeat(starts[chosen] - np.cumsum(sizes) + sizes, sizes)
        rows = torch.as_tensor(first + np.arange(len(first)), device=packed.device)
        groups = torch.as_tensor(chosen, device=packed.device)
        told = log_report[groups, : part.largest + 1]
        log_count = _normal if each == 0 else _exact
        found = torch.logsumexp(log_count(score[..., rows], part) + told, -1)
        out = out.index_copy(-1, groups, -found)
    return out


def _exact(score: Any, packed: Packed) -> Any:
    """Log-probabilities of the counts of positive rows, (..., n_groups, largest size + 1).

    The rows' generating polynomials are multiplied pair by pair, in logarithms: a report may speak
    of counts that are ever so unlikely.
    """
    width = 1 << (packed.largest - 1).bit_length()

    def table(values: Any, fill: float) -> Any:
        padded = packed.pad(values, fill)
        return F.pad(padded, (0, width - packed.largest), value=fill)

    polynomials = torch.stack(
        [table(F.logsigmoid(-score), 0.0), table(F.logsigmoid(score), _NEVER)], -1
    )
    while polynomials.shape[-2] > 1:
        one, other = polynomials[..., 0::2, :], polynomials[..., 1::2, :]
        degree = one.shape[-1] - 1
        shifted = F.pad(other, (degree, degree), value=_NEVER).unfold(-1, degree + 1, 1)
        polynomials = torch.logsumexp(shifted + one.flip(-1)[..., None, :], -1)
    return polynomials[..., 0, : packed.largest + 1]


def _normal(score: Any, packed: Packed) -> Any:
    """The same of the normal distribution, over the counts there are."""
    proba = torch.sigmoid(score)[..., None]
    mean, variance = packed.sum(proba), packed.sum(proba * (1.0 - proba))
    count = torch.arange(packed.largest + 1, device=score.device)
    log_count = -0.5 * (count - mean) ** 2 / (variance + 1.0 / 12.0)
    log_count = log_count.masked_fill(count > packed.lengths[:, None], _NEVER)
    return torch.log_softmax(log_count, -1)
