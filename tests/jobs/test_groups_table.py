"""What a table of groups says of them besides the label: features of their rows, but no leaks."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.cli import app
from groupwise.jobs import fit_table
from groupwise.proportions import GroupMeansRegressor
from groupwise.tables import TableError

N = 30


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"home": np.repeat([f"h{k:02d}" for k in range(N)], 4)})
    rows["use"] = rng.normal(size=4 * N)
    homes = pd.DataFrame({"home": [f"h{k:02d}" for k in range(N)]})
    homes["people"] = rng.permutation(500)[:N] + 10
    homes["size"] = rng.normal(size=N)
    homes["kind"] = rng.choice(["flat", "house"], N)
    mean = rows.groupby("home")["use"].mean().to_numpy()
    homes["cost"] = 2 * homes["size"] - 3 * (homes["kind"] == "house") + mean
    homes["cents"], homes["points"] = 100 * homes["cost"], homes["cost"].rank().astype(int) ** 2
    homes["days"] = rng.exponential(np.exp(-homes["size"])) + 0.1
    homes["sold"] = (rng.random(N) < 0.7).astype(int)
    homes["signed"] = np.where(homes["sold"], 1, -1) * homes["days"]
    homes["weeks"] = homes["days"] / 7
    folder = tmp_path_factory.mktemp("homes")
    rows.to_csv(folder / "rows.csv", index=False)
    homes.to_csv(folder / "homes.csv", index=False)
    return folder, rows, homes


def run(command, *words):
    return CliRunner().invoke(app, [command, *map(str, words)])


LEFT = ["days", "sold", "signed", "weeks"]


def test_they_are_features_from_fit_to_report(tables):
    folder, rows, homes = tables
    both = (folder / "rows.csv", "--groups-table", folder / "homes.csv")
    known = ("-g", "home", "-l", "cost", "-k", "mean", "--ignore", ",".join(LEFT))
    model, page = folder / "m.skops", folder / "r.html"
    done = run("fit", *both, *known, "-m", "means-ridge", "-o", model, "--report", page)
    assert done.exit_code == 0, done.output
    assert "numbers:    use, people, size\n" in done.stdout
    assert "of groups:  people, size, kind (from --groups-table)" in done.stdout
    for copy in ("cents", "points"):
        assert f"not used:   {copy} (says the same as the label)" in done.stdout
    assert "size</span> (of the group)" in page.read_text()
    # as if they had been joined before
    joined = rows.merge(homes, on="home")
    joined.to_csv(folder / "joined.csv", index=False)
    own, _ = fit_table(joined, group="home", label="cost", kind="mean", method="means-ridge",
                       wanted=["use", "people", "size", "kind"])  # fmt: skip
    done = run("predict", model, *both, "--level", "group", "-o", folder / "out.csv")
    assert done.exit_code == 0, done.output
    np.testing.assert_allclose(
        pd.read_csv(folder / "out.csv")["predicted"], own.predict_groups(joined)["predicted"]
    )
    done = run("evaluate", model, *both, "--json")
    assert json.loads(done.stdout)["score"] > 0.99
    done = run("compare", *both, *known, "-m", "means-ridge", "--no-search", "-o", folder / "c")
    assert done.exit_code == 0 and "of groups:  people, size, kind" in done.stdout
    done = run("describe", *both, "-g", "home", "-l", "cost", "--json")
    uses = {column["name"]: column for column in json.loads(done.stdout)["columns"]}
    assert uses["people"]["use"] == "number" and uses["people"]["of_group"]
    assert uses["cents"]["use"] == "not used" and not uses["use"]["of_group"]


def test_to_predict_the_table_is_given_as_well(tables):
    _, rows, homes = tables
    model, _ = fit_table(rows, groups_table=homes, group="home", label="cost", kind="mean",
                         method="means-ridge", ignored=LEFT)  # fmt: skip
    said = r"no column 'people', 'size', 'kind'; these came with the table of groups"
    with pytest.raises(TableError, match=said):
        model.predict(rows)
    with pytest.raises(TableError, match=r"'use', 'people'.*; 'people', 'size', 'kind' came with"):
        model.predict(rows[["home"]])
    plain = homes[["home", "people", "size", "kind"]]  # no label is needed
    assert len(model.predict_groups(rows, groups_table=plain)) == N
    with pytest.raises(TableError, match=r"no column 'kind'; these came"):
        model.predict(rows, groups_table=plain.drop(columns="kind"))


@pytest.mark.parametrize(
    ("label", "ask", "copies"),
    [
        ("days", {"event": "sold"}, {"signed": "label", "weeks": "time"}),
        ("signed", {"kind": "survival"}, {"days": "time", "sold": "event", "weeks": "time"}),
        ("cost", {"kind": "total"}, {"cents": "label", "points": "label"}),
    ],
)
def test_what_says_the_label_is_no_feature(tables, label, ask, copies):
    _, rows, homes = tables
    method = "means-ridge" if label == "cost" else "means-cox"
    _, result = fit_table(rows, groups_table=homes, group="home", label=label, method=method,
                          n_splits=2, **ask)  # fmt: skip
    left_out = {use.name: use.why for use in result.about.columns if use.use == "not used"}
    assert left_out == {name: f"says the same as the {role}" for name, role in copies.items()}


def test_shares_are_not_copied_either(tables):
    _, rows, homes = tables
    rng = np.random.default_rng(1)
    count = rng.integers(0, 5, N)
    told = homes[["home", "size"]].assign(no=4 - count, yes=count, percent=25.0 * count)
    _, result = fit_table(rows, groups_table=told, group="home", label=["no", "yes"],
                          method="means-logistic", n_splits=2)  # fmt: skip
    left_out = {use.name: use.why for use in result.about.columns if use.use == "not used"}
    assert left_out == {"percent": "says the same as the share of 'no'"}


def test_in_python_they_are_joined_by_hand(tables):
    _, rows, homes = tables
    joined = rows.merge(homes, on="home")
    ridge = GroupMeansRegressor().fit(joined[["use", "size"]], joined["cost"], groups=rows["home"])
    assert ridge.score(joined[["use", "size"]], joined["cost"], rows["home"]) > 0.5
