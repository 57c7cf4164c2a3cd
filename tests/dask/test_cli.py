"""``groupwise fit --dask`` writes the ordinary model file."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

pytest.importorskip("distributed", reason="the extra dask is not installed")

from groupwise.cli import app
from groupwise.cli.commands import _with_address
from groupwise.io import load_model
from groupwise.jobs import TableModel
from groupwise.jobs.parquet_folder import ParquetFolder, _bundles
from groupwise.tables import TableError


@pytest.fixture
def folder(tmp_path, coarse):
    """Sessions in three parts, cut without regard to sessions."""
    X, y, groups = coarse(n_groups=150)
    table = pd.DataFrame(X, columns=["acc", "gyro", "mag", "temp", "light"])
    table["place"] = np.where(X[:, 1] > 10, "leg", "arm")
    table["session"], table["kind"] = groups, np.array(["run", "walk"])[y]
    path = tmp_path / "parts"
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(path / f"part-{number}.parquet")
    return path


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def fit(folder, client, out, *more):
    method = () if "--method" in more else ("--method", "group-boost")
    return run(
        "fit", folder, "--group", "session", "-o", out, "-p", "n_estimators=15", "--json",
        "--dask", client.scheduler.address, *method, *more,
    )  # fmt: skip


@pytest.mark.long
def test_counts_as_they_were_published(folder, client, tmp_path):
    for part in sorted(folder.iterdir()):
        table = pd.read_parquet(part)
        number = table["session"].str[1:].astype(float) % 7
        table.assign(n_ill=number.where(number > 1)).to_parquet(part)
    out = tmp_path / "model.skops"
    done = fit(folder, client, out, "-l", "n_ill", "--reported", "gaussian 2, below 2",
               "--ignore", "kind")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert 0.5 < json.loads(done.stdout)["score"] <= 1
    model = load_model(out)
    assert model.classes == ("not n_ill", "n_ill")
    assert model.estimator.n_groups_ == 150


def test_fit_predict_evaluate_report(folder, client, tmp_path):
    out = tmp_path / "model.skops"
    done = fit(folder, client, out, "--label", "kind", "--report", tmp_path / "fit.html")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["method"] == "group-boost"
    assert told["score"] > 0.8
    model = load_model(out)
    assert isinstance(model, TableModel)
    assert model.estimator.engine == "xgboost"
    assert model.estimator.n_groups_ == 150
    for words in (
        ("predict", out, folder, "--level", "group", "-o", tmp_path / "groups.csv"),
        ("evaluate", out, folder),
        ("report", out, "-o", tmp_path / "page.html"),
    ):
        done = run(*words)
        assert done.exit_code == 0, done.output
    assert len(pd.read_csv(tmp_path / "groups.csv")) == 150


@pytest.mark.long
def test_the_model_is_that_of_one_machine(folder, client, tmp_path):
    paths = [tmp_path / "many.skops", tmp_path / "one.skops"]
    assert fit(folder, client, paths[0], "--label", "kind").exit_code == 0
    done = run(
        "fit", folder, "--group", "session", "--label", "kind", "-o", paths[1], "--folds", "2",
        "-m", "group-boost", "-p", "n_estimators=15", "-p", "engine=xgboost",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    many, one = map(load_model, paths)
    assert many.classes == one.classes
    frame = pd.read_parquet(folder)
    X = [model.prepare(model.schema.conform(frame, name="t")) for model in (many, one)]
    scores = [model.estimator.decision_function(x) for model, x in zip((many, one), X, strict=True)]
    np.testing.assert_allclose(*scores, atol=3e-7)


@pytest.mark.long
def test_counts_in_several_columns(folder, client, tmp_path):
    for path in folder.iterdir():
        table = pd.read_parquet(path)
        table["n_walk"] = (table.pop("kind") == "walk").astype(float)
        table.assign(n_run=1.0 - table["n_walk"]).to_parquet(path)
    done = fit(folder, client, tmp_path / "m.skops", "--label", "n_run,n_walk")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["kind"] == "proportions"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--label", "kind", "--method", "sboost"], "--dask serves the methods group-boost"),
        (["--label", "kind", "--kind", "measure"], "--dask does not serve --kind measure"),
        (["--label", "kind", "--tune"], "--coverage and --predictions do not go together with"),
        (["--label", "kind", "--predictions", "p.csv"], "--predictions do not go together with"),
        (["--label", "kind", "-p", "engine=lightgbm"], "the engine is xgboost"),
        (["--label", "kind", "--order", "acc"], "no --order"),
    ],
)
def test_what_dask_does_not_do(folder, client, tmp_path, words, message):
    done = fit(folder, client, tmp_path / "m.skops", *words)
    assert done.exit_code == 2
    assert message in done.stderr


def test_folders_without_parts(client, tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    done = fit(folder, client, tmp_path / "m.skops", "--label", "kind")
    assert done.exit_code == 3
    assert "needs a folder of Parquet parts" in done.stderr
    (folder / "bad.parquet").write_bytes(b"no")
    with pytest.raises(TableError, match=r"bad\.parquet"):
        ParquetFolder.open(str(folder))


def test_an_address_after_dask_may_be_left_out():
    assert _with_address(["--dask", "--json"]) == ["--dask", "local", "--json"]
    assert _with_address(["t", "--dask"]) == ["t", "--dask", "local"]
    assert _with_address(["--dask", "folder", "-o", "m"]) == [
        "--dask",
        "local",
        "folder",
        "-o",
        "m",
    ]
    assert _with_address(["--dask", "tcp://a:1", "t"]) == ["--dask", "tcp://a:1", "t"]


def test_row_groups_are_read_a_million_rows_at_a_time():
    assert _bundles([600_000, 400_000, 1, 2_000_000, 5]) == [(0, 1), (2,), (3,), (4,)]
    assert _bundles([10, 10, 10]) == [(0, 1, 2)]
