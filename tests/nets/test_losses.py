"""The losses on packed rows are those of numpy, in value and gradient."""

import numpy as np
import pytest
import torch

from groupwise import Groups
from groupwise.losses import (
    CountLikelihoodLoss,
    CoxLoss,
    GroupMeanLoss,
    GroupQuantileLoss,
    MajorityLoss,
    NegativeBinomialTotalLoss,
    NoisyOrLoss,
    OrdinalLoss,
    PoissonTotalLoss,
    PresenceLabelsLoss,
    Reported,
    ReportedCountLoss,
    SessionSoftmaxLoss,
    ShareLoss,
    SmoothMaxLoss,
)
from groupwise.nets.losses import Cox, Ordinal, PooledLoss, torch_loss
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
    (GroupQuantileLoss(), 0),
    (GroupQuantileLoss(0.9), 0),
    (PoissonTotalLoss(), 0),
    (NegativeBinomialTotalLoss(), 0),
    (NegativeBinomialTotalLoss(0.3), 0),
    (CoxLoss(), 0),
    (CoxLoss(2.0), 0),
    (OrdinalLoss(), 2),
    (OrdinalLoss(2.0), 3),
    (PresenceLabelsLoss(), 1),
    (PresenceLabelsLoss(), 3),
    (ReportedCountLoss(), 2),
    (ReportedCountLoss(Reported(rounding=3)), 2),
    (ReportedCountLoss(Reported(suppressed_below=2)), 3),
    (ReportedCountLoss(Reported("geometric", 0.7, sampled=0.5)), 2),
    (ReportedCountLoss(Reported("laplace", 1.5, rounding=2)), 3),
]


def n_outputs(loss, n_classes):
    if loss.target_kind == "labels":
        return n_classes
    return 1 if loss.one_score or n_classes < 3 else n_classes


def targets(loss, n_classes, sizes, rng):
    n = len(sizes)
    if isinstance(loss, OrdinalLoss):  # every grade has a group
        return np.roll(np.arange(n) % min(n_classes, n), 1)
    if loss.target_kind == "label":
        return rng.integers(n_classes, size=n)
    if loss.target_kind == "labels":
        return np.where(
            rng.uniform(size=(n, n_classes)) < 0.3, np.nan, rng.integers(0, 2, n)[:, None]
        )
    if loss.target_kind == "time":
        return rng.integers(1, 4, size=n) * np.where(np.arange(n) % 3 == 1, -1.0, 1.0)
    if loss.target_kind == "report":
        return reports(loss.reported or Reported(), n_classes, sizes, rng)
    if loss.target_kind == "number":
        return 1.0 * rng.poisson(2.0, size=n) if loss.takes_exposure else rng.normal(size=n)
    return np.stack([rng.multinomial(m, np.ones(n_classes) / n_classes) / m for m in sizes])


def reports(reported, n_classes, sizes, rng):
    rows = reported.all_rows(sizes).astype(int)
    counts = np.stack([rng.multinomial(m, np.ones(n_classes) / n_classes) for m in rows])
    told = counts + (0.0 if reported.noise is None else np.rint(rng.normal(size=counts.shape)))
    if reported.rounding is not None:
        told = np.rint(told / reported.rounding) * reported.rounding
    if reported.suppressed_below is not None:
        told = np.where(told < reported.suppressed_below, np.nan, told)
    if n_classes > 2:
        return told
    ends = np.stack([told[:, 1], told[:, 1]], axis=1)
    ends[0] = np.minimum(1.0, sizes[0]), sizes[0]  # a range
    ends[-1] = np.nan  # nothing
    return ends


def bind(loss, n_classes, sizes, target, weight=None):
    groups = Groups.of_sizes(sizes)
    return loss.bind(target, groups, n_classes=max(n_classes, 2), weight_row=weight)


def known(module, target, sizes):
    return torch.tensor(module.encode(target, sizes))


def assert_same(found, wanted, loss):
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-10, atol=1e-10)
    # numpy's gradient takes likelihoods of reports in single precision; others are 0, 1/2 and 1
    noisy = loss.target_kind == "report" and loss.reported is not None and loss.reported.noise
    close = 1e-6 if noisy else 1e-10
    np.testing.assert_allclose(found[1], wanted[1], rtol=close, atol=close)


def both(loss, n_classes, sizes, score, target, weight=None, weight_group=None):
    """Value and gradient of numpy and of torch."""
    bound = bind(loss, n_classes, sizes, target, weight)
    flat = score[:, 0] if score.shape[1] == 1 and loss.target_kind != "labels" else score
    wanted = bound.value(flat), bound.gradient(flat).reshape(score.shape)
    s = torch.tensor(score, requires_grad=True)
    weights = None if weight is None else torch.tensor(weight)
    module = torch_loss(loss, [bound])
    value = module(s, known(module, target, sizes), Packed(sizes), weights, weight_group)
    value.backward()
    return wanted, (value.item(), s.grad.numpy())


