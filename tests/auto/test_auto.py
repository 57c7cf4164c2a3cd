import pickle

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor, base
from groupwise.auto.candidates import Candidate
from groupwise.auto.members import Member
from groupwise.auto.runner import InProcess
from groupwise.auto.scaling import mean_interval
from groupwise.datasets import make_sessions, make_triangle_sessions
from groupwise.datasets.transfer import make_shifted_domains
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.io import load_model, save_model
from groupwise.methods import Method
from groupwise.metrics import concordance
from groupwise.model_selection import WholeGroupKFold
from tests.auto.conftest import cheap

LINE = ["method", "params", "score", "low", "high", "difference", "loss", "seconds", "state"]


@pytest.fixture
def data():
    rng = np.random.RandomState(3)
    y_row = rng.randint(2, size=500)
    X = rng.normal(size=(500, 4)) + 0.8 * y_row[:, None]
    return make_sessions(X, y_row, size=5, n_other=(0, 2), random_state=3)


def fit(data, kind="majority", **options):
    model = AutoGroupClassifier(kind, random_state=0, **options)
    return model.fit(data.X, data.y, groups=data.groups)


def test_leaderboard(data, cheap_candidates):
    model = fit(data)
    board = model.leaderboard_
    assert set(LINE) <= set(board.columns)
    assert board["score"].is_monotonic_decreasing
    assert board.loc[0, ["difference", "difference_low", "difference_high"]].eq(0.0).all()
    assert (board["low"] <= board["score"]).all() and (board["score"] <= board["high"]).all()
    chosen = board.loc[board["state"] == "chosen", "method"]
    assert sorted(chosen) == sorted(member.name for member in model.members_)
    assert model.not_tried_ == {"slow": "slow"}
    assert model.estimate_.low < model.estimate_.score < model.estimate_.high


def test_rows_order_and_names_make_no_difference(data, cheap_candidates):
    model = fit(data)
    order = np.random.RandomState(0).permutation(len(data.X))
    other = AutoGroupClassifier(random_state=0).fit(
        data.X[order], data.y[order], groups=[f"g{97 * g % 1009:04d}" for g in data.groups[order]]
    )
    np.testing.assert_array_equal(model.predict_proba(data.X), other.predict_proba(data.X))
    np.testing.assert_array_equal(
        model.predict_groups_proba(data.X, data.groups),
        other.predict_groups_proba(data.X, data.groups),
    )
    assert model.estimate_ == other.estimate_


