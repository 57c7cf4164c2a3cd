"""Who runs, who is dropped, who tries more settings: with answers made up, nothing is fitted."""

from dataclasses import replace

import numpy as np
import pytest

from groupwise.auto import choice as choice_module
from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate, first_candidates, variants
from groupwise.auto.choice import _halves, _possible, choose, cross_fitted_answer
from groupwise.auto.ensemble import Truth
from groupwise.auto.entries import Certainty, Entry
from groupwise.auto.held_out import HeldOut
from groupwise.auto.kinds import Labels, Numbers
from groupwise.auto.members import FoldAnswer
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.race import Race
from groupwise.groups import Groups
from groupwise.methods import METHODS, Method

KIND = Labels("majority")


class Purse(Budget):
    """So many seconds for folds, and so many tasks."""

    seconds_left = is_over = None

    def __init__(self, seconds_left=np.inf, n_tasks=10**6):
        super().__init__(None if seconds_left == np.inf else seconds_left)
        self.seconds_left, self.n_tasks, self.kept = seconds_left, n_tasks, []
        self.is_over = n_tasks <= 0

    def spend(self, seconds):
        self.seconds_left -= seconds
        self.n_tasks -= 1
        self.is_over = self.n_tasks <= 0

    def keep_for_last_fits(self, seconds):
        self.kept.append(list(seconds))


class Invented:
    """Answers as near to the truth as the name of the method says.

    With rounds, of 100 (or 50 with large trees), as long as these are no more than 450. ``slow``
    methods take ten seconds, others one.
    """

    def __init__(self, problem, splits, budget, slow=()):
        self.problem, self.splits, self.budget, self.slow = problem, splits, budget, slow
        self.ran, self.sure, self.likely = [], [], []

    def run(self, tasks):
        for kept, certainty in ((self.sure, Certainty.SURE), (self.likely, Certainty.LIKELY)):
            some = [task for task in tasks if task.certainty is certainty]
            kept += [(task.entry.candidate.name, task.fold) for task in some]
        for entry, fold in [(task.entry, task.fold) for task in tasks if task.is_asked]:
            if self.budget.is_over:
                return
            self.ran.append((entry.candidate.name, fold))
            code = self.problem.y[self.splits[fold][1]]
            strength = float(entry.candidate.method.name)
            effort = entry.candidate.effort
            strength *= min(effort, 450) / 100 if effort else 1.0
            rng = np.random.RandomState(len(self.ran))
            score = strength * (2 * code - 1) + rng.normal(size=len(code))
            proba = 1 / (1 + np.exp(-score))
            answer = {"proba_group": np.column_stack([1 - proba, proba])}
            seconds = 10.0 if strength in self.slow else 1.0
            self.budget.spend(seconds)
            entry.take(fold, FoldAnswer(answer, seconds))


def of(strength, **options):
    sboost = "groupwise.majority:SBoostClassifier"
    search = {"gamma": (4.0, 16.0)} if options.pop("searched", False) else {}
    is_slow = options.pop("is_slow", False)
    method = Method("majority", str(strength), sboost, "", search=search, is_slow=is_slow)
    return Candidate(method, **options)


@pytest.fixture
def problem():
    y = np.arange(200) % 2
    return Problem(np.zeros((200, 1)), y, Groups(np.arange(200)), 2)


def race_of(problem, tiers, slow=(), **limits):
    splits = KIND.splits(problem, 5, 0)
    budget = Purse(**limits)
    runner = Invented(problem, splits, budget, slow)
    race = Race(KIND, problem, splits, runner, budget)
    race.run(tiers)
    return race, runner


def test_who_is_clearly_behind_leaves_and_baselines_stay(problem):
    good = [of(strength) for strength in (3.0, 2.9, 2.8, 2.7, 2.6)]
    race, runner = race_of(problem, [[of(0.1, is_baseline=True), *good], [of(0.0), of(2.95)]])
    state = {entry.candidate.name: (entry.state, len(entry.folds)) for entry in race.entries}
    assert state["0.0"] == ("dropped", 2)
    assert state["0.1"] == ("finished", 5)
    assert state["2.95"] == ("finished", 5)
    kept = runner.budget.kept[-1]
    assert len(kept) == 7 and kept[0] == 1.25  # of all that stay; one fold more of five


