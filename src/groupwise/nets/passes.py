"""What the networks compute, once for torch tensors and for numpy arrays.

``packed`` is a :class:`groupwise.nets.packed.Packed` or a :class:`groupwise.nets.host.HostPacked`,
which have the same methods. ``weights`` maps names to tables with one entry per member of the
ensemble first: layers are (n_members, n_in, n_out), biases (n_members, 1, n_out). Values of rows
are (n_members, n_rows, k), or (n_rows, k) where all members see the same; values of groups are
(n_members, n_groups, k).
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.inputs import check_choice

__all__ = [
    "N_HEADS",
    "POOLINGS",
    "attention",
    "attention_logits",
    "encode",
    "initial_weights",
    "leave_one_out",
    "linear",
    "pool",
    "pooled_size",
    "standardise",
]

Weights = Mapping[str, Any]
#: What follows a hidden layer.
Activate = Callable[[Any], Any]

POOLINGS = ("mean", "max", "mean_max", "attention", "set_transformer")
N_HEADS, N_POINTS = 4, 8


def standardise(rows: Any, centre: Any, scale: Any) -> Any:
    r"""Features from their centre in units of their scale, with far values drawn in.

    :math:`z / \sqrt{1 + (z / 3)^2}` is about z for usual values and stays within 3 (the smooth
    clipping of Holzmueller, Grinsztajn and Steinwart 2024): a rare word is no cannon ball.
    """
    z = ((rows - centre) / scale).clip(-1e6, 1e6)
    return z / (1.0 + (z / 3.0) ** 2) ** 0.5


def linear(packed: Any, weights: Weights, name: str, values: Any) -> Any:
    """A layer of every member."""
    return packed.linear(values, weights[f"{name}_weight"], weights[f"{name}_bias"])


def encode(
    packed: Any,
    weights: Weights,
    rows: Any,
    activate: Activate | None = None,
    activate_last: Activate | None = None,
) -> Any:
    """Rows through the hidden layers: rectified linear units, unless told otherwise."""
    place = 0
    while f"encoder_{place}_weight" in weights:
        rows = linear(packed, weights, f"encoder_{place}", rows)
        place += 1
        chosen = activate if f"encoder_{place}_weight" in weights else activate_last
        rows = packed.relu(rows) if chosen is None else chosen(rows)
    return rows


def pooled_size(kind: str | None, width: int) -> int:
    """How many numbers a group has after the pooling of vectors of ``width`` numbers."""
    return 2 * width if kind == "mean_max" else width


def pool(packed: Any, weights: Weights, kind: str, hidden: Any) -> Any:
    """Groups from rows, (n_members, n_groups, pooled size).

    Parameters
    ----------
    packed : Packed or HostPacked
    weights : mapping
    kind : {"mean", "max", "mean_max", "attention", "set_transformer"}
    hidden : array or tensor of shape (n_members, n_rows, width)
    """
    if kind == "mean":
        return packed.mean(hidden)
    if kind == "max":
        return packed.max(hidden)
    if kind == "mean_max":
        return packed.cat([packed.mean(hidden), packed.max(hidden)])
    if kind == "attention":
        return packed.weighted_sum(attention(packed, weights, hidden), hidden)
    return _set_transformer(packed, weights, hidden)


def attention(packed: Any, weights: Weights, hidden: Any) -> Any:
    """Gated attention of Ilse et al. (2018), eq. (9): shares of a group's rows, one per row."""
    return packed.softmax(attention_logits(packed, weights, hidden))


def attention_logits(packed: Any, weights: Weights, hidden: Any) -> Any:
    """Before the softmax over a group's rows, (..., n_rows, 1)."""
    signal, gate = packed.halves(linear(packed, weights, "attention_gate", hidden))
    gated = packed.tanh(signal) * packed.sigmoid(gate)
    return linear(packed, weights, "attention_out", gated)


def _set_transformer(packed: Any, weights: Weights, hidden: Any) -> Any:
    """Set transformer of Lee et al. (2019): induced self-attention, then pooling by attention.

    Rows are seen through a few learned points, so that time and memory grow with the rows and not
    with their square. Without layer norms.
    """
    points = _attend_rows(packed, weights, "induce", hidden)
    rows = _attend_points(packed, weights, "return", hidden, points)
    return _attend_rows(packed, weights, "seed", rows)[..., 0]


