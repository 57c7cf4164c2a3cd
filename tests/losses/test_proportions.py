"""The likelihood of counts against enumeration, and its approximation against the exact one."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax

from groupwise import Groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import CountLikelihoodLoss, ShareLoss
from groupwise.losses.layout import GroupedLayout
from groupwise.losses.logistic import sigmoid
from groupwise.losses.poisson_binomial import PoissonBinomial
from groupwise.losses.tilting import tilt, tilt_classes


def enumerate_counts(p, count):
    """Probability of the count and the rows' expectations given it, over all 2^m outcomes."""
    total, expected = 0.0, np.zeros(len(p))
    for outcome in product([0, 1], repeat=len(p)):
        if sum(outcome) == count:
            proba = np.prod(np.where(outcome, p, 1 - p))
            total += proba
            expected += proba * np.array(outcome)
    return total, expected / total


@pytest.mark.parametrize("seed", range(3))
def test_exact_likelihood_is_the_enumerated_one(seed):
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 2, 3, 5, 7, 10, 5, 1])
    groups = Groups(np.repeat(np.arange(len(sizes)), sizes))
    score = 2 * rng.normal(size=groups.n_rows)
    count = rng.integers(0, sizes + 1)
    sums = PoissonBinomial(count, GroupedLayout(groups))
    loss, expected = sums.log_loss(score), sums.expectation(score)
    for i in range(len(sizes)):
        rows = groups.codes == i
        likelihood, given = enumerate_counts(expit(score[rows]), count[i])
        assert np.isclose(loss[i], -np.log(likelihood))
        assert np.allclose(expected[rows], given)


def test_exact_likelihood_of_equal_rows_is_the_binomial():
    from scipy.stats import binom

    size, count = 100, 37
    groups = Groups(np.zeros(size, int))
    sums = PoissonBinomial(np.array([count]), GroupedLayout(groups))
    score = np.full(size, -1.0)
    loss, expected = sums.log_loss(score), sums.expectation(score)
    assert np.isclose(loss[0], -binom.logpmf(count, size, expit(-1.0)))
    assert np.allclose(expected, count / size)


@pytest.mark.parametrize("spread", [0.5, 2.0, 5.0])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_saddlepoint_is_near_the_exact_one(spread, share):
    rng = np.random.default_rng(0)
    size = 128  # the largest for which both are at hand
    layout = GroupedLayout(Groups(np.zeros(size, int)))
    score = spread * rng.normal(size=size)
    count = np.array([round(share * size)])
    exact = PoissonBinomial(count, layout)
    loss, expected = exact.log_loss(score), exact.expectation(score)
    near = PoissonBinomial(count, layout, largest_exact=0)
    loss_near, expected_near = near.log_loss(score), near.expectation(score)
    _, q = tilt(score, count, layout)
    variance = (q * (1 - q)).sum()
    assert np.isclose(expected_near.sum(), count[0])
    assert np.abs(expected - expected_near).max() < 0.05 / variance**2
    assert np.abs(loss - loss_near).max() < 0.1 / variance
    # and better than the shifted probabilities alone
    assert np.abs(expected - expected_near).max() < 0.2 * np.abs(expected - q).max()


def test_groups_of_very_different_sizes_and_a_huge_one():
    rng = np.random.default_rng(1)
    sizes = np.array([1, 20_000, 3, 129, 128, 40])
    groups = Groups(np.repeat(np.arange(6), sizes))
    y = rng.integers(0, 2, groups.n_rows)
    share = groups.mean(np.eye(2)[y])
    bound = CountLikelihoodLoss().bind(share, groups)
    score = rng.normal(size=groups.n_rows)
    gradient = bound.gradient(score)
    # expectations given the count add up to the count
    assert np.allclose(groups.sum(gradient), groups.sum(expit(score)) - groups.sum(y), atol=1e-5)
    step = 1e-3 * rng.normal(size=groups.n_rows)
    change = bound.value(score + step) - bound.value(score - step)
    assert np.isclose(change, 2 * gradient @ step, rtol=1e-4)


def test_extreme_scores_choose_the_likeliest_rows():
    layout = GroupedLayout(Groups([0, 0, 0, 1, 1, 1]))
    score = np.array([1e6, 0.0, -1e6, 1e6, 1e6, -1e6])
    sums = PoissonBinomial(np.array([2, 1]), layout)
    loss, expected = sums.log_loss(score), sums.expectation(score)
    assert np.allclose(expected, [1, 1, 0, 0.5, 0.5, 0])
    assert np.allclose(loss, [np.log(2), 1e6 - np.log(2)])


@pytest.mark.parametrize("scale", [1.0, 100.0, 1e5])
def test_tilt_hits_the_counts(scale):
    rng = np.random.default_rng(2)
    groups = Groups(np.repeat(np.arange(30), rng.integers(2, 60, 30)))
    layout = GroupedLayout(groups)
    count = 1 + np.floor(rng.uniform(size=30) * (layout.sizes - 1))
    count[0], count[1] = 0, layout.sizes[1]
    score = scale * rng.normal(size=groups.n_rows)
    shift, shifted = tilt(score, count, layout)
    assert np.array_equal(shifted, sigmoid(score + layout.spread(shift))[0])
    assert np.allclose(layout.sum(shifted), count, atol=1e-7)


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_tilt_classes_hits_the_counts(scale):
    rng = np.random.default_rng(3)
    groups = Groups(np.repeat(np.arange(20), rng.integers(1, 30, 20)))
    layout = GroupedLayout(groups)
    labels = rng.integers(0, 4, groups.n_rows)
    count = groups.sum(np.eye(4)[labels]).T
    score = scale * rng.normal(size=(4, groups.n_rows))
    moved = np.exp(score + layout.spread(tilt_classes(score, count, layout)))
    assert np.allclose(layout.sum(moved / moved.sum(axis=0)), count, atol=1e-7)