def test_leaders_try_their_settings(problem):
    race, _ = race_of(problem, [[of(3.0, searched=True), of(0.5)]])
    default = race.entries[0].candidate.method.build({}, {}, 0).gamma
    more = [gamma for gamma in (4.0, 16.0) if gamma != default]
    assert [e.candidate.params for e in race.entries[2:]] == [{"gamma": gamma} for gamma in more]


def test_settings_come_before_slow_methods(problem):
    race, _ = race_of(problem, [[of(2.9, is_slow=True), of(3.0, searched=True), of(0.5)]])
    names = [entry.candidate.name for entry in race.entries]
    assert names[:2] == ["3.0", "0.5"] and names[2].startswith("3.0(") and names[-1] == "2.9"


BOOST = Method("majority", "1.0", "groupwise.gbdt:GroupBoostClassifier", "",
               search={"n_estimators": (50, 150)})  # fmt: skip


def test_rounds_grow_as_long_as_they_are_clearly_worth_it(problem):
    race, _ = race_of(problem, [[Candidate(BOOST, is_baseline=True), of(0.5)], [of(0.4)]])
    tried = [e.candidate.rounds for e in race.entries if e.candidate.method is BOOST]
    assert tried == [100, 50, 150, 450, 1350]
    assert not race.entries[-1].candidate.is_baseline


def test_where_rounds_are_worth_it_so_may_large_trees_be(problem):
    method = replace(BOOST, params={"trees": "groupwise.boosting:HistTrees"})
    race, _ = race_of(problem, [[Candidate(method), of(0.5)]])
    tried = [e.candidate for e in race.entries if e.candidate.method is method]
    leaves = [candidate.params.get("trees__max_leaf_nodes") for candidate in tried]
    assert [c.rounds for c in tried] == [100, 50, 150, 450, 150, 1350, 450]
    assert leaves == [None, None, None, None, 31, None, 31]
    large = tried[-1]
    assert large.grown() == [replace(large, params=large.params | {"n_estimators": 1350})]
    smaller = [(c.rounds, c.effort) for c in tried if c.is_smaller(large)]
    assert smaller == [(100, 100), (50, 50), (150, 150), (450, 450), (150, 300)]


@pytest.mark.parametrize(("n_groups", "strength"), [(200, "0.0"), (50, "1.0")])
def test_rounds_stay_where_they_say_nothing_or_groups_are_few(problem, n_groups, strength):
    some = problem.take(np.arange(n_groups))
    race, _ = race_of(some, [[Candidate(replace(BOOST, name=strength)), of(0.5)]])
    tried = [e.candidate.rounds for e in race.entries if e.candidate.rounds]
    assert max(tried) == (150 if n_groups == 200 else 100)


def test_against_the_clock_more_rounds_are_not_asked_for_again(problem):
    tier = [Candidate(BOOST, is_baseline=True), of(0.5)]
    race, _ = race_of(problem, [tier], seconds_left=10**6, n_tasks=23)
    assert [len(entry.folds) for entry in race.entries] == [5, 5, 5, 5, 3]
    assert (race.entries[-1].candidate.rounds, race.entries[-1].state) == (450, "out of time")


def test_few_groups_no_dropping_no_settings(problem):
    few = problem.take(np.arange(50))
    tiers = [[of(s) for s in (3.0, 2.9, 2.8, 2.7, 2.6)], [of(0.0), of(2.0, searched=True)]]
    race, _ = race_of(few, tiers)
    assert {entry.state for entry in race.entries} == {"finished"} and len(race.entries) == 7


@pytest.mark.parametrize(
    ("seconds_left", "n_folds"),
    [(150.0, {"3.5": 5, "1.5": 5}), (110.0, {"3.5": 5, "1.5": 3}), (70.0, {"3.5": 3, "1.5": 1})],
)
def test_where_time_is_short_the_slow_leave_unless_they_lead(problem, seconds_left, n_folds):
    few = problem.take(np.arange(50))  # nobody is dropped for being behind
    quick = [of(strength) for strength in (3.0, 2.9, 2.8, 2.7, 1.0)]
    tier = [*quick, of(3.5), of(1.5)]
    race, _ = race_of(few, [tier], slow=(3.5, 1.5), seconds_left=seconds_left)
    judged = {entry.candidate.name: len(entry.folds) for entry in race.entries}
    assert {name: judged[name] for name in n_folds} == n_folds
    assert {len(entry.folds) for entry in race.entries[:5]} == {5}
    late = {entry.candidate.name for entry in race.entries if entry.state == "out of time"}
    assert late == {name for name, n in n_folds.items() if n < 5}


