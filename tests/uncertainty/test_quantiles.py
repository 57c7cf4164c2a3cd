"""Quantiles by hand, and coverage of made-up exchangeable units."""

import numpy as np
import pytest

from groupwise.uncertainty.quantiles import (
    CalibrationScores,
    class_scores,
    fewest_units,
    poisson_binomial_spread,
)


def scores_of(score, unit=None, ratio=1.0, fold=None, sharp=False):
    score = np.asarray(score, dtype=float)
    unit = np.arange(len(score)) if unit is None else np.asarray(unit)
    fold = None if fold is None else np.asarray(fold)
    return CalibrationScores.of_units(score, unit, fold=fold, ratio=np.asarray(ratio), sharp=sharp)


@pytest.mark.parametrize("n", [4, 9, 10, 19, 20, 99])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_the_threshold_is_the_right_order_statistic(n, coverage):
    score = np.random.RandomState(n).uniform(size=n)
    rank = int(np.ceil(round(coverage * (n + 1), 9)))  # ceil((1 - alpha)(G + 1))
    threshold = np.inf if rank > n else np.sort(score)[rank - 1]
    new = np.concatenate([score, score - 1e-12, score + 1e-12])
    assert np.array_equal(scores_of(score).keeps(new[None], coverage), new <= threshold)
    bound = scores_of(score).upper(np.zeros((1, 3)), np.ones((1, 3)), coverage)
    assert np.array_equal(bound, np.full(3, threshold))
    assert (rank > n) == (n < fewest_units(coverage))


def test_two_rows_of_a_group_count_as_one_by_hand():
    # units 0 and 1 have two items each, unit 2 one: weights 1/2 1/2 1/2 1/2 1, and 1 at infinity
    pooled = scores_of([1.0, 2.0, 3.0, 4.0, 5.0], unit=[0, 0, 1, 1, 2])
    # mass at or above: 5 -> 1, 4 -> 1.5, 3 -> 2, 2 -> 2.5, 1 -> 3; with the new one +1, of 4
    kept = pooled.keeps(np.array([[5.0, 4.0, 3.0, 2.0, 1.0, 5.1]]), 0.5)
    assert kept.tolist() == [False, True, True, True, True, False]  # alpha * 4 = 2
    assert pooled.upper(np.zeros((1, 1)), np.ones((1, 1)), 0.5).tolist() == [4.0]


def test_the_share_of_a_new_unit_by_hand():
    """At or above 4: half of unit 1 and all of unit 2, so (1/4 + 1) / 1.5 of the new one."""
    score, unit = [1.0, 2.0, 3.0, 4.0, 5.0], [0, 0, 1, 1, 2]
    sharp, worst = scores_of(score, unit, sharp=True), scores_of(score, unit)
    new = np.array([[4.0]])
    for alpha, kept in ((1.5 + 1.25 / 1.5 - 1e-6, True), (1.5 + 1.25 / 1.5 + 1e-6, False)):
        assert sharp.keeps(new, 1 - alpha / 4).tolist() == [kept]
        assert worst.keeps(new, 1 - alpha / 4).tolist() == [True]
        bound = sharp.upper(np.zeros((1, 1)), np.ones((1, 1)), 1 - alpha / 4)
        assert bound.tolist() == [4.0 if kept else 3.0]


def test_the_share_of_a_new_unit_by_brute_force():
    rng = np.random.RandomState(0)
    unit = np.concatenate([np.arange(12), rng.randint(12, size=40)])
    fold, score = unit % 3, rng.normal(size=52).round(1)
    new, coverage = rng.normal(size=(3, 30)).round(1), 0.8
    share = np.array(
        [(score[unit == u, None] >= new[u % 3]).mean(axis=0) for u in range(12)]
    )  # fmt: skip
    mass = share.sum(axis=0)
    own = np.divide((share**2).sum(axis=0), mass, out=np.zeros(30), where=mass > 0)
    sharp = scores_of(score, unit, fold=fold, sharp=True)
    assert np.array_equal(sharp.keeps(new, coverage), mass + own > (1 - coverage) * 13 + 1e-9)
    # an interval ends where values are no longer kept
    bound = sharp.upper(new, np.ones((3, 30)), coverage)
    assert sharp.keeps(bound - 0.05 - new, coverage).all()
    assert not sharp.keeps(bound + 0.05 - new, coverage).any()


