"""What every group loss must satisfy, whatever it says."""

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import (
    LOSSES,
    NUMBER_LOSSES,
    CountLikelihoodLoss,
    CoxLoss,
    ExactCountLoss,
    GroupLoss,
    GroupMeanLoss,
    GroupQuantileLoss,
    MajorityLoss,
    NegativeBinomialTotalLoss,
    NoisyOrLoss,
    OrdinalLoss,
    PoissonTotalLoss,
    SessionLoss,
    SessionSoftmaxLoss,
    ShareLoss,
    SmoothMaxLoss,
    get_loss,
    get_number_loss,
)
from groupwise.rules import Rule

CASES = [
    (MajorityLoss(0.0), 2),
    (MajorityLoss(4.0), 2),
    (MajorityLoss(4.0), 3),
    (SessionSoftmaxLoss(2.0), 2),
    (SessionSoftmaxLoss(2.0), 4),
    (SessionSoftmaxLoss(np.inf), 3),
    (NoisyOrLoss(), 2),
    (SmoothMaxLoss(2.0), 2),
    (SmoothMaxLoss(0.5), 2),
    (CountLikelihoodLoss(), 2),
    (CountLikelihoodLoss(), 3),
    (ExactCountLoss(), 3),
    (ShareLoss(), 2),
    (ShareLoss(), 3),
    (GroupMeanLoss(), 1),
    (GroupMeanLoss(delta=0.5), 1),
    (GroupQuantileLoss(0.8), 1),
    (PoissonTotalLoss(), 1),
    (NegativeBinomialTotalLoss(0.3), 1),
    (NegativeBinomialTotalLoss(), 1),
    (OrdinalLoss(), 3),
    (OrdinalLoss(2.0), 4),
    (OrdinalLoss(), 2),
    (CoxLoss(), 1),
    (CoxLoss(2.0), 1),
]
COUNTS = PoissonTotalLoss | NegativeBinomialTotalLoss
IDS = [f"{loss!r}-{n_classes}" for loss, n_classes in CASES]
every_loss = pytest.mark.parametrize(("loss", "n_classes"), CASES, ids=IDS)


def problem(loss: GroupLoss, n_classes: int, seed: int, *, n_groups=7, n_rows=40, scale=1.5):
    rng = np.random.default_rng(seed)
    ids = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n_rows - n_groups)])
    groups = Groups(rng.permutation(ids))
    if isinstance(loss, COUNTS):
        target = rng.poisson(groups.sizes) / groups.sizes
    elif loss.target_kind == "number":
        target = rng.normal(size=n_groups)
    elif loss.target_kind == "time":  # some tied, some not observed
        target = rng.integers(1, 6, n_groups) * rng.choice([1.0, 1.0, -1.0], n_groups)
        target[0] = abs(target[0])  # at least one is
    elif loss.target_kind == "label":
        target = rng.permutation(np.arange(n_groups) % n_classes)
    else:
        target = groups.mean(np.eye(n_classes)[rng.integers(n_classes, size=n_rows)])
    shape = n_rows if n_classes <= 2 or loss.one_score else (n_rows, n_classes)
    return groups, target, scale * rng.normal(size=shape), rng


def bind(loss, n_classes, seed, weights=False, **options):
    groups, target, score, rng = problem(loss, n_classes, seed, **options)
    weight = None
    if weights:
        weight = groups.spread(rng.uniform(0.5, 2.0, groups.n_groups))
        if not isinstance(loss, CountLikelihoodLoss):
            weight = weight * rng.uniform(0.5, 2.0, groups.n_rows)
    return loss.bind(target, groups, n_classes=n_classes, weight_row=weight), score, rng


def numerical_gradient(f, x, step=1e-5):
    out = np.empty(x.size)
    for i in range(x.size):
        e = np.zeros(x.size)
        e[i] = step
        e = e.reshape(x.shape)
        out[i] = (f(x + e) - f(x - e)) / (2 * step)
    return out.reshape(x.shape)


@every_loss
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("seed", [0, 1])
def test_gradient_is_the_numerical_derivative(loss, n_classes, weights, seed):
    bound, score, _ = bind(loss, n_classes, seed, weights)
    numerical = numerical_gradient(bound.value, score)
    assert np.allclose(
        bound.gradient(score), numerical, atol=2e-6 * max(1, np.abs(numerical).max())
    )