def test_the_seed_decides(data, cheap_candidates):
    same = [fit(data).predict_groups_proba(data.X, data.groups) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    other = AutoGroupClassifier(random_state=1).fit(data.X, data.y, groups=data.groups)
    assert not np.array_equal(same[0], other.predict_groups_proba(data.X, data.groups))


def test_noise_is_estimated_at_chance(noise, cheap_candidates):
    X, y, groups = noise
    model = AutoGroupClassifier(random_state=0).fit(X, y, groups=groups)
    assert model.estimate_.low < 0.5 < model.estimate_.high
    proba = model.predict_groups_proba(X, groups)
    assert np.abs(proba - 0.5).max() < 0.35  # calibrated: it knows that it knows nothing


def test_a_failing_candidate_is_reported_and_left_out(data, add_candidates):
    add_candidates("groupwise.presence:MISVMClassifier", C=-1.0)
    model = fit(data)
    line = model.leaderboard_.set_index("method").loc["MISVMClassifier"]
    assert line["state"] == "failed" and "C must be" in line["reason"]
    assert "MISVMClassifier" not in [member.name for member in model.members_]


def test_all_failing_is_an_error_that_names_them(data, monkeypatch):
    broken = Candidate(Method("majority", "broken", "groupwise.majority:Nobody", ""))
    monkeypatch.setattr(base, "first_candidates", lambda *_, **__: ([[broken]], {}))
    with pytest.raises(GroupDataError, match=r"no candidate could be fitted \(broken: Attr"):
        fit(data)


@pytest.mark.parametrize("kind", ["majority", "presence", "grade", "proportions", "measure"])
def test_the_estimate_is_of_the_members_that_were_fitted_in_time(data, kind, monkeypatch):
    """All but one came too late: model and estimate are those of a race of that one."""
    y = data.y if kind in ("majority", "presence", "grade") else np.asarray(data.y_row)
    if kind == "proportions":
        y = np.arange(len(y)) % 2  # says nothing: nobody is far behind
    tiers, _ = cheap(kind)
    refit = InProcess.refit

    def only_the_last(self, entries):
        found = refit(self, entries)
        names = [entry.candidate.name for entry in entries]
        assert len(names) > 1 or kind == "measure"
        return [m if n == max(names) else None for m, n in zip(found, names, strict=True)]

    with monkeypatch.context() as patch:
        patch.setattr(base, "first_candidates", lambda *_, **__: (tiers, {}))
        patch.setattr(InProcess, "refit", only_the_last)
        some = AutoGroupClassifier(kind, random_state=0).fit(data.X, y, groups=data.groups)
    [member] = some.members_
    alone = [candidate for tier in tiers for candidate in tier if candidate.name == member.name]
    monkeypatch.setattr(base, "first_candidates", lambda *_, **__: ([alone], {}))
    one = AutoGroupClassifier(kind, random_state=0).fit(data.X, y, groups=data.groups)
    assert some.estimate_ == one.estimate_
    for ask in ("predict_proba", "predict_groups_proba"):
        said = [getattr(m, ask)(data.X, groups=data.groups) for m in (some, one)]
        np.testing.assert_array_equal(*said)
    np.testing.assert_array_equal(some.held_out_.score["auto"], one.held_out_.score["auto"])


def test_missing_values_and_categories(data, cheap_candidates):
    X = pd.DataFrame(data.X, columns=list("abcd"))
    X.loc[::7, "b"] = np.nan
    X["colour"] = pd.Categorical(np.array(["red", "blue", None])[np.arange(len(X)) % 3])
    model = AutoGroupClassifier(random_state=0).fit(X, data.y, groups=data.groups)
    assert np.isfinite(model.predict_proba(X.assign(colour=pd.Categorical(["?"] * len(X))))).all()


def test_whole_users_stay_together(data, cheap_candidates):
    user = np.asarray(data.groups) % 7
    seen = []

    class Spy(WholeGroupKFold):
        def split(self, X, y=None, groups=None):
            seen.append(len(np.unique(groups)))
            yield from super().split(X, y, groups)

    cv = Spy(2, stratify=False, random_state=0)
    AutoGroupClassifier(cv=cv).fit(data.X, data.y, groups=data.groups, keep_whole=user)
    assert seen == [7]


def test_the_interval_is_as_wide_as_users_differ(data, cheap_candidates):
    """Copies of a group in one user add nothing to what is known."""
    X, y, groups = np.tile(data.X, (3, 1)), np.tile(data.y, 3), np.tile(data.groups, 3)
    copy = groups + 1000 * np.repeat(np.arange(3), len(data.X))
    whole = AutoGroupClassifier(random_state=0).fit(X, y, groups=copy, keep_whole=groups)
    score, user = whole.held_out_.score["auto"], np.unique(copy)[whole.held_out_.group] % 1000
    single = pd.Series(score).groupby(user).mean().to_numpy()
    assert len(single) * 3 == len(score) and set(single) == {0.0, 1.0}
    luck = 1 + 5 / 4
    expected = mean_interval(single, inflation=luck * len(single) / (len(single) - 1))
    found = whole.estimate_.score, whole.estimate_.low, whole.estimate_.high
    np.testing.assert_allclose(found, expected, atol=1e-3)
    # each candidate, and its difference to the best one: as for one copy, but for n / (n - 1)
    once = AutoGroupClassifier(random_state=0).fit(data.X, data.y, groups=data.groups)
    boards = [model.leaderboard_.set_index("method") for model in (whole, once)]
    for end in ("", "difference_"):
        widths = [board[f"{end}high"] - board[f"{end}low"] for board in boards]
        np.testing.assert_allclose(widths[0], widths[1][widths[0].index], rtol=0.2)


def test_rows_of_a_target_weigh_the_same(cheap_candidates):
    """Also where they come in groups: the leaderboard counts as the estimate does."""
    d = make_shifted_domains(random_state=0)
    target = np.flatnonzero(np.asarray(d.domains) == "target")
    groups = np.arange(len(d.X))
    groups[target] = len(d.X) + np.sqrt(np.arange(len(target))).astype(int)  # of 1, 3, 5, ... rows
    model = AutoGroupClassifier("transfer", target_domain="target", random_state=0)
    model.fit(d.X, d.y, groups=groups, domains=d.domains)
    held, sizes = model.held_out_, np.unique(groups, return_counts=True)[1]
    for line in model.leaderboard_.itertuples():
        mean = np.average(held.score[line.method], weights=sizes[held.group])
        assert line.score == pytest.approx(mean) != held.score[line.method].mean()


@pytest.mark.parametrize("kind", ["presence", "proportions", "measure"])
def test_other_kinds(data, kind, cheap_candidates, tmp_path):
    y = data.y if kind == "presence" else np.asarray(data.y_row)
    model = AutoGroupClassifier(kind, random_state=0).fit(data.X, y, groups=data.groups)
    found = model.predictions(data.X, data.groups)
    np.testing.assert_allclose(found.proba_group.sum(axis=1), 1.0)
    score = model.score(data.X, y, data.groups)
    assert model.estimate_.low - 0.1 < score <= 1.0
    for again in (pickle.loads(pickle.dumps(model)), load_model(save_model(model, tmp_path / "m"))):
        np.testing.assert_array_equal(
            again.predictions(data.X, data.groups).proba_group, found.proba_group
        )
        pd.testing.assert_frame_equal(again.leaderboard_, model.leaderboard_)


def test_members_of_a_model_file_without_weights_are_equal(data, cheap_candidates, tmp_path):
    """As they were before proportions had weights."""
    y = np.arange(len(data.X)) % 2  # says nothing: nobody is far behind
    model = AutoGroupClassifier("proportions", random_state=0).fit(data.X, y, groups=data.groups)
    members = [m.predictions(data.X, Groups(data.groups)) for m in model.members_]
    assert len(members) > 1
    del vars(model._ensemble)["weights"]
    found = load_model(save_model(model, tmp_path / "m")).predictions(data.X, data.groups)
    np.testing.assert_allclose(found.proba_row, np.mean([m.proba_row for m in members], axis=0))
    shares = np.mean([m.proba_group for m in members], axis=0)
    np.testing.assert_allclose(found.proba_group, model._ensemble.last.apply(shares))


@pytest.mark.parametrize("kind", ["majority", "proportions", "measure"])
def test_three_classes(kind, cheap_candidates):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(45), 6)
    label = (np.arange(45) % 3)[groups]
    row = np.where(rng.uniform(size=270) < 0.7, label, rng.randint(3, size=270))
    X = rng.normal(size=(270, 2)) + 2 * np.eye(3)[row][:, :2]
    y = np.array(["a", "b", "c"])[label if kind == "majority" else row]
    model = AutoGroupClassifier(kind, cv=3, random_state=0).fit(X, y, groups=groups)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X, y, groups) > 0.6


