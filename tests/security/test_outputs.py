"""What is written and shown: no formulas, no escapes, nobody's file replaced by surprise."""

import json
import os
import pty
import sys

import numpy as np
import pandas as pd
import pytest

from groupwise import cli
from groupwise.cli.terminal import visible
from groupwise.tables import TableError, read_table, write_table
from groupwise.tables.nesting import nesting_depth
from groupwise.tables.read import as_text

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=1", "'=1", "''+x",
            "-x", "+", "=", "\uff1d1+1", "@", "-2+3+cmd|' /C calc'!A0", "\n=1"]  # fmt: skip
HARMLESS = ["ann", "-7", "+3.5", "-1e-5", "a=b", "", "'quoted'", "7-3", " =1", "é", ".5"]


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_spreadsheets_run_nothing(tmp_path, suffix):
    frame = pd.DataFrame({"user": FORMULAS + HARMLESS, "=h": np.arange(len(FORMULAS + HARMLESS))})
    path = write_table(frame, tmp_path / f"out{suffix}")
    back = pd.read_csv(path, sep="," if suffix == ".csv" else "\t", dtype=str,
                       keep_default_na=False, lineterminator="\n")  # fmt: skip
    assert back.columns.tolist() == ["user", "'=h"]
    for given, found in zip(frame["user"], back["user"], strict=True):
        assert found == (f"'{given}" if given in FORMULAS else given)
    undone = back["user"].str.replace(r"^'(?='*[=+\-@\t\r\n\uff1d])", "", regex=True)
    assert undone.tolist() == frame["user"].tolist()


def test_categories_and_missing_values_too(tmp_path):
    frame = pd.DataFrame({"c": pd.Categorical(["=1", None, "a"]), "n": [-1.5, 2, None]})
    text = write_table(frame, tmp_path / "out.csv").read_text()
    assert "'=1" in text and "-1.5" in text and "'-1.5" not in text
    for suffix in (".parquet", ".feather", ".jsonl"):
        found = read_table(write_table(frame, tmp_path / f"out{suffix}")).frame
        assert found["c"].astype(object)[0] == "=1"


def test_what_a_terminal_would_obey_is_written_out():
    for text in ("\x1b]0;PWNED\x07", "\x1b[2J", "a\rb", "\x9b31m", "\u202egnp.exe", "\x00", "\x7f",
                 "\u200b", "\ud83d", "\x08\x08"):  # fmt: skip
        shown = visible(f"group {text}")
        assert shown.isascii() and shown.isprintable() and "\\" in shown
    for text in ("plain", "München 学习 é", "two\nlines\t."):
        assert visible(text) == text
    assert as_text(os.fsdecode("é".encode())) == "é"


@pytest.fixture(scope="module")
def table(run, tmp_path_factory):
    """Groups with names that somebody thought about."""
    rng = np.random.RandomState(0)
    names = ["=cmd|'/C calc'!A0", "\x1b]0;PWNED\x07x", "@x", "-1+1", *map(str, range(36))]
    y = np.tile(["a", "b"], 20).repeat(4)
    frame = pd.DataFrame({"session": np.repeat(names, 4), "kind": y,
                          "x": (y == "b") + rng.normal(size=160)})  # fmt: skip
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    frame.to_parquet(path)
    model = path.parent / "m.skops"
    done = run("fit", path, "-g", "session", "-l", "kind", "-m", "naive-logistic", "--folds", 2,
                   "-o", model)  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout and "\x07" not in done.stdout + done.stderr
    return path


def test_commands_print_no_escapes(run, table, tmp_path):
    model = table.parent / "m.skops"
    done = run("predict", model, table, "--level", "group", "-o", tmp_path / "o.csv")
    assert done.exit_code == 0, done.stderr
    text = (tmp_path / "o.csv").read_text()
    assert "'=cmd" in text and "'@x" in text and "'-1+1" in text
    for words in (["describe", table, "-g", "session", "-l", "kind"], ["evaluate", model, table]):
        done = run(*words)
        assert done.exit_code == 0 and "\x07" not in done.stdout + done.stderr, done.stderr
    done = run("describe", tmp_path / "\x1b[2J.csv")
    assert done.exit_code == 3 and "\x1b" not in done.stderr and "\\x1b[2J" in done.stderr