@every_loss
@pytest.mark.parametrize("weights", [False, True])
def test_curvature_majorises_the_hessian(loss, n_classes, weights):
    bound, score, _ = bind(loss, n_classes, 3, weights, n_groups=4, n_rows=14, scale=2.0)
    size = score.size
    hessian = np.empty((size, size))
    for i in range(size):
        e = np.zeros(size)
        e[i] = 1e-5
        e = e.reshape(score.shape)
        hessian[i] = ((bound.gradient(score + e) - bound.gradient(score - e)) / 2e-5).ravel()
    gap = np.diag(bound.curvature(score).ravel()) - (hessian + hessian.T) / 2
    assert np.linalg.eigvalsh(gap).min() > -1e-6 * np.abs(hessian).max()


@every_loss
def test_small_steps_stay_below_the_quadratic(loss, n_classes):
    bound, score, rng = bind(loss, n_classes, 5)
    value, (gradient, curvature) = bound.value(score), bound.gradient_and_curvature(score)
    for _ in range(50):
        step = 1e-2 * rng.normal(size=score.shape)
        if rng.uniform() < 0.5:  # the group moves together
            step = np.full(score.shape, 1e-2 * rng.normal())
        quadratic = (gradient * step).sum() + 0.5 * (curvature * step**2).sum()
        third_order = 10 * np.abs(step).max() ** 3 * len(score)
        assert bound.value(score + step) <= value + quadratic + third_order


@every_loss
def test_row_order_and_group_names_do_not_matter(loss, n_classes):
    groups, target, score, rng = problem(loss, n_classes, 7)
    bound = loss.bind(target, groups, n_classes=n_classes)
    mixed = rng.permutation(groups.n_rows)
    names = rng.permutation(groups.n_groups)
    renamed = Groups([f"g{names[code]}" for code in groups.codes[mixed]])
    new_target = np.empty_like(target)
    new_target[names] = target
    other = loss.bind(new_target, renamed, n_classes=n_classes)
    assert np.isclose(bound.value(score), other.value(score[mixed]), rtol=1e-10)
    for ours, theirs in zip(
        bound.gradient_and_curvature(score),
        other.gradient_and_curvature(score[mixed]),
        strict=True,
    ):
        assert np.allclose(ours[mixed], theirs, rtol=1e-7, atol=1e-9)


@every_loss
def test_rows_that_lie_together_in_any_group_order_are_the_same(loss, n_classes):
    groups, target, score, _ = problem(loss, n_classes, 8)
    bound = loss.bind(target, groups, n_classes=n_classes)
    backwards = np.argsort(-groups.codes, kind="stable")  # runs, but not in the order of the names
    other = loss.bind(target, Groups(groups.codes[backwards]), n_classes=n_classes)
    assert other.layout.order is None
    assert bound.layout.order is not None
    assert np.allclose(
        bound.gradient(score)[backwards], other.gradient(score[backwards]), atol=1e-8
    )


@every_loss
@pytest.mark.parametrize("size", [1e2, 1e6])
def test_extreme_scores_give_finite_numbers(loss, n_classes, size):
    bound, score, rng = bind(loss, n_classes, 9)
    for extreme in (
        size * np.sign(score),
        size * rng.normal(size=score.shape),
        np.full(score.shape, size),
        np.full(score.shape, -size),
    ):
        assert np.isfinite(bound.value(extreme))
        for dtype in (np.float64, np.float32):
            gradient, curvature = bound.gradient_and_curvature(extreme.astype(dtype), dtype)
            assert np.isfinite(gradient).all()
            assert np.isfinite(curvature).all()
            assert (curvature >= 0).all()