def _heads(values: Any) -> Any:
    """(..., width) as (..., n_heads, width / n_heads)."""
    return values.reshape(*values.shape[:-1], N_HEADS, values.shape[-1] // N_HEADS)


def _merge(values: Any) -> Any:
    return values.reshape(*values.shape[:-2], values.shape[-2] * values.shape[-1])


def _rest(packed: Any, weights: Weights, name: str, values: Any) -> Any:
    """The residual layer that ends every block of attention."""
    return values + packed.relu(linear(packed, weights, f"{name}_out", values))


def _attend_rows(packed: Any, weights: Weights, name: str, hidden: Any) -> Any:
    """Learned points look at the rows of each group, (..., n_groups, width, n_points)."""
    key = _heads(linear(packed, weights, f"{name}_key", hidden))
    value = linear(packed, weights, f"{name}_value", hidden)
    queries = weights[f"{name}_points"]  # (n_members, n_points, width)
    out = []
    for place in range(queries.shape[1]):
        query = queries[:, place : place + 1]  # (n_members, 1, width)
        logits = (key * _heads(query)).sum(-1) / key.shape[-1] ** 0.5  # (..., n_rows, n_heads)
        share = packed.softmax(logits)[..., None]
        seen = packed.sum(_merge(share * _heads(value)))
        out.append(_rest(packed, weights, name, query + seen))
    return packed.stack(out)


def _attend_points(packed: Any, weights: Weights, name: str, hidden: Any, points: Any) -> Any:
    """Rows look at their own group's points, (..., n_rows, width)."""
    query = linear(packed, weights, f"{name}_query", hidden)
    n_points = points.shape[-1]
    keys, values = [], []
    for place in range(n_points):
        point = points[..., place]
        keys.append(packed.spread(linear(packed, weights, f"{name}_key", point)))
        values.append(packed.spread(linear(packed, weights, f"{name}_value", point)))
    scale = (query.shape[-1] // N_HEADS) ** 0.5
    logits = [(_heads(query) * _heads(key)).sum(-1) / scale for key in keys]
    share = packed.shares(packed.stack(logits))  # (..., n_rows, n_heads, n_points)
    seen = query
    for place in range(n_points):
        seen = seen + _merge(share[..., place, None] * _heads(values[place]))
    return _rest(packed, weights, name, seen)


def leave_one_out(packed: Any, weights: Weights, kind: str, hidden: Any) -> Any:
    """What the pooling would be without each row, (n_members, n_rows, pooled size).

    Exact and at the price of one pass for means, maxima and attention; other poolings have to look
    at the group once for each of its rows, see :func:`groupwise.nets.answers.scores_of`.
    Rows that are alone in their group get anything.
    """
    if kind == "mean":
        return _mean_without(packed, hidden)
    if kind == "max":
        return _max_without(packed, hidden)
    if kind == "mean_max":
        return packed.cat([_mean_without(packed, hidden), _max_without(packed, hidden)])
    return _attention_without(packed, weights, hidden)


def _mean_without(packed: Any, hidden: Any) -> Any:
    size = packed.size_like(hidden)
    others = packed.spread(packed.sum(hidden)) - hidden
    return others / packed.spread(size + (size == 1) - 1)


def _max_without(packed: Any, hidden: Any) -> Any:
    top = packed.spread(packed.max(hidden))
    is_top = hidden == top
    alone = packed.spread(packed.sum(is_top * 1.0)) == 1
    low = hidden - is_top * (top - packed.spread(-packed.max(-hidden)) + 1.0)
    second = packed.spread(packed.max(low))
    keep_top = ~(is_top & alone)
    return keep_top * top + ~keep_top * second


def _attention_without(packed: Any, weights: Weights, hidden: Any) -> Any:
    """By subtraction; for a group's most attended row, whose share may be all of it, anew."""
    logits = attention_logits(packed, weights, hidden)
    share = packed.softmax(logits)
    top = packed.spread(packed.max(share))
    first = (share == top) & (packed.spread(packed.sum((share == top) * 1.0)) == 1)
    # any other row has at most half of the attention, so that its part can be taken off
    part = share * ~first
    subtracted = (packed.spread(packed.sum(share * hidden)) - part * hidden) / (1.0 - part)
    # the first as if it were far below the others
    lowest = packed.spread(-packed.max(-logits))
    others = packed.softmax(logits - first * (logits - lowest + 800.0)) * ~first
    return first * packed.spread(packed.sum(others * hidden)) + ~first * subtracted


def initial_weights(
    n_features: int | None,
    sizes: tuple[int, ...],
    pooling: str | None,
    n_outputs: int,
    rng: np.random.Generator,
    *,
    width: int | None = None,
) -> dict[str, NDArray[np.float32]]:
    """Weights of one network at the start, without the axis of members.

    Hidden layers as He et al. (2015), all others with a standard deviation of one over the root of
    their inputs; biases are zero, and so is the head: training starts from a constant score.

    Parameters
    ----------
    n_features : int or None
        ``None``: rows come as vectors of ``width`` numbers from an encoder of its own.
    sizes : tuple of int
        Of the hidden layers.
    pooling : str or None
    n_outputs : int
    rng : Generator
    width : int, default=None
    """
    check_choice("pooling", pooling, (None, *POOLINGS))
    out: dict[str, NDArray[np.float32]] = {}

    def layer(name: str, n_in: int, n_out: int, gain: float = 1.0) -> None:
        drawn = rng.normal(size=(n_in, n_out)) * np.sqrt(gain / n_in)
        out[f"{name}_weight"] = drawn.astype(np.float32)
        out[f"{name}_bias"] = np.zeros((1, n_out), np.float32)

    if n_features is not None:
        inner = [n_features, *sizes]
        for place, (n_in, n_out) in enumerate(pairwise(inner)):
            layer(f"encoder_{place}", n_in, n_out, gain=2.0)
        width = inner[-1]
    assert width is not None  # one of both is given
    if pooling == "attention":
        half = max(width // 2, 1)
        layer("attention_gate", width, 2 * half)
        layer("attention_out", half, 1)
    if pooling == "set_transformer":
        if width % N_HEADS:
            raise ValueError(
                f"the set transformer has {N_HEADS} heads: vectors of rows must hold a multiple of "
                f"{N_HEADS} numbers, got {width}"
            )
        for name, n_points in (("induce", N_POINTS), ("seed", 1)):
            layer(f"{name}_key", width, width)
            layer(f"{name}_value", width, width)
            layer(f"{name}_out", width, width)
            drawn = rng.normal(size=(n_points, width))
            out[f"{name}_points"] = drawn.astype(np.float32)
        for part in ("query", "key", "value", "out"):
            layer(f"return_{part}", width, width)
    layer("head", pooled_size(pooling, width), n_outputs, gain=0.0)
    return out
