"""An ensemble of networks as one torch module: encoder of rows, pooling, head."""

from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.nets.need import NEEDS_TORCH
from groupwise.nets.packed import Packed, TorchOps
from groupwise.nets.passes import attention_logits, encode, initial_weights, linear, pool

try:
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:  # pragma: no cover - the test of it hides torch
    raise ImportError(NEEDS_TORCH) from error

__all__ = ["GroupNet", "Pooling"]


class GroupNet(nn.Module):
    """Networks from packed rows to scores of rows or of groups.

    All members of the ensemble are computed in one batched product: their layers are tensors of
    shape (n_members, n_in, n_out).

    Parameters
    ----------
    n_features : int or list of int
        Of a row; of the encoder's output if that is a module. A list has one per member: rows are
        as wide as the widest wants them, with zeros behind what is narrower.
    n_outputs : int, default=1
        1 for two classes and for numbers, else the number of classes.
    encoder : tuple of int or torch.nn.Module, default=(64, 64)
        Sizes of hidden layers, or a module from rows to vectors of ``n_features`` numbers, of which
        every member gets a copy.
    pooling : {"mean", "max", "mean_max", "attention", "set_transformer"}, default=None
        ``None``: the head scores rows, and a loss makes a group of them.
    n_members : int, default=1
    dropout : float, default=0.0
    rare : array-like of shape (n_features,) or (n_members, n_features), default=None
        Which features few rows have, for dropout of features: each is left out of a step as often
        as a unit that is dropped twice, by all rows of a member together.
    seed : int or list of int, default=0
        Of the weights at the start; a list has one per member.

    Examples
    --------
    >>> import torch
    >>> from groupwise.nets.network import GroupNet
    >>> from groupwise.nets.packed import Packed
    >>> net = GroupNet(3, encoder=(8,), pooling="attention", n_members=2)
    >>> net(torch.zeros(5, 3), Packed([2, 3])).shape
    torch.Size([2, 2, 1])
    """

    def __init__(
        self,
        n_features: int | list[int],
        n_outputs: int = 1,
        *,
        encoder: Any = (64, 64),
        pooling: str | None = None,
        n_members: int = 1,
        dropout: float = 0.0,
        rare: Any = None,
        seed: int | list[int] = 0,
    ):
        super().__init__()
        self.pooling, self.dropout, self.n_members = pooling, dropout, n_members
        own = isinstance(encoder, nn.Module)
        self.encoders = nn.ModuleList(deepcopy(encoder) for _ in range(n_members if own else 0))
        seeds = seed if isinstance(seed, list) else [seed + place for place in range(n_members)]
        widths = n_features if isinstance(n_features, list) else [n_features] * n_members
        members = [
            initial_weights(
                None if own else width,
                () if own else tuple(encoder),
                pooling,
                n_outputs,
                np.random.default_rng(each),
                width=width,
            )
            for each, width in zip(seeds, widths, strict=True)
        ]
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(torch.as_tensor(_stacked([each[name] for each in members])))
                for name in members[0]
            }
        )
        first = "encoder_0_weight" in self.weights  # whose inputs are the features
        known = None if rare is None or not first else torch.as_tensor(rare)[..., None]
        self.rare: Any
        self.register_buffer("rare", known, persistent=False)
        self.fused: Any = None
        self.noise: np.random.Generator | None = None  # of dropout on a CPU; None: torch's own

    def fuse(self) -> None:
        """Let torch compile what is computed of each row by itself, for large groups on a GPU.

        Only for attention over an encoder of sizes. Compiling takes some ten seconds.
        """
        if self.pooling != "attention" or len(self.encoders):
            raise ValueError("only attention over an encoder of sizes is compiled")
        self.fused = torch.compile(self._rows_and_logits, dynamic=True)

    def _rows_and_logits(self, rows: Any, weights: Any) -> tuple[Any, Any]:
        hidden = encode(TorchOps, weights, rows, self._activate, self._activate)
        return hidden, attention_logits(TorchOps, weights, hidden)

    def forward(self, rows: Any, packed: Packed) -> Any:
        """Scores of rows, or of groups where there is a pooling, (n_members, n, n_outputs).

        Rows are (n_rows, ...), or (n_folds, n_rows, n_features) where every so many members see
        them in units of their own.
        """
        weights = self._step_weights()
        if self.fused is not None:
            hidden, logits = self.fused(rows, weights)
            share = packed.softmax(logits.float())
            hidden = self._drop(packed.weighted_sum(share, hidden))
        else:
            hidden = self._encode(rows, packed, weights)
            if self.pooling is not None:
                hidden = self._drop(pool(packed, weights, self.pooling, hidden))
        score = linear(packed, weights, "head", hidden)
        return score if score.dtype == torch.float64 else score.float()

    def embed(self, rows: Any, packed: Packed) -> Any:
        """Rows after the encoder, (n_members, n_rows, width)."""
        hidden = self._encode(rows, packed, dict(self.weights.items()))
        return hidden if hidden.ndim == 3 else hidden.expand(self.n_members, -1, -1)

    def _step_weights(self) -> Any:
        """The weights; those of dropped features are zero in a step of training."""
        weights = dict(self.weights.items())
        if self.rare is not None and self.dropout and self.training:
            first = weights["encoder_0_weight"]
            rate = 1.0 - (1.0 - self.dropout) ** 2
            kept, _ = self._kept(first[..., :1], rate)
            weights["encoder_0_weight"] = first * torch.where(self.rare, kept, 1.0)
        return weights

    def _encode(self, rows: Any, packed: Packed, weights: Any) -> Any:
        # the largest of many noisy values is too large: a maximum is dropped after it is taken
        of_maxima = self.pooling in ("max", "mean_max")
        if len(self.encoders):
            found = [each(rows) for each in self.encoders]
            return torch.stack(found if of_maxima else [self._drop(each) for each in found])
        last = torch.relu if of_maxima else self._activate
        hidden = encode(packed, weights, rows, self._activate, last)
        if hidden.ndim == 3 and len(hidden) < self.n_members:  # no layers, and folds of their own
            return hidden.repeat_interleave(self.n_members // len(hidden), dim=0)
        return hidden

    def _activate(self, values: Any) -> Any:
        """Rectified linear units, with dropout in training."""
        if self.dropout and self.training and self._draws_itself(values):
            return _ReluDrop.apply(values, *self._kept(values, self.dropout))
        return self._drop(torch.relu(values))

    def _drop(self, values: Any) -> Any:
        if not (self.dropout and self.training):
            return values
        if self._draws_itself(values):
            return values * self._kept(values, self.dropout)[0]
        return F.dropout(values, self.dropout)

    def _draws_itself(self, values: Any) -> bool:
        """Bytes of numpy's generator cost a fraction of torch's draws on a CPU."""
        return values.device.type == "cpu" and self.noise is not None

    def _kept(self, values: Any, rate: float) -> tuple[Any, float]:
        """What is dropped at a rate, as zeros among factors that keep the mean at one."""
        if not self._draws_itself(values):
            return F.dropout(torch.ones_like(values), rate), 1.0 / (1.0 - rate)
        assert self.noise is not None
        least = round(256 * rate)
        factor = 256.0 / (256 - least)
        drawn = np.frombuffer(self.noise.bytes(values.numel()), np.uint8)
        kept = torch.as_tensor((drawn >= least).view(np.uint8)).to(values.dtype).mul_(factor)
        # in the order in which the values lie
        return kept.as_strided(values.shape, torch.empty_like(values).stride()), factor

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The weights as numpy arrays."""
        return {name: w.detach().cpu().numpy().copy() for name, w in self.weights.items()}


class _ReluDrop(torch.autograd.Function):
    """Rectified linear units and dropout in one piece of memory, for CPUs."""

    @staticmethod
    def forward(ctx: Any, values: Any, kept: Any, factor: float) -> Any:
        out = torch.relu(values).mul_(kept)
        ctx.factor = factor
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (out,) = ctx.saved_tensors
        grad = torch.ops.aten.threshold_backward(grads[0], out, 0)
        return grad.mul_(ctx.factor), None, None


class Pooling(nn.Module):
    """A pooling of packed vectors by itself, for networks of one's own.

    Parameters
    ----------
    kind : {"mean", "max", "mean_max", "attention", "set_transformer"}
    width : int
        Of the vectors; for the set transformer a multiple of 4.
    seed : int, default=0

    Examples
    --------
    >>> import torch
    >>> from groupwise.nets.network import Pooling
    >>> from groupwise.nets.packed import Packed
    >>> Pooling("mean_max", 3)(torch.ones(5, 3), Packed([2, 3])).shape
    torch.Size([2, 6])
    """

    def __init__(self, kind: str, width: int, seed: int = 0):
        super().__init__()
        self.kind = kind
        drawn = initial_weights(None, (), kind, 1, np.random.default_rng(seed), width=width)
        self.weights = nn.ParameterDict(
            {
                name: nn.Parameter(torch.as_tensor(value[None]))
                for name, value in drawn.items()
                if not name.startswith("head")
            }
        )

    def forward(self, hidden: Any, packed: Packed) -> Any:
        """Vectors of rows (n_rows, width) as vectors of groups (n_groups, pooled size)."""
        return pool(packed, dict(self.weights.items()), self.kind, hidden[None])[0]


def _stacked(members: list[Any]) -> Any:
    """Arrays of all members; a first layer with fewer features than others gets zeros below."""
    tallest = max(len(each) for each in members)
    padding = [(0, 0)] * (members[0].ndim - 1)
    return np.stack([np.pad(each, [(0, tallest - len(each)), *padding]) for each in members])
