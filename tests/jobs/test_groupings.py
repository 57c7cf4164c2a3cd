"""Several groupings of the same rows: a table's columns, folds, and the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.boosting import HistTrees
from groupwise.cli import app
from groupwise.gbdt import GroupBoostClassifier
from groupwise.io import load_model, read_result
from groupwise.jobs import Job, JobOptions, Result, make_supervision
from groupwise.jobs.groupings import supervision_from_dict
from groupwise.losses import SeveralGroupings
from groupwise.tables import OptionError, TableError

N_PRECINCTS, SIZE = 24, 8
FEW = {"n_estimators": 8, "learning_rate": 0.5}
BASE = ["-p", "n_estimators=8", "-p", "learning_rate=0.5", "--features", "x,z", "--folds", "2"]
PRECINCT, COUNTY = ["-g", "precinct", "-l", "no,yes"], ["-g", "county", "-l", "c_no,c_yes"]
COLUMNS = ("precinct", "no", "yes"), ("county", "c_no", "c_yes"), ("age", "a_no", "a_yes")


@pytest.fixture(scope="module")
def frame():
    """Precincts in counties, and ages that cross both; some rows have no age."""
    rng = np.random.default_rng(0)
    n = N_PRECINCTS * SIZE
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z"])
    frame["vote"] = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * frame["x"])), "yes", "no")
    number = np.repeat(np.arange(N_PRECINCTS), SIZE)
    frame["precinct"] = [f"p{k:02d}" for k in number]
    frame["county"] = [f"c{k // 3}" for k in number]
    frame["age"] = np.where(rng.random(n) < 0.1, np.nan, rng.integers(2, 6, n))
    for group, *columns in COLUMNS:
        for column, label in zip(columns, ("no", "yes"), strict=True):
            frame[column] = (frame["vote"] == label).groupby(frame[group]).transform("sum")
    return frame


@pytest.fixture(scope="module")
def folder(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("groupings")
    frame.to_csv(folder / "t.csv", index=False)
    return folder


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def fit(folder, *words):
    words = words if "-m" in words else ("-m", "group-boost", *words)
    return run("fit", folder / "t.csv", *BASE, "-o", folder / "m.skops", "--force", *words)


def job_of(frame, **options):
    known = {"kind": "proportions", "wanted": ["x", "z"]} | options
    return JobOptions(frame, **known).job()[0]


def fitted(frame, groupings, weights, known):
    """The same in Python."""
    loss = SeveralGroupings(dict.fromkeys(groupings, "proportions"), weights)
    clf = GroupBoostClassifier(loss, trees=HistTrees(), random_state=0, **FEW)
    return clf.fit(frame[["x", "z"]], known, groups=frame[list(groupings)])


def test_the_shell_says_what_the_library_says(frame, folder):
    words = [*PRECINCT, *COUNTY, "-g", "age", "-l", "a_no,a_yes", "--group-weight", "age=0.5"]
    done = fit(folder, *words, "-k", "proportions", "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["kind"] == "groupings" and 0.7 < told["score"] < 1

    known = {group: frame[columns].to_numpy() for group, *columns in COLUMNS}
    clf = fitted(frame, known, {"age": 0.5}, known)
    for level, proba, mark in (
        ("row", clf.predict_proba(frame[["x", "z"]]), "p"),
        ("group", clf.predict_groups_proba(frame[["x", "z"]], groups=frame["precinct"]), "share"),
    ):
        out = folder / f"{level}.csv"
        asked = ["predict", folder / "m.skops", folder / "t.csv", "--level", level, "-o", out]
        assert run(*asked, "--force").exit_code == 0
        found = pd.read_csv(out)[[f"{mark}_no", f"{mark}_yes"]]
        np.testing.assert_allclose(found, proba, rtol=0, atol=1e-12)

    first_only = folder / "first.csv"  # new rows are judged by the first grouping
    frame[["x", "z", "precinct", "no", "yes"]].to_csv(first_only, index=False)
    done = run("evaluate", folder / "m.skops", first_only, "--json")
    assert done.exit_code == 0, done.output
    y = {"precinct": known["precinct"]}
    score = clf.score(frame[["x", "z"]], y, groups=frame[["precinct"]])
    assert json.loads(done.stdout)["score"] == pytest.approx(score, abs=1e-6)


def test_labels_of_rows_are_counted_by_all(frame, folder):
    done = fit(folder, "-g", "precinct", "-g", "age", "-l", "vote", "-k", "proportions")
    assert done.exit_code == 0, done.output
    assert "'age' counted without their rows" in " ".join(done.output.split())
    known = {name: (frame["vote"] == "yes").astype(int) for name in ("precinct", "age")}
    clf = fitted(frame, known, None, known)
    model = load_model(folder / "m.skops")
    found = model.estimator.predict_proba(frame[["x", "z"]])
    np.testing.assert_allclose(found, clf.predict_proba(frame[["x", "z"]]), rtol=0, atol=1e-12)
    about = Result.from_json(read_result(folder / "m.skops"), "m").about
    assert about.supervision == model.supervision


@pytest.mark.slow
def test_a_page(folder):
    page = folder / "page.html"
    done = fit(folder, *PRECINCT, *COUNTY, "--report", page)
    assert done.exit_code == 0, done.output
    assert "several groupings" in page.read_text()


def ids(frame, job, rows):
    return {name: set(frame[name].iloc[rows].dropna()) for name in job.supervision.groups}


def test_folds_of_whole_pieces(frame):
    job = job_of(frame, group=["precinct", "county"], label=[["no", "yes"], ["c_no", "c_yes"]])
    for train, test in job.splits(4):
        learned, judged = ids(frame, job, train), ids(frame, job, test)
        assert not any(learned[name] & judged[name] for name in learned)
        assert len(train) + len(test) == len(frame)
    assert "8 pieces" in job.supervision.about_folds(job.targets, 4)


def test_groupings_that_cross(frame):
    """A fold's training part learns from no total that a held-out row is in."""
    job = job_of(frame, group=["precinct", "age"], label=[["no", "yes"], ["a_no", "a_yes"]])
    assert "groups of 'precinct' are held out" in job.supervision.about_folds(job.targets, 2)
    for train, _ in job.splits(2):
        part = job.targets.take(train)
        assert list(job.supervision.ids(part)["groups"]) == ["precinct"]
        assert list(job.supervision.constructor(part)["loss"].losses) == ["precinct"]
    by_row = job_of(frame, group=["precinct", "age"], label="vote")
    for train, _ in by_row.splits(2):
        part = by_row.targets.take(train)
        inside = part.groupings.codes["age"] >= 0
        assert inside.sum() == frame["age"].iloc[train].notna().sum()
        votes = (frame["vote"].iloc[train] == "yes").to_numpy()
        np.testing.assert_array_equal(part.groupings.y["age"][inside] == 1, votes[inside])