def test_a_slow_baseline_leaves_too_but_one_stays(problem):
    few = problem.take(np.arange(50))
    tier = [of(3.0, is_baseline=True), of(3.5, is_baseline=True)]
    race, _ = race_of(few, [tier], slow=(3.5,), seconds_left=30.0)
    assert [len(entry.folds) for entry in race.entries] == [5, 1]
    race, _ = race_of(few, [tier], slow=(3.0, 3.5), seconds_left=21.0)
    assert [len(entry.folds) for entry in race.entries] == [5, 1]


@pytest.mark.parametrize(("seconds_left", "folds"), [(np.inf, [5, 5]), (60.0, [5, 0])])
def test_against_the_clock_slow_methods_come_one_after_another(problem, seconds_left, folds):
    few = problem.take(np.arange(50))
    tiers = [[of(3.0), of(2.0)], [of(2.5, is_slow=True), of(2.6, is_slow=True)]]
    n_tasks = 10**6 if seconds_left == np.inf else 15
    options = {"slow": (2.5, 2.6), "seconds_left": seconds_left, "n_tasks": n_tasks}
    race, runner = race_of(few, tiers, **options)
    assert [len(entry.folds) for entry in race.entries] == [5, 5, *folds]
    both = [("2.5", 0), ("2.6", 0)]
    assert runner.ran[10:12] == (both if seconds_left == np.inf else [("2.5", 0), ("2.5", 1)])


def test_a_slow_method_that_cannot_be_judged_makes_room(problem):
    """It has had one fold, and two more would take longer than there is."""
    few = problem.take(np.arange(50))
    quick = [of(strength) for strength in (3.0, 2.9, 2.8, 2.7, 2.6)]
    tiers = [[*quick, of(0.5, is_slow=True), of(2.5, is_slow=True)]]
    race, runner = race_of(few, tiers, slow=(0.5,), seconds_left=25.0 + 25.0)
    judged = {entry.candidate.name: len(entry.folds) for entry in race.entries}
    assert (judged["0.5"], judged["2.5"]) == (1, 5)
    assert [name for name, _ in runner.ran[25:]] == ["0.5", *["2.5"] * 5]


def test_one_candidate_is_judged_however_short_the_time(problem):
    tier = [of(3.0, is_baseline=True), of(2.0)]
    race, runner = race_of(problem, [tier], n_tasks=0, seconds_left=-1.0)
    assert not runner.ran and not race.usable(1)
    race.run_whatever_it_takes(tier[0], Invented(problem, runner.splits, Purse()))
    found = [(entry.candidate.name, entry.state, len(entry.folds)) for entry in race.entries]
    assert found == [("2.0", "out of time", 0), ("3.0", "finished", 5)]


def test_an_incomplete_round_is_the_last(problem):
    race, runner = race_of(problem, [[of(3.0), of(2.0), of(1.0)], [of(2.5)]], n_tasks=7)
    assert runner.ran[-1] == ("3.0", 2)
    assert [len(entry.folds) for entry in race.entries] == [3, 2, 2, 0]
    assert {entry.state for entry in race.entries} == {"out of time"}
    choice = choose(KIND, race)
    assert choice.n_folds == 2 and len(choice.entries) == 3
    assert len(choice.answer["proba_group"]) == 80


def test_many_candidates_on_two_folds_do_not_outvote_a_few_on_three(problem):
    race, _ = race_of(problem, [[of(3.0), of(2.0)], [of(s) for s in (2.5, 2.4, 2.3)]], n_tasks=16)
    assert [len(entry.folds) for entry in race.entries] == [5, 5, 2, 2, 2]
    choice = choose(KIND, race)
    assert (choice.n_folds, len(choice.entries)) == (5, 2)


