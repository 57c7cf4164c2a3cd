import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

import groupwise
from groupwise.cli.commands import COMMANDS, EXIT_CODES, load_command
from groupwise.cli.console import Console, _print_columns, print_score
from groupwise.cli.demo import digit_sessions
from groupwise.cli.options import parse_params
from groupwise.io import load_model
from groupwise.tables import ColumnUse


def example(name):
    return re.search(r"Example: (groupwise .*)", load_command(name).callback.__doc__).group(1)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_version_help_and_exit_codes(run):
    assert run("--version").stdout.strip() == f"groupwise {groupwise.__version__}"
    assert {
        "fit",
        "predict",
        "evaluate",
        "describe",
        "methods",
        "compare",
        "doubts",
        "report",
        "demo",
    } == set(COMMANDS)
    for name in COMMANDS:
        shown = run(name, "--help")
        assert load_command(name).callback.__doc__.splitlines()[0] == COMMANDS[name]
        assert shown.exit_code == 0
        assert f"Example: groupwise {name}" in plain(shown.stdout)
    help_text = " ".join(plain(run("--help").stdout).split())
    assert all(f"{code} {what.split()[0]}" in help_text for code, what in EXIT_CODES.items())
    assert run("fit", "--no-such-option").exit_code == 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples of the help run: a table of sessions, and one of other sessions."""
    folder = tmp_path_factory.mktemp("examples")
    frame = digit_sessions(0)
    columns = ["session", "kind", *[f"pixel_{k}" for k in (10, 18, 21, 27, 28, 36, 42, 43)]]
    names = frame["session"].unique()
    frame.loc[frame["session"].isin(names[::6]), columns].to_parquet(folder / "sessions.parquet")
    frame.loc[frame["session"].isin(names[1::9]), columns].to_parquet(folder / "new.parquet")
    return folder


@pytest.mark.long
def test_examples_of_the_help_run(run, folder, monkeypatch):
    """One after the other: later commands read what the earlier ones have written."""
    monkeypatch.chdir(folder)
    written = {"fit": "model.skops", "predict": "out.parquet", "report": "report.html",
               "compare": "comparison/result.json"}  # fmt: skip
    for name in ("describe", "fit", "predict", "evaluate", "report", "compare", "methods"):
        done = run(*shlex.split(example(name))[1:])
        assert done.exit_code == 0, (name, done.output)
        assert plain(done.stdout).strip()
        if name in written:
            assert (folder / written[name]).stat().st_size > 0


@pytest.mark.long
def test_demo(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(*shlex.split(example("demo"))[1:])
    assert done.exit_code == 0, done.output
    assert "sboost" in done.stdout and "178 groups" in done.stdout
    assert load_model("my-demo/model.skops").classes == ("even", "odd")
    assert (tmp_path / "my-demo" / "scores.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "my-demo" / "report.html").read_text()
    assert "session 025" in page and "groupwise compare my-demo/sessions.parquet" in page


def test_fit_says_what_it_did(run, fitted, good, tmp_path):
    path = tmp_path / "m.skops"
    done = run("fit", fitted / "good.csv", "-g", "group", "-l", "kind", "-m", "naive-logistic",
               "--tune", "--folds", 2, "-o", path, "--report", tmp_path / "r.html")  # fmt: skip
    assert done.exit_code == 0, done.output
    text = " ".join(done.stdout.split())
    assert "majority (as 'kind' is the same on all rows of a group); classes high, low" in text
    assert "numbers: x, z" in text and "categories: colour" in text
    assert "not used: row_id (an identifier, by its name)" in text
    assert "dates: when" in text
    assert "16 groups not seen in training" in text
    assert (tmp_path / "r.html").exists()
    assert load_model(path).schema.columns == ("x", "z", "colour", "when")


@pytest.mark.long
def test_json_quiet_and_seed(run, fitted, tmp_path):
    arguments = ["fit", fitted / "good.csv", "-g", "group", "-l", "kind", "-m", "sboost",
                 "-p", "n_estimators=3", "--folds", 2, "-o", tmp_path / "m.skops"]  # fmt: skip
    first, again, other = (
        json.loads(run(*arguments, "--json", "--seed", seed).stdout) for seed in (1, 1, 2)
    )
    assert first == again and first["columns"] and other["score"] is not None
    assert {"score", "low", "high", "worst", "method", "kind", "params"} <= set(first)
    silent = run(*arguments, "--quiet")
    assert silent.exit_code == 0 and silent.output == ""


def test_predict_rows_and_groups(run, fitted, good, tmp_path):
    model, table = fitted / "model.skops", fitted / "good.csv"
    done = run("predict", model, table, "-o", tmp_path / "rows.parquet")
    assert done.exit_code == 0, done.output
    rows = pd.read_parquet(tmp_path / "rows.parquet")
    assert list(rows.columns) == ["group", "predicted", "p_high", "p_low", "weight"]
    assert rows["group"].tolist() == good["group"].tolist()  # with their leading zeros
    np.testing.assert_allclose(rows["p_high"] + rows["p_low"], 1.0)
    np.testing.assert_allclose(rows.groupby("group")["weight"].sum(), 1.0)
    groups = run("predict", model, table, "--level", "group").stdout
    lines = groups.strip().splitlines()
    assert lines[0] == "group,rows,predicted,p_high,p_low" and len(lines) == 17
    assert lines[1].startswith("000,6,")
    as_json = run("predict", model, table, "--level", "group", "--json").stdout
    assert json.loads(as_json.splitlines()[0])["group"] == "000"


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (["-g", "group", "-l", "n_no,n_yes", "-m", "group-boost"], ["p_n_no", "p_n_yes"]),
        (["-g", "group", "-l", "hit", "--measure", "f1", "-m", "boosted-rows"], ["p_no", "p_yes"]),
        (["-l", "hit", "--domain", "site", "--target", "new", "-m", "equal-mass",
          "--ignore", "group,n_*,kind"], []),
        (["-g", "group", "-l", "kind", "-k", "presence", "--positive", "low", "-m",
          "noisy-or-boost", "--ignore", "hit,site,n_*"], ["p_high", "p_low"]),
    ],
)  # fmt: skip
def test_every_kind_from_table_to_prediction(options, columns, run, good, tmp_path):
    good.to_parquet(tmp_path / "t.parquet")
    table, model = tmp_path / "t.parquet", tmp_path / "m.skops"
    done = run("fit", table, *options, "--folds", 2, "-o", model, "--json")
    assert done.exit_code == 0, done.output
    judged = json.loads(run("evaluate", model, table, "--json", "-o", tmp_path / "e.json").stdout)
    assert 0 <= judged["score"] <= 1
    assert run("predict", model, table, "-o", tmp_path / "p.csv").exit_code == 0
    found = pd.read_csv(tmp_path / "p.csv")
    assert len(found) == len(good) and set(columns) <= set(found.columns)
    assert run("report", tmp_path / "e.json", "-o", tmp_path / "e.html").exit_code == 0
    level = run("predict", model, table, "--level", "group")
    assert level.exit_code == (3 if "--domain" in options else 0)


def test_evaluate_shuffles_columns_only_for_a_result_that_is_kept(run, fitted, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "groupwise.jobs.evaluate.column_importance", lambda *given: asked.append(given)
    )
    both = "evaluate", fitted / "model.skops", fitted / "good.csv"
    assert run(*both).exit_code == 0 and not asked
    assert run(*both, "-o", fitted / "judged.json").exit_code == 0 and len(asked) == 1


def test_evaluate_notices_the_training_table(run, fitted):
    done = run("evaluate", fitted / "model.skops", fitted / "good.csv")
    assert done.exit_code == 0
    assert "this is the table the model was trained on" in done.stderr


def test_describe(run, good, tmp_path):
    good.to_parquet(tmp_path / "t.parquet")
    found = json.loads(
        run("describe", tmp_path / "t.parquet", "-g", "group", "-l", "kind", "--json").stdout
    )
    assert found["groups"]["n"] == 16 and found["groups"]["rows_each"]["median"] == 6
    assert found["balance"] == {"low": 48, "high": 48} and found["groups_with_conflicts"] == 0
    assert set(found["kinds"]) == {"majority", "presence"}
    assert "sboost" in found["methods"]["majority"]
    rows = json.loads(
        run("describe", tmp_path / "t.parquet", "-g", "group", "-l", "hit", "--json").stdout
    )
    assert rows["groups_with_conflicts"] > 5 and "measure" in rows["kinds"]
    assert "group '000': " in rows["conflicts"][0] or "x" in rows["conflicts"][0]
    alone = run("describe", tmp_path / "t.parquet").stdout
    assert "groups could be: group" in alone
    assert "group" in json.loads(run("describe", tmp_path / "t.parquet", "--json").stdout)[
        "group_candidates"
    ]  # fmt: skip
    many = run("describe", tmp_path / "t.parquet", "-g", "group", "-l", "n_no,n_yes").stdout
    assert "kind:    proportions" in many


def test_compare_continues_and_reports(run, fitted, tmp_path):
    arguments = ["compare", fitted / "good.csv", "-g", "group", "-l", "kind", "--folds", 2,
                 "-m", "naive-logistic,group-boost", "--no-search", "-o", tmp_path / "c",
                 "--model", tmp_path / "best.skops", "--report", tmp_path / "c.html"]  # fmt: skip
    first = run(*arguments)
    assert first.exit_code == 0, first.output
    assert "naive-logistic" in first.stdout and "continued" not in first.stdout
    (tmp_path / "c" / "folds" / "group-boost.1.json").unlink()
    second = run(*arguments)
    assert "continued:   3 of 4 folds are there already" in second.stdout
    board = json.loads(run(*arguments[:-4], "--json").stdout)["leaderboard"]
    assert {line["method"] for line in board} == {"naive-logistic", "group-boost"}
    assert load_model(tmp_path / "best.skops").method == board[0]["method"]
    assert f"What the score hangs on: {board[0]['method']}" in (tmp_path / "c.html").read_text()


def test_sql_from_the_command_line(run, good, tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "t.db") as connection:
        good.drop(columns="when").to_sql("visits", connection, index=False)
    connection.close()
    query = 'select "group", x, z, colour, kind from visits'
    done = run("fit", tmp_path / "t.db", "--sql", query, "-g", "group", "-l", "kind", "-m",
               "naive-logistic", "--folds", 2, "-o", tmp_path / "m.skops", "--json")  # fmt: skip
    assert done.exit_code == 0, done.output
    assert [c["name"] for c in json.loads(done.stdout)["columns"]][:2] == ["group", "x"]


def test_parameters():
    assert parse_params(["a=1", "b=text", "c=(1, 2)", "d="]) == {
        "a": 1, "b": "text", "c": (1, 2), "d": "",
    }  # fmt: skip


def test_without_a_method_all_compete(run, fitted, tmp_path):
    arguments = ["fit", fitted / "good.csv", "-g", "group", "-l", "kind", "--folds", 2, "--time",
                 "30s", "-o", tmp_path / "m.skops", "--report", tmp_path / "r.html"]  # fmt: skip
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert said["method"] == "auto" and said["low"] <= said["score"] <= said["high"]
    assert "means-logistic" in (tmp_path / "r.html").read_text()
    predicted = run("predict", tmp_path / "m.skops", fitted / "good.csv", "--level", "group")
    assert predicted.exit_code == 0, predicted.output


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--time", "soon"], "--time must be a time such as 30s, 2m or 1h, got 'soon'"),
        (["--time", "0s"], "--time must be"),
        (["-p", "gamma=1"], "name it with --method"),
        (["--tune"], "name it with --method"),
    ],
)
def test_options_of_the_automatic_choice(run, fitted, more, says, tmp_path):
    done = run("fit", fitted / "good.csv", "-g", "group", "-l", "kind", *more, "-o", tmp_path / "m")
    assert done.exit_code == 2 and says in done.stderr


def test_promises_reasons_and_doubts(fitted, run, tmp_path):
    table, model = fitted / "good.csv", tmp_path / "sure.skops"
    options = ["-g", "group", "-l", "kind", "-m", "naive-logistic", "--folds", 2]
    done = run("fit", table, *options, "--coverage", 0.8, "-o", model)
    assert done.exit_code == 0, done.output
    assert "promised:    about 80% of new groups" in done.output
    said = run("predict", model, table, "--level", "group", "--explain")
    header, first = said.stdout.splitlines()[:2]
    assert header == "group,rows,predicted,p_high,p_low,set,why"
    assert "row " in first
    rows = run("predict", model, table, "--explain").stdout.splitlines()
    assert rows[0].endswith("weight,share,why") and re.search(r"\w [+-]0\.\d", rows[1])
    listed = run("doubts", table, *options, "--n", 2, "-o", tmp_path / "doubts.csv")
    assert listed.exit_code == 0, listed.output
    assert "the least believed come first" in listed.output
    table_of_doubts = pd.read_csv(tmp_path / "doubts.csv", dtype=str)
    for line in table_of_doubts.head(2).itertuples():
        said = f"  {line.group}: {line.given} has probability {float(line.proba):.2f}"
        said += f"; rather {line.suggested}" if line.issue == "True" else ""
        assert f"{said}\n" in listed.output
    assert len((tmp_path / "doubts.csv").read_text().splitlines()) == 17
    assert run("fit", table, *options, "--coverage", 2, "-o", model).exit_code == 2


@pytest.fixture(scope="module")
def pair(good, tmp_path_factory):
    """Rows and groups in a file each; one group has no label, one line no rows."""
    folder = tmp_path_factory.mktemp("pair")
    groups = good.groupby("group", as_index=False)[["kind"]].first()
    groups["ward"] = ["east", "west", "west", "east"] * 4
    groups.loc[3, "kind"] = None
    more = groups.iloc[:1].assign(group="none")
    pd.concat([groups, more]).to_csv(folder / "groups.csv", index=False)
    good.drop(columns=["kind", "n_no", "n_yes", "hit", "site"]).to_csv(
        folder / "rows.csv", index=False
    )
    return folder


def test_two_tables_from_fit_to_prediction(run, pair):
    tables = [pair / "rows.csv", "--groups-table", pair / "groups.csv"]
    done = run("fit", *tables, "-g", "group", "-l", "kind", "-m", "means-logistic", "--folds", 2,
               "-o", pair / "m.skops")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "lines without rows, not used: group 'none'" in done.stderr
    said = " ".join(done.stdout.split())
    assert "1 of 16 groups have no label: learned from as well by in-context" in said
    assert "in-context, set aside by means-logistic; 'groupwise predict' answers" in said
    assert "if one positive row makes a group positive, say --kind presence" in said
    done = run("predict", pair / "m.skops", *tables, "--level", "group", "--keep", "ward", "-o",
               pair / "out.csv")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    lines = pd.read_csv(pair / "out.csv", dtype={"group": str})
    assert (
        lines["ward"].tolist() == ["east", "west", "west", "east"] * 4
        and lines.loc[3, "group"] == "003"
    )
    done = run("evaluate", pair / "m.skops", *tables, "--json")
    assert json.loads(done.stdout)["n_groups"] == 15
    assert "no column 'ward'" in run("predict", pair / "m.skops", pair / "rows.csv").stderr


@pytest.mark.parametrize("method", ["means-logistic", None])
def test_what_has_no_label_is_predicted(run, pair, method, tmp_path):
    call = ["fit", pair / "rows.csv", "--groups-table", pair / "groups.csv", "-g", "group", "-l",
            "kind", "--folds", 2, "-o", tmp_path / "m.skops", "--predictions", tmp_path / "p.csv",
            "--report", tmp_path / "r.html"]  # fmt: skip
    done = run(*call, *(["-m", method] if method else ["--time", "20s"]))
    assert done.exit_code == 0, done.stderr
    lines = pd.read_csv(tmp_path / "p.csv", dtype={"group": str})
    assert lines["group"].tolist() == ["003"] and "1 groups without a label" in done.stdout
    assert ("which has learned from this group" in (tmp_path / "r.html").read_text()) is True
    assert ('"seen":true' in (tmp_path / "r.html").read_text()) == (method is None)


def test_predictions_need_something_without_a_label(run, fitted, tmp_path):
    done = run("fit", fitted / "good.csv", "-g", "group", "-l", "kind", "--predictions",
               tmp_path / "p.csv", "-o", tmp_path / "m.skops")  # fmt: skip
    assert done.exit_code == 2 and "every row has a label" in done.stderr


def test_rows_without_a_label_have_their_number(run, good, tmp_path):
    table = good.drop(columns=["kind", "n_no", "n_yes"])
    table["hit"] = table["hit"].where(table.index % 9 != 4)
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("fit", tmp_path / "t.csv", "--domain", "site", "--target", "new", "-l", "hit", "-m",
               "target-only", "--folds", 2, "-o", tmp_path / "m.skops", "--predictions",
               tmp_path / "p.jsonl")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line)["row"] for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert rows == list(range(4, 96, 9))


def test_describe_tells_of_a_unit(run, good, tmp_path):
    good.assign(weight=[f"{k % 9} kg" for k in range(len(good))]).to_csv(tmp_path / "t.csv")
    done = run("describe", tmp_path / "t.csv", "-g", "group", "--json")
    assert "'weight' (kg)" in json.loads(done.stdout)["notes"][0]
    done = run("describe", tmp_path / "t.csv", "-g", "group")
    assert "note: numbers with a unit are read as text" in done.stderr


def test_describe_two_tables(run, pair):
    tables = [pair / "rows.csv", "--groups-table", pair / "groups.csv", "-g", "group", "-l", "kind"]
    said = " ".join(run("describe", *tables).stdout.split())
    assert "at least one row of each of the 7 groups with 'low' is 'low'" in said.replace("8", "7")
    assert "most rows of the" in said and "1 have none" in said


def test_describe_warns_of_coarser_ids(run, good, tmp_path):
    good.assign(user=good["group"].str[2]).to_csv(tmp_path / "t.csv", index=False)
    said = " ".join(run("describe", tmp_path / "t.csv", "-g", "group").stdout.split())
    assert "warning: every group has one 'user', and 6 of them have several groups" in said
    assert "say --keep-whole user" in said


def test_old_beside_new(run, good, tmp_path):
    for name in ("new", "old"):
        part = good[good["site"] == name].drop(columns=["site", "kind", "n_no", "n_yes"])
        part.to_csv(tmp_path / f"{name}.csv", index=False)
    new, old, model = (tmp_path / name for name in ("new.csv", "old.csv", "m.skops"))
    done = run("fit", new, "--source", old, "-l", "hit", "-m", "target-only", "--folds", 2, "-o",
               model)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    lines = run("predict", model, new, "--keep", "row_id").stdout.splitlines()
    assert lines[0] == "row_id,predicted,p_no,p_yes" and lines[1].startswith("0,")
    assert json.loads(run("evaluate", model, new, "--json").stdout)["n_groups"] == 36
    said = run("describe", new, "--source", old, "-l", "hit").stdout
    assert "new: 36 rows" in said and "old: 60 rows" in said


def test_without_a_header(run, good, tmp_path):
    good[["group", "x", "kind"]].to_csv(tmp_path / "t.data", index=False, header=False)
    done = run("describe", tmp_path / "t.data", "--no-header", "-g", "c1", "-l", "c3", "--json")
    found = json.loads(done.stdout)
    assert found["n_rows"] == len(good) and found["groups"]["n"] == 16


def test_an_option_that_takes_one_value_is_not_given_two(run):
    found = run("describe", "t.csv", "-g", "user", "--group", "precinct", "-l", "kind")
    assert found.exit_code == 2
    assert "--group is given more than once" in plain(found.stderr)


@pytest.mark.parametrize(("n_wrong", "line"), [(1, "g0"), (5, "g0, g1, g2, g3, g4, ...")])
def test_dots_stand_for_more_that_are_wrong(n_wrong, line, capsys):
    worst = {f"g{k}": float(k >= n_wrong) for k in range(5)}
    summary = {"score": 0.9, "low": 0.8, "high": 1.0, "score_name": "s", "baseline": None}
    more = {"besides": None, "worst": worst, "n_groups": 30}
    print_score(Console(), summary | more, "groups")
    assert capsys.readouterr().out.splitlines()[-1] == f"wrong:       {line}"


def test_names_whose_ends_cannot_be_seen_are_in_quotes(capsys):
    uses = [ColumnUse("x", "number", ""), ColumnUse(" y ", "number", "")]
    _print_columns(Console(), [*uses, ColumnUse("", "not used", "it numbers the rows")])
    told = capsys.readouterr().out
    assert "x, ' y '\n" in told and "not used:   '' (it numbers the rows)" in told
