"""Means and totals of groups: the shell says what the library says."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.base import NumberPredictions
from groupwise.cli import app
from groupwise.gbdt import GroupBoostRegressor
from groupwise.groups import Groups
from groupwise.jobs import JobOptions, make_supervision
from groupwise.jobs.evaluate import constant_scores
from groupwise.jobs.promises import promise_from_result, promised_columns, promises
from groupwise.proportions import GroupMeansRegressor
from groupwise.report.promises import held_coverage
from groupwise.uncertainty import ConformalGroupRegressor


@pytest.fixture(scope="module")
def clinics(tmp_path_factory):
    """Wards in one file; cases and the mean price of each clinic in the other."""
    rng = np.random.default_rng(0)
    clinic = np.repeat([f"c{k:02d}" for k in range(40)], 5)
    rows = pd.DataFrame({"clinic": clinic, "age": rng.normal(size=200), "z": rng.random(200)})
    rows["beds"] = rng.integers(5, 50, 200)
    cases = pd.Series(rng.poisson(0.2 * rows["beds"] * np.exp(rows["age"]))).groupby(clinic).sum()
    table = pd.DataFrame({"cases": cases})
    table["price"] = rows.groupby("clinic")["age"].mean() * 3 + rng.normal(0, 0.1, 40)
    table["name"], table["same"], table["below"] = "text", 4, cases - 1000
    table["stars"] = cases % 5
    folder = tmp_path_factory.mktemp("clinics")
    rows.to_csv(folder / "rows.csv", index=False)
    table.rename_axis("clinic").to_csv(folder / "clinics.csv")
    return folder


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def learn(command, folder, *words):
    return run(
        command, folder / "rows.csv", "--groups-table", folder / "clinics.csv", "-g", "clinic",
        "--folds", 2, "--features", "age,z", *words,
    )  # fmt: skip


def on_rows(folder):
    return pd.read_csv(folder / "rows.csv").merge(pd.read_csv(folder / "clinics.csv"), on="clinic")


CASES = [
    ("mean", "price", "group-boost", {"target": "mean"}, None),
    ("total", "cases", "group-boost", {"target": "total"}, None),
    ("total", "cases", "group-boost-absolute", {"target": "total", "loss": "absolute_error"}, None),
    ("total", "cases", "group-boost-poisson", {"target": "total", "loss": "poisson"}, "beds"),
]


@pytest.mark.parametrize(("kind", "label", "method", "params", "exposure"), CASES)
def test_the_shell_agrees_with_the_library(clinics, kind, label, method, params, exposure):
    model, out = clinics / f"{kind}-{method}.skops", clinics / "out.csv"
    more = ("--exposure", exposure) if exposure else ()
    done = learn("fit", clinics, "-l", label, "-k", kind, "-m", method, "-p", "n_estimators=20",
                 "-o", model, "--seed", 3, *more)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert f"kind:        {kind}; numbers in '{label}'" in done.output
    frame = on_rows(clinics)
    X, y, groups = frame[["age", "z"]], frame[label], frame["clinic"]
    own = GroupBoostRegressor(**params, n_estimators=20, random_state=3)
    given = {"exposure": frame[exposure]} if exposure else {}
    own.fit(X, y, groups=groups, **given)
    run("predict", model, clinics / "rows.csv", "-o", out)
    lines = pd.read_csv(out)
    assert list(lines) == ["clinic", "predicted"]
    np.testing.assert_allclose(lines["predicted"], own.predict(X), rtol=1e-12, atol=1e-12)
    run("predict", model, clinics / "rows.csv", "--level", "group", "-o", out)
    of_rows = own.predict(X) * (frame[exposure] if exposure else 1)
    encoded = Groups(groups)
    totals = encoded.sum(np.asarray(of_rows)) / (encoded.sizes if kind == "mean" else 1)
    lines = pd.read_csv(out)
    assert list(lines) == ["clinic", "rows", "predicted"]
    np.testing.assert_allclose(lines["predicted"], totals, rtol=1e-12, atol=1e-12)
    done = run("evaluate", model, clinics / "rows.csv", "--groups-table", clinics / "clinics.csv",
               "--json")  # fmt: skip
    told = json.loads(done.stdout)
    assert told["score"] == pytest.approx(own.score(X, y, groups, **given), abs=1e-6)  # 6 digits


def test_scores_and_constants_by_hand():
    frame = pd.DataFrame({"g": list("aabbb"), "n": [2, 2, 6, 6, 6], "e": [1.0, 1, 1, 2, 5]})
    known = make_supervision("total", group="g", label="n", exposure="e")
    targets = known.targets_in(frame, "t")
    assert targets.variance == 4 and targets.take(np.arange(2)).variance == 4
    said = NumberPredictions(targets.groups, np.array([0.5, 0.5, 1, 1, 1]), np.zeros(2))
    # rates times exposures: totals of 1 and 8
    np.testing.assert_allclose(known.judge(said, targets), [1 - 1 / 4, 1 - 4 / 4])
    # 8 of 10 units of exposure: 1.6 and 6.4
    np.testing.assert_allclose(constant_scores(known, targets, targets), [0.96, 0.96])
    mean = make_supervision("mean", group="g", label="e")  # of rows' own numbers
    np.testing.assert_allclose(mean.targets_in(frame, "t").y, [1, 1, 8 / 3, 8 / 3, 8 / 3])


def test_comparison_report_and_automatic_choice(clinics):
    folder, page = clinics / "comparison", clinics / "page.html"
    done = learn("compare", clinics, "-l", "below", "-k", "total", "--no-search", "-o", folder,
                 "-m", "means-ridge,constant,group-boost-poisson", "--report", page)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "left out: group-boost-poisson (failed on 2 of 2 folds: GroupDataError: counts must" in (
        " ".join(done.output.split())
    )
    text = page.read_text()
    assert "Known and predicted numbers: means-ridge" in text
    assert "Numbers in &#39;below&#39;." in text
    for picture in ("Class by class", "Calibration", "Probability given", "shares"):
        assert f"{picture}:" not in text and f"<b>{picture}" not in text
    done = learn("fit", clinics, "-l", "price", "-k", "mean", "--time", "15s", "--jobs", 1,
                 "-o", clinics / "auto.skops", "--report", page, "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["method"] == "auto" and "means-ridge" in told["members"] and told["score"] > 0.9
    assert told["besides"].startswith("root mean squared error 0.")
    done = run("predict", clinics / "auto.skops", clinics / "rows.csv", "--level", "group")
    assert done.exit_code == 0 and done.output.startswith("clinic,rows,predicted")


@pytest.mark.parametrize(("kind", "label"), [("mean", "price"), ("total", "cases")])
def test_intervals_are_those_of_the_library(clinics, kind, label):
    model, out, page = (clinics / f"{kind}-sure{end}" for end in (".skops", ".csv", ".html"))
    done = learn("fit", clinics, "-k", kind, "-l", label, "-m", "means-ridge", "--coverage", 0.8,
                 "-o", model, "--report", page)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "promised:    about 80% of new groups drawn as these were" in done.output
    assert "90 % promised" in page.read_text()
    rows = clinics / "rows.csv"
    assert run("predict", model, rows, "--level", "group", "-o", out).exit_code == 0
    found, frame = pd.read_csv(out), on_rows(clinics)
    assert found.columns.tolist() == ["clinic", "rows", "predicted", "low", "high"]
    job, _ = JobOptions(table=frame, group="clinic", label=label, kind=kind,
                        wanted=["age", "z"]).job()  # fmt: skip
    fitted = job.fit(job.method("means-ridge"), {})
    X, groups = fitted.prepare(job.features), frame["clinic"]
    own = ConformalGroupRegressor(GroupMeansRegressor(target=kind), coverage=0.8, cv=2,
                                  random_state=0).fit(X, frame[label], groups=groups)  # fmt: skip
    np.testing.assert_allclose(found[["low", "high"]], own.predict_group_intervals(X, groups))
    done = run("predict", model, rows)
    assert done.stdout.startswith("clinic,predicted\n")


def test_folds_that_were_run_already_make_intervals(clinics):
    frame = on_rows(clinics)
    job, _ = JobOptions(table=frame, group="clinic", label="cases", kind="total",
                        wanted=["age", "z"]).job()  # fmt: skip
    method = job.method("means-ridge")
    result = job.judge(method, {}, n_splits=4)
    sure = promise_from_result(job, job.fit(method, {}), result, method.name, 0.8)
    assert promises(sure) == "about 80% of new groups drawn as these were"
    units = [fold.units for fold in result.methods[method.name]]
    error = np.concatenate([np.subtract(u.number, u.number_predicted) for u in units])
    half = np.sort(np.abs(error) / np.sqrt(5))[int(np.ceil(0.8 * 41)) - 1] * np.sqrt(5)
    found = promised_columns(sure, job.features, job.targets.groups, "group")
    centre = sure.predictions(job.features, job.targets.groups).y_group
    np.testing.assert_allclose(found["low"], centre - half)
    np.testing.assert_allclose(found["high"], centre + half)
    held = held_coverage(result.methods[method.name], of_totals=True)
    assert held.n_groups == 40 and held.of_numbers and np.all(np.diff(held.held) >= 0)
    assert " wide on average" in held.words
    few = held_coverage(result.methods[method.name][:2], of_totals=True)
    assert few.size[-1] == np.inf


def test_describe_tells_the_kinds(clinics):
    words = ("describe", clinics / "rows.csv", "--groups-table", clinics / "clinics.csv",
             "-g", "clinic", "-l")  # fmt: skip
    told = json.loads(run(*words, "price", "--json").stdout)
    assert list(told["kinds"]) == ["mean", "total", "survival"] and "balance" not in told
    assert "labels:  numbers from -" in run(*words, "price").output
    told = json.loads(run(*words, "stars", "--json").stdout)
    assert list(told["kinds"]) == ["majority", "grade", "mean", "total", "survival"]
    told = json.loads(run(*words, "cases", "--json").stdout)  # too many for classes
    assert list(told["kinds"]) == ["mean", "total", "survival"]
    done = learn("fit", clinics, "-l", "cases", "-k", "grade", "-o", clinics / "no.skops")
    assert (
        "different labels in 40 groups; is it a label? (a number of each group goes with --kind "
        "mean, total or survival)" in done.output
    )
    done = run("describe", clinics / "rows.csv", "-g", "beds", "-l", "clinic")
    assert "kind:    none: 40 different labels in 45 groups are too many" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-l", "name", "-k", "mean"), "'name' (--label) must hold numbers; row 0 holds 'text'"),
        (("-l", "same", "-k", "total"), "holds the same number, 4, in all 40 groups"),
        (("-l", "age", "-k", "total", "--ignore", "age"), "must be the same on every row"),
        (("-l", "below", "-k", "total", "-m", "group-boost-poisson"), "must not be negative"),
        (("-l", "cases", "-k", "mean", "--exposure", "beds"), "has no use for --exposure"),
        (("-l", "cases", "--exposure", "bed"), "has no column 'bed' (--exposure)"),
        (("-l", "cases", "--exposure", "name"), "'name' (--exposure) must hold numbers"),
        (("-l", "cases", "--exposure", "age"), "column 'age' (--exposure) must hold a positive"),
        (("-l", "cases", "--exposure", "cases"), "--exposure names the group or the label"),
        (("-l", "cases", "--exposure", "beds", "-m", "means-ridge"),
         "--method means-ridge takes no --exposure"),
        (("-l", "cases", "--exposure", "beds", "--coverage", "0.9"),
         "--coverage takes no --exposure"),
        (("-l", "cases", "-k", "total", "-m", "sboost"), "has no method 'sboost'"),
        (("-l", "cases,price", "-k", "total"), "--kind total takes one --label, got 2"),
        (("-l", "price"), "a number of each group goes with --kind mean or total"),
    ],
)  # fmt: skip
def test_what_is_refused(clinics, words, said):
    done = learn("fit", clinics, *words, "-o", clinics / "no.skops")
    assert done.exit_code in (2, 3) and said in done.output, done.output
    assert [line[:6] for line in done.output.splitlines()].count("error:") == 1


def test_what_else_is_refused(clinics, tmp_path):
    model = clinics / "c.skops"
    done = learn("fit", clinics, "-l", "cases", "--exposure", "beds", "-p", "n_estimators=3",
                 "-m", "group-boost-poisson", "-o", model)  # fmt: skip
    assert done.exit_code == 0, done.output
    done = run("predict", model, clinics / "rows.csv", "--explain")
    assert "--explain is for classes, not for --kind total" in done.output
    bare = pd.read_csv(clinics / "rows.csv").drop(columns="beds")
    bare.to_csv(tmp_path / "bare.csv", index=False)
    assert run("predict", model, tmp_path / "bare.csv").exit_code == 0  # rates need none
    done = run("predict", model, tmp_path / "bare.csv", "--level", "group")
    assert "has no column 'beds' (--exposure)" in done.output
    done = learn("doubts", clinics, "-l", "cases", "-k", "total")
    assert "gives groups no label that could be doubted" in done.output
    (tmp_path / "one.csv").write_text("g,n,x\na,1,2\na,1,3\n")
    done = run("fit", tmp_path / "one.csv", "-g", "g", "-l", "n", "-k", "total")
    assert "there is one group only" in done.output
    for kind in ("grade", "total"):
        folder = tmp_path / kind
        folder.mkdir()
        pd.read_csv(tmp_path / "one.csv").to_parquet(folder / "a.parquet")
        done = run("fit", folder, "-g", "g", "-l", "n", "-k", kind, "--dask",
                   "-o", tmp_path / "d.skops")  # fmt: skip
        assert f"--dask does not serve --kind {kind}" in done.output
