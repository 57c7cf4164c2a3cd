"""The automatic choice on a table: what the command line does."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from groupwise.auto import Estimate, base
from groupwise.io import load_model, save_model
from groupwise.jobs import Job, Result, fit_auto, make_supervision
from groupwise.jobs.auto import _with_ends
from groupwise.report import render
from groupwise.tables import LoadedTable

COLUMNS = {
    "majority": {"label": "kind"},
    "presence": {"label": "kind"},
    "grade": {"label": "kind"},
    "proportions": {"label": "row"},
    "measure": {"label": "row", "measure": "f1"},
    "transfer": {"label": "row", "domain": "domain", "target_domain": "new"},
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    number = np.repeat(np.arange(24), rng.randint(4, 8, 24))
    label = number % 2
    row = np.where(rng.rand(label.size) < 0.7, label, rng.randint(2, size=label.size))
    frame = pd.DataFrame({"x": rng.normal(size=row.size) + row, "z": rng.normal(size=row.size)})
    frame["colour"] = np.where(row == 0, "red", rng.choice(["red", "blue"], row.size))
    frame["group"] = [f"g{k:02d}" for k in number]
    frame["kind"], frame["row"] = [[f"c{k}" for k in codes] for codes in (label, row)]
    frame["domain"] = np.where(number % 3 == 0, "new", "old")
    return LoadedTable(frame, "table", "")


@pytest.mark.parametrize(("kind", "unit"), [("measure", "groups"), ("transfer", "rows")])
def test_a_sample_is_told(table, kind, unit, cheap_candidates, monkeypatch):
    monkeypatch.setattr(base, "affordable_rows", lambda *args, **options: 55)
    group = "group" if kind == "measure" else None
    supervision = make_supervision(kind, group=group, **COLUMNS[kind])
    job = Job.from_table(table, supervision, wanted=["x", "z", "colour"])
    model, result = fit_auto(job, time_limit=60.0, n_splits=2, n_jobs=1)
    n_used = model.estimator.n_groups_used_
    assert result.about.n_sampled == n_used < result.about.n_groups
    n_fitted = result.about.n_fitted
    assert n_fitted == min(member.n_groups for member in model.estimator.members_) > n_used
    words = f"on a sample of {n_used} {unit}; those chosen were then fitted to {n_fitted}."
    assert words in render(result)


@pytest.mark.parametrize("kind", COLUMNS)
def test_every_kind(table, kind, cheap_candidates, tmp_path, monkeypatch):
    supervision = make_supervision(kind, group="group", **COLUMNS[kind])
    job = Job.from_table(table, supervision, wanted=["x", "z", "colour"])
    # no process, no limit: those are in test_workers
    fit = job.fit

    def fit_here(_, method, params, *rows):
        alone = {"time_limit": None, "n_jobs": 1} if method.name == "auto" else {}
        return fit(method, params | alone, *rows)

    monkeypatch.setattr(Job, "fit", fit_here)
    model, result = fit_auto(job, time_limit=900.0, n_splits=2, n_jobs=2)
    estimate = result.estimate
    whole = model.estimator.estimate_
    assert estimate == replace(whole, high=min(whole.high, 1.0))  # no score is above 1
    scores = result.unit_scores()
    assert "auto" in scores and len(scores) > 1
    judged = job.targets.take(supervision.judged_rows(job.targets)).groups
    assert sorted(scores["auto"].index) == sorted(judged.names.tolist())
    assert result.mean_with_interval("auto", scores["auto"])[0] == pytest.approx(
        estimate.score, abs=1e-5
    )
    # what the report says of a group is said of that group
    truth = job.targets.y[job.targets.groups.first_rows]
    of_name = dict(zip(job.targets.groups.names.tolist(), truth.tolist(), strict=True))
    for units in (fold.units for fold in result.methods["auto"]):
        if units.truth is not None:
            assert units.truth == [of_name[name] for name in units.name]
    again = load_model(save_model(model, tmp_path / "m.skops", result=result.to_json()))
    one, other = (m.predictions(job.features, job.targets.groups) for m in (model, again))
    np.testing.assert_array_equal(one.proba_group, other.proba_group)
    # the score of the job is that of the estimator
    rows = supervision.judged_rows(job.targets)
    held = job.targets.take(rows)
    found = supervision.judge(model.predictions(job.features.iloc[rows], held.groups), held)
    ids = {"groups": held.groups} | supervision.ids(held)
    own = model.estimator.score(model.prepare(job.features.iloc[rows]), held.y, **ids)
    assert supervision.mean_score(found, held.groups.sizes) == pytest.approx(own)
    # columns of the best single method, on groups it has not seen
    falls = [result.importance(name) for name in result.methods if name != "auto"]
    [importance] = [fall for fall in falls if fall is not None]
    assert set(importance.index) == {"x", "z", "colour"}
    stored = Result.from_json(result.to_json(), "result")
    assert stored.estimate == estimate
    page = render(stored)
    assert "auto" in page and "What the score hangs on" in page
    assert '<th class="wide">fit, s</th>' in page
    for cost in ("search, s", "predict, s", "memory, MiB"):
        assert cost not in page  # nobody has measured it
    # one number with one interval for the model: on its card, and in its line of the board
    low, high = f"{estimate.low:.3f}", f"{estimate.high:.3f}"
    assert f'<span class="big">{estimate.score:.3f}</span>' in page
    assert f'<span class="big">{low} \N{EN DASH} {high}</span>' in page
    assert f"<td>{low} to {high}</td>" in page
    assert "not of the luck of the training sets; only that of auto includes it." in page
    if not supervision.right_or_wrong:  # what is said of single groups is said of the model
        worst = scores["auto"].dropna()
        assert f"under auto; the worst is {worst.idxmin()} with {worst.min():.2f}." in page


def test_of_one_held_out_group_nothing_is_known_and_the_model_is_written(
    table, cheap_candidates, monkeypatch, tmp_path
):
    fit = Job.fit

    def fit_here(self, method, params, *rows):
        alone = {"time_limit": None, "n_jobs": 1} if method.name == "auto" else {}
        model = fit(self, method, params | alone, *rows)
        if method.name == "auto":
            model.estimator.estimate_ = Estimate(0.7, -np.inf, 1.0)
        return model

    monkeypatch.setattr(Job, "fit", fit_here)
    known = make_supervision("proportions", group="group", label="row")
    job = Job.from_table(table, known, wanted=["x"])
    model, result = fit_auto(job, time_limit=900.0, n_splits=2, n_jobs=1)
    assert result.estimate == Estimate(0.7, -1.0, 1.0)
    load_model(save_model(model, tmp_path / "m.skops", result=result.to_json()))


@pytest.mark.parametrize(("score", "low"), [(0.7, -1.0), (-3.0, -3.0)])
def test_an_interval_without_an_end_gets_one_for_the_file(score, low):
    assert _with_ends(Estimate(score, -np.inf, 1.0)) == Estimate(score, low, 1.0)
    assert _with_ends(Estimate(score, -4.5, 1.0)) == Estimate(score, -4.5, 1.0)
