"""Samples of groups: how large, and of which groups."""

from contextlib import ExitStack

import numpy as np
import pytest
from sklearn.model_selection import LeaveOneGroupOut, PredefinedSplit

from groupwise.auto import AutoGroupClassifier, sampling
from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Labels, Measured, Numbers, Times, Transferred
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.methods import Method
from groupwise.metrics import get_measure
from tests.auto.conftest import cheap


def stopped(limit):
    """A budget whose clock stands still."""
    return Budget(limit, clock=lambda: 0.0)


def affordable(problem, budget, tier, seed=0):
    kind = Labels("majority")
    with ExitStack() as files:
        sampler = sampling.Sampler(kind, problem, seed, files)
        n_rows = sampling.affordable_rows(kind, sampler, tier, budget, n_folds=5, seed=seed)
        return sampler.tables(sampler.rows(n_rows)).problem


def sample(kind, problem, n_rows):
    with ExitStack() as files:
        sampler = sampling.Sampler(kind, problem, 0, files)
        return sampler.tables(sampler.rows(n_rows)).problem


def test_a_large_table_is_sampled_by_whole_groups(cheap_candidates):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(1200), 5)
    label = rng.randint(2, size=1200)
    X = rng.normal(size=(6000, 2)) + label[groups][:, None]
    problem = Problem(X, label[groups], Groups(groups), 2)
    tier = cheap("majority")[0][0]
    assert affordable(problem, stopped(1e6), tier).n_rows == 6000
    few = affordable(problem, stopped(1e-6), tier)
    assert 1000 <= few.n_rows <= 1010
    assert (few.groups.sizes == 5).all()


@pytest.mark.parametrize(("n_groups", "n_taken"), [(60, 60), (6000, 1000), (60_000, 7500)])
def test_few_groups_are_kept_where_two_folds_can_be_run(monkeypatch, n_groups, n_taken):
    groups = np.repeat(np.arange(n_groups), 60_000 // n_groups)
    problem = Problem(np.zeros((60_000, 1)), groups % 2, Groups(groups), 2)
    clock = [0.0]

    class OneSecondPerThousand:
        def __init__(self, kind, problem, seed):
            self.seconds = problem.n_rows / 1000

        def fit(self, candidate):
            clock[0] += self.seconds

    monkeypatch.setattr(sampling, "Trainer", OneSecondPerThousand)
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: clock[0])
    # five folds of the first tier have 100 s for all rows, 37.5 s for a sample
    taken = affordable(problem, stopped(250.0), cheap("majority")[0][0][:1])
    assert abs(taken.groups.n_groups - n_taken) <= 10


def test_a_huge_group_does_not_stand_for_the_others(cheap_candidates):
    """It is left out where it would take the place of many."""
    sizes = np.full(90, 60)
    sizes[40] = 50_000
    groups = np.repeat(np.arange(90), sizes)
    problem = Problem(np.zeros((len(groups), 1)), groups % 2, Groups(groups), 2)
    for seed in range(5):
        taken = affordable(problem, stopped(1e-6), cheap("majority")[0][0], seed=seed).groups
        assert taken.n_groups == 16  # of 60 rows each in a thousand
        assert 40 not in taken.names


def test_of_huge_groups_a_sample_has_two_of_each_class():
    """However few rows it is to have: with one class nothing can be fitted."""
    groups = Groups(np.repeat(np.arange(20), 500))
    for seed in range(10):
        y = np.random.RandomState(seed).permutation(np.arange(20) % 3)
        problem = Problem(np.zeros((10_000, 1)), y[groups.codes], groups, 3)
        few = sample(Labels("majority"), problem, 1000)
        assert np.bincount(few.y).min() >= 1000
        assert few.n_rows <= 5500