def test_a_terminal_is_shown_csv_without_escapes(table, monkeypatch):
    leader, follower = pty.openpty()
    words = ["predict", table.parent / "m.skops", table, "--level", "group"]
    monkeypatch.setattr(sys, "argv", ["groupwise", *map(str, words)])
    with open(follower, "w") as terminal:
        monkeypatch.setattr(sys, "stdout", terminal)
        with pytest.raises(SystemExit) as end:
            cli.main()
        terminal.flush()
        shown = os.read(leader, 1 << 16)
    os.close(leader)
    assert not end.value.code
    assert b"\x1b" not in shown and b"\\x1b]0;PWNED" in shown


@pytest.mark.long
def test_inputs_and_foreign_files_are_not_replaced(run, table, tmp_path):
    model, mine = table.parent / "m.skops", tmp_path / "keep.txt"
    mine.write_text("my notes")
    copy = tmp_path / "t.parquet"
    copy.write_bytes(table.read_bytes())
    link = tmp_path / "link.parquet"
    link.symlink_to(copy)
    roles = ["-g", "session", "-l", "kind", "-m", "naive-logistic", "--folds", 2, "-q"]
    cases = [
        ["predict", model, copy, "-o", copy],
        ["predict", model, copy, "-o", link],
        ["predict", model, tmp_path, "-o", tmp_path / "new.parquet"],
        ["fit", copy, *roles, "-o", mine],
        ["fit", copy, *roles, "-o", copy],
        ["fit", copy, *roles, "-o", tmp_path / "n.skops", "--report", mine],
        ["compare", copy, *roles, "-o", tmp_path / "c", "--model", mine],
        ["evaluate", model, copy, "-o", copy],
        ["report", model, "-o", model],
        ["report", model, "-o", mine],
    ]
    before = {path: path.read_bytes() for path in (copy, mine, model)}
    for case in cases:
        done = run(*case)
        assert done.exit_code == 2 and "--force" in done.stderr, (case, done.stderr)
    assert {path: path.read_bytes() for path in before} == before
    assert run("fit", copy, *roles, "-o", mine, "--force").exit_code == 0
    assert run("fit", copy, *roles, "-o", mine).exit_code == 0  # a model is replaced
    assert run("predict", model, copy, "-o", copy, "--force", "-q").exit_code == 0


# Tables that a parser would not survive.


def test_nesting_is_counted():
    for text, depth in [(b"", 0), (b"[]", 1), (b'{"a": [1, [2]]}', 3), (b'"[[["', 0),
                        (b'{"a": "\\"[[["}', 1), (b'["]]]]", ["]]]]", ["]"]]]', 3),
                        (b'"[[\n[[', 2), (b'{"a":1}\n{"b":[2]}\n', 2)]:  # fmt: skip
        assert nesting_depth(text) == depth, text
    many = b'{"a": "]]]", "b": [1]}\n' * 500_000
    assert nesting_depth(many) == 2


@pytest.mark.parametrize("levels", [201, 5_000, 1_000_000])
@pytest.mark.parametrize("shape", ["[", '{"a":', '["]]]",'])
def test_deep_json_is_refused_in_words(tmp_path, levels, shape):
    ends = {"[": "]", '{"a":': "}", '["]]]",': "]"}[shape]
    path = tmp_path / "deep.jsonl"
    path.write_text('{"g": "x", "v": ' + shape * levels + "1" + ends * levels + "}\n")
    with pytest.raises(TableError, match=r"deep\.jsonl: values are nested .* levels deep"):
        read_table(path)


def test_other_files_are_named(tmp_path):
    (tmp_path / "t.zip").write_bytes(b"PK\x03\x04" + b"\0" * 30)
    with pytest.raises(TableError, match="zip or Excel"):
        read_table(tmp_path / "t.zip")
    (tmp_path / "t.csv").write_text('"a;b;c;d",y\n1,2\n')
    assert read_table(tmp_path / "t.csv").frame.columns.tolist() == ["a;b;c;d", "y"]


def test_versions_in_a_header_cannot_write_to_the_terminal(craft, caplog):
    from groupwise.io import ModelFileError, load_model

    schema, members = craft.schema()
    with pytest.raises(ModelFileError, match="is no model file"):
        load_model(craft(schema, members, header={"versions": {"groupwise": "\x1b[2J"}}))
    assert not caplog.records


def test_json_of_the_command_line_is_escaped(run, table):
    done = run("describe", table, "-g", "session", "-l", "kind", "--json")
    assert json.loads(done.stdout) and "\x1b" not in done.stdout
