"""``groupwise fit --dask`` without a method: chosen on a sample, fitted to all rows."""

import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

pytest.importorskip("distributed", reason="the extra dask is not installed")

from groupwise.auto import AutoGroupClassifier, base
from groupwise.auto.candidates import Candidate
from groupwise.auto.members import Trainer
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.cli import app
from groupwise.dask.ids import hash_ids, held_out
from groupwise.gbdt import GroupBoostClassifier
from groupwise.groups import Groups
from groupwise.inputs.rows import check_rows
from groupwise.io import load_model, save_model
from groupwise.jobs import Job, TableModel, make_supervision
from groupwise.jobs.dask_auto import fit_auto_folder
from groupwise.jobs.dask_job import FolderJob
from groupwise.jobs.parquet_folder import ParquetFolder
from groupwise.methods import get_method
from groupwise.tables import TableError, choose_features

SEED, N_GROUPS = 0, 150
NAMES = ["group-boost", "means-logistic"]
NUMBERS = ["acc", "gyro", "mag", "temp", "light"]


@pytest.fixture
def table(coarse):
    """Sessions; those in a place of their own are walks, and none of them is in the sample."""
    X, y, groups = coarse(n_groups=N_GROUPS)
    table = pd.DataFrame(X, columns=NUMBERS)
    table["place"] = np.where(X[:, 1] > 10, "leg", "arm")
    table.loc[X[:, 2] > 18, "place"] = None
    table["session"], table["kind"] = groups, np.array(["run", "walk"])[y]
    outside = pd.unique(table["session"][~held_out(hash_ids(groups), 0.5, SEED)])[:12]
    table.loc[table["session"].isin(outside), ["place", "kind", "acc"]] = ["roof", "walk", 10.0]
    return table


@pytest.fixture
def folder(tmp_path, table):
    """In three parts, cut without regard to sessions."""
    path = tmp_path / "parts"
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[rows].to_parquet(path / f"part-{number}.parquet")
    return path


@pytest.fixture
def jobs(monkeypatch):
    """Two candidates compete, in this process and without a limit; the jobs that they had."""
    found = []
    fit = Job.fit

    def candidates(kind, **_):
        methods = [get_method(kind, name, n_rows=9, n_classes=2) for name in NAMES]
        params = [{"n_estimators": 15}, {}]
        pairs = zip(methods, params, strict=True)
        return [[Candidate(*pair, is_baseline=True) for pair in pairs]], {}

    def fit_here(self, method, params, *rows):
        if method.name != "auto":
            return fit(self, method, params, *rows)
        found.append(self)
        return fit(self, method, params | {"time_limit": None, "n_jobs": 1})

    monkeypatch.setattr(base, "first_candidates", candidates)
    monkeypatch.setattr("groupwise.auto.race.variants", lambda _: [])
    monkeypatch.setattr(Job, "fit", fit_here)
    return found


def fit(folder, client, label=("kind",), kind="majority", **options):
    supervision = make_supervision(kind, label=list(label), group="session")
    parts = ParquetFolder.open(str(folder))
    roles = supervision.roles()
    uses = choose_features(
        parts.sample(), roles, name=parts.name, wanted=[*NUMBERS, "place"], ignored=[]
    )
    job = FolderJob(client, parts, supervision, uses, SEED)
    return fit_auto_folder(job, time_limit=900.0, n_splits=2, n_jobs=1, **options)


def on_one_machine(model, table):
    """The model with members of the same parameters and engine that this process fits."""
    chosen = model.estimator
    features = model.schema.conform(table, name="t")
    targets = model.supervision.targets_in(table, "t", model.classes)
    X = check_rows(chosen, model.prepare(features))
    problem, _ = in_canonical_order(
        Problem(X, targets.known, targets.groups, len(model.classes), (len(NUMBERS),))
    )
    trainer = Trainer(chosen.kind_, problem, SEED)
    members = []
    for member in chosen.members_:
        if isinstance(member.estimator, GroupBoostClassifier):
            method = get_method(chosen.kind_.name, NAMES[0], n_rows=9, n_classes=2)
            params = {"n_estimators": 15, "engine": "xgboost"}
            fitted = trainer.fit(Candidate(method, params))
            fields = {k: v for k, v in vars(member).items() if k not in ("estimator", "categories")}
            member = type(member)(
                **fields, estimator=fitted.estimator, categories=fitted.categories
            )
        members.append(member)
    return TableModel(**vars(model) | {"estimator": chosen.with_members(members, N_GROUPS)})


def answers(model, table):
    found = model.predictions(
        model.schema.conform(table, name="t"), Groups(table["session"].to_numpy())
    )
    return found.proba_row, found.proba_group


def members_of(model):
    assert isinstance(model.estimator, AutoGroupClassifier)
    return {member.name: member.n_groups for member in model.estimator.members_}


def test_boosted_members_are_those_of_one_machine(folder, client, table, jobs):
    model, _ = fit(folder, client)
    assert members_of(model) == {
        "group-boost(n_estimators=15)": N_GROUPS,
        "means-logistic": N_GROUPS,  # the sample was everything
    }
    for many, one in zip(
        answers(model, table), answers(on_one_machine(model, table), table), strict=True
    ):
        np.testing.assert_allclose(many, one, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["presence", "proportions"])
