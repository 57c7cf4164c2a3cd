"""Likelihoods of class counts on packed rows: the Poisson-binomial and its exponent.

The mathematics is that of :mod:`groupwise.losses.poisson_binomial` and
:mod:`groupwise.losses.tilting`. Instead of their recursion over a group's rows, the generating
polynomials of the rows are multiplied pair by pair with the fast Fourier transform.
"""

import math
from typing import Any

from groupwise.losses.poisson_binomial import LARGEST_EXACT
from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["count_loss", "relative_entropy"]

_MOST_STEPS = 200
_MOST_CLASS_STEPS = 60


def count_loss(score: Any, count: Any, packed: Packed) -> Any:
    """Negative log-likelihood of each group's count of positive rows.

    Parameters
    ----------
    score : tensor of shape (..., n_rows)
        Log-odds.
    count : tensor of shape (n_groups,)
        Whole numbers.
    packed : Packed

    Returns
    -------
    loss : tensor of shape (..., n_groups)
    """
    size = packed.size_like(score)[:, 0]
    empty, full = count <= 0, count >= size
    rows = score[..., None]
    side = torch.where(full, -1.0, 1.0).to(score.dtype)[:, None]
    pure = packed.sum(F.softplus(packed.spread(side) * rows, threshold=50.0))[..., 0]
    if bool((empty | full).all()):
        return pure
    shift = _tilt(rows.detach(), count, packed)
    large = (size > LARGEST_EXACT) & ~(empty | full)
    if bool(large.any()):
        # one Newton step at the solution gives the shift its derivative by the scores
        proba = torch.sigmoid(rows + packed.spread(shift))
        slope = packed.sum((proba * (1.0 - proba)).detach()).clamp(min=1e-300)
        moved = shift - (packed.sum(proba) - count[:, None]) / slope
        shift = torch.where(large[:, None], moved, shift)
    lifted = rows + packed.spread(shift)
    soft = packed.sum(F.softplus(rows, threshold=50.0) - F.softplus(lifted, threshold=50.0))
    exponent = (shift * count[:, None] + soft)[..., 0]
    proba = torch.sigmoid(lifted)
    likely = _log_likely(proba[..., 0], count, packed, ~(empty | full | large))
    if bool(large.any()):
        variance = packed.sum(proba * (1.0 - proba))[..., 0]
        likely = torch.where(large, -0.5 * torch.log1p(2.0 * math.pi * variance), likely)
    return torch.where(empty | full, pure, exponent - likely)


def _log_likely(proba: Any, count: Any, packed: Packed, exact: Any) -> Any:
    """Logarithm of the probability of the count in groups that are small enough, else 0."""
    chosen = torch.nonzero(exact)[:, 0]
    out = proba.new_zeros((*proba.shape[:-1], packed.n_groups))
    if len(chosen) == 0:
        return out
    counts = packed.counts[chosen.cpu().numpy()]
    kept = exact[packed.codes]
    part = Packed(counts, packed.device)
    table = part.pad(proba[..., kept], 0.0)
    width = 1 << max(part.largest - 1, 0).bit_length()
    table = F.pad(table, (0, width - part.largest))
    sums = torch.stack([1.0 - table, table], dim=-1)  # one polynomial per row
    while sums.shape[-2] > 1:
        length = 2 * sums.shape[-1] - 1
        spectrum = torch.fft.rfft(sums, n=length + 1, dim=-1)
        product = spectrum[..., 0::2, :] * spectrum[..., 1::2, :]
        sums = torch.fft.irfft(product, n=length + 1, dim=-1)[..., :length]
    place = count[chosen].long().expand(sums.shape[:-2])[..., None]
    found = sums[..., 0, :].gather(-1, place)[..., 0]
    tiny = torch.finfo(found.dtype).tiny
    return out.index_copy(-1, chosen, torch.log(found.clamp(min=tiny)))