@pytest.mark.parametrize("sizes", SIZES, ids=["mixed", "equal", "ones", "large"])
@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_value_and_gradient_equal_the_numpy_loss(loss, n_classes, sizes):
    rng = np.random.default_rng(len(sizes) + n_classes)
    target = targets(loss, n_classes, sizes, rng)
    n_classes = min(n_classes, len(sizes)) if loss.one_score else n_classes
    for scale in (1.0, 6.0):
        score = scale * rng.normal(size=(sizes.sum(), n_outputs(loss, n_classes)))
        wanted, found = both(loss, n_classes, sizes, score, target)
        assert_same(found, wanted, loss)


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_weights_of_rows_equal_those_of_numpy(loss, n_classes):
    rng = np.random.default_rng(3)
    sizes = SIZES[0]
    score = rng.normal(size=(sizes.sum(), n_outputs(loss, n_classes)))
    weight = rng.uniform(0.5, 2.0, size=sizes.sum())
    if isinstance(loss, CountLikelihoodLoss | ReportedCountLoss):  # whole rows only
        weight = np.repeat(rng.uniform(0.5, 2.0, size=len(sizes)), sizes)
    target = targets(loss, n_classes, sizes, rng)
    wanted, found = both(loss, n_classes, sizes, score, target, weight)
    assert_same(found, wanted, loss)


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_members_are_separate_and_a_weight_of_zero_leaves_a_group_out(loss, n_classes):
    rng = np.random.default_rng(4)
    sizes = SIZES[0]
    score = rng.normal(size=(2, sizes.sum(), n_outputs(loss, n_classes)))
    target = targets(loss, n_classes, sizes, rng)
    kept = torch.tensor([[1.0, 1, 1, 1, 1], [1, 1, 0, 1, 1]], dtype=torch.float64)
    rows = np.repeat(np.arange(5), sizes) != 2
    part = np.delete(sizes, 2), score[1][rows], np.delete(target, 2, axis=0)
    bound = [bind(loss, n_classes, sizes, target), bind(loss, n_classes, part[0], part[2])]
    module = torch_loss(loss, bound)
    s = torch.tensor(score, requires_grad=True)
    value = module(s, known(module, target, sizes), Packed(sizes), weight_group=kept)
    (all_groups, _), _ = both(loss, n_classes, sizes, score[0], target)
    (without, gradient), _ = both(loss, n_classes, *part)
    np.testing.assert_allclose(value.detach().numpy(), [all_groups, without], rtol=1e-10)
    value[1].backward()
    assert_same((without, s.grad[1, rows].numpy()), (without, gradient), loss)
    assert not s.grad[0].any() and not s.grad[1, ~rows].any()


@pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=str)
def test_far_scores_have_finite_gradients(loss, n_classes):
    rng = np.random.default_rng(5)
    sizes = SIZES[0]
    shape = (sizes.sum(), n_outputs(loss, n_classes))
    far = rng.choice([-300.0, 300.0], size=shape)
    target = targets(loss, n_classes, sizes, rng)
    for kind in (torch.float64, torch.float32):
        score = torch.tensor(far, dtype=kind, requires_grad=True)
        module = torch_loss(loss, [bind(loss, n_classes, sizes, target)])
        value = module(score, known(module, target, sizes), Packed(sizes))
        value.backward()
        assert torch.isfinite(value) and torch.isfinite(score.grad).all()


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


def test_a_group_without_weight_is_in_no_risk_set():
    """Whatever its time: the longest, the shortest, or that of an event."""
    time, score = torch.tensor([1.0, 2.0, -3.0, 2.0]), torch.zeros(4, 1, dtype=torch.float64)
    kept = 1.0 - torch.eye(4, dtype=torch.float64)
    found = Cox()(score.expand(4, 4, 1), time, Packed([1] * 4), weight_group=kept)
    # the log of the share at risk, of each event: all three, or the two that are left
    two = np.log(2 / 3)
    np.testing.assert_allclose(found, [0.0, two, two + two, two], atol=1e-12)


def test_held_out_grades_cost_by_the_thresholds_of_training():
    rng = np.random.default_rng(6)
    sizes, grade = np.array([2, 1, 3, 2, 2, 1]), np.array([0, 1, 2, 2, 1, 0])
    train, held = rng.normal(size=(2, 11))
    bound = bind(OrdinalLoss(), 3, sizes, grade)
    follower = bind(OrdinalLoss(), 3, sizes, grade).follow(bound)
    module = Ordinal()
    with pytest.raises(RuntimeError, match="found in training"):
        module.eval()(torch.tensor(held)[:, None], torch.tensor(grade), Packed(sizes))
    for score, wanted in ((train, bound), (held, follower)):
        module.train(score is train)
        value = module(torch.tensor(score)[:, None], torch.tensor(grade), Packed(sizes))
        assert value.item() == pytest.approx(wanted.value(score), rel=1e-12)
    np.testing.assert_allclose(module.thresholds, bound.thresholds, rtol=1e-9)


def test_exposures_are_offsets_of_scores():
    rng = np.random.default_rng(7)
    sizes, mean = SIZES[0], rng.poisson(3.0, size=5) * 1.0
    score, exposure = rng.normal(size=18), rng.uniform(0.5, 3.0, size=18)
    for loss in (PoissonTotalLoss(), NegativeBinomialTotalLoss()):
        bound = bind(loss, 0, sizes, mean).with_offset(np.log(exposure))
        shifted = torch.tensor(score + np.log(exposure))[:, None]
        value = torch_loss(loss, [bound])(shifted, torch.tensor(mean), Packed(sizes))
        assert value.item() == pytest.approx(bound.value(score), rel=1e-12)


def test_an_unknown_loss_is_refused():
    class Other(NoisyOrLoss):
        pass

    with pytest.raises(ValueError, match="networks are trained on MajorityLoss"):
        torch_loss(Other())
    with pytest.raises(ValueError, match="finds its dispersion in the data"):
        torch_loss(NegativeBinomialTotalLoss())


def test_sizes_must_be_positive():
    with pytest.raises(ValueError, match="at least one"):
        Packed([2, 0])