def test_relative_entropy_of_two_classes_is_the_exponent():
    """For two classes the multi-class form is the bracket of the saddlepoint formula."""
    from groupwise.losses.proportions import RelativeEntropy

    rng = np.random.default_rng(4)
    groups = Groups(np.repeat([0, 1, 2], [4, 9, 30]))
    share = groups.mean(np.eye(2)[rng.integers(0, 2, 43)])
    score = rng.normal(size=43)
    count = share * groups.sizes[:, None]
    bound = RelativeEntropy(count, groups, None)
    two = np.column_stack([np.zeros(43), score])
    sums = PoissonBinomial(count[:, 1], GroupedLayout(groups))
    exponent = sums._exponent(score, tilt(score, count[:, 1], GroupedLayout(groups))[0])
    assert np.isclose(bound.value(two), exponent.sum())


def test_shares_may_be_rounded_but_not_impossible():
    groups = Groups([0, 0, 0])
    CountLikelihoodLoss().bind(np.array([[0.33, 0.67]]), groups)
    with pytest.raises(GroupDataError, match="whole rows; group 0 of 3 rows"):
        CountLikelihoodLoss().bind(np.array([[0.5, 0.5]]), groups)
    ShareLoss().bind(np.array([[0.5, 0.5]]), groups)


def test_counts_must_make_up_the_group():
    groups = Groups([0, 0, 0, 0])
    with pytest.raises(GroupDataError, match="they make 3"):
        CountLikelihoodLoss().bind(np.array([[0.25, 0.25, 0.25]]), groups, n_classes=3)


def test_counts_take_no_weights_inside_a_group():
    with pytest.raises(GroupDataError, match="whole rows: sample_weight"):
        CountLikelihoodLoss().bind(
            np.array([[0.5, 0.5]]), Groups([0, 0]), weight_row=np.array([1.0, 2.0])
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.1, 2.0, 8.0])
def test_expectations_from_odds_are_those_from_shifted_probabilities(dtype, scale):
    rng = np.random.default_rng(int(10 * scale))
    groups = Groups(np.repeat(np.arange(60), rng.integers(1, 40, 60)))
    score = (scale * rng.normal(size=groups.n_rows)).astype(dtype)
    layout = GroupedLayout(groups)
    count = groups.sum((rng.uniform(size=groups.n_rows) < rng.uniform()).astype(float))
    sums = PoissonBinomial(count, layout)
    assert sums._is_moderate(score)
    found = sums.expectation(score)
    assert found.dtype == dtype
    exact = sums._given(score.astype(float))[2]
    np.testing.assert_allclose(found, exact, atol=3e-6 if dtype == np.float32 else 1e-12)
    assert not sums._is_moderate(1e3 * score)


def test_small_groups_do_not_wait_for_a_large_one():
    """Expectations by groups' kinds apart are those of all groups together."""
    rng = np.random.default_rng(6)
    sizes = np.array([5, 300, 1, 12, 140, 3, 128])
    count = np.array([2, 100, 1, 5, 0, 3, 60])  # pure groups among them
    sums = PoissonBinomial(count, GroupedLayout(Groups.of_sizes(sizes)))
    score = rng.normal(size=sizes.sum())
    apart = sums.expectation(score)
    np.testing.assert_allclose(apart, sums._given(score)[2], atol=1e-9)
    np.testing.assert_array_equal(sums.expectation(score), apart)


@pytest.mark.parametrize(
    ("count", "score"),
    [
        (3, [3.0, 193.0, 7.0, 50.0, -3.0]),
        (3, [1.0, 206.0, 50.0, -7.0, 1.0]),
        (1, [69.0, 71.0, -31.0, 3.0, 5.0, -74.0, -10.0]),
        (6, [60.0, 6.0, -89.0, 44.0, 53.0, -65.0, 0.0]),
    ],
)
def test_rows_that_are_all_but_certain_do_not_rule_a_count_out(count, score):
    """These were infinite: near the sum of p, but impossible once 1 - p was rounded to 0."""
    score, n_rows = np.array(score), len(score)
    share = count / n_rows
    bound = CountLikelihoodLoss().bind(np.array([[1 - share, share]]), Groups([0] * n_rows))
    chosen = np.array(list(combinations(range(n_rows), count)))
    ways = score[chosen].sum(axis=1)
    expected = np.logaddexp(0.0, score).sum() - logsumexp(ways)
    assert np.isclose(bound.value(score), expected, rtol=1e-12)
    given = [softmax(ways)[(chosen == j).any(axis=1)].sum() for j in range(n_rows)]
    np.testing.assert_allclose(bound.gradient(score), expit(score) - given, atol=1e-9)