def test_so_they_are_for_other_kinds(folder, client, table, jobs, kind, monkeypatch):
    boosted = {"presence": "noisy-or-boost", "proportions": "group-boost"}[kind]
    monkeypatch.setitem(globals(), "NAMES", [boosted, "means-logistic"])
    label = ["kind"]
    if kind == "proportions":
        label = ["n_run", "n_walk"]
        for path in folder.iterdir():
            counted(pd.read_parquet(path)).to_parquet(path)
        table = counted(table)
    model, _ = fit(folder, client, label, kind)
    found, by_hand = (answers(m, table) for m in (model, on_one_machine(model, table)))
    assert f"{boosted}(n_estimators=15)" in members_of(model)
    for many, one in zip(found, by_hand, strict=True):
        np.testing.assert_allclose(many, one, atol=1e-6)


def counted(table):
    walks = (table["kind"] == "walk").astype(float)
    return table.drop(columns="kind").assign(n_run=1.0 - walks, n_walk=walks)


def test_a_sample_of_whole_groups(folder, client, table, jobs, tmp_path):
    model, result = fit(folder, client, sampled_rows=len(table) // 2)
    (sampled,) = jobs
    sizes = table["session"].value_counts()
    found = sampled.targets.groups
    assert 40 < found.n_groups < 110
    assert found.sizes.tolist() == sizes[found.names].tolist()
    assert "roof" not in set(sampled.features["place"])
    assert list(sampled.features["place"].cat.categories) == ["arm", "leg", "roof"]

    assert members_of(model) == {
        "group-boost(n_estimators=15)": N_GROUPS,
        "means-logistic": found.n_groups,
    }
    assert (result.about.n_rows, result.about.n_groups) == (len(table), N_GROUPS)
    assert result.summary("auto")["n_groups"] == result.about.n_sampled == found.n_groups
    assert result.unit_scores()["auto"].mean() == pytest.approx(result.estimate.score)
    assert set(result.methods) == {"auto", *members_of(model)}

    # what the sample does not hold is known to those that have seen all rows
    for many, one in zip(
        answers(model, table), answers(on_one_machine(model, table), table), strict=True
    ):
        np.testing.assert_allclose(many, one, atol=1e-6)
    roof = table[table["place"] == "roof"]
    known, unknown = (answers(model, rows)[0][:, 1] for rows in (roof, roof.assign(place="sea")))
    assert (known > unknown + 0.05).all()

    again = load_model(save_model(model, tmp_path / "m.skops", result=result.to_json()))
    assert members_of(again) == members_of(model)
    for one, other in zip(answers(model, table), answers(again, table), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_shell_agrees_with_the_library(folder, client, table, jobs, tmp_path):
    def run(*words):
        done = CliRunner().invoke(app, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.stdout

    out = tmp_path / "model.skops"
    address = client.scheduler.address
    told = run(
        "fit", folder, "--group", "session", "--label", "kind", "--folds", 2, "--dask", address,
        "--report", tmp_path / "fit.html", "-o", out, "--json",
    )  # fmt: skip
    told = json.loads(told)
    assert told["method"] == "auto" and set(told["members"].values()) == {N_GROUPS}
    model, result = fit(folder, client)
    assert told["score"] == result.summary("auto")["score"]
    assert (told["low"], told["high"]) == (result.estimate.low, result.estimate.high)
    run("predict", out, folder, "--level", "group", "-o", tmp_path / "groups.csv")
    run("evaluate", out, folder)
    run("report", out, "-o", tmp_path / "page.html")
    lines = pd.read_csv(tmp_path / "groups.csv").set_index("session")
    own = model.predict_groups(table).set_index("session").loc[lines.index]
    np.testing.assert_allclose(lines["p_walk"], own["p_walk"], atol=1e-5)


def test_the_command_says_who_knows_the_sample_alone(
    folder, client, table, jobs, monkeypatch, tmp_path
):
    some = partial(fit_auto_folder, sampled_rows=len(table) // 2)
    monkeypatch.setattr("groupwise.jobs.dask_auto.fit_auto_folder", some)
    words = ["fit", folder, "-g", "session", "-l", "kind", "--dask", client.scheduler.address]
    page = tmp_path / "page.html"
    done = CliRunner().invoke(
        app, [*map(str, words), "-o", str(tmp_path / "m.skops"), "--report", str(page)]
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"competed on a sample of \d+ groups\.", page.read_text())
    assert f"of {N_GROUPS} groups" in done.stdout
    assert "group-boost(n_estimators=15): fitted to all rows on the cluster" in done.stdout
    assert re.search(r"means-logistic: stays as fitted here, to \d+ groups", done.stdout)
    assert re.search(rf"methods competed on \d+ of {N_GROUPS} groups\n", done.stdout)
    assert re.search(rf"fitted to \d+ of {N_GROUPS} groups: means-logistic\n", done.stdout)


def test_samples_too_small_are_told(folder, client, table, jobs):
    with pytest.raises(TableError, match=r"150 groups are so large .* name a `method`"):
        fit(folder, client, sampled_rows=1e-9)
    hashes = hash_ids(table["session"].unique())
    few = next(f for f in np.arange(0.001, 1, 0.001) if held_out(hashes, f, SEED).any())
    with pytest.raises(TableError, match=r"in a sample of \d of its 150 groups class '\w+' has"):
        fit(folder, client, sampled_rows=len(table) * few)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "n_estimators=9"], "--param and --tune are for one method"),
        (["-p", "cv=3", "-m", "auto"], "--param is for one method"),
        (["-m", "sboost"], "group-boost, group-boost-softmax, auto for --kind majority"),
    ],
)
def test_parameters_are_of_one_method(folder, tmp_path, words, message):
    done = CliRunner().invoke(
        app,
        [
            *("fit", str(folder), "-g", "session", "-l", "kind", "--dask", "tcp://nobody:1"),
            *("-o", str(tmp_path / "m.skops"), *words),
        ],
    )
    assert done.exit_code == 2
    assert message in done.stderr
