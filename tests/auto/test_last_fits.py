"""Members of a sample that are fitted again, to more rows than they competed on."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

from groupwise.auto import AutoGroupClassifier, base, budget, last_fits, workers
from groupwise.auto.choice import cross_fitted_answer
from groupwise.auto.ensemble import Truth
from groupwise.auto.last_fits import _by_fold
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.groups import Groups
from groupwise.preparation import Unprepared

N_GROUPS = 56


@pytest.fixture(autouse=True)
def a_quarter(data, cheap_candidates, monkeypatch):
    """Candidates compete on a quarter of the rows."""
    monkeypatch.setattr(base, "affordable_rows", lambda *args, **options: len(data.X) / 4)


def fit(data, keep_whole=None, **options):
    model = AutoGroupClassifier(cv=3, n_jobs=2, random_state=0, **options)
    return model.fit(data.X, data.y, groups=data.groups, keep_whole=keep_whole)


def fit_whole(data, names):
    """What members would be, fitted to these groups here."""
    inside = np.isin(data.groups, names)
    groups = Groups(np.asarray(data.groups)[inside])
    y = np.searchsorted(np.unique(data.y), np.asarray(data.y)[inside])
    problem, _ = in_canonical_order(Problem(np.asarray(data.X)[inside], y, groups, 2))
    kind = AutoGroupClassifier()._resolve_kind()
    tiers, _ = base.first_candidates("majority")
    with one_thread():
        trainer = Trainer(kind, problem, 0)
        return {c.name: trainer.fit(c) for tier in tiers for c in tier}


def same_members(data, members, expected):
    asked = np.asarray(data.X), Groups(data.groups)
    for member in members:
        found, other = (m.predictions(*asked) for m in (member, expected[member.name]))
        np.testing.assert_allclose(found.proba_group, other.proba_group, atol=1e-12)


@pytest.mark.parametrize(("times", "n_steps"), [(1.4, 0), (2.0, 2), (1e6, 1)])
def test_in_steps_as_far_as_time_goes(data, monkeypatch, caplog, times, n_steps):
    monkeypatch.setattr(budget.Budget, "times_affordable", lambda self, seconds: times)
    caplog.set_level("INFO", "groupwise.auto")
    model = fit(data, time_limit=60.0)
    assert model.n_groups_ == N_GROUPS
    assert model.n_groups_used_ < N_GROUPS / 3
    assert caplog.text.count("3 of 3 members fitted again") == n_steps
    fitted_to = {member.n_groups for member in model.members_}
    assert fitted_to == {N_GROUPS if n_steps else model.n_groups_used_}
    if n_steps:
        same_members(data, model.members_, fit_whole(data, np.unique(data.groups)))


@pytest.mark.parametrize("with_users", [False, True])
def test_the_estimate_is_of_the_members_that_there_are(data, monkeypatch, with_users):
    """They are asked about groups that none of them has seen."""
    monkeypatch.setattr(last_fits, "_LEAST_JUDGED", 7)
    monkeypatch.setattr(last_fits, "_LEAST_OF_CLASS", 2)
    monkeypatch.setattr(last_fits, "_MOST_JUDGED", 0.6)
    users = np.asarray(data.groups) // 2 if with_users else None
    model = fit(data, users, time_limit=60.0)
    names = np.unique(data.groups)
    judged = names[model.held_out_.group]
    assert 7 <= len(judged) < model.n_groups_used_
    seen = names[~np.isin(names // 2, judged // 2)] if with_users else np.setdiff1d(names, judged)
    assert {member.n_groups for member in model.members_} == {len(seen)}
    same_members(data, model.members_, fit_whole(data, seen))
    own = model.held_out_.score["auto"]
    assert model.estimate_.score == pytest.approx(own.mean())
    # by hand: what they say of these groups, scaled and averaged by what they say of the others
    inside = np.isin(data.groups, judged)
    groups = Groups(np.asarray(data.groups)[inside])
    answers = [
        {"proba_group": m.predictions(np.asarray(data.X)[inside], groups).proba_group}
        for m in model.members_
    ]
    order = np.argsort(judged)
    fold = model.held_out_.fold[order]
    y = np.searchsorted(model.classes_, np.asarray(data.y)[inside])
    truth = Truth(y, groups, fold, 2)
    methods = [member.name for member in model.members_]
    kind = model._resolve_kind()
    expected = cross_fitted_answer(kind, answers, truth, methods)["proba_group"]
    np.testing.assert_allclose(model.held_out_.answer["auto"][order], expected, atol=1e-9)
    assert set(model.leaderboard_.query("state == 'chosen'")["method"]) == set(methods)


@pytest.mark.parametrize(
    ("n_table", "n_fold", "n_rare", "n_judged"),
    [
        (20_000, 200, 100, 5),  # a twentieth of the table
        (20_000, 600, 300, 1),
        (20_000, 300, 4, 3),  # ten of the rare class
        (20_000, 300, 1, 0),  # five are too few
        (3_000, 150, 75, 2),  # 200 groups
        (1_000, 100, 50, 2),
        (900, 100, 50, 0),  # more than a fifth of the table
        (9_000, 30, 15, 0),
    ],
)
def test_how_many_folds_are_left_out(n_table, n_fold, n_rare, n_judged):
    groups = np.repeat(np.arange(n_table), 2)
    of_group = np.zeros(n_table, int)
    of_group[: 5 * n_fold].reshape(5, n_fold)[:, :n_rare] = 1
    problem = Problem(np.zeros((len(groups), 1)), of_group[groups], Groups(groups), 2)
    tests = [np.flatnonzero(groups // n_fold == number) for number in range(5)]
    race = SimpleNamespace(kind=AutoGroupClassifier("presence")._resolve_kind())
    fits = last_fits.LastFits(race, None, None, None)
    assert fits._n_judged(problem, tests) == n_judged


def test_users_are_left_out_with_all_their_groups():
    """A tenth of the table is asked about, but no more than a fifth of it may be left out."""
    groups = np.arange(4000)
    for n_of_user, n_judged in ((1, 1), (2, 1), (3, 0)):
        # the first 400 users have a group in the fold, and others that are in none
        users = np.where(groups < 400 * n_of_user, groups % 400, groups)
        y = groups // 2 % 2
        problem = Problem(np.zeros((4000, 1)), y, Groups(groups), 2, keep_whole=users)
        race = SimpleNamespace(kind=AutoGroupClassifier("presence")._resolve_kind())
        fits = last_fits.LastFits(race, None, None, None)
        assert fits._n_judged(problem, [np.arange(400)]) == n_judged


@pytest.mark.parametrize("n_steps", [0, 1])
def test_a_step_that_was_late_changes_nothing(data, monkeypatch, n_steps):
    """The model, and what is said of it, are those of the step before."""
    monkeypatch.setattr(last_fits, "_LEAST_JUDGED", 7)
    monkeypatch.setattr(last_fits, "_LEAST_OF_CLASS", 2)
    monkeypatch.setattr(last_fits, "_MOST_JUDGED", 0.6)
    monkeypatch.setattr(budget.Budget, "times_affordable", lambda self, seconds: 2.5)

    def after(n_calls, of_class, name, otherwise):
        calls, method = itertools.count(), getattr(of_class, name)

        def called(self, *args):
            return method(self, *args) if next(calls) < n_calls else otherwise(*args)

        monkeypatch.setattr(of_class, name, called)
        return calls

    next_rows = last_fits.LastFits._next_rows
    after(n_steps, last_fits.LastFits, "_next_rows", lambda *args: None)
    expected = fit(data, time_limit=60.0)
    monkeypatch.setattr(last_fits.LastFits, "_next_rows", next_rows)
    calls = after(n_steps, workers.Workers, "fit_and_ask", lambda _, entries: [None] * len(entries))
    found = fit(data, time_limit=60.0)
    assert next(calls) == n_steps + 1
    assert found.estimate_ == expected.estimate_
    same_members(data, found.members_, {member.name: member for member in expected.members_})


def test_of_few_users_nobody_is_left_out(data, monkeypatch):
    """However many groups they have."""
    monkeypatch.setattr(last_fits, "_LEAST_JUDGED", 7)
    model = fit(data, np.asarray(data.groups) // 14, time_limit=60.0)
    assert model.n_groups_used_ < N_GROUPS / 3
    assert {member.n_groups for member in model.members_} == {N_GROUPS}


class Rolled(TransformerMixin, BaseEstimator):
    """Columns in an order that depends on the rows that it has learned from, as with texts."""

    def fit(self, X, y=None):
        self.shift_ = int(len(X) != 280)
        return self

    def transform(self, X):
        return np.roll(X, self.shift_, axis=1)


def test_members_know_the_columns_that_the_model_is_asked_with(data, monkeypatch):
    """Not those that a preparation makes of the rows that they are fitted to."""
    monkeypatch.setattr(last_fits, "_LEAST_JUDGED", 7)
    monkeypatch.setattr(last_fits, "_LEAST_OF_CLASS", 2)
    monkeypatch.setattr(last_fits, "_MOST_JUDGED", 1.0)
    X = np.asarray(data.X)
    assert len(X) == 280
    model = AutoGroupClassifier(cv=3, n_jobs=2, random_state=0, time_limit=60.0)
    model.fit(X, data.y, groups=data.groups, unprepared=Unprepared(X, Rolled()))
    names = np.unique(data.groups)
    seen = np.setdiff1d(names, names[model.held_out_.group])
    assert {member.n_groups for member in model.members_} == {len(seen)} != {N_GROUPS}
    same_members(data, model.members_, fit_whole(data, seen))


def test_what_is_late_stays_as_it_was(data, monkeypatch):
    ask = workers.Workers.fit_and_ask
    late = [None, None]
    monkeypatch.setattr(workers.Workers, "fit_and_ask", lambda *given: [*ask(*given)[:-2], *late])
    model = fit(data, time_limit=60.0)
    fitted_to = [member.n_groups for member in model.members_]
    assert fitted_to == [N_GROUPS, model.n_groups_used_, model.n_groups_used_]


def test_an_answer_about_several_folds_is_cut_into_them():
    codes = [np.array([5, 5, 2]), np.array([3, 9, 3, 3])]
    answer = {"y_group": np.array([20, 30, 50, 90]), "proba_row": np.arange(7)}
    folds = _by_fold(answer, codes)
    assert {k: v.answer["y_group"].tolist() for k, v in folds.items()} == {0: [20, 50], 1: [30, 90]}
    assert {k: v.answer["proba_row"].tolist() for k, v in folds.items()} == {
        0: [0, 1, 2],
        1: [3, 4, 5, 6],
    }
    assert _by_fold({}, []) == {}
