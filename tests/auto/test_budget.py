"""How a time limit is spent, by hand on a clock that is set."""

import numpy as np
import pytest

from groupwise.auto.budget import Budget, affordable


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_quarter_is_kept_for_the_last_fits_until_they_are_known(clock):
    budget = Budget(60.0, clock=clock)
    assert budget.is_limited and budget.seconds_left == 45.0
    clock.now += 44.0
    assert budget.seconds_left == 1.0 and not budget.is_over
    clock.now += 1.5
    assert budget.is_over


def test_processes_spend_side_by_side(clock):
    assert Budget(60.0, 3, clock=clock).seconds_left == 135.0


@pytest.mark.parametrize(
    ("n_jobs", "seconds", "kept"),
    [
        (1, [1.0, 2.0, 3.0], 1.2 * 6.0 + 20.2),
        (2, [1.0, 2.0, 3.0], 1.2 * (6.0 / 2 + 3.0 / 2) + 20.2),  # Graham's bound
        (2, [1000.0], 400.0),  # two fifths at most
    ],
)
def test_what_is_kept_for_the_last_fits(clock, n_jobs, seconds, kept):
    budget = Budget(1000.0, n_jobs, clock=clock)
    budget.keep_for_last_fits(seconds)
    assert budget.seconds_left == pytest.approx(n_jobs * (1000.0 - kept))


def test_the_last_fits_leave_time_to_read_them(clock):
    budget = Budget(60.0, clock=clock)
    budget.keep_for_last_fits([5.0])
    clock.now += 50.0
    budget.begin_last_fits()
    assert budget.seconds_left == pytest.approx(60.0 - 50.0 - 0.2 - 1.2)
    assert budget.after_the_end == 3.0


def test_two_fifths_are_kept_for_fits_to_more_rows_than_a_sample(clock):
    budget = Budget(100.0, 2, clock=clock)
    budget.keep_for_more_rows()
    budget.keep_for_last_fits([0.1, 0.1])
    assert budget.seconds_left == pytest.approx(2 * 60.0)
    clock.now += 60.0
    budget.begin_last_fits()
    left = 40.0 - 0.2 - 2.0
    assert budget.times_affordable(3.0) == pytest.approx(left / (1.2 * 3.0))
    budget.keep_for_choice(5.0)
    assert budget.times_affordable(3.0) == pytest.approx((left - 5.0) / (1.2 * 3.0))
    clock.now += 40.0
    assert budget.times_affordable(1.0) < 0


def test_one_candidate_has_an_eighth_for_a_fold(clock):
    budget = Budget(60.0, 2, clock=clock)
    clock.now += 30.0
    assert budget.one_fold == 7.5  # of the whole, at any time


def test_the_first_tier_has_shares_of_what_is_left(clock):
    budget = Budget(60.0, 2, clock=clock)
    clock.now += 10.0
    assert budget.first_tier_fold(5) == pytest.approx(0.4 * 50.0 * 2 / 5)
    assert budget.first_tier_fold(5, sampled=True) == pytest.approx(0.15 * 50.0 * 2 / 5)
    assert budget.shortest_first_tier_fold() == pytest.approx(0.8 * 50.0 * 2 / 3)
    clock.now += 100.0
    assert budget.first_tier_fold(5) == budget.shortest_first_tier_fold() == 0.0


@pytest.mark.parametrize(
    ("n_done", "n_folds", "n_ahead"), [(1, 5, 2), (2, 5, 1), (3, 5, 2), (4, 5, 1), (1, 3, 2)]
)
def test_three_folds_are_aimed_at_then_all(n_done, n_folds, n_ahead):
    assert Budget(60.0).folds_ahead(n_done, n_folds) == n_ahead


def test_without_a_limit_nothing_ends(clock):
    budget = Budget(None, 2, clock=clock)
    budget.keep_for_last_fits([1e6])
    clock.now += 1e9
    budget.begin_last_fits()
    assert not budget.is_limited and not budget.is_over
    assert budget.seconds_left == budget.one_fold == np.inf
    assert budget.after_the_end == 0.0  # there is no end


def test_a_cheaper_one_may_follow_one_that_cannot_be_paid():
    assert affordable([4.0, 8.0, 5.0, 2.0], 10.0) == [True, False, True, False]
    assert affordable([10.0], 10.0) == [True]
    assert affordable([12.0, 1.0], 10.0, first_anyway=True) == [True, False]
    assert affordable([12.0, 1.0], 10.0) == [False, True]
    assert affordable([], 10.0, first_anyway=True) == []