@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
def test_few_units_of_several_items_hold_what_they_say(alike):
    """Nine users of five sessions each: the worst case keeps to the strangest of 45."""
    rng = np.random.RandomState(0)
    unit, worst, sharp = np.repeat(np.arange(9), 5), [], []
    for _ in range(800):
        drawn = np.sqrt(alike) * np.repeat(rng.normal(size=10), 5)
        drawn += np.sqrt(1 - alike) * rng.normal(size=50)
        for held, is_sharp in ((worst, False), (sharp, True)):
            known = scores_of(drawn[:45], unit, sharp=is_sharp)
            held.append(known.keeps(drawn[None, 45:], 0.9).mean())
    error = np.std(sharp) / np.sqrt(800)
    assert abs(np.mean(sharp) - 0.9) < 0.01 + 2 * error
    assert np.mean(worst) > (0.94 if alike < 1 else 0.9 - 3 * error)


def test_each_fold_is_compared_with_its_own_model():
    cross = scores_of([1.0, 2.0, 3.0], fold=[0, 0, 1])
    # at or above 1.5 in the first fold: one; at or above 3.5 in the second: none
    assert cross.keeps(np.array([[1.5], [3.5]]), 0.6).tolist() == [True]  # 2 > 0.4 * 4
    assert cross.keeps(np.array([[2.5], [3.5]]), 0.6).tolist() == [False]
    # bounds 10 + 1, 10 + 2 and 20 + 3; three of four are needed
    bound = cross.upper(np.array([[10.0], [20.0]]), np.ones((2, 1)), 0.75)
    assert bound.tolist() == [23.0]


def test_weights_say_how_much_a_unit_counts():
    even = scores_of(np.arange(10.0), ratio=np.full(10, 0.5))
    assert np.isclose(even.effective_size, 10.0)
    one = scores_of(np.arange(10.0), ratio=[1.0] + [0.0] * 9)
    assert np.isclose(one.effective_size, 1.0)
    assert one.keeps(np.array([[0.0, 0.5]]), 0.5).tolist() == [True, False]


def test_coverage_of_exchangeable_units_is_within_binomial_limits():
    rng = np.random.RandomState(0)
    covered, n_trials, n_units = 0, 2000, 39
    for _ in range(n_trials):
        drawn = rng.standard_t(3, size=n_units + 1)
        covered += scores_of(drawn[:-1]).keeps(drawn[None, -1:], 0.9)[0]
    exact = 36 / 40  # ceil(0.9 * 40) of 40
    limit = 4 * np.sqrt(exact * (1 - exact) / n_trials)
    assert abs(covered / n_trials - exact) < limit


def test_rows_of_new_groups_are_covered_and_pooled_rows_are_not():
    """Rows of a group resemble each other: counted one by one, few groups look like many rows."""
    rng = np.random.RandomState(1)
    n_trials, n_groups = 800, 10
    by_group, by_row = [], []
    for _ in range(n_trials):
        sizes = rng.randint(1, 40, n_groups + 1)
        unit = np.repeat(np.arange(n_groups + 1), sizes)
        score = np.exp(3 * rng.normal(size=n_groups + 1))[unit] * np.abs(rng.normal(size=len(unit)))
        known, new = unit < n_groups, score[unit == n_groups][None, :1]
        pooled = scores_of(score[known], unit=unit[known])
        by_group.append(pooled.keeps(new, 0.9)[0])
        by_row.append(scores_of(score[known]).keeps(new, 0.9)[0])
    limit = 3 * np.sqrt(0.09 / n_trials)
    assert np.mean(by_group) > 0.9 - limit
    assert np.mean(by_row) < 0.9 - limit


def test_scores_of_classes():
    proba = np.array([[0.2, 0.5, 0.3]])
    assert np.allclose(class_scores(proba, "plain"), [[0.8, 0.5, 0.7]])
    assert np.allclose(class_scores(proba, "adaptive"), [[0.9, 0.25, 0.65]])
    # 1 - p is 0 for both; the sum of the others tells them apart
    sure = np.array([[1e-40, 1.0], [1e-60, 1.0]])
    assert class_scores(sure, "plain")[:, 1].tolist() == [1e-40, 1e-60]


def test_spread_of_a_share_by_hand():
    proba = np.array([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]])
    found = poisson_binomial_spread(proba, np.array([0, 0, 1]), np.array([2, 1]))
    by_hand = [np.sqrt(0.75) / 2, np.sqrt(0.34)]
    assert np.allclose(found, np.column_stack([by_hand, by_hand]))
