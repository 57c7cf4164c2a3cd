"""What commands say of a table that may mean something else, and what they do not replace."""

import io
import json
import sqlite3
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from groupwise.cli import app
from groupwise.cli.console import Console, print_board
from groupwise.jobs import Job, Result, make_supervision
from groupwise.jobs.auto import _left_early
from groupwise.tables import read_table
from groupwise.tables.write import may_be_replaced, write_table


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def said(*words):
    done = run(*words)
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


@pytest.fixture(scope="module")
def pools(tmp_path_factory):
    """24 pools of four people, of 12 patients."""
    rng = np.random.RandomState(0)
    pool = np.repeat(np.arange(24), 4)
    ill = pool % 3 == 0
    frame = pd.DataFrame(
        {
            "pool": [f"p{k:02d}" for k in pool],
            "patient": [f"patient {k % 12}" for k in pool],
            "fever": rng.normal(size=96) + 2 * ill,
            "test": np.where(ill, "infected", "not infected"),
            "mark": np.where(ill, "A", np.where(pool % 3 == 1, "B", "C")),
            "flag": np.where(rng.uniform(size=96) < 0.4, "bad", "good"),
        }
    )
    path = tmp_path_factory.mktemp("pools") / "pools.csv"
    frame.to_csv(path, index=False)
    return path


def fit(pools, *words):
    out = pools.with_name("model.skops")
    return said("fit", pools, "-g", "pool", *words, "--folds", 2, "--force", "-o", out)


def test_which_class_is_the_positive_one(pools):
    asked = (
        "-l",
        "test",
        "-k",
        "presence",
        "-m",
        "noisy-or-boost",
        "--ignore",
        "mark,flag,patient",
    )
    unsaid = fit(pools, *asked)
    assert "a group is 'not infected' if at least one of its rows is, else 'infected'" in unsaid
    assert "the other way round: --positive infected" in unsaid
    told = fit(pools, *asked, "--positive", "infected")
    assert "a group is 'infected' if at least one of its rows is" in told
    assert "the other way round" not in told
    asked = ("-l", "flag", "-m", "threshold", "--ignore", "test,mark,patient")
    of_one = fit(pools, *asked, "--measure", "f1")
    assert "f1 is that of 'good' the other way round: --positive bad" in of_one
    assert "the other way round" not in fit(pools, *asked, "--measure", "accuracy")


def test_letters_may_be_grades(pools):
    told = fit(pools, "-l", "mark", "-m", "naive-logistic", "--ignore", "test,flag,patient")
    assert "if the classes are grades in this order, say --kind grade" in told
    described = said("describe", pools, "-g", "pool", "-l", "mark")
    assert "grade" in described
    assert "grade" not in said("describe", pools, "-g", "pool", "-l", "test")


def test_who_groups_belong_to_is_told_by_fit(pools):
    asked = ("-l", "test", "-m", "naive-logistic")
    warned = fit(pools, *asked)
    assert "every group has one 'patient'" in warned and "say --keep-whole patient" in warned
    assert "every group has one" not in fit(pools, *asked, "--keep-whole", "patient")


def test_a_model_says_that_it_was_fitted_to_the_table(pools, tmp_path):
    fit(pools, "-l", "test", "-m", "naive-logistic")
    model, result, page = pools.with_name("model.skops"), tmp_path / "r.json", tmp_path / "r.html"
    done = run("evaluate", model, pools, "-o", result, "--json")
    assert json.loads(done.stdout)["seen_in_training"] is True
    said("report", result, "-o", page)
    assert "The model was fitted to this very table" in page.read_text()
    new = pools.with_name("new.csv")
    pd.read_csv(pools).assign(fever=lambda f: f["fever"] + 0.1).to_csv(new, index=False)
    done = run("evaluate", model, new, "-o", result, "--json")
    assert json.loads(done.stdout)["seen_in_training"] is False
    said("report", result, "-o", page, "--force")
    assert "as a fitted model answers for them" in page.read_text()
    assert "not seen in training" not in page.read_text()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_answers_are_replaced_and_other_tables_are_not(pools, tmp_path, suffix):
    fit(pools, "-l", "test", "-m", "naive-logistic")
    out = tmp_path / f"out.{suffix}"
    asked = ("predict", pools.with_name("model.skops"), pools, "-o", out)
    said(*asked)
    said(*asked)  # its own answers
    write_table(pd.DataFrame({"x": [1, 2]}), out)
    kept = out.read_bytes()
    done = run(*asked)
    assert done.exit_code > 1 and "was not written by groupwise; say --force" in " ".join(
        done.output.split()
    )
    assert out.read_bytes() == kept
    said(*asked, "--force")
    assert out.read_bytes() != kept


