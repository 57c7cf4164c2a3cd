"""Survival times of groups: the shell says what the library says."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.base import NumberPredictions
from groupwise.cli import app
from groupwise.gbdt import GroupBoostRegressor
from groupwise.groups import Groups
from groupwise.io import read_result
from groupwise.jobs import Job, make_supervision
from groupwise.jobs.targets import Targets
from groupwise.metrics import concordance
from groupwise.tables import LoadedTable


@pytest.fixture(scope="module")
def patients(tmp_path_factory):
    rng = np.random.default_rng(0)
    patient = np.repeat([f"p{k:02d}" for k in range(60)], 4)
    rows = pd.DataFrame({"patient": patient, "size": rng.normal(size=240), "z": rng.random(240)})
    mean = rows.groupby("patient")["size"].mean()
    time = rng.exponential(np.exp(-2 * mean))
    last = rng.exponential(2.0, 60)
    table = pd.DataFrame({"days": np.minimum(time, last) + 0.01}, index=mean.index)
    table["died"] = (time < last).astype(int)
    table["signed"] = np.where(table["died"], table["days"], -table["days"])
    table["stage"], table["nobody"], table["one"] = 2, 0, (np.arange(60) == 3).astype(int)
    table["name"], table["zero"] = "text", 0
    folder = tmp_path_factory.mktemp("patients")
    rows.to_csv(folder / "rows.csv", index=False)
    table.rename_axis("patient").to_csv(folder / "patients.csv")
    return folder


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def learn(command, folder, *words):
    return run(
        command, folder / "rows.csv", "--groups-table", folder / "patients.csv", "-g", "patient",
        "--folds", 3, "--features", "size,z", *words,
    )  # fmt: skip


@pytest.mark.parametrize(
    "known", [("-l", "days", "--event", "died"), ("-l", "signed", "-k", "survival")]
)
def test_the_shell_agrees_with_the_library(patients, known):
    model, out = patients / "m.skops", patients / "out.csv"
    done = learn("fit", patients, *known, "-m", "group-boost", "-o", model, "--seed", 3)
    assert done.exit_code == 0, done.output
    assert "method:      group-boost" in done.output and "had the event" in done.output
    frame = pd.read_csv(patients / "rows.csv").merge(pd.read_csv(patients / "patients.csv"))
    X, groups = frame[["size", "z"]], frame["patient"]
    own = GroupBoostRegressor(loss="cox", random_state=3).fit(X, frame["signed"], groups=groups)
    for level, said in (("row", own.predict(X)), ("group", own.predict_groups(X, groups=groups))):
        assert (
            run("predict", model, patients / "rows.csv", "--level", level, "-o", out).exit_code == 0
        )
        np.testing.assert_allclose(pd.read_csv(out)["risk"], said, rtol=0, atol=1e-12)
    done = run("evaluate", model, patients / "rows.csv", "--groups-table",
               patients / "patients.csv", "--json")  # fmt: skip
    score = own.score(X, frame["signed"], groups)
    assert json.loads(done.stdout)["score"] == pytest.approx(score, abs=1e-6)  # kept by 6 digits


def test_without_a_method_the_best_by_whole_groups_is_taken(patients):
    known, model = ("-l", "days", "--event", "died"), patients / "auto.skops"
    done = learn("fit", patients, *known, "-o", model, "--time", "60s", "--jobs", 1, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["method"] == "auto" and 1 <= len(told["members"]) <= 5
    result = json.loads(read_result(model))
    assert {"auto", "means-cox", "group-boost"} <= set(result["methods"])
    done = run("predict", model, patients / "rows.csv", "--level", "group")
    assert done.exit_code == 0 and done.stdout.startswith("patient,rows,risk\n")


def judged(time, risk):
    groups = Groups(np.arange(len(time)))
    known = make_supervision("survival", group="g", label="t")
    said = NumberPredictions(groups, risk, risk)
    return known.judge(said, Targets(time, groups, ()))


def test_scores_of_groups_by_hand():
    # 4 of 5 pairs; right pairs 3, 2, 1, 2 of 3, 3, 2, 2
    found = judged(np.array([1.0, 2.0, -3.0, 4.0]), np.array([5.0, 1.0, 2.0, 0.0]))
    np.testing.assert_allclose(found, [0.8 + 0.48, 0.8 - 0.32, 0.8 - 0.48, 0.8 + 0.32])
    assert np.isnan(judged(np.array([-1.0, -2.0]), np.zeros(2))).all()


def test_the_spread_of_groups_scores_is_that_of_the_concordance():
    """Against the jackknife, which leaves out one group at a time."""
    rng = np.random.default_rng(1)
    risk = rng.normal(size=150)
    time = rng.exponential(np.exp(-risk)) * np.where(rng.random(150) < 0.3, -1, 1)
    found = judged(time, risk)
    assert found.mean() == pytest.approx(concordance(time, risk), abs=1e-12)
    without = [concordance(np.delete(time, k), np.delete(risk, k)) for k in range(150)]
    jackknife = np.sqrt(149 * np.var(without))
    assert found.std() / np.sqrt(150) == pytest.approx(jackknife, rel=0.03)


def test_folds_hold_whole_groups_and_events(patients):
    frame = pd.read_csv(patients / "rows.csv").merge(pd.read_csv(patients / "patients.csv"))
    known = make_supervision("survival", group="patient", label="days", event="died")
    job = Job.from_table(LoadedTable(frame, "t", ""), known, wanted=["size", "z"])
    shares = []
    for train, test in job.splits(3):
        codes = job.targets.groups.codes
        assert not set(codes[train]) & set(codes[test])
        shares.append(np.mean(job.targets.y[test] > 0))
    assert np.ptp(shares) < 0.06  # one group of twenty


def test_comparison_report_and_importance(patients):
    folder, page = patients / "comparison", patients / "page.html"
    done = learn("compare", patients, "-l", "days", "--event", "died", "-o", folder,
                 "-m", "means-cox,group-boost", "--report", page, "--no-search")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "means-cox" in done.output and "group-boost" in done.output
    text = page.read_text()
    assert "What the score hangs on" in text and "1 - concordance" in text
    assert "Known and predicted numbers" not in text and "Scores of single groups" not in text
    result = json.loads((folder / "result.json").read_text())
    assert result["about"]["supervision"]["event"] == "died"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-l", "days", "--event", "stage"), "'stage' (--event) must hold 0 and 1; row 0 holds 2"),
        (
            ("-l", "days", "--event", "name"),
            "'name' (--event) must hold 0 and 1; row 0 holds 'text' (1: the event was seen)",
        ),
        (("-l", "days", "--event", "nobody"), "0 of 60 groups had the event"),
        (("-l", "days", "--event", "one"), "1 of 60 groups had the event"),
        (("-l", "days", "--event", "dead"), "has no column 'dead' (--event)"),
        (("-l", "days", "--event", "days"), "--event names the group or the label"),
        (("-l", "signed", "--event", "died"), "a time is more than 0"),
        (("-l", "zero", "-k", "survival"), "(less: last seen without the event)"),
        (("-l", "name", "-k", "survival"), "must hold numbers; row 0 holds 'text'"),
        (("-l", "days", "-k", "mean", "--event", "died"), "--kind mean has no use for --event"),
        (("-l", "days", "--event", "died", "--coverage", "0.9"), "--coverage is for classes"),
        (("-l", "days", "--event", "died", "-m", "sboost"), "--kind survival has no method"),
    ],
)
def test_what_is_refused(patients, words, said):
    done = learn("fit", patients, *words, "-o", patients / "no.skops")
    assert done.exit_code in (2, 3) and said in done.output, done.output
    assert [line[:6] for line in done.output.splitlines()].count("error:") == 1