@pytest.mark.parametrize(("late", "n_folds"), [(3.0, 3), (0.6, 5)])
def test_who_is_clearly_better_counts_on_three_folds(problem, late, n_folds):
    first = [of(0.5), of(0.4), of(0.3), of(0.2), of(0.1)]
    race, _ = race_of(problem, [first, [of(late), of(0.0)]], n_tasks=31)
    assert sorted(len(entry.folds) for entry in race.entries) == [3, 3, 5, 5, 5, 5, 5]
    choice = choose(KIND, race)
    assert choice.n_folds == n_folds
    assert (str(late) in [e.candidate.name for e in choice.entries]) == (n_folds == 3)


def test_one_fold_is_judged_by_halves(problem):
    race, _ = race_of(problem, [[of(3.0), of(0.0)]], n_tasks=2)
    choice = choose(KIND, race)
    assert choice.n_folds == 1 and choice.estimate.low < choice.estimate.score


def test_both_halves_have_of_the_few():
    """Of eight groups with two events, one; users stay whole."""
    groups = Groups(np.arange(8))
    y = np.array([-5.0, 3.0, -2.0, -4.0, -1.0, 2.0, -3.0, -2.5])
    of_times = Truth(y, groups, np.zeros(8, np.intp), 0)
    halves = _halves(of_times, np.arange(8))
    assert halves[y > 0].tolist() in ([0, 1], [1, 0])
    assert halves.sum() == 4
    of_shares = Truth(np.column_stack([y, -y]), groups, np.zeros(8, np.intp), 2)
    assert _halves(of_shares, np.arange(8)).tolist() == halves.tolist()
    assert _halves(of_times, np.arange(8) // 4).tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_no_user_is_in_both_halves(problem, monkeypatch):
    race, _ = race_of(problem, [[of(3.0), of(0.0)]], n_tasks=2)
    names, found = race.held_out.names(1), []

    def fold_of(kind, answers, truth, methods):
        found.append(truth.fold_group)
        return cross_fitted_answer(kind, answers, truth, methods)

    monkeypatch.setattr(choice_module, "cross_fitted_answer", fold_of)
    choose(KIND, race, {name: name // 10 for name in names.tolist()})
    halves = {(name // 10, half) for name, half in zip(names, found[0], strict=True)}
    assert len(halves) == len(np.unique(names // 10)) > 2
    assert {half for _, half in halves} == {0, 1}


def test_every_group_has_to_be_held_out_once(problem):
    splits = KIND.splits(problem, 5, 0)
    with pytest.raises(ValueError, match="every group out exactly once"):
        HeldOut(KIND, problem, splits[:4])
    with pytest.raises(ValueError, match="every group out exactly once"):
        HeldOut(KIND, problem, [*splits, splits[0]])


def test_the_canonical_order_is_that_of_content():
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    X[3, 1] = np.nan
    y = groups % 2
    shuffled = rng.permutation(60)
    names = rng.permutation(12)[groups]
    one, at = in_canonical_order(Problem(X, y, Groups(groups), 2))
    other, other_at = in_canonical_order(
        Problem(X[shuffled], y[shuffled], Groups(names[shuffled]), 2)
    )
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    np.testing.assert_array_equal(one.groups.codes, other.groups.codes)
    first = {name: code for code, name in zip(groups.tolist(), names.tolist(), strict=True)}
    assert at.tolist() == [first[name] for name in other_at.tolist()]


@pytest.mark.parametrize(
    "kind", ["majority", "presence", "grade", "proportions", "measure", "transfer"]
)
def test_baselines_come_first_and_nothing_is_forgotten(kind):
    table = {"n_features": 5, "n_classes": 2, "measure": "f1"}
    tiers, not_tried = first_candidates(kind, n_rows=100, **table)
    named = {candidate.method.name for tier in tiers for candidate in tier}
    assert named | set(not_tried) == {m.name for m in METHODS if m.kind == kind} - {"auto"}
    assert all(candidate.is_baseline for candidate in tiers[0])
    large, reasons = first_candidates(kind, n_rows=10**6, **table)
    assert large[0] and all(
        "rows" in r or "slow" in r or "installed" in r for r in reasons.values()
    )


def test_the_network_that_reads_48_columns_is_not_asked_about_more():
    for n_features, is_asked in ((48, True), (49, False)):
        tiers, not_tried = first_candidates(
            "majority", n_rows=100, n_features=n_features, n_classes=2, measure=None
        )
        named = {candidate.method.name for tier in tiers for candidate in tier}
        assert ("in-context" in named) == is_asked == ("in-context" not in not_tried)


def test_variants_leave_out_what_has_been_tried():
    method = next(m for m in METHODS if m.name == "dissimilarity" and m.kind == "presence")
    default = method.build({}, {}, 0).C
    found = [candidate.params["C"] for candidate in variants(Candidate(method))]
    assert sorted([*found, default]) == sorted(method.search["C"])


@pytest.mark.parametrize("n_rows", [200, 50])
def test_what_is_sure_to_be_asked_for_is(problem, n_rows):
    weak = [of(0.1, is_baseline=True), of(0.2)]
    good = [of(strength, searched=True) for strength in (3.0, 2.9, 2.8, 2.7, 2.6)]
    tiers = [[*weak, *good], [of(0.3), of(0.4, is_slow=True), of(2.5, is_slow=True)]]
    race, runner = race_of(problem.take(np.arange(n_rows)), tiers)
    assert len(race.entries) == (13 if n_rows == 200 else 10)  # more settings of many groups only
    assert set(runner.sure) <= set(runner.ran)
    dropped = {("0.2", 2), ("0.3", 2), ("0.4", 2)} if n_rows == 200 else set()
    assert dropped.isdisjoint(runner.ran)
    # of what may be asked for, those dropped in between are not
    assert set(runner.likely) - set(runner.ran) == dropped
    # whatever comes after the first round was foreseen, but for the settings of leading methods
    foreseen = {*runner.sure, *runner.likely}
    assert all("gamma" in name or task in foreseen for task in runner.ran[7:] for name in [task[0]])


def test_against_the_clock_nothing_is_sure(problem):
    slow = [of(2.5, is_slow=True), of(2.6, is_slow=True)]
    few = problem.take(np.arange(50))
    _, runner = race_of(few, [[of(3.0), of(2.0)], slow], seconds_left=1e6)
    assert not runner.sure
    # the next slow method is begun before its turn, but none beside quick ones
    assert ("2.6", 0) in runner.likely and ("2.5", 0) not in runner.likely


def test_a_failure_is_told_once(caplog):
    entry = Entry(Candidate(METHODS[0]))
    with caplog.at_level("INFO", "groupwise.auto"):
        for fold in range(2):
            entry.take(fold, FoldAnswer({}, 0.1, f"fold {fold} is bad"))
    assert (entry.state, entry.reason, len(caplog.records)) == ("failed", "fold 0 is bad", 1)


@pytest.mark.parametrize(
    ("kind", "found", "said"),
    [
        (KIND, (0.3, -0.1, 0.7), (0.3, 0.0, 0.7)),
        (KIND, (0.9, 0.7, 1.1), (0.9, 0.7, 1.0)),
        (KIND, (2.0, 1.5, 2.5), (2.0, 1.5, 2.5)),  # as a callable's may be
        (Numbers("mean"), (-1.15, -4.2, 1.9), (-1.15, -4.2, 1.0)),
    ],
)
def test_intervals_are_of_possible_scores(kind, found, said):
    assert _possible(kind, found) == said


def test_what_makes_many_columns_of_many_is_not_tried():
    told = {"n_rows": 100, "n_classes": 2, "measure": "f1"}
    few, wide = (first_candidates("measure", n_features=n, **told) for n in (500, 501))
    assert not few[1]
    assert wide[1]["boosted-scores"] == "is for up to 500 columns, there are 501"
    assert set(wide[1]) == {"boosted-differences", "boosted-scores"}


def test_rows_seen_in_their_group_are_another_fit_with_the_same_settings():
    methods = {method.name: method for method in METHODS if method.kind == "measure"}
    plain, relative = (Candidate(methods[name]) for name in ("boosted-rows", "boosted-scores"))
    assert plain.key() != relative.key() and plain.rounds == relative.rounds == 300
    assert [each.params for each in variants(relative)] == [{"n_estimators": 100}]
    (more,) = (each for each in relative.grown() if each.rounds == 900)
    assert relative.is_smaller(more) and not plain.is_smaller(more)
    built = more.method.build({"measure": "accuracy"}, more.params, seed=3).estimator
    assert (built.n_estimators, built.measure, built.random_state) == (900, "accuracy", 3)