def test_a_user_is_kept_whole_too(frame):
    given = {"group": ["precinct", "age"], "label": [["no", "yes"], ["a_no", "a_yes"]]}
    job = job_of(frame, keep_whole="county", **given)
    for train, test in job.splits(4):
        assert not set(frame["county"].iloc[train]) & set(frame["county"].iloc[test])
    nested = {"group": ["precinct", "county"], "label": [["no", "yes"], ["c_no", "c_yes"]]}
    state = frame["county"].isin(["c0", "c1"]).map({True: "one", False: "two"})
    job = job_of(frame.assign(state=state), keep_whole="state", **nested)
    assert "2 pieces" in job.supervision.about_folds(job.targets, 2)
    assert sorted(len(test) for _, test in job.splits(2)) == sorted(state.value_counts())


def test_groups_without_a_label_of_the_first_grouping(frame):
    """Their county's total is still learned from; they are not judged."""
    without = frame["precinct"].isin(["p00", "p05"])
    table = frame.assign(**{c: frame[c].where(~without) for c in ("no", "yes")})
    job = job_of(table, group=["precinct", "county"], label=[["no", "yes"], ["c_no", "c_yes"]])
    assert job.unlabelled is None and job.n_rows == len(frame)
    assert (job.targets.groupings.codes["precinct"] < 0).sum() == without.sum()
    judged = np.concatenate([test for _, test in job.splits(4)])
    assert sorted(judged) == np.flatnonzero(~without).tolist()
    model = job.fit(job.method(), FEW)
    assert model.estimator.n_groups_ == N_PRECINCTS - 2 + 8


