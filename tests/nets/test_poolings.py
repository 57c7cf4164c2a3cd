"""Poolings of packed rows against padded-and-masked ones, and what they say without a row."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from groupwise.nets.answers import scores_of
from groupwise.nets.host import HostPacked
from groupwise.nets.network import GroupNet, Pooling
from groupwise.nets.packed import Packed
from groupwise.nets.passes import N_HEADS, POOLINGS, initial_weights, pool

SIZES = [np.array([3, 1, 6, 2]), np.array([3, 3, 3]), np.array([20, 1, 2])]
WIDTH, N_MEMBERS = 8, 2
each_sizes = pytest.mark.parametrize("sizes", SIZES, ids=["mixed", "equal", "long"])
each_pooling = pytest.mark.parametrize("kind", POOLINGS)


def drawn_weights(kind, seed=0, sharp=1.0):
    members = [
        initial_weights(None, (), kind, 1, np.random.default_rng(seed + at), width=WIDTH)
        for at in range(N_MEMBERS)
    ]
    weights = {name: np.stack([m[name] for m in members]).astype(float) for name in members[0]}
    weights["head_weight"] = np.random.default_rng(seed).normal(size=weights["head_weight"].shape)
    if "attention_out_weight" in weights:
        weights["attention_out_weight"] *= sharp
    return weights


def hidden_rows(sizes, seed=0):
    return np.random.default_rng(seed).normal(size=(N_MEMBERS, sizes.sum(), WIDTH))


def tensors(weights):
    return {name: torch.tensor(value) for name, value in weights.items()}


def padded(hidden, sizes):
    """(n_members, n_groups, longest, width) and which entries are rows."""
    table = np.zeros((len(hidden), len(sizes), sizes.max(), hidden.shape[-1]))
    mask = np.arange(sizes.max()) < sizes[:, None]
    table[:, mask] = hidden
    return torch.tensor(table), torch.tensor(mask)


def masked_attention(query, key, value, mask):
    """Heads of (members, groups, length, width); ``mask`` says which keys are there."""

    def heads(x):
        return x.unflatten(-1, (N_HEADS, -1)).transpose(-2, -3)

    seen = F.scaled_dot_product_attention(heads(query), heads(key), heads(value), attn_mask=mask)
    return seen.transpose(-2, -3).flatten(-2)


def reference(kind, weights, hidden, sizes):
    """The pooling of padded groups with a mask, by torch's own attention."""
    table, mask = padded(hidden, sizes)
    w = tensors(weights)
    m = mask[None, :, :, None]

    def layer(name, x):
        shape = (len(x), *[1] * (x.ndim - 3))
        weight = w[f"{name}_weight"].reshape(*shape, *w[f"{name}_weight"].shape[1:])
        return x @ weight + w[f"{name}_bias"].reshape(*shape, *w[f"{name}_bias"].shape[1:])

    mean = (table * m).sum(2) / torch.tensor(sizes)[:, None]
    top = table.masked_fill(~m, -torch.inf).amax(2)
    if kind in ("mean", "max"):
        return mean if kind == "mean" else top
    if kind == "mean_max":
        return torch.cat([mean, top], -1)
    if kind == "attention":
        left, right = layer("attention_gate", table).chunk(2, dim=-1)
        logits = layer("attention_out", torch.tanh(left) * torch.sigmoid(right))
        share = torch.softmax(logits.masked_fill(~m, -torch.inf), 2)
        return (share * table).sum(2)

    def rest(name, x):
        return x + torch.relu(layer(f"{name}_out", x))

    def learned(name, x):
        query = w[f"{name}_points"][:, None].expand(-1, len(sizes), -1, -1)
        seen = masked_attention(
            query, layer(f"{name}_key", x), layer(f"{name}_value", x), mask[None, :, None, None, :]
        )
        return rest(name, query + seen)

    points = learned("induce", table)
    query = layer("return_query", table)
    seen = masked_attention(query, layer("return_key", points), layer("return_value", points), None)
    return learned("seed", rest("return", query + seen))[:, :, 0]