def test_a_sample_has_groups_of_several_users():
    """One user may have nearly all groups; methods that fold the sample once more need some."""
    groups = Groups(np.repeat(np.arange(4000), 3))
    users = np.where(np.arange(4000) < 3996, 0, np.arange(4000))[groups.codes]
    for keep_whole, names in ((users, {3996, 3997, 3998, 3999}), (None, set())):
        problem = Problem(np.zeros((12_000, 1)), groups.codes % 2, groups, 2, keep_whole=keep_whole)
        assert names <= set(sample(Labels("majority"), problem, 300).groups.names.tolist())
    huge = Problem(
        np.zeros((12_000, 1)), np.arange(12_000) % 2, Groups(np.arange(12_000) // 600), 2
    )
    assert sample(Measured(get_measure("f1")), huge, 100).groups.n_groups == 5


def test_huge_groups_are_timed_once(monkeypatch):
    """Two samples that are the same do not say how time grows, whatever else the clock says."""
    groups = np.repeat(np.arange(20), 5000)
    problem = Problem(np.zeros((100_000, 1)), groups % 2, Groups(groups), 2)
    clock, noise, timed = [0.0], iter([0.0, 0.0, 1.0]), []

    class Timed:
        def __init__(self, kind, problem, seed):
            timed.append(problem.n_rows)

        def fit(self, candidate):
            clock[0] += timed[-1] / 1000 + next(noise)

    monkeypatch.setattr(sampling, "Trainer", Timed)
    monkeypatch.setattr(sampling.time, "perf_counter", lambda: clock[0])
    taken = affordable(problem, stopped(300.0), cheap("majority")[0][0][:1])
    assert len(timed) == 1 and timed[0] < 50_000
    assert taken.groups.n_groups == 16  # of 80 s, a second per thousand rows


def test_a_sample_misses_no_class_and_no_event():
    groups = Groups(np.repeat(np.arange(5000), 2))
    rare = np.repeat(np.isin(np.arange(5000), (7, 1234, 4000)), 2)
    X = np.zeros((10_000, 1))
    for kind, y, n_classes in (
        (Labels("presence"), rare.astype(int), 2),
        (Labels("majority"), np.where(rare, 2, groups.codes % 2), 3),
        (Times(), np.where(rare, 1.0, -1.0), 0),
    ):
        few = sample(kind, Problem(X, y, groups, n_classes), 100)
        assert {7, 1234, 4000} <= set(few.groups.names.tolist())
        assert few.n_rows == 100
    few = sample(Numbers("mean"), Problem(X, rare.astype(float), groups, 0), 100)
    assert not {7, 1234, 4000} & set(few.groups.names.tolist())


@pytest.mark.parametrize(("n_target", "n_taken"), [(30, 30), (3000, 500)])
def test_the_target_has_half_of_a_sample(n_target, n_taken):
    domains = (np.arange(10_000) >= n_target).astype(int)
    y = np.arange(10_000) % 2
    problem = Problem(np.zeros((10_000, 1)), y, Groups.singletons(10_000), 2, domains=domains)
    few = sample(Transferred(), problem, 1000)
    assert few.n_rows == 1000
    assert np.sum(few.domains == 0) == n_taken


def test_a_small_sample_is_part_of_a_larger_one():
    groups = np.repeat(np.arange(400), 5)
    problem = Problem(np.zeros((2000, 1)), groups % 3, Groups(groups), 3)
    few, many = (sample(Labels("majority"), problem, n_rows).groups for n_rows in (300, 900))
    assert set(few.names) < set(many.names)
    assert (few.n_rows, many.n_rows) == (300, 900)


def many_groups():
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(1200), 5)
    label = rng.randint(2, size=1200)
    return Problem(rng.normal(size=(6000, 2)), label[groups], Groups(groups), 2)


def of_class(name, path):
    return Candidate(Method("majority", name, path, "for tests"))


def test_who_cannot_be_fitted_is_not_timed(caplog):
    """The race says why; the others are."""
    caplog.set_level("INFO", "groupwise.auto")
    broken = of_class("broken", "groupwise.transfer:WeightedTransferClassifier")
    (tier, _), _ = cheap("majority")
    assert affordable(many_groups(), stopped(1e-3), [*tier, broken]).n_rows < 6000
    assert "broken could not be timed: " in caplog.text
    assert affordable(many_groups(), stopped(1e-3), [broken]).n_rows == 6000


def test_columns_count_with_every_category():
    X = np.column_stack([np.arange(6.0), [0, 1, 2, 0, 1, 2]])
    problem = Problem(X, np.zeros(6, int), Groups(np.arange(6)), 2, categories=(1,))
    assert problem.n_features == 4


@pytest.mark.parametrize("cv", [np.int64(2), LeaveOneGroupOut()], ids=["numpy", "splitter"])
def test_any_folds_go_with_a_limit(cheap_candidates, cv):
    problem = many_groups()
    keep = problem.groups.codes % 4  # four users
    model = AutoGroupClassifier(cv=cv, time_limit=20.0, random_state=0)
    model.fit(problem.X, problem.y, groups=problem.groups.codes, keep_whole=keep)
    assert model.leaderboard_["folds"].max() == (4 if isinstance(cv, LeaveOneGroupOut) else 2)


def test_a_splitter_goes_by_the_rows_as_they_were_given(cheap_candidates):
    """Whatever order they are fitted in."""
    rng = np.random.RandomState(0)
    groups = rng.permutation(np.repeat(np.arange(40), 3))
    label = np.arange(40) % 2
    fold = groups % 4 // 2 + 2 * (groups % 2)
    X = rng.normal(size=(120, 2)) + label[groups][:, None]
    model = AutoGroupClassifier(cv=PredefinedSplit(fold), random_state=0)
    model.fit(X, label[groups], groups=groups)
    held = model.held_out_
    of_group = fold[[np.flatnonzero(groups == group)[0] for group in held.group]]
    np.testing.assert_array_equal(held.fold, of_group)