@pytest.mark.parametrize("kind", ["majority", "presence", "reported"])
def test_other_kinds(frame, kind):
    """Sessions in users, and counts as they were published."""
    if kind == "reported":
        told = {"label": ["yes", "c_yes"], "reported": "rounded 2"}
        table = frame.assign(yes=frame["yes"] // 2 * 2, c_yes=frame["c_yes"] // 2 * 2)
    else:
        told = {"label": ["most", "c_most"]}
        names = np.array(["few", "many"])
        most = names[(frame["yes"] > 4).astype(int)]
        table = frame.assign(most=most, c_most=names[(frame["c_yes"] > 12).astype(int)])
    job = job_of(table, kind=kind, group=["precinct", "county"], **told)
    fold = job.run_fold(job.method(), FEW, job.splits(2)[0], search=False)
    assert 0.3 < np.nanmean(fold.units.score_or_nan) <= 1 and len(fold.curve) == 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*PRECINCT, "-g", "county"], "2 --group need a --label each, the columns of a --label"),
        ([*PRECINCT, *COUNTY, "-l", "a_no,a_yes"], "2 --group need a --label each, got 3"),
        ([*PRECINCT, *PRECINCT], "--group names a column twice: precinct"),
        ([*PRECINCT, "-g", "cuonty", "-l", "c_no,c_yes"], "no column 'cuonty' (--group); did you"),
        ([*PRECINCT, "-g", "county", "-l", "c_no,nobody"], "no column 'nobody' (--label)"),
        ([*PRECINCT, "-g", "county", "-l", "c_no,c_yes,a_no"], "'county' is of 3 classes, that of"),
        ([*PRECINCT, "-g", "county", "-l", "a_no,a_yes"], "on 22 of the 24 rows of group 'c0'"),
        ([*PRECINCT, "-g", "county", "-l", "county,c_no"], "--group and --label name the same"),
        ([*PRECINCT, *COUNTY, "-k", "measure"], "more than one --group is for --kind majority,"),
        ([*PRECINCT, *COUNTY, "-k", "groupings"], "more than one --group is for --kind majority,"),
        ([*PRECINCT, "-k", "groupings"], "mean, total, survival, reported, got 'groupings'"),
        ([*PRECINCT, *COUNTY, "--coverage", "0.9"], "--coverage is for one --group"),
        ([*PRECINCT, *COUNTY, "--dask"], "--dask takes one --group"),
        ([*PRECINCT, *COUNTY, "-m", "knn"], "has no method 'knn'; it has group-boost"),
        ([*PRECINCT, *COUNTY, "--group-weight", "county"], "--group-weight must be COLUMN=NUMBER"),
        ([*PRECINCT, *COUNTY, "--group-weight", "age=2"], "--group-weight names 'age', which is"),
        ([*PRECINCT, *COUNTY, "--group-weight", "county=0"], "--group-weight of 'county' must be"),
        ([*PRECINCT, "--group-weight", "precinct=2"], "--group-weight are for more than one --gro"),
        (["-g", "age", "-l", "a_no,a_yes", *COUNTY], "'age' (--group) is missing in"),
    ],
)  # fmt: skip
def test_what_is_refused(folder, words, said):
    done = fit(folder, *words)
    text = " ".join(done.output.split())
    assert done.exit_code in (2, 3) and said in text, text


def test_what_a_table_lacks(frame):
    with pytest.raises(OptionError, match="`kind` must be one of"):
        make_supervision("groupings", group="g", label="y")
    with pytest.raises(OptionError, match="`kind` says what each"):
        supervision_from_dict({"kind": "groupings", "group": "g", "label": ["y"]})
    given = {"group": ["precinct", "county"], "label": [["no", "yes"], ["c_no", "c_yes"]]}
    with pytest.raises(TableError, match=r"'county' .* names no group at all"):
        job_of(frame.assign(county=np.nan), **given)
    only = frame["county"] == "c0"
    table = frame.assign(**{c: frame[c].where(only) for c in ("no", "yes")})
    with pytest.raises(TableError, match="are held out together"):
        job_of(table, **given).splits(2)
    assert isinstance(job_of(frame, **given), Job)


def test_no_one_is_offered_a_kind_that_cannot_be_asked_for():
    done = run("methods", "--kind", "groupings")
    assert done.exit_code == 2
    assert "mean, total, survival, reported, got 'groupings'" in " ".join(done.output.split())
    assert "groupings" not in run("methods").output