def _tilt(score: Any, count: Any, packed: Packed) -> Any:
    """The shift of each group's log-odds that makes its probabilities sum to the count."""
    size = packed.size_like(score)
    pure = (count <= 0) | (count >= size[:, 0])
    known = torch.where(pure, 0.5 * size[:, 0], count)[:, None]
    odds = torch.log(known / (size - known))
    low = odds - packed.max(score)
    high = odds + packed.max(-score)
    shift = (odds - packed.mean(score)).clamp(min=low, max=high)
    close = (1e-12 if score.dtype == torch.float64 else 1e-5) * size
    for _ in range(_MOST_STEPS):
        proba = torch.sigmoid(score + packed.spread(shift))
        error = packed.sum(proba) - known
        done = error.abs() <= close
        if bool(done.all()):
            break
        slope = packed.sum(proba * (1.0 - proba))
        high = torch.where(error > 0, torch.minimum(high, shift), high)
        low = torch.where(error > 0, low, torch.maximum(low, shift))
        newton = shift - error / slope.clamp(min=1e-30)
        inside = (newton > low) & (newton < high)
        shift = torch.where(done, shift, torch.where(inside, newton, (low + high) / 2.0))
    return shift


def relative_entropy(score: Any, counts: Any, packed: Packed) -> Any:
    """Least relative entropy of row distributions that add up to the counts of the classes.

    Parameters
    ----------
    score : tensor of shape (..., n_rows, n_classes)
    counts : tensor of shape (n_groups, n_classes)
        Adding up to the groups' sizes.
    packed : Packed

    Returns
    -------
    loss : tensor of shape (..., n_groups)
    """
    log_p = torch.log_softmax(score, -1)
    absent = counts <= 0
    shift = _tilt_classes(log_p.detach(), counts, absent, packed)
    # by the dual, whose derivative by the shifts is zero
    gain = (shift.masked_fill(absent, 0.0) * counts).sum(-1)
    moved = log_p + packed.spread(shift)
    return gain - packed.sum(torch.logsumexp(moved, -1, keepdim=True))[..., 0]


def _tilt_classes(log_p: Any, counts: Any, absent: Any, packed: Packed) -> Any:
    size = packed.size_like(log_p)
    tol = (1e-10 if log_p.dtype == torch.float64 else 1e-5) * size[:, 0]
    safe = counts.masked_fill(absent, 1.0)
    shift = log_p.new_zeros((*log_p.shape[:-2], *counts.shape)).masked_fill(absent, -torch.inf)
    best, log_q = _dual(log_p, shift, safe, absent, packed)
    for _ in range(_MOST_CLASS_STEPS):
        q = torch.exp(log_q)
        total = packed.sum(q)
        error = (counts - total).masked_fill(absent, 0.0)
        going = error.abs().amax(-1) > tol
        if not bool(going.any()):
            break
        newton = shift + _newton_step(q, total, error, absent, packed)
        scaled = shift + (torch.log(safe) - packed.logsumexp(log_q)).masked_fill(absent, 0.0)
        value, _ = _dual(log_p, newton, safe, absent, packed)
        good = value >= best - 1e-12 * (1.0 + best.abs())
        chosen = torch.where(good[..., None], newton, scaled.masked_fill(absent, -torch.inf))
        shift = torch.where(going[..., None], chosen, shift)
        best, log_q = _dual(log_p, shift, safe, absent, packed)
    return shift


def _dual(log_p: Any, shift: Any, counts: Any, absent: Any, packed: Packed) -> tuple[Any, Any]:
    moved = log_p + packed.spread(shift)
    log_sum = torch.logsumexp(moved, -1, keepdim=True)
    gain = (shift.masked_fill(absent, 0.0) * counts).masked_fill(absent, 0.0).sum(-1)
    log_q = torch.clamp(moved - log_sum, min=-1e30)  # of absent classes, far below all others
    return gain - packed.sum(log_sum)[..., 0], log_q


def _newton_step(q: Any, total: Any, error: Any, absent: Any, packed: Packed) -> Any:
    """Solve the groups' small linear systems; shifts that sum to zero."""
    n_classes = q.shape[-1]
    cross = packed.sum((q[..., :, None] * q[..., None, :]).flatten(-2))
    hessian = torch.diag_embed(total) - cross.unflatten(-1, (n_classes, n_classes))
    size = packed.size_like(q)
    hessian = hessian + (size / n_classes**2)[:, :, None]  # shifting all classes does nothing
    firm = torch.where(absent, size, 1e-12 * size)
    step = torch.linalg.solve(hessian + torch.diag_embed(firm), error[..., None])[..., 0]
    return step.clamp(-20.0, 20.0).masked_fill(absent, 0.0)
