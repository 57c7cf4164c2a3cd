"""Counts as they were published: words, columns, and the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.cli import app
from groupwise.groups import Groups
from groupwise.io import load_model
from groupwise.jobs import Job, make_supervision
from groupwise.jobs.reports import parse_reported
from groupwise.losses import Reported
from groupwise.tables import LoadedTable, OptionError, TableError


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Rows in one file; in the other a noisy count of each region, small ones left out."""
    rng = np.random.default_rng(0)
    region = np.repeat([f"r{k:02d}" for k in range(60)], 8)
    frame = pd.DataFrame(rng.normal(size=(480, 2)), columns=["age", "income"])
    smokes = rng.random(480) < 1 / (1 + np.exp(1 - 3 * frame["age"]))
    count = smokes.groupby(region).sum() + rng.laplace(0, 0.5, 60)
    table = pd.DataFrame({"smokers": count.where(count >= 1)})
    table = table.assign(low=np.clip(np.floor(count), 0, 8), high=np.clip(np.ceil(count), 0, 8))
    folder = tmp_path_factory.mktemp("published")
    frame.assign(region=region).to_csv(folder / "rows.csv", index=False)
    table.rename_axis("region").to_csv(folder / "regions.csv")
    return folder


def run(folder, *words):
    return CliRunner().invoke(app, [str(word) for word in words])


def fit(folder, *words):
    return run(
        folder, "fit", folder / "rows.csv", "--groups-table", folder / "regions.csv",
        "-g", "region", "-o", folder / "m.skops", "--folds", 2, "--force", *words,
    )  # fmt: skip


def test_fit_predict_evaluate(published):
    few = ("-m", "group-boost", "-p", "n_estimators=10", "--ignore", "low,high")
    done = fit(published, "-l", "smokers", "--reported", "laplace 0.5, below 1", *few, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["method"] == "group-boost" and 0.7 < told["score"] < 1
    model = load_model(published / "m.skops")
    assert model.classes == ("not smokers", "smokers")
    assert model.estimator.loss_.reported == Reported("laplace", 0.5, suppressed_below=1.0)
    assert model.estimator.n_groups_ == 60  # those that were left out are known to be small
    out = published / "groups.csv"
    for words in (
        ("predict", published / "m.skops", published / "rows.csv", "--level", "group", "-o", out),
        ("evaluate", published / "m.skops", published / "rows.csv",
         "--groups-table", published / "regions.csv"),
    ):  # fmt: skip
        done = run(published, *words)
        assert done.exit_code == 0, done.output
    assert list(pd.read_csv(out)) == ["region", "rows", "predicted", "share_not smokers",
                                      "share_smokers"]  # fmt: skip


def test_without_a_method_there_is_one_and_a_range_has_two_columns(published):
    done = fit(published, "-l", "low,high", "--reported", "exact", "--ignore", "smokers")
    assert done.exit_code == 0, done.output
    assert "group-boost" in done.output
    assert load_model(published / "m.skops").classes == ("not counted", "counted")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reported", "loud"), "--reported must be 'exact'"),
        (("--reported", "laplace 0"), "--reported: scale must"),
        (
            ("--reported", "rounded 2", "-k", "majority"),
            "--kind majority has no use for --reported",
        ),
        (("--reported", "rounded 2", "--coverage", "0.9"), "--coverage needs counts"),
        (("--reported", "exact"), "no count of 8 rows"),
    ],
)
def test_what_is_refused(published, words, said):
    done = fit(published, "-l", "smokers", *words)
    assert done.exit_code != 0 and said in done.output, done.output


def test_counts_left_out_are_judged_too():
    """Judged on the published counts alone, which are the large ones, a constant looked better."""
    rng = np.random.default_rng(0)
    region, x = np.repeat(np.arange(200), 5), rng.normal(size=1000)
    groups = Groups(region)
    smokers = groups.sum((rng.random(1000) < 1 / (1 + np.exp(1 - 2 * x))).astype(float))
    smokers[smokers < 2] = np.nan
    frame = pd.DataFrame({"g": region, "x": x, "smokers": groups.spread(smokers)})
    known = make_supervision("reported", group="g", label=["smokers"], reported="below 2")
    job = Job.from_table(LoadedTable(frame, "t", ""), known)
    found = job.judge(job.method("group-boost"), {}, n_splits=5)
    units = [fold.units for folds in found.methods.values() for fold in folds]
    assert sum(len(each.name) for each in units) == 200
    score, baseline = (
        np.mean([value for each in units for value in getattr(each, of)])
        for of in ("score", "baseline")
    )
    assert score > baseline + 0.01


def test_one_class_left_out_is_what_the_others_leave():
    """Between 0 and 1 of 8 rows by the rule; the other two leave one."""
    frame = pd.DataFrame({"g": [0] * 8, "p": 4.0, "q": np.nan, "r": 3.0})
    known = make_supervision("reported", group="g", label=["p", "q", "r"], reported="below 2")
    np.testing.assert_array_equal(known.targets_in(frame, "t").y[0], [0.5, 0.125, 0.375])


def test_words():
    assert parse_reported(" gaussian 1.5 ,sample 0.1") == Reported("gaussian", 1.5, sampled=0.1)
    for words in ("", "laplace", "laplace 1 2", "laplace 1, gaussian 1", "exact, below 5", "x 1"):
        with pytest.raises(OptionError, match="must be 'exact'"):
            parse_reported(words)


def test_a_class_that_is_not_reported_is_what_the_others_leave():
    frame = pd.DataFrame({"g": list("aabb"), "x": [1.0, 2, 3, 4]})
    frame[["p", "q", "r"]] = [[1, np.nan, 0]] * 2 + [[np.nan, np.nan, 1]] * 2
    known = make_supervision("reported", group="g", label=["p", "q", "r"])
    targets = known.targets_in(frame, "t")
    np.testing.assert_array_equal(targets.y[[0, 2]], [[0.5, 0.5, 0], [np.nan, np.nan, 0.5]])
    assert known.judged_rows(targets).tolist() == [0, 1]
    table = LoadedTable(frame.assign(p=np.nan, q=np.nan), "t", "")
    with pytest.raises(TableError, match="nothing to judge"):
        Job.from_table(table, known, wanted=["x"]).splits(2)
    with pytest.raises(TableError, match="numbers"):
        known.targets_in(frame.assign(p="many"), "t")
