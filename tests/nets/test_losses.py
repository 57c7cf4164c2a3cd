"""The losses on packed rows are those of numpy, in value and gradient."""

import numpy as np
import pytest
import torch

from groupwise import Groups
from groupwise.losses import (
    CountLikelihoodLoss,
    GroupMeanLoss,
    MajorityLoss,
    NoisyOrLoss,
    SessionSoftmaxLoss,
    ShareLoss,
    SmoothMaxLoss,
)
from groupwise.nets.losses import PooledLoss, torch_loss
from groupwise.nets.packed import Packed

SIZES = [np.array([3, 1, 5, 2, 7]), np.array([4, 4, 4]), np.array([1, 1, 1]), np.array([150, 2])]
CASES = [
    (MajorityLoss(gamma=3.0), 2),
    (MajorityLoss(gamma=3.0), 3),
    (SessionSoftmaxLoss(2.0), 2),
    (SessionSoftmaxLoss(np.inf), 4),
    (NoisyOrLoss(), 2),
    (SmoothMaxLoss(3.0), 2),
    (ShareLoss(), 2),
    (ShareLoss(), 3),
    (CountLikelihoodLoss(), 2),
    (CountLikelihoodLoss(), 3),
    (GroupMeanLoss(), 0),
    (GroupMeanLoss(delta=0.3), 0),
]


def targets(loss, n_classes, sizes, rng):
    if loss.target_kind == "label":
        return rng.integers(n_classes, size=len(sizes))
    if loss.target_kind == "number":
        return rng.normal(size=len(sizes))
    return np.stack([rng.multinomial(m, np.ones(n_classes) / n_classes) / m for m in sizes])


def both(loss, n_classes, sizes, score, target, weight=None, weight_group=None):
    """Value and gradient of numpy and of torch."""
    groups = Groups.of_sizes(sizes)
    bound = loss.bind(target, groups, n_classes=max(n_classes, 2), weight_row=weight)
    flat = score[:, 0] if score.shape[1] == 1 else score
    wanted = bound.value(flat), bound.gradient(flat).reshape(score.shape)
    s = torch.tensor(score, requires_grad=True)
    weights = None if weight is None else torch.tensor(weight)
    value = torch_loss(loss)(s, torch.tensor(target), Packed(sizes), weights, weight_group)
    value.backward()
    return wanted, (value.item(), s.grad.numpy())


@pytest.mark.parametrize("sizes", SIZES, ids=["mixed", "equal", "ones", "large"])
@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_value_and_gradient_equal_the_numpy_loss(loss, n_classes, sizes):
    rng = np.random.default_rng(len(sizes) + n_classes)
    n_outputs = n_classes if n_classes > 2 else 1
    target = targets(loss, n_classes, sizes, rng)
    for scale in (1.0, 6.0):
        score = scale * rng.normal(size=(sizes.sum(), n_outputs))
        wanted, found = both(loss, n_classes, sizes, score, target)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found[1], wanted[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_weights_of_rows_equal_those_of_numpy(loss, n_classes):
    rng = np.random.default_rng(3)
    sizes = SIZES[0]
    score = rng.normal(size=(sizes.sum(), n_classes if n_classes > 2 else 1))
    weight = rng.uniform(0.5, 2.0, size=sizes.sum())
    if isinstance(loss, CountLikelihoodLoss):  # whole rows only
        weight = np.repeat(rng.uniform(0.5, 2.0, size=len(sizes)), sizes)
    target = targets(loss, n_classes, sizes, rng)
    wanted, found = both(loss, n_classes, sizes, score, target, weight)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_members_are_separate_and_a_weight_of_zero_leaves_a_group_out(loss, n_classes):
    rng = np.random.default_rng(4)
    sizes = SIZES[0]
    score = rng.normal(size=(2, sizes.sum(), n_classes if n_classes > 2 else 1))
    target = targets(loss, n_classes, sizes, rng)
    kept = torch.tensor([[1.0, 1, 1, 1, 1], [1, 1, 0, 1, 1]], dtype=torch.float64)
    value = torch_loss(loss)(
        torch.tensor(score), torch.tensor(target), Packed(sizes), weight_group=kept
    )
    rows = np.repeat(np.arange(5), sizes) != 2
    (all_groups, _), _ = both(loss, n_classes, sizes, score[0], target)
    part = np.delete(sizes, 2), score[1][rows], np.delete(target, 2, axis=0)
    (without, _), _ = both(loss, n_classes, *part)
    np.testing.assert_allclose(value.numpy(), [all_groups, without], rtol=1e-10)


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_far_scores_have_finite_gradients(loss, n_classes):
    rng = np.random.default_rng(5)
    sizes = SIZES[0]
    shape = (sizes.sum(), n_classes if n_classes > 2 else 1)
    score = torch.tensor(rng.choice([-300.0, 300.0], size=shape), requires_grad=True)
    target = torch.tensor(targets(loss, n_classes, sizes, rng))
    torch_loss(loss)(score, target, Packed(sizes)).backward()
    assert torch.isfinite(score.grad).all()


def test_pooled_losses_by_hand():
    packed = Packed([1, 1])
    score = torch.tensor([[0.0], [np.log(3.0)]], dtype=torch.float64)
    value = PooledLoss("label")(score, torch.tensor([0, 1]), packed)
    assert value.item() == pytest.approx(-np.log(0.5) - np.log(0.75))
    shares = torch.tensor([[0.5, 0.5], [0.2, 0.8]])
    value = PooledLoss("share")(score, shares, packed)
    assert value.item() == pytest.approx(-np.log(0.5) - 0.2 * np.log(0.25) - 0.8 * np.log(0.75))
    value = PooledLoss("share", squared=True)(score, shares, packed)
    assert value.item() == pytest.approx(0.5 * 0.05**2)
    value = PooledLoss("number", delta=1.0)(score, torch.tensor([0.5, 3.0 + np.log(3)]), packed)
    assert value.item() == pytest.approx(0.125 + 2.5)
    three = torch.tensor([[0.0, 0.0, np.log(2.0)]], dtype=torch.float64)
    third = torch.tensor([[0.0, 0.5, 0.5]])
    one = Packed([1])
    value = PooledLoss("share")(three, third, one).item()
    assert value == pytest.approx(-0.5 * np.log(0.25) - 0.5 * np.log(0.5))
    value = PooledLoss("share", squared=True)(three, third, one).item()
    assert value == pytest.approx(0.5 * (0.25**2 + 0.25**2))


def test_an_unknown_loss_is_refused():
    class Other(NoisyOrLoss):
        pass

    with pytest.raises(ValueError, match="networks are trained on MajorityLoss"):
        torch_loss(Other())


def test_sizes_must_be_positive():
    with pytest.raises(ValueError, match="at least one"):
        Packed([2, 0])