@pytest.mark.parametrize(
    ("columns", "ours"),
    [
        ("group,rows,predicted,p_a", True),
        ("day,name,group,predicted,p_a,p_b,weight,share,why", True),
        ("group,rows,predicted,low,high", True),
        ("group,predicted", True),
        ("group,rows,share_a,share_b,low_a,high_a", True),
        ("patient,rows,risk", True),
        ("group,rows,given,suggested,proba,belief,issue", True),
        ("patient,age,risk", False),
        ("id,predicted,comment", False),
        ("rows,n_children,n_cars", False),
        ("group,rows,votes", False),
        ("share_a,share_b", False),
    ],
)
def test_which_columns_are_answers(tmp_path, columns, ours):
    path = tmp_path / "t.csv"
    path.write_text(columns + "\n")
    assert may_be_replaced(path) == ours


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"predicted", b"{not json"])
def test_what_cannot_be_read_is_not_ours(tmp_path, content):
    for suffix in (".csv", ".jsonl", ".parquet", ".feather", ".sqlite"):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(content)
        assert may_be_replaced(path) == (content == b"predicted" and suffix == ".csv")


@pytest.mark.parametrize(
    ("known", "few"), [(["true", "false", "maybe"], 2), (["007", "008", "A1"], 2), (["1", "x"], 1)]
)
def test_categories_stay_as_written_where_a_new_table_has_few_of_them(tmp_path, known, few):
    """They look like booleans or numbers there; as text they are what the model knows."""
    rng = np.random.RandomState(0)
    code = rng.randint(len(known), size=400)
    frame = pd.DataFrame({"g": np.repeat(np.arange(100), 4), "x": rng.normal(size=400)})
    frame = frame.assign(code=np.array(known)[code], y=np.where(code == 0, "yes", "no"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, asked = tmp_path / "m.skops", ("-g", "g", "-l", "y", "--measure", "accuracy")
    said("fit", tmp_path / "t.csv", *asked, "-m", "boosted-rows", "--folds", 2, "-o", model)
    new = frame[np.isin(frame["code"], known[:few])].drop(columns="y")
    new.to_csv(tmp_path / "n.csv", index=False)
    new.to_parquet(tmp_path / "n.parquet")
    answers = [run("predict", model, tmp_path / name).stdout for name in ("n.csv", "n.parquet")]
    assert answers[0] == answers[1]
    assert (pd.read_csv(io.StringIO(answers[0]))["predicted"] == "yes").any()


def test_columns_that_are_empty_in_a_new_table_are_told(pools, tmp_path):
    fit(pools, "-l", "test", "-m", "naive-boosting")
    model, new = pools.with_name("model.skops"), tmp_path / "new.csv"
    pd.read_csv(pools).assign(fever=np.nan).to_csv(new, index=False)
    for command in ("predict", "evaluate"):
        assert "'fever' held values in training and none here" in said(command, model, new)
        assert "none here" not in said(command, model, pools)
    pd.read_csv(new).head(4).to_csv(new, index=False)  # of few rows nothing follows
    assert "none here" not in said("predict", model, new)


def test_who_left_the_race_early_is_told_with_the_reason(pools):
    known = make_supervision("majority", group="pool", label="test")
    job = Job.from_table(read_table(pools), known)
    board = pd.DataFrame(
        {
            "method": ["sboost", "sboost", "naive-logistic", "statistics"],
            "params": [{}, {"gamma": 4.0}, {}, {}],
            "state": ["chosen", "dropped", "out of time", "failed"],
            "folds": [5, 3, 1, 2],
            "score": [0.9, 0.7, 0.61, None],
        }
    )
    held = SimpleNamespace(score={"auto": None, "sboost": None})
    assert _left_early(board, held, job) == {
        "sboost(gamma=4.0)": "clearly behind after 3 folds, on which it had 0.700",
        "naive-logistic": "out of time after 1 fold, on which it had 0.610",
    }


def test_ids_that_differ_by_blanks_are_refused(tmp_path):
    frame = pd.DataFrame({"g": ["a", "a ", "b", "b"], "x": [1, 2, 3, 4], "y": list("uuvv")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("describe", tmp_path / "t.csv", "-g", "g", "-l", "y")
    assert done.exit_code > 1 and "'a' and 'a ', which differ by blanks only" in done.output
    many = [f"{k} " for k in range(50_000)]  # all alike: no two of them differ by blanks
    pd.DataFrame({"g": many, "y": ["u", "v"] * 25_000, "x": np.arange(5e4) % 7.5}).to_csv(
        tmp_path / "many.csv", index=False
    )
    assert run("describe", tmp_path / "many.csv", "-g", "g", "-l", "y").exit_code == 0
    odd = frame.assign(g=list("aabb"), y=[" Yes", "yes", "no", "no"])
    odd.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "-g", "g", "-l", "y", "-m", "naive-logistic")
    assert "'yes' and ' Yes', which differ by blanks and capitals only" in " ".join(
        done.output.split()
    )


def test_a_result_does_not_replace_what_is_none(pools, tmp_path):
    fit(pools, "-l", "test", "-m", "naive-logistic")
    out = tmp_path / "thesis.txt"
    asked = ("evaluate", pools.with_name("model.skops"), pools, "-o", out)
    out.write_text("precious")
    assert run(*asked).exit_code > 1 and out.read_text() == "precious"
    said(*asked, "--force")
    said(*asked)  # a result of ours


def test_a_database_wants_a_query(tmp_path):
    path = tmp_path / "rows.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table t (x)")
    done = run("describe", path)
    assert done.exit_code > 1 and "is a database: say which rows with --sql" in " ".join(
        done.output.split()
    )
    odd = tmp_path / "odd.csv"
    odd.write_text("session,DUCK,y\na,1,u\na,2,u\nb,3,v\nb,4,v\n")
    assert "DUCK" in said("describe", odd, "-g", "session", "-l", "y")


def test_seconds_with_fractions_are_time_stamps(tmp_path):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"g": np.repeat(np.arange(8), 5), "time": 1.7e9 + 50 * rng.rand(40)})
    frame.assign(x=rng.rand(40), y=np.where(frame["g"] % 2, "u", "v")).to_csv(
        tmp_path / "t.csv", index=False
    )
    told = said("describe", tmp_path / "t.csv", "-g", "g", "-l", "y")
    assert "not used a time stamp, by its name and size" in told


def test_a_leaderboard_shows_scores_in_a_narrow_terminal(pools, monkeypatch, capsys):
    known = make_supervision("majority", group="pool", label="test")
    job = Job.from_table(read_table(pools), known, ignored=["mark", "flag", "patient"])
    result = job.judge(job.method("naive-logistic"), {}, n_splits=2)
    name = "noisy-or-boost(n_estimators=100, trees__max_depth=8, trees__max_leaf_nodes=31)"
    long_name = Result(result.about, {name: result.methods["naive-logistic"]})
    monkeypatch.setenv("COLUMNS", "80")
    board = print_board(Console(), long_name)
    shown = capsys.readouterr().out
    assert f"{board['score'].iloc[0]:.3f} ({board['low'].iloc[0]:.3f}, " in shown
    assert max(map(len, shown.splitlines())) <= 80