def test_a_small_table_is_asked_on_one_thread(cheap_candidates, monkeypatch):
    s = make_triangle_sessions(n_sessions=12, random_state=0)
    model = AutoGroupClassifier(cv=2, random_state=0).fit(s.X, s.y, groups=s.groups)
    seen, real = set(), Member.predictions

    def predictions(self, *asked):
        seen.update(library["num_threads"] for library in threadpool_info())
        return real(self, *asked)

    monkeypatch.setattr(Member, "predictions", predictions)
    with threadpool_limits(2):
        model.predict_groups(s.X, groups=s.groups)
    assert seen == {1}


def test_transfer(cheap_candidates):
    d = make_shifted_domains(random_state=0)
    model = AutoGroupClassifier("transfer", target_domain="target", random_state=0)
    model.fit(d.X, d.y, domains=d.domains)
    target = np.asarray(d.domains) == "target"
    expected = np.mean(model.predict(d.X[target]) == np.asarray(d.y)[target])
    assert model.score(d.X, d.y, domains=d.domains) == expected
    assert 0.5 < model.estimate_.score <= 1


def test_a_target_with_one_row_of_a_class_learns_it_from_the_source(cheap_candidates):
    d = make_shifted_domains(random_state=0)
    domains, y = np.asarray(d.domains), np.asarray(d.y)
    target = np.flatnonzero(domains == "target")
    rare = y == np.unique(y)[1]
    few = np.r_[target[~rare[target]][:12], target[rare[target]][:1]]
    rows = np.r_[np.flatnonzero(domains != "target"), few]
    model = AutoGroupClassifier("transfer", target_domain="target", random_state=0)
    model.fit(d.X[rows], y[rows], domains=domains[rows])
    others = np.setdiff1d(target, few)
    assert set(model.predict(d.X[others])) == set(y)
    failed = model.leaderboard_.query("state == 'failed'")
    assert failed["method"].tolist() == ["target-only"]  # a fold trains without the class


