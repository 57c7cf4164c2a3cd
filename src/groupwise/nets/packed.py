"""Rows that lie group after group as torch tensors, and what is computed per group.

Sums over groups are taken in a fixed order on every device, forwards and backwards: the same seed
gives the same model. (``index_add`` on a GPU adds in no fixed order.)
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.nets.need import NEEDS_TORCH

try:
    import torch
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["Packed", "TorchOps", "choose_device", "to_device"]

_FEW_COLUMNS = 16  # so few are padded to tables of (group, row) rather than walked through
_FEW_GROUPS = 256  # of so few, sums are a product with the matrix of members


def choose_device(device: str | None) -> str:
    """The device by its name, tried; ``None``: a GPU if there is one."""
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        name = str(torch.device(device))
        torch.ones(1, device=name).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0].partition(". ")[0]
        raise ValueError(f"device {device!r} cannot be used here; torch says: {reason}") from error
    return name


def to_device(values: NDArray[Any], device: Any) -> Any:
    """An array as a tensor, without waiting for what a GPU is doing."""
    tensor = torch.as_tensor(values)
    if str(device).startswith("cuda"):
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


class TorchOps:
    """The functions of :class:`groupwise.nets.host.HostPacked` that need no groups."""

    relu = staticmethod(torch.relu)
    tanh = staticmethod(torch.tanh)
    sigmoid = staticmethod(torch.sigmoid)

    @staticmethod
    def cat(parts: list[Any]) -> Any:
        return torch.cat(parts, dim=-1)

    @staticmethod
    def stack(parts: list[Any]) -> Any:
        return torch.stack(parts, dim=-1)

    @staticmethod
    def halves(values: Any) -> Any:
        """The first and the second half of the columns."""
        return values.chunk(2, dim=-1)

    @staticmethod
    def shares(values: Any) -> Any:
        return torch.softmax(values, dim=-1)

    @staticmethod
    def linear(values: Any, weight: Any, bias: Any) -> Any:
        """Rows (n, d) of all members alike, or (R, n, d), through layers of (R, d, h)."""
        if len(weight) == 1:
            rows = values if values.ndim == 2 else values[0]
            return torch.addmm(bias[0], rows, weight[0])[None]
        if values.ndim == 2:  # one product for all members
            n_members, n_in, n_out = weight.shape
            flat = weight.permute(1, 0, 2).reshape(n_in, n_members * n_out)
            out = torch.addmm(bias.reshape(1, -1), values, flat)
            return out.reshape(-1, n_members, n_out).transpose(0, 1)
        if len(values) < len(weight):  # one product for the members of each fold
            n_folds, (n_in, n_out) = len(values), weight.shape[1:]
            parts = weight.reshape(n_folds, -1, n_in, n_out).transpose(1, 2)
            flat = torch.baddbmm(
                bias.reshape(n_folds, 1, -1), values, parts.reshape(n_folds, n_in, -1)
            )
            out = flat.reshape(n_folds, values.shape[1], -1, n_out).transpose(1, 2)
            return out.reshape(len(weight), values.shape[1], n_out)
        return torch.baddbmm(bias, values, weight)


class Packed(TorchOps):
    """Groups of neighbouring rows.

    Values of rows have the shape (..., n_rows, k), values of groups (..., n_groups, k): rows are
    the last axis but one; anything before it (the members of an ensemble) is carried along.

    Parameters
    ----------
    sizes : array-like of shape (n_groups,)
        Rows of each group, at least one.
    device : str or torch.device, default="cpu"

    Examples
    --------
    >>> import torch
    >>> from groupwise.nets.packed import Packed
    >>> packed = Packed([2, 1])
    >>> packed.sum(torch.tensor([[1.0], [2.0], [5.0]])).tolist()
    [[3.0], [5.0]]
    """

    def __init__(self, sizes: ArrayLike, device: Any = "cpu"):
        counts = np.asarray(sizes, dtype=np.int64)
        if counts.ndim != 1 or len(counts) == 0 or counts.min() < 1:
            raise ValueError("sizes must hold the number of rows of each group, at least one")
        self.counts = counts
        self.device = device
        self.n_groups, self.n_rows = len(counts), int(counts.sum())
        self.largest = int(counts.max())
        self.equal = bool((counts == counts[0]).all())

    @cached_property
    def lengths(self) -> Any:
        """Rows of each group, (n_groups,)."""
        return to_device(self.counts, self.device)

    @cached_property
    def sizes(self) -> Any:
        """The same as floats of double precision, (n_groups, 1)."""
        kind = torch.float32 if str(self.device).startswith("mps") else torch.float64
        if self.largest == 1:
            return torch.ones(self.n_groups, 1, dtype=kind, device=self.device)
        return self.lengths.to(kind)[:, None]

    @cached_property
    def codes(self) -> Any:
        """The group of each row, (n_rows,)."""
        groups = torch.arange(self.n_groups, device=self.device)
        return torch.repeat_interleave(groups, self.lengths, output_size=self.n_rows)

    @cached_property
    def within(self) -> Any:
        """The place of each row in its group, (n_rows,)."""
        starts = torch.cumsum(self.lengths, 0) - self.lengths
        return torch.arange(self.n_rows, device=self.device) - starts[self.codes]

    @cached_property
    def place(self) -> Any:
        """Where a row stands in a table of (group, row), read line by line."""
        return self.codes * self.largest + self.within

    @cached_property
    def members(self) -> Any:
        """Which rows a group has, (n_groups, n_rows)."""
        return self.codes == torch.arange(self.n_groups, device=self.device)[:, None]

    def size_like(self, values: Any) -> Any:
        """Sizes in the precision of ``values``, (n_groups, 1)."""
        return self.sizes.to(values.dtype)

    def pad(self, values: Any, fill: float) -> Any:
        """(..., n_rows) as (..., n_groups, largest size), filled up with ``fill``."""
        if self.equal:
            return values.reshape(*values.shape[:-1], self.n_groups, self.largest)
        table = values.new_full((*values.shape[:-1], self.n_groups * self.largest), fill)
        table = table.index_copy(-1, self.place, values)
        return table.reshape(*values.shape[:-1], self.n_groups, self.largest)

    def sum(self, values: Any) -> Any:
        """Sum over each group's rows, (..., n_groups, k)."""
        return values if self.largest == 1 else _Sum.apply(values, self)

    def mean(self, values: Any) -> Any:
        """Mean over each group's rows, (..., n_groups, k)."""
        return self.sum(values) / self.size_like(values)

    def max(self, values: Any) -> Any:
        """Largest value of each group's rows; equals share the gradient."""
        return values if self.largest == 1 else _Max.apply(values, self)

    def spread(self, values_group: Any) -> Any:
        """Give every row its group's value, (..., n_rows, k)."""
        return values_group if self.largest == 1 else _Spread.apply(values_group, self)

    def logsumexp(self, values: Any) -> Any:
        """``log(sum(exp(values)))`` over each group's rows, finite for finite values."""
        if self.largest == 1:
            return values
        top = self.max(values.detach())
        return torch.log(self.sum(torch.exp(values - self.spread(top)))) + top

    def softmax(self, values: Any) -> Any:
        """Shares of ``exp(values)`` in each group, which sum to one over its rows."""
        top = self.max(values.detach())
        term = torch.exp(values - self.spread(top))
        return term / self.spread(self.sum(term))

    def weighted_sum(self, weight: Any, values: Any) -> Any:
        """Sum of rows times their weights, (..., n_rows, 1), over each group."""
        if self._by_product(values):
            share = weight.transpose(-1, -2).to(values.dtype)
            return torch.where(self.members, share, 0.0) @ values
        return self.sum(weight * values)

    def like(self, sizes: ArrayLike) -> "Packed":
        """Other groups on the same device."""
        return Packed(sizes, self.device)

    def _by_product(self, values: Any) -> bool:
        return values.is_cuda and not self.equal and self.n_groups <= _FEW_GROUPS

    def _total(self, values: Any) -> Any:
        if self.equal:
            return values.unflatten(-2, (self.n_groups, self.largest)).sum(-2)
        if self._padded(values):
            return self.pad(values.transpose(-1, -2), 0.0).sum(-1).transpose(-1, -2)
        if self._by_product(values):
            return self.members.to(values.dtype) @ values
        if values.device.type == "cpu":  # in the order of the rows, too, and several times as fast
            total = values.new_zeros(*values.shape[:-2], self.n_groups, values.shape[-1])
            return total.index_add_(-2, self.codes, values)
        return self._segments(values, "sum")

    def _top(self, values: Any) -> Any:
        if self.equal:
            return values.unflatten(-2, (self.n_groups, self.largest)).amax(-2)
        if self._padded(values):
            return self.pad(values.transpose(-1, -2), -torch.inf).amax(-1).transpose(-1, -2)
        return self._segments(values, "max")

    def _padded(self, values: Any) -> bool:
        table = self.n_groups * self.largest
        return values.shape[-1] <= _FEW_COLUMNS and table <= 8 * self.n_rows + 100_000

    def _segments(self, values: Any, kind: str) -> Any:
        lengths = self.lengths.expand(*values.shape[:-2], self.n_groups).contiguous()
        return torch.segment_reduce(
            values.contiguous(), kind, lengths=lengths, axis=values.ndim - 2, unsafe=True
        )


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Any, packed: Packed) -> Any:
        ctx.packed = packed
        return packed._total(values)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0].index_select(-2, ctx.packed.codes), None


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values_group: Any, packed: Packed) -> Any:
        ctx.packed = packed
        return values_group.index_select(-2, packed.codes)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return ctx.packed._total(grads[0]), None


class _Max(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Any, packed: Packed) -> Any:
        ctx.packed = packed
        top = packed._top(values)
        ctx.save_for_backward(values, top)
        return top

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        packed, (values, top) = ctx.packed, ctx.saved_tensors
        is_top = (values == top.index_select(-2, packed.codes)).to(values.dtype)
        part = grads[0] / packed._total(is_top)
        return part.index_select(-2, packed.codes) * is_top, None