@every_loss
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_float32_output(loss, n_classes, given, weights, scale):
    bound, score, _ = bind(loss, n_classes, 2, weights=weights)
    score = (scale * score).astype(given)
    gradient, curvature = bound.gradient_and_curvature(score, np.float32)
    assert gradient.dtype == curvature.dtype == np.float32
    assert gradient.shape == score.shape
    exact = bound.gradient_and_curvature(score.astype(np.float64))
    np.testing.assert_allclose(gradient, exact[0], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(curvature, exact[1], rtol=2e-5, atol=2e-6)


def test_single_precision_adds_up_a_huge_group_in_double():
    n = 300_000
    for loss, target in ((ShareLoss(), np.array([[0.4, 0.6]])), (NoisyOrLoss(), np.array([1]))):
        bound = loss.bind(target, Groups(np.zeros(n, int)))
        score = np.full(n, -12.0, np.float32)
        single = bound.gradient_and_curvature(score, np.float32)
        double = bound.gradient_and_curvature(score.astype(float))
        np.testing.assert_allclose(single, double, rtol=1e-5)


@every_loss
def test_scores_are_not_written_to(loss, n_classes):
    bound, score, _ = bind(loss, n_classes, 2)
    kept = score.copy()
    score.flags.writeable = False
    bound.value(score), bound.gradient_and_curvature(score)
    assert np.array_equal(score, kept)


@every_loss
def test_equal_weights_multiply(loss, n_classes):
    groups, target, score, _ = problem(loss, n_classes, 4)
    one = loss.bind(target, groups, n_classes=n_classes)
    three = loss.bind(target, groups, n_classes=n_classes, weight_row=np.full(groups.n_rows, 3.0))
    assert np.isclose(3 * one.value(score), three.value(score))
    assert np.allclose(3 * one.gradient(score), three.gradient(score), atol=1e-9)
    assert np.allclose(3 * one.curvature(score), three.curvature(score), atol=1e-9)


@every_loss
def test_a_group_of_weight_two_is_the_group_twice(loss, n_classes):
    groups, target, score, _ = problem(loss, n_classes, 6)
    first = groups.codes == 0
    twice = np.concatenate([groups.codes, np.full(first.sum(), groups.n_groups)])
    repeated = loss.bind(np.concatenate([target, target[:1]]), Groups(twice), n_classes=n_classes)
    weighted = loss.bind(target, groups, n_classes=n_classes, weight_row=np.where(first, 2.0, 1.0))
    assert np.isclose(
        weighted.value(score), repeated.value(np.concatenate([score, score[first]])), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("loss", "n_classes"),
    [
        case
        for case in CASES
        if not isinstance(case[0], CountLikelihoodLoss | NoisyOrLoss | NegativeBinomialTotalLoss)
    ],
)
def test_a_row_of_weight_two_is_the_row_twice(loss, n_classes):
    """Inside its group, with the group's weight held equal: losses that see rows through means."""
    groups, target, score, _ = problem(loss, n_classes, 6)
    row = 5
    group = groups.codes[row]
    size = groups.sizes[group]
    weight = np.ones(groups.n_rows)
    weight[row] = 2.0
    doubled = loss.bind(target, Groups(np.append(groups.codes, group)), n_classes=n_classes)
    # losses of the groups' own level are not multiplied by the number of rows
    of_groups = isinstance(loss, SmoothMaxLoss | OrdinalLoss | CoxLoss)
    level = size / (size + 1) if of_groups else 1.0
    weight[groups.codes == group] *= level
    weighted = loss.bind(target, groups, n_classes=n_classes, weight_row=weight)
    assert np.isclose(
        weighted.value(score), doubled.value(np.concatenate([score, score[[row]]])), rtol=1e-9
    )


@every_loss
def test_init_score_is_the_best_constant(loss, n_classes):
    if loss == GroupMeanLoss(delta=0.5) or isinstance(loss, GroupQuantileLoss):
        pytest.skip("starts from a quantile, which is only near the best constant")
    bound, score, rng = bind(loss, n_classes, 11, True, n_groups=12)
    if isinstance(loss, NoisyOrLoss):
        bound, score, rng = bind(loss, n_classes, 11, False, n_groups=12)
    start = bound.init_score()
    constant = np.zeros(score.shape) + (start if len(start) > 1 else start[0])
    best = bound.value(constant)
    for _ in range(20):
        other = 0.05 * rng.normal(size=len(start))
        assert best <= bound.value(constant + (other if len(start) > 1 else other[0])) + 1e-7


@pytest.mark.parametrize("n_classes", [3, 4])
@pytest.mark.parametrize(
    "loss", [MajorityLoss(4.0), SessionSoftmaxLoss(1.0), CountLikelihoodLoss(), ShareLoss()]
)
def test_many_classes_are_invariant_to_shifts(loss, n_classes):
    bound, score, rng = bind(loss, n_classes, 1)
    moved = score + 10 * rng.normal(size=(len(score), 1))
    if isinstance(loss, SessionSoftmaxLoss | MajorityLoss | CountLikelihoodLoss | ShareLoss):
        assert np.isclose(bound.value(score), bound.value(moved))
        assert np.allclose(bound.gradient(score), bound.gradient(moved), atol=1e-8)
        assert np.allclose(bound.gradient(score).sum(axis=1), 0.0, atol=1e-10)


# Groups of one row are the classical parent.


def singles(loss, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    n_rows = 25
    y = rng.permutation(np.arange(n_rows) % n_classes)
    target = np.eye(n_classes)[y] if loss.target_kind == "share" else y
    bound = loss.bind(target, Groups.singletons(n_rows), n_classes=n_classes)
    shape = n_rows if n_classes == 2 else (n_rows, n_classes)
    return bound, y, 2 * rng.normal(size=shape)


@pytest.mark.parametrize("gamma", [0.0, 1.0, 16.0])
def test_single_rows_majority_is_the_exponential_loss(gamma):
    bound, y, score = singles(MajorityLoss(gamma), 2)
    term = np.exp(-(2 * y - 1) * score / 2)
    assert np.isclose(bound.value(score), len(y) * np.log(term.mean()))
    weight = term / term.mean()
    assert np.allclose(bound.gradient(score), -(2 * y - 1) * weight / 2)
    assert np.allclose(bound.curvature(score), weight / 4)


@pytest.mark.parametrize(
    "loss",
    [
        SessionSoftmaxLoss(3.0),
        SessionSoftmaxLoss(np.inf),
        NoisyOrLoss(),
        SmoothMaxLoss(3.0),
        CountLikelihoodLoss(),
    ],
)
def test_single_rows_are_logistic_regression(loss):
    bound, y, score = singles(loss, 2)
    p = expit(score)
    assert np.isclose(bound.value(score), np.logaddexp(0, np.where(y == 1, -score, score)).sum())
    assert np.allclose(bound.gradient(score), p - y)
    assert np.allclose(bound.curvature(score), p * (1 - p))


@pytest.mark.parametrize("loss", [SessionSoftmaxLoss(3.0), CountLikelihoodLoss()])
def test_single_rows_are_multinomial_logistic_regression(loss):
    bound, y, score = singles(loss, 4)
    p = softmax(score, axis=1)
    assert np.isclose(bound.value(score), -np.log(p[np.arange(len(y)), y]).sum())
    assert np.allclose(bound.gradient(score), p - np.eye(4)[y], atol=1e-9)
    assert np.allclose(bound.curvature(score), 2 * p * (1 - p))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_rows_shares_are_the_brier_score(n_classes):
    bound, y, score = singles(ShareLoss(), n_classes)
    if n_classes == 2:
        expected = 0.5 * ((expit(score) - y) ** 2).sum()
    else:
        expected = 0.5 * ((softmax(score, axis=1) - np.eye(3)[y]) ** 2).sum()
    assert np.isclose(bound.value(score), expected)


def test_single_rows_regression_is_least_squares():
    rng = np.random.default_rng(0)
    y, score = rng.normal(size=(2, 9))
    bound = GroupMeanLoss().bind(y, Groups.singletons(9))
    assert np.isclose(bound.value(score), 0.5 * ((score - y) ** 2).sum())
    assert np.allclose(bound.gradient(score), score - y)
    assert np.allclose(bound.curvature(score), 1.0)
    assert np.allclose(bound.init_score(), y.mean())


# The parents as statsmodels 0.15.0 fits them to these rows (GLM with exposure, OrderedModel, PHReg
# with Breslow's ties); the loss must be flat there, and its value theirs.

NUMBER = np.arange(24)
FEATURES = np.column_stack([np.sin(1.7 * NUMBER), np.cos(0.9 * NUMBER)])
ALONE = Groups.singletons(24)


def slope(bound, score):
    return bound.gradient(score) @ FEATURES


@pytest.mark.parametrize(
    ("loss", "start", "plane"),
    [
        (PoissonTotalLoss(), 0.35482214588046623, [0.19687811763124524, -0.40068691249374633]),
        (
            NegativeBinomialTotalLoss(0.5),
            0.4496929717622272,
            [0.18239788094242915, -0.4864072465509891],
        ),
    ],
)
def test_single_rows_are_regression_of_counts_with_exposure(loss, start, plane):
    exposure = 1.0 + NUMBER % 3
    bound = loss.bind((3.0 * NUMBER) % 7, ALONE).with_offset(np.log(exposure))
    score = start + FEATURES @ plane
    np.testing.assert_allclose(slope(bound, score), 0.0, atol=1e-6)
    np.testing.assert_allclose(bound.gradient(score).sum(), 0.0, atol=1e-6)
    mean = exposure * np.exp(score)
    dispersion = getattr(loss, "dispersion", 0.0)
    np.testing.assert_allclose(bound.curvature(score), mean * (
        (1.0 + dispersion * ((3.0 * NUMBER) % 7)) / (1.0 + dispersion * mean) ** 2
    ))  # fmt: skip


@pytest.mark.parametrize("sharpness", [0.0, 3.0])
def test_single_rows_are_proportional_odds(sharpness):
    grade = (5 * NUMBER + NUMBER // 4) % 3
    bound = OrdinalLoss(sharpness).bind(grade, ALONE, n_classes=3)
    score = FEATURES @ [-0.8330386484489232, 0.1783849841595543]
    assert np.isclose(bound.value(score), 23.826881367681054)
    np.testing.assert_allclose(slope(bound, score), 0.0, atol=1e-5)
    fitted = bound.learned(OrdinalLoss(sharpness), score)
    assert np.allclose(fitted.thresholds_, [0.07826301688084847, 1.2623106174954362], atol=1e-5)
    assert np.isclose(-np.log(fitted.proba(score)[NUMBER, grade]).sum(), bound.value(score))
    assert np.allclose(fitted.proba(score), fitted.proba_groups(score, ALONE))


@pytest.mark.parametrize("sharpness", [0.0, 3.0])
def test_single_rows_are_cox_regression(sharpness):
    time = (1.0 + (7 * NUMBER) % 11) * np.where(NUMBER % 4 == 0, -1.0, 1.0)
    bound = CoxLoss(sharpness).bind(time, ALONE)
    score = FEATURES @ [0.1238563562755596, -0.0006945684310920421]
    assert np.isclose(bound.value(score) + 18 * np.log(24), 41.24083498361206)
    np.testing.assert_allclose(slope(bound, score), 0.0, atol=1e-6)


# Values by hand and against other formulations.


def test_poisson_totals_by_hand():
    # rates 1, 3 (twice exposed) and 2; totals 4 and 0: 7 - 4 log 7 + 2, and 4 log 2 of the constant
    bound = PoissonTotalLoss().bind(np.array([2.0, 0.0]), Groups([0, 0, 1]))
    bound.with_offset(np.log([1.0, 2.0, 1.0]))
    score = np.log([1.0, 3.0, 2.0])
    assert np.isclose(bound.value(score), 7 - 4 * np.log(7 / 2) + 2)
    assert np.allclose(bound.gradient(score), [1 - 4 / 7, 6 - 24 / 7, 2.0])
    assert np.allclose(bound.curvature(score), [1.0, 6.0, 2.0])
    assert np.isclose(bound.init_score()[0], np.log(4 / 4))


def test_dispersion_by_moments_by_hand():
    # totals 0, 4, 2 of one row each: mean 2, squares 4, 4, 0 less 2 each: 2 / 12
    bound = NegativeBinomialTotalLoss().bind(np.array([0.0, 4.0, 2.0]), Groups([0, 1, 2]))
    assert np.isclose(bound.dispersion, 2 / 12)
    assert np.isclose(bound.init_score()[0], np.log(2.0), atol=1e-6)


def test_little_dispersion_is_poisson():
    groups, mean, score, _ = problem(PoissonTotalLoss(), 1, 0)
    poisson = PoissonTotalLoss().bind(mean, groups)
    other = NegativeBinomialTotalLoss(1e-9).bind(mean, groups)
    for ours, theirs in zip(
        poisson.gradient_and_curvature(score), other.gradient_and_curvature(score), strict=True
    ):
        assert np.allclose(ours, theirs, rtol=1e-5)


def test_quantile_loss_is_the_pinball_but_for_its_corner():
    groups, mean, score, _ = problem(GroupQuantileLoss(), 1, 0)
    left = mean - groups.mean(score)
    pinball = groups.sizes @ np.maximum(0.8 * left, -0.2 * left)
    bound = GroupQuantileLoss(0.8).bind(mean, groups)
    assert pinball > bound.value(score) > 0.9 * pinball
    assert bound.corner < 0.02


def test_quantile_bound_holds_for_long_steps():
    bound, score, rng = bind(GroupQuantileLoss(0.3), 1, 0, True)
    value, (gradient, curvature) = bound.value(score), bound.gradient_and_curvature(score)
    for _ in range(100):
        step = rng.uniform(0.1, 3.0) * rng.normal(size=score.shape)
        above = value + gradient @ step + 0.5 * curvature @ step**2
        assert bound.value(score + step) <= above + 1e-9


@pytest.mark.parametrize("loss", [OrdinalLoss(), CoxLoss()])
def test_a_constant_does_not_matter_to_what_is_relative(loss):
    bound, score, _ = bind(loss, 3 if loss.one_score else 1, 0)
    assert np.isclose(bound.value(score), bound.value(score + 7.0))
    assert np.allclose(bound.gradient(score).sum(), 0.0, atol=1e-8)


def test_ordinal_of_two_classes_is_logistic_with_a_free_constant():
    groups, y, score, _ = problem(OrdinalLoss(), 2, 0)
    bound = OrdinalLoss().bind(y, groups, n_classes=2)
    score_group = groups.mean(score)
    fitted = bound.learned(OrdinalLoss(), score)
    p = expit(score_group - fitted.thresholds_[0])
    assert np.isclose(p.sum(), y.sum())  # what the best constant makes of it
    assert np.allclose(bound.gradient(score), ((p - y) / groups.sizes)[groups.codes])


def test_held_out_grades_are_judged_by_the_thresholds_of_training():
    bound, score, _ = bind(OrdinalLoss(), 3, 0)
    held = OrdinalLoss().bind(np.array([0, 0]), Groups([0, 1]), n_classes=3).follow(bound)
    bound.value(score)
    fitted = bound.learned(OrdinalLoss(), score)
    expected = -np.log(fitted.proba(np.array([0.5, -1.0]))[:, 0]).sum()
    assert np.isclose(held.value(np.array([0.5, -1.0])), expected)
    with pytest.raises(GroupDataError, match="number 1 of 3 has none"):
        OrdinalLoss().bind(np.array([0, 2]), Groups([0, 1]), n_classes=3).value(np.zeros(2))


def test_cox_by_hand_with_a_tie():
    # events at 1 (both of the first two) and a third that outlives them: 2 log(6) - log 1 - log 2
    bound = CoxLoss().bind(np.array([1.0, 1.0, -1.0]), Groups([0, 1, 2]))
    score = np.log([1.0, 2.0, 3.0])
    assert np.isclose(bound.value(score), 2 * np.log(6 / 3) - np.log(2))
    assert np.allclose(bound.gradient(score), [2 / 6 - 1, 4 / 6 - 1, 1.0])


@pytest.mark.parametrize(
    ("loss", "target", "match"),
    [
        (PoissonTotalLoss(), [1.0, -2.0], "group 1 holds -2"),
        (CoxLoss(), [3.0, 0.0], "group 1 holds 0"),
        (CoxLoss(), [-3.0, -1.0], "none of 2 groups had the event"),
    ],
)
def test_targets_that_have_no_meaning(loss, target, match):
    with pytest.raises(GroupDataError, match=match):
        loss.bind(np.array(target), Groups([0, 1]))


@pytest.mark.parametrize("gamma", [0.0, 4.0])
def test_majority_is_sboosts_loss(gamma):
    groups, y, score, _ = problem(MajorityLoss(gamma), 2, 0)
    bound = MajorityLoss(gamma).bind(y, groups)
    sign = groups.spread(2.0 * y - 1)
    log_value, weight = SessionLoss(groups, gamma).log_value_and_weights(
        sign * score / (2 * (1 + gamma))
    )
    n_rows = groups.n_rows
    assert np.isclose(bound.value(score), n_rows * (log_value - np.log(n_rows)))
    assert np.allclose(bound.gradient(score), -sign * n_rows * weight / 2)
    assert np.allclose(bound.curvature(score), n_rows * weight / 4)


def test_pairs_of_two_classes_are_the_binary_loss():
    from groupwise.losses.majority import _Pairs

    groups, y, score, _ = problem(MajorityLoss(3.0), 2, 0)
    bound = MajorityLoss(3.0).bind(y, groups)
    pairs = _Pairs(y, groups, 2, None, 3.0)
    two = np.column_stack([np.zeros_like(score), score])
    assert np.isclose(bound.value(score), pairs.value(two))
    assert np.allclose(bound.gradient(score), pairs.gradient(two)[:, 1])
    assert np.allclose(np.diff(pairs.init_score()), bound.init_score())


def test_majority_by_hand():
    # one group of two rows, positive, scores 2 and 0, gamma 1: exponents -(2 + 1) / 4, -(0 + 1) / 4
    bound = MajorityLoss(1.0).bind(np.array([1]), Groups([0, 0]))
    a, b = np.exp(-0.75), np.exp(-0.25)
    assert np.isclose(bound.value(np.array([2.0, 0.0])), 2 * np.log((a + b) / 2))
    weight = np.array([a + (a + b) / 2, b + (a + b) / 2]) / (2 * (a + b))
    assert np.allclose(bound.gradient(np.array([2.0, 0.0])), -weight)


def test_noisy_or_by_hand():
    groups, score = Groups([0, 0, 1, 1]), np.log([1 / 3, 1.0, 1 / 3, 3.0])  # p = 1/4 1/2 1/4 3/4
    bound = NoisyOrLoss().bind(np.array([1, 0]), groups)
    assert np.isclose(bound.value(score), -np.log(5 / 8) - np.log(3 / 16))
    # -p (1 - P) / P for the positive group, p for the other
    assert np.allclose(bound.gradient(score), [-0.25 * 3 / 5, -0.5 * 3 / 5, 0.25, 0.75])
    assert np.allclose(NoisyOrLoss().proba_groups(score, groups)[:, 1], [5 / 8, 13 / 16])


def test_noisy_or_with_one_kind_of_group_starts_at_a_finite_score():
    bound = NoisyOrLoss().bind(np.array([1, 1]), Groups([0, 0, 1]))
    assert np.isclose(bound.init_score()[0], np.log(5))


def test_smooth_max_lies_between_mean_and_max():
    rng = np.random.default_rng(0)
    groups, score = Groups(rng.integers(5, size=40)), rng.normal(size=40)
    previous = groups.mean(score)
    for sharpness in (0.01, 1.0, 10.0, 1000.0):
        proba = SmoothMaxLoss(sharpness).proba_groups(score, groups)[:, 1]
        smooth = np.log(proba / (1 - proba))
        assert (smooth >= previous - 1e-9).all()
        previous = smooth
    assert np.allclose(previous, groups.max(score), atol=1e-2)


def test_huber_is_linear_far_out():
    bound = GroupMeanLoss(delta=1.0).bind(np.array([0.0, 0.0]), Groups([0, 0, 1]))
    assert np.isclose(bound.value(np.array([4.0, 2.0, 0.5])), 2 * (3 - 0.5) + 0.125)
    assert np.allclose(bound.gradient(np.array([4.0, 2.0, 0.5])), [1.0, 1.0, 0.5])
    assert np.allclose(
        GroupMeanLoss(1.0).bind(np.array([1.0, 9.0]), Groups([0, 0, 1])).init_score(), 1
    )


def test_majority_bound_holds_for_long_steps():
    bound, score, rng = bind(MajorityLoss(4.0), 2, 0)
    value, (gradient, curvature) = bound.value(score), bound.gradient_and_curvature(score)
    for _ in range(200):
        step = rng.uniform(0.1, 3.0) * rng.normal(size=score.shape)
        growth = np.exp(np.abs(step).max())
        bound_above = value + gradient @ step + 0.5 * growth * curvature @ step**2
        assert bound.value(score + step) <= bound_above


# Names, parameters, errors.


@pytest.mark.parametrize("name", LOSSES)
def test_names(name):
    loss = get_loss(name)
    assert isinstance(loss, GroupLoss)
    assert type(loss) is LOSSES[name]
    assert get_loss(loss) is loss


@pytest.mark.parametrize("name", NUMBER_LOSSES)
def test_names_of_losses_of_numbers(name):
    loss = get_number_loss(name)
    assert type(loss) is NUMBER_LOSSES[name]
    assert get_number_loss(loss) == loss
    with pytest.raises(ValueError, match="loss must be one of"):
        get_number_loss(MajorityLoss())


@pytest.mark.parametrize("loss", ["hinge", None, MajorityLoss])
def test_unknown_name(loss):
    with pytest.raises(ValueError, match="loss must be one of"):
        get_loss(loss)


@pytest.mark.parametrize(
    "loss",
    [
        MajorityLoss(-1.0),
        MajorityLoss(np.inf),
        SessionSoftmaxLoss(np.nan),
        SmoothMaxLoss(0.0),
        GroupMeanLoss(0.0),
        GroupQuantileLoss(1.0),
        NegativeBinomialTotalLoss(0.0),
        OrdinalLoss(-1.0),
        CoxLoss(np.inf),
        MajorityLoss().set_params(gamma="much"),
    ],
    ids=repr,
)
def test_bad_parameters(loss):
    with pytest.raises(ValueError, match="must be a number in"):
        loss.check_parameters()
    with pytest.raises(ValueError, match="must be a number in"):
        loss.bind(np.array([0, 1]), Groups([0, 1]))


def test_parameters_are_read_set_and_cloned():
    loss = MajorityLoss(gamma=2.0)
    assert loss.get_params() == {"gamma": 2.0}
    copy = clone(loss)
    assert copy == loss and copy is not loss
    assert copy.set_params(gamma=8.0) == MajorityLoss(8.0) != loss
    assert repr(copy) == "MajorityLoss(gamma=8.0)"
    assert NoisyOrLoss().get_params() == {}
    assert NoisyOrLoss() != CountLikelihoodLoss()
    with pytest.raises(ValueError, match="Invalid parameter 'delta'"):
        loss.set_params(delta=1.0)


@pytest.mark.parametrize("loss", [NoisyOrLoss(), SmoothMaxLoss()])
def test_presence_needs_two_classes(loss):
    with pytest.raises(ValueError, match="two classes"):
        loss.bind(np.array([0, 1, 2]), Groups([0, 1, 2]), n_classes=3)


def test_bad_weights_name_the_group():
    with pytest.raises(GroupDataError, match="'b' holds 0"):
        MajorityLoss().bind(np.array([0, 1]), Groups(["a", "b"]), weight_row=np.array([1.0, 0.0]))


def test_proba_of_scores():
    assert np.allclose(MajorityLoss().proba(np.array([0.0, 1e6])), [[0.5, 0.5], [0, 1]])
    assert np.allclose(ShareLoss().proba(np.zeros((2, 4))), 0.25)
    with pytest.raises(NotImplementedError, match="leaves groups to a decision rule"):
        MajorityLoss().proba_groups(np.zeros(2), Groups([0, 0]))


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_decides_for_groups_or_names_a_rule(name):
    loss = get_loss(name)
    if loss.default_rule is None:
        proba = loss.proba_groups(np.zeros(3), Groups([0, 0, 1]))
        assert np.allclose(proba.sum(axis=1), 1.0)
    else:
        assert isinstance(loss.default_rule, Rule)


@every_loss
@pytest.mark.parametrize("block", [1, 4, 9])
def test_blocks_of_runs_do_not_matter(loss, n_classes, block, monkeypatch):
    whole, score, _ = bind(loss, n_classes, 12, n_groups=15)
    expected = whole.value(score), *whole.gradient_and_curvature(score)
    monkeypatch.setattr("groupwise.losses.layout._BLOCK", block)
    parts, _, _ = bind(loss, n_classes, 12, n_groups=15)
    assert np.isclose(parts.value(score), expected[0])
    for one, other in zip(parts.gradient_and_curvature(score), expected[1:], strict=True):
        assert np.allclose(one, other)
    covered = [block.rows for block in parts.layout.blocks]
    assert len(covered) > 2
    assert covered[0].start == 0
    assert [rows.stop for rows in covered[:-1]] == [rows.start for rows in covered[1:]]
    assert covered[-1].stop == 40


@pytest.mark.parametrize("size", [1.0, 1e6, 1e12])
def test_the_best_constant_of_a_negative_binomial_has_no_slope(size):
    rng = np.random.default_rng(0)
    groups = Groups(np.repeat(np.arange(50), 3))
    total = rng.poisson(rng.gamma(2.0, size, 50)).astype(float)
    bound = NegativeBinomialTotalLoss().bind(total / 3.0, groups)
    slope = bound.gradient(np.full(150, bound.init_score()[0]))
    assert abs(slope.sum()) < 1e-9 * np.abs(slope).sum()