@each_sizes
@each_pooling
def test_poolings_equal_padded_and_masked_ones(kind, sizes):
    weights, hidden = drawn_weights(kind), hidden_rows(sizes)
    wanted = reference(kind, weights, hidden, sizes).numpy()
    of_torch = pool(Packed(sizes), tensors(weights), kind, torch.tensor(hidden)).numpy()
    of_numpy = pool(HostPacked(sizes), weights, kind, hidden)
    np.testing.assert_allclose(of_torch, wanted, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(of_numpy, wanted, rtol=1e-10, atol=1e-12)


@each_sizes
@each_pooling
def test_gradients_equal_those_of_padded_ones(kind, sizes):
    weights = drawn_weights(kind)
    first, second = (torch.tensor(hidden_rows(sizes), requires_grad=True) for _ in range(2))
    pool(Packed(sizes), tensors(weights), kind, first).square().sum().backward()
    parts = second.split(sizes.tolist(), dim=1)  # group by group, nothing packed or padded
    total = 0.0
    for part in parts:
        alone = Packed([part.shape[1]])
        total = total + pool(alone, tensors(weights), kind, part).square().sum()
    total.backward()
    np.testing.assert_allclose(first.grad, second.grad, rtol=1e-9, atol=1e-11)


@each_sizes
@pytest.mark.parametrize("sharp", [1.0, 300.0])
@each_pooling
def test_without_a_row_is_the_pooling_of_the_others(kind, sharp, sizes):
    weights, hidden = drawn_weights(kind, sharp=sharp), hidden_rows(sizes)
    hidden[:, 1] = hidden[:, 0]  # equals, at the top of nothing or of all
    found, groups = scores_of(HostPacked(sizes), weights, kind, hidden, True)
    by_torch, _ = scores_of(Packed(sizes), tensors(weights), kind, torch.tensor(hidden), True)
    np.testing.assert_allclose(by_torch, found, rtol=1e-8, atol=1e-10)
    starts = np.cumsum(sizes) - sizes
    for start, size in zip(starts, sizes, strict=True):
        for row in range(start, start + size):
            others = np.delete(np.arange(start, start + size), row - start)
            if size == 1:
                assert found[row] == 0.0
                continue
            alone = scores_of(
                HostPacked(np.array([size - 1])), weights, kind, hidden[:, others], False
            )[1]
            np.testing.assert_allclose(found[row], alone[0], rtol=1e-7, atol=1e-9)
    assert groups.shape == (len(sizes), 1)


@each_pooling
def test_order_of_rows_and_groups_does_not_matter(kind):
    sizes = SIZES[0]
    weights, hidden = drawn_weights(kind), hidden_rows(sizes)
    before = pool(HostPacked(sizes), weights, kind, hidden)
    parts = np.split(np.arange(sizes.sum()), np.cumsum(sizes)[:-1])
    rng = np.random.default_rng(1)
    order = rng.permutation(len(sizes))
    rows = np.concatenate([rng.permutation(parts[at]) for at in order])
    after = pool(HostPacked(sizes[order]), weights, kind, hidden[:, rows])
    np.testing.assert_allclose(after, before[:, order], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("sizes", SIZES[:2], ids=["mixed", "equal"])
def test_sums_and_maxima_have_the_right_derivatives(sizes):
    packed = Packed(sizes)
    rows = torch.tensor(hidden_rows(sizes)[:, :, :2], requires_grad=True)
    groups = torch.tensor(hidden_rows(np.array([len(sizes)]))[:, :, :2], requires_grad=True)
    for function, values in ((packed.sum, rows), (packed.max, rows), (packed.spread, groups)):
        assert torch.autograd.gradcheck(function, values)
    for function in (packed.logsumexp, packed.softmax):
        assert torch.autograd.gradcheck(function, rows)
    wide = torch.tensor(np.tile(hidden_rows(sizes), 3), requires_grad=True)  # by segments
    wanted = torch.stack([part.sum(1) for part in wide.split(sizes.tolist(), dim=1)], 1)
    np.testing.assert_allclose(packed.sum(wide).detach(), wanted.detach(), rtol=1e-12)
    top = torch.stack([part.amax(1) for part in wide.split(sizes.tolist(), dim=1)], 1)
    np.testing.assert_array_equal(packed.max(wide).detach(), top.detach())


def test_equal_largest_rows_share_the_gradient():
    rows = torch.tensor([[2.0], [2.0], [1.0], [5.0]], requires_grad=True)
    Packed([3, 1]).max(rows).sum().backward()
    assert rows.grad[:, 0].tolist() == [0.5, 0.5, 0.0, 1.0]


def test_pooling_is_a_module_of_its_own():
    torch.manual_seed(0)
    rows = torch.randn(5, 8)
    module = Pooling("attention", 8)
    assert module(rows, Packed([2, 3])).shape == (2, 8)
    assert {name.split(".")[-1] for name, _ in module.named_parameters()} == {
        "attention_gate_weight", "attention_gate_bias",
        "attention_out_weight", "attention_out_bias",
    }  # fmt: skip


def test_compiled_rows_are_for_attention_only():
    with pytest.raises(ValueError, match="attention over an encoder of sizes"):
        GroupNet(3, pooling="mean").fuse()