def test_one_row_of_a_target_is_too_few(cheap_candidates):
    d = make_shifted_domains(random_state=0)
    target = np.flatnonzero(np.asarray(d.domains) == "target")
    rows = np.r_[np.flatnonzero(np.asarray(d.domains) != "target"), target[:1]]
    model = AutoGroupClassifier("transfer", target_domain="target", random_state=0)
    with pytest.raises(GroupDataError, match=r"two rows of the target domain.*of the target 1\)"):
        model.fit(d.X[rows], d.y[rows], domains=np.asarray(d.domains)[rows])


@pytest.mark.long
@pytest.mark.parametrize("target", ["mean", "total"])
def test_regressor(target, tmp_path):
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(200, 3))
    number = X[:, 0] - 2 * X[:, 1]
    of_group = pd.Series(number).groupby(groups).transform("mean" if target == "mean" else "sum")
    model = AutoGroupRegressor(target, cv=2, random_state=0).fit(X, of_group, groups=groups)
    assert model.leaderboard_["method"].iloc[0] == "means-ridge"
    assert model.score(X, of_group, groups) > 0.95
    assert model.estimate_.score > 0.9
    np.testing.assert_allclose(model.predict(X), number, atol=0.6)
    again = load_model(save_model(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_of_survival_times_the_best_few_are_weighed(tmp_path):
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(240, 3)), np.repeat(np.arange(60), 4)
    mean = pd.DataFrame(X).groupby(groups).mean().to_numpy()
    time = rng.exponential(np.exp(-3 * mean[:, 0])) * np.where(rng.uniform(size=60) < 0.3, -1, 1)
    model = AutoGroupRegressor("time", cv=3, random_state=0).fit(X, time[groups], groups=groups)
    board = model.leaderboard_
    others = board[board["method"] != "network"]  # which takes part where torch is installed
    methods = {"means-cox", "statistics", "group-boost", "group-boost-worst"}
    assert methods == set(others["method"])
    assert board["state"][0] == "chosen"  # of each method the best setting at most
    chosen = board["method"][board["state"] == "chosen"]
    assert chosen.is_unique and len(chosen) == len(model.members_) <= 5
    risk = model.predict_groups(X, groups=groups)
    told = [m.predictions(X, Groups(groups)) for m in model.members_]
    of_groups = np.column_stack([each.y_group for each in told])
    weights = np.linalg.lstsq(of_groups, risk)[0]
    assert (weights > 0).all()
    np.testing.assert_allclose(of_groups @ weights, risk)
    np.testing.assert_allclose(np.column_stack([t.y_row for t in told]) @ weights, model.predict(X))
    assert model.score(X, time[groups], groups) == concordance(time, risk)
    held = model.held_out_  # scores are within folds, and their mean is the estimate
    for fold in range(3):
        at = held.fold == fold
        said = concordance(time[held.group[at]], held.answer["auto"][at])
        assert held.score["auto"][at].mean() == pytest.approx(said)
        assert (time[held.group[at]] > 0).sum() in (13, 14)
    assert model.estimate_.score == pytest.approx(held.score["auto"].mean())
    again = load_model(save_model(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_survival_times_that_are_refused():
    X, groups = np.arange(8.0)[:, None], np.arange(8)
    with pytest.raises(GroupDataError, match=r"two groups with the event.*1 had it"):
        AutoGroupRegressor("time").fit(X, [-1, -2, -3, 4, -5, -6, -7, -8], groups=groups)
    with pytest.raises(GroupDataError, match="times must not be zero"):
        AutoGroupRegressor("time").fit(X, groups, groups=groups)
    with pytest.raises(ValueError, match="target must be"):
        AutoGroupRegressor("times").fit(X, groups, groups=groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "sum"}, "kind must be"),
        ({"cv": 1}, "cv must be"),
        ({"time_limit": 0}, "time_limit must be"),
    ],
)
def test_parameters_that_make_no_sense(data, options, message):
    with pytest.raises(ValueError, match=message):
        AutoGroupClassifier(**options).fit(data.X, data.y, groups=data.groups)


def test_presence_is_for_two_classes():
    with pytest.raises(GroupDataError, match="two"):
        AutoGroupClassifier("presence").fit(np.eye(6), list("abcabc"), groups=np.arange(6))


def test_two_groups_of_each_class_are_needed():
    with pytest.raises(GroupDataError, match="two groups of each class"):
        AutoGroupClassifier().fit(np.eye(6), [0, 0, 0, 0, 1, 1], groups=[0, 0, 1, 1, 2, 2])
