"""Whatever comes in: one line that names what is wrong, an exit code, and earlier files whole."""

import gzip
import io
import json
import os
import pickle
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import zipfile
from dataclasses import dataclass, field
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import skops.io
from sklearn.preprocessing import FunctionTransformer

from groupwise import SBoostClassifier
from groupwise.io import load_model, save_model

ROLES = ["-g", "group", "-l", "kind"]


@dataclass
class Bad:
    """A kind of bad input: how it is made, how the command is called, and what it must say."""

    name: str
    says: str
    code: int = 3
    make: object = None  # (folder, frame) -> None
    call: list = field(default_factory=list)
    source: str = "t.csv"


def changed(**columns):
    """Write t.csv with some columns changed; a value is a function of the frame or a column."""

    def make(folder, frame):
        for column, value in columns.items():
            frame = frame.assign(**{column: value(frame) if callable(value) else value})
        frame.to_csv(folder / "t.csv", index=False)

    return make


def content(data, name="t.csv"):
    return lambda folder, frame: (folder / name).write_bytes(data)


def at(column, row, value):
    def change(frame):
        values = frame[column].astype(object)
        values.iloc[row] = value
        return values

    return change


def truncated_parquet(folder, frame):
    frame.to_parquet(folder / "t.parquet")
    whole = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(whole[: len(whole) // 2])


def damaged_parquet(folder, frame):
    frame.to_parquet(folder / "t.parquet", compression="snappy")
    whole = bytearray((folder / "t.parquet").read_bytes())
    whole[200:400] = bytes(200)
    (folder / "t.parquet").write_bytes(bytes(whole))


def truncated_gzip(folder, frame):
    whole = gzip.compress(frame.to_csv(index=False).encode())
    (folder / "t.csv.gz").write_bytes(whole[: len(whole) // 2])


def duplicate_columns(folder, frame):
    text = frame.rename(columns={"z": "x"}).to_csv(index=False)
    (folder / "t.csv").write_text(text)


def parts_that_differ(folder, frame):
    (folder / "parts").mkdir()
    frame.to_parquet(folder / "parts" / "a.parquet")
    frame.assign(x="text").to_parquet(folder / "parts" / "b.parquet")


def not_utf8(folder, frame):
    text = frame.assign(colour="gr\u00fcn").to_csv(index=False)
    (folder / "t.csv").write_bytes(text.encode("latin-1"))


def not_utf8_names(folder, frame):
    text = frame.rename(columns={"colour": "gr\u00f6\u00dfe"}).to_csv(index=False)
    (folder / "t.csv").write_bytes(text.encode("latin-1"))


def database(folder, frame):
    with sqlite3.connect(folder / "t.db") as connection:
        frame.drop(columns="when").to_sql("t", connection, index=False)
    connection.close()


def folder_called(name):
    return lambda folder, frame: (folder / name).mkdir()


TABLES = [
    Bad("no such file", "t.csv: there is no such file"),
    Bad("empty file", "t.csv: is empty", make=content(b"")),
    Bad("only blanks", "t.csv: is empty", make=content(b"\n\n")),
    Bad("header only", "t.csv: there are no rows", make=content(b"group,kind,x\n")),
    Bad("ragged line", "t.csv: cannot be read: CSV parse error", make=content(b"a,b\n1,2\n3\n")),
    Bad("truncated Parquet", "t.parquet: cannot be read", make=truncated_parquet,
        source="t.parquet"),
    Bad("damaged Parquet", "t.parquet: ", make=damaged_parquet, source="t.parquet"),
    Bad("text called Parquet", "t.parquet: cannot be read",
        make=content(b"a,b\n1,2\n", "t.parquet"), source="t.parquet"),
    Bad("truncated gzip", "t.csv.gz: ", make=truncated_gzip, source="t.csv.gz"),
    Bad("broken JSON lines", "t.jsonl: cannot be read: JSON parse error",
        make=content(b'{"group": 1}\n{"group": \n', "t.jsonl"), source="t.jsonl"),
    Bad("a Feather file cut short", "t.feather: ", make=content(b"ARROW1\0\0abc", "t.feather"),
        source="t.feather"),
    Bad("not UTF-8", "t.csv: column 'colour' holds text that is not UTF-8; save it as UTF-8 (in",
        make=not_utf8),
    Bad("column names not UTF-8", "t.csv: there are names or texts that are not UTF-8; save it as",
        make=not_utf8_names),
    Bad("duplicate columns", "t.csv: there is more than one column called 'x'",
        make=duplicate_columns),
    Bad("folder without parts", "parts: the folder holds no Parquet parts",
        make=folder_called("parts"), source="parts"),
    Bad("parts of different types", "parts: ", make=parts_that_differ, source="parts"),
    Bad("a database without a query", "postgresql://ann:***@h/x is a database: say which rows",
        source="postgresql://ann:secret@h/x"),
    Bad("no such database", "t.db: there is no such database", call=[*ROLES, "--sql", "select 1"],
        source="t.db"),
    Bad("wrong query", "t.db: no such table: nowhere", make=database, source="t.db",
        call=[*ROLES, "--sql", "select * from nowhere"]),
    Bad("query that writes", "t.db: ", make=database, source="t.db",
        call=[*ROLES, "--sql", "drop table t"]),
    Bad("no database at all", "t.csv: ", make=changed(), call=[*ROLES, "--sql", "select 1"]),
    Bad("empty standard input", "-: is empty", source="-"),
]  # fmt: skip

COLUMNS = [
    Bad("wrong group column", "t.csv has no column 'grup' (--group); did you mean 'group'",
        make=changed(), call=["-g", "grup", "-l", "kind"]),
    Bad("wrong label column", "t.csv has no column 'class' (--label)", make=changed(),
        call=["-g", "group", "-l", "class"]),
    Bad("wrong feature", "t.csv has no column 'heat*' (--features)", make=changed(),
        call=[*ROLES, "--features", "heat*"]),
    Bad("wrong column to ignore", "t.csv has no column 'heat' (--ignore)", make=changed(),
        call=[*ROLES, "--ignore", "heat"]),
    Bad("wrong order column", "t.csv has no column 'tim' (--order)", make=changed(),
        call=[*ROLES, "--order", "tim"]),
    Bad("label as feature", "--features names 'kind', which is the label", 2, changed(),
        [*ROLES, "--features", "kind,x"]),
    Bad("group as label", "--group and --label name the same column, 'group'", 2, changed(),
        ["-g", "group", "-l", "group", "-k", "majority"]),
    Bad("no label", "--label is missing", 2, changed(), ["-g", "group"]),
    Bad("no group", "--group is missing", 2, changed(), ["-l", "kind"]),
    Bad("conflicting labels", "t.csv: column 'kind' must be the same on every row of a group; "
        "group '001' holds 'high' and 'low'", make=changed(kind=at("kind", 8, "low"))),
    Bad("labels of rows", "column 'hit' holds more than one label in", make=changed(),
        call=["-g", "group", "-l", "hit"]),
    Bad("numbers of rows", "column 'x' holds a number of each row, ", make=changed(),
        call=["-g", "group", "-l", "x"]),
    Bad("missing group", "t.csv: column 'group' (--group) is missing in 1 rows, the first of them "
        "row 4", make=changed(group=at("group", 4, None))),
    Bad("missing label", "t.csv: column 'kind' has a value on 5 of the 6 rows of group '000'",
        make=changed(kind=at("kind", 4, None))),
    Bad("no label at all", "t.csv: column 'kind' has no value at all",
        make=changed(kind=None), call=[*ROLES, "-k", "majority"]),
    Bad("a blank behind a label", "t.csv: column 'kind' holds 'low' and 'low ', which differ by",
        make=changed(kind=at("kind", 4, "low "))),
    Bad("one class", "column 'kind' holds one class only ('low')", make=changed(kind="low")),
    Bad("class with one group", "class 'odd' has one group only; at least two are needed",
        make=changed(kind=lambda f: np.where(f["group"] == "003", "odd", f["kind"]))),
    Bad("label with fractions", "column 'kind' holds 0.5 in row 0", make=changed(kind=0.5)),
    Bad("label is a date", "column 'when' holds date values, not labels", make=changed(),
        call=["-g", "group", "-l", "when", "-k", "measure"]),
    Bad("label is an id", "column 'row_id' holds 96 different labels", make=changed(),
        call=["-g", "group", "-l", "row_id", "-k", "measure"]),
    Bad("one group", "there is one group only", make=changed(group="a"),
        call=["-g", "group", "-l", "hit", "-k", "measure"]),
    Bad("infinite value", "t.csv: column 'x' is infinite in row 7",
        make=changed(x=at("x", 7, "inf"))),
    Bad("no features", "t.csv has no column that can be a feature (row_id: an identifier",
        make=lambda folder, frame: frame[["row_id", "group", "kind"]].to_csv(
            folder / "t.csv", index=False)),
    Bad("a coarser id that cuts groups", "group '000' has rows of 0 and of 1 in column "
        "'colour' (--keep-whole)", make=changed(colour=lambda f: f["row_id"] % 2),
        call=[*ROLES, "--keep-whole", "colour"]),
    Bad("no such coarser id", "t.csv has no column 'usr' (--keep-whole)", make=changed(),
        call=[*ROLES, "--keep-whole", "usr"]),
    Bad("shares that do not add up", "t.csv: columns 'n_no', 'n_yes': counts must add up to the "
        "size of their group, or shares to 1, in all groups; group '000'", make=changed(n_no=17),
        call=["-g", "group", "-l", "n_no,n_yes"]),
    Bad("negative count", "columns 'n_no', 'n_yes': shares and counts cannot be negative; group "
        "'000'", make=changed(n_no=-1), call=["-g", "group", "-l", "n_no,n_yes"]),
    Bad("missing count", "columns 'n_no', 'n_yes' must hold a value on every row; 1 are missing",
        make=changed(n_no=at("n_no", 1, None)), call=["-g", "group", "-l", "n_no,n_yes"]),
    Bad("group without counts on some rows", "columns 'n_no', 'n_yes' have a value on 5 of the 6",
        make=changed(n_no=at("n_no", 1, None), n_yes=at("n_yes", 1, None)),
        call=["-g", "group", "-l", "n_no,n_yes"]),
    Bad("counts that are text", "columns 'colour', 'n_yes': shares or counts must be numbers",
        make=changed(), call=["-g", "group", "-l", "colour,n_yes"]),
    Bad("counts that differ in a group", "must be the same on every row of a group; group '000'",
        make=changed(n_no=at("n_no", 1, 99)), call=["-g", "group", "-l", "n_no,n_yes"]),
    Bad("a class twice", "--label names a column twice", 2, changed(),
        ["-g", "group", "-l", "n_no,n_no"]),
    Bad("no such target", "those with one are of 'new', 'old'",
        make=changed(), call=["-l", "hit", "--domain", "site", "--target", "moon"]),
    Bad("no target", "--kind transfer needs --domain (a column) and --target", 2, changed(),
        ["-l", "hit", "--domain", "site"]),
    Bad("three classes of presence", "must hold two classes for --kind presence, it holds 3",
        make=changed(kind=lambda f: np.where(f["group"] < "004", "odd", f["kind"])),
        call=[*ROLES, "-k", "presence"]),
    Bad("no such positive", "column 'kind' never holds 'maybe' (--positive)", make=changed(),
        call=[*ROLES, "-k", "presence", "--positive", "maybe"]),
    Bad("no such kind", "--kind must be one of majority", 2, changed(), [*ROLES, "-k", "guess"]),
    Bad("no such method", "has no method 'magic'; it has group-boost", 2, changed(),
        [*ROLES, "-m", "magic"]),
    Bad("no such parameter", "sboost has no parameter 'depth' (--param); it has", 2, changed(),
        [*ROLES, "-m", "sboost", "-p", "depth=3"]),
    Bad("parameter without value", "--param must be name=value, got 'gamma'", 2, changed(),
        [*ROLES, "-p", "gamma"]),
    Bad("parameter out of range", "gamma must be a number in [0, inf), got -1", 1, changed(),
        [*ROLES, "--ignore", "n_*", "-m", "sboost", "-p", "gamma=-1"]),
    Bad("no such measure", "--measure: measure must be one of", 2, changed(),
        ["-g", "group", "-l", "hit", "--measure", "beauty"]),
    Bad("method for other measures", "--method svm-perf is for the measures accuracy, f1, ", 2,
        changed(), ["-g", "group", "-l", "hit", "--measure", "ndcg", "-m", "svm-perf"]),
    Bad("option of another kind", "--kind majority has no use for --domain", 2, changed(),
        [*ROLES, "-k", "majority", "--domain", "site"]),
]  # fmt: skip


def two_files(change=lambda groups: groups, rows=lambda rows: rows):
    """Write t.csv without the label and g.csv with it, one line per group, changed."""

    def make(folder, frame):
        groups = frame.groupby("group", as_index=False)[["kind", "n_no", "n_yes"]].first()
        rows(frame.drop(columns=["kind", "n_no", "n_yes"])).to_csv(folder / "t.csv", index=False)
        change(groups).to_csv(folder / "g.csv", index=False)

    return make


def old_and_new(change=lambda old: old):
    def make(folder, frame):
        frame[frame["site"] == "new"].drop(columns="site").to_csv(folder / "t.csv", index=False)
        change(frame[frame["site"] == "old"].drop(columns="site")).to_csv(
            folder / "old.csv", index=False)  # fmt: skip

    return make


PAIR, OLD = [*ROLES, "--groups-table", "g.csv"], ["-l", "hit", "--source", "old.csv"]
TWO_TABLES = [
    Bad("no such second file", "g.csv: there is no such file", make=changed(), call=PAIR),
    Bad("a group twice", "g.csv has more than one line for group '000'", call=PAIR,
        make=two_files(lambda g: g.loc[[0, *g.index]])),
    Bad("rows without a group", "12 rows of t.csv have no line in g.csv: groups '000', '001'",
        make=two_files(lambda g: g[2:]), call=PAIR),
    Bad("no key in the second file", "g.csv has no column 'group' (--group), which joins the two",
        make=two_files(lambda g: g.rename(columns={"group": "place"})), call=PAIR),
    Bad("no key in the first file", "t.csv has no column 'group' (--group), which joins the two",
        make=two_files(rows=lambda r: r.drop(columns="group")), call=PAIR),
    Bad("a column in both", "t.csv and g.csv both have column 'x'", call=PAIR,
        make=two_files(lambda g: g.assign(x=1))),
    Bad("a missing key", "g.csv: column 'group' (--group) is missing in 1 rows, the first of them "
        "row 3", make=two_files(lambda g: g.assign(group=at("group", 3, None))), call=PAIR),
    Bad("no group for two tables", "--groups-table needs --group", 2, two_files(),
        ["-l", "kind", "--groups-table", "g.csv"]),
    Bad("no label in either", "t.csv with g.csv has no column 'knd' (--label); did you mean 'kind'",
        make=two_files(), call=["-g", "group", "-l", "knd", "--groups-table", "g.csv"]),
    Bad("counts that do not fit the rows", "counts must add up to the size of their group",
        make=two_files(lambda g: g.assign(n_no=40)),
        call=["-g", "group", "-l", "n_no,n_yes", "--groups-table", "g.csv"]),
    Bad("no such source", "old.csv: there is no such file", make=changed(), call=OLD),
    Bad("a source without the label", "t.csv beside old.csv has no column 'hit' (--label)",
        make=old_and_new(lambda o: o.drop(columns="hit")), call=OLD),
    Bad("a source of other columns", "have no column in common to learn from",
        make=old_and_new(lambda o: o[["hit"]].assign(q=1.5)), call=OLD),
    Bad("text in the source", "column 'x' holds numbers in t.csv and text in old.csv",
        make=old_and_new(lambda o: o.assign(x="many")), call=OLD),
    Bad("a source called as the target", "--target 'old' is the name of a source", 2,
        old_and_new(), [*OLD, "--target", "old"]),
    Bad("a domain that is a column", "--domain names 'colour', which is a column already", 2,
        old_and_new(), [*OLD, "--domain", "colour"]),
    Bad("groups and sources", "--groups-table and --source do not go together", 2,
        lambda folder, frame: (old_and_new()(folder, frame),
                               frame[["group"]].drop_duplicates().assign(q=1).to_csv(
                                   folder / "g.csv", index=False)),
        ["-g", "group", *OLD, "--groups-table", "g.csv"]),
    Bad("values for names", "these look like values: for a file without a line of names see "
        "--no-header", make=content(b"1,2,1\n3,4,5\n"), call=["-g", "c1", "-l", "c2"]),
    Bad("no column of that number", "t.csv has no column 'c9' (--group); its columns are 'c1'",
        make=content(b"1,2,1\n3,4,5\n"), call=["--no-header", "-g", "c9", "-l", "c2"]),
]  # fmt: skip


def check(done, bad, folder):
    """One line beside notes, the exit code, no traceback, nothing left behind."""
    assert done.exit_code == bad.code, done.output
    lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, lines
    assert lines[0].startswith("error: ") and bad.says in lines[0], lines[0]
    assert "Traceback" not in done.output and "secret" not in done.output
    assert not list(folder.rglob("*.part"))


@pytest.mark.parametrize("bad", [*TABLES, *COLUMNS, *TWO_TABLES], ids=lambda bad: bad.name)
def test_fit(bad, good, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    earlier = tmp_path / "model.skops"
    earlier.write_text("earlier")
    if bad.make is not None:
        bad.make(tmp_path, good)
    done = run("fit", bad.source, *(bad.call or ROLES), "-o", earlier, "--force", "--folds", 2)
    check(done, bad, tmp_path)
    assert earlier.read_text() == "earlier"


def test_there_are_at_least_forty_kinds():
    assert len({bad.name for bad in [*TABLES, *COLUMNS]}) >= 40


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(bytes(data))


def cut(path):
    path.write_bytes(path.read_bytes()[:-200])


def rewritten(member, change):
    """The zip with one member changed and everything else as it was, checksums put right."""

    def alter(path):
        with zipfile.ZipFile(path) as file:
            members = {name: file.read(name) for name in file.namelist()}
        members[member] = change(members[member])
        with zipfile.ZipFile(path, "w") as file:
            for name, data in members.items():
                file.writestr(name, data)

    return alter


def newer(header):
    return json.dumps(json.loads(header) | {"format": 99}).encode()


def older(header):
    return json.dumps(json.loads(header) | {"format": 1}).encode()


class Evil:
    def __reduce__(self):
        return (os.mkdir, ("evil",))


def foreign_type(path):
    with mock.patch("groupwise.io.model_file.check_tree", lambda *_: []):
        save_model(FunctionTransformer(np.save), path)


MODELS = [
    ("no such model", lambda p: p.unlink(), "model.skops: there is no such file"),
    ("a pickle", lambda p: p.write_bytes(pickle.dumps(Evil())), "is no model file of groupwise"),
    ("an empty file", lambda p: p.write_bytes(b""), "is no model file of groupwise"),
    ("another zip", lambda p: zipfile.ZipFile(p, "w").close(), "is no model file of groupwise"),
    ("a byte changed", flip, "model.skops "),
    ("cut short", cut, "or cut short"),
    ("a member changed", rewritten("schema.json", lambda s: s.replace(b"low", b"LOW")),
     "was altered after it was written"),
    ("a newer format", rewritten("groupwise.json", newer), "was written by a newer groupwise"),
    ("a format of 0.1", rewritten("groupwise.json", older), "does not read: fit again"),
    ("a header of nonsense", rewritten("groupwise.json", lambda _: b"{}"), "is no model file"),
    ("a foreign type", foreign_type, "numpy.save"),
    ("skops of somebody else", lambda p: skops.io.dump(SBoostClassifier(), p), "is no model file"),
    ("a model of arrays", lambda p: save_model(SBoostClassifier(), p), "takes arrays, not tables"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "alter", "says"), MODELS, ids=[m[0] for m in MODELS])
@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_models(name, alter, says, command, fitted, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(fitted / "model.skops", "model.skops")
    alter(tmp_path / "model.skops")
    (tmp_path / "out.csv").write_text("predicted\nearlier\n")
    out = "out.csv" if command == "predict" else "out.json"
    done = run(command, "model.skops", fitted / "good.csv", "-o", out)
    check(done, Bad(name, says, 4), tmp_path)
    assert (tmp_path / "out.csv").read_text() == "predicted\nearlier\n" and not (
        tmp_path / "evil"
    ).exists()


def new_table(change, says, command="predict", *options):
    return pytest.param(change, says, command, options, id=says[:30])


@pytest.mark.parametrize(
    ("change", "says", "command", "options"),
    [
        new_table(lambda f: f.drop(columns=["x", "z"]), "it has no column 'x', 'z'"),
        new_table(lambda f: f.assign(x="ten"), "column 'x' must hold numbers, row 0 holds 'ten'"),
        new_table(lambda f: f.assign(colour=f["when"]), "column 'colour' must hold categories"),
        new_table(lambda f: f.drop(columns="group"), "no column 'group'", "predict"),
        new_table(lambda f: f.drop(columns="group"), "no column 'group' (--group)", "predict",
                  "--level", "group"),
        new_table(lambda f: f.assign(kind="new"), "holds 'new' in group '000', which is not among "
                  "the model's classes: high, low", "evaluate"),
        new_table(lambda f: f.drop(columns="kind"), "no column 'kind' (--label)", "evaluate"),
        new_table(lambda f: f.assign(kind=at("kind", 1, "high")), "group '000' holds 'low' and "
                  "'high'", "evaluate"),
    ],
)  # fmt: skip
def test_tables_that_do_not_match_the_model(change, says, command, options, fitted, good, run,
                                            tmp_path):  # fmt: skip
    path = tmp_path / "new.parquet"
    change(good).to_parquet(path)
    done = run(command, fitted / "model.skops", path, *options)
    check(done, Bad("", says, 3), tmp_path)
    assert "new.parquet" in done.stderr


@pytest.mark.parametrize(
    ("out", "says"),
    [
        ("missing/model.skops", "missing: there is no such folder"),
        ("folder", "folder: is a folder, not a file"),
        ("file/model.skops", "file: there is no such folder"),
        ("/proc/model.skops", "/proc/model.skops: "),
    ],
)
def test_places_that_cannot_be_written(out, says, fitted, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("earlier")
    done = run("fit", fitted / "good.csv", *ROLES, "-m", "naive-logistic", "--folds", 2, "-o", out)
    check(done, Bad("", says, 5), tmp_path)
    assert (tmp_path / "file").read_text() == "earlier"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder(fitted, run, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    done = run("fit", fitted / "good.csv", *ROLES, "-o", tmp_path / "locked" / "model.skops")
    check(done, Bad("", "locked: the folder cannot be written to", 5), tmp_path)


@pytest.mark.parametrize(
    ("arguments", "says", "code"),
    [
        (["predict", "model.skops", "good.csv", "--level", "user"], "--level must be row or", 2),
        (["predict", "model.skops", "good.csv", "-o", "out.xlsx"], "out.xlsx: a table can be", 3),
        (["report", "nothing.json"], "nothing.json: there is no such file", 3),
        (["report", "broken.json"], "broken.json is no result of groupwise", 3),
        (["report", "latin.json"], "latin.json is no result of groupwise", 3),
        (["report", "half.json"], "half.json is incomplete or was altered", 3),
        (["report", "folder"], "folder holds no result.json: is the comparison finished", 3),
        (["report", "good.csv"], "good.csv is no model file of groupwise", 4),
        (["compare", "good.csv", *ROLES, "-o", "folder"], "folder is not empty and holds no", 3),
        (["compare", "good.csv", *ROLES, "-o", "new", "-m", "magic"], "has no method 'magic'", 2),
        (["compare", "good.csv", *ROLES, "-o", "broken"], "plan.json is no plan", 3),
        (["methods", "--kind", "guess"], "--kind must be one of", 2),
        (["describe", "good.csv", "-g", "nobody"], "good.csv has no column 'nobody'", 3),
    ],
)
def test_other_commands(arguments, says, code, fitted, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("model.skops", "good.csv"):
        shutil.copy(fitted / name, name)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("earlier")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "plan.json").write_text("{}")
    (tmp_path / "broken.json").write_text('{"half": ')
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe")
    half = {"what": "groupwise result", "format": 1, "about": {}, "methods": {"a": [{}]}}
    (tmp_path / "half.json").write_text(json.dumps(half | {"left_out": {}}))
    check(run(*arguments), Bad("", says, code), tmp_path)
    assert (tmp_path / "folder" / "mine.txt").read_text() == "earlier"


@pytest.mark.parametrize("damage", ["", "{}", "[]", "nonsense"])
def test_a_damaged_fold(damage, fitted, run, tmp_path):
    arguments = ["compare", fitted / "good.csv", *ROLES, "-m", "naive-logistic", "--folds", 2,
                 "--no-search", "-o", tmp_path / "c"]  # fmt: skip
    assert run(*arguments).exit_code == 0
    (tmp_path / "c" / "folds" / "naive-logistic.1.json").write_text(damage)
    check(run(*arguments, "-q"), Bad("", "naive-logistic.1.json was altered", 3), tmp_path)


def test_a_model_without_a_result_is_judged_all_the_same(fitted, run, tmp_path):
    save_model(load_model(fitted / "model.skops"), tmp_path / "m.skops")
    assert run("evaluate", tmp_path / "m.skops", fitted / "good.csv").exit_code == 0
    done = run("report", tmp_path / "m.skops", "-o", tmp_path / "r.html")
    check(done, Bad("", "m.skops holds a model, but no result", 4), tmp_path)


def command(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-c", "from groupwise.cli import app; app()", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, **options,
    )  # fmt: skip


def test_a_full_disk(fitted, tmp_path, run):
    """A file system of 16 KiB where we may make one, else a limit on the size of files."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)], capture_output=True
    )
    words = ["fit", fitted / "good.csv", *ROLES, "--folds", 2, "-m", "group-boost", "-q",
             "-o", disk / "model.skops", "--force"]  # fmt: skip
    try:
        (disk / "model.skops").write_text("earlier")
        if mounted.returncode == 0:
            done = run(*words)
            code = done.exit_code
        else:
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # noqa: E731
            done = command(*words, preexec_fn=limit)
            code = done.returncode
        assert code == 5, done.stderr
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith(f"error: {disk / 'model.skops'}: ")
        assert "No space" in line or "too large" in line
        assert [p.name for p in disk.iterdir()] == ["model.skops"]
        assert (disk / "model.skops").read_text() == "earlier"
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.long
@pytest.mark.parametrize(("kill", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_a_killed_process(kill, code, fitted, tmp_path):
    """A comparison that is stopped keeps its finished folds, and nothing half written."""
    program = "from groupwise.cli import app; app()"
    arguments = ["compare", fitted / "good.csv", *ROLES, "-o", tmp_path / "c", "--folds", "4",
                 "-m", "naive-logistic,sboost,group-boost"]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("c/folds/*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(kill)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    if code == 130:
        assert errors.startswith("error: interrupted; ") and errors.count("\n") == 1
        assert "the same command goes on from there" in errors
        assert not list(tmp_path.rglob("*.part"))
    stored = list(tmp_path.glob("c/folds/*.json"))
    assert len(stored) >= 2 and not (tmp_path / "c" / "result.json").exists()
    assert all("units" in json.loads(path.read_text()) for path in stored)


@pytest.mark.long
def test_what_nobody_reads_is_no_error(fitted):
    program = "from groupwise.cli import app; app()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "methods"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    with process.stderr:
        errors = process.stderr.read().decode()
    assert process.wait(timeout=60) == 141 and errors == ""


def test_debug_shows_where_it_happened(run, tmp_path, monkeypatch):
    monkeypatch.setenv("GROUPWISE_DEBUG", "1")
    done = run("describe", tmp_path / "t.csv")
    assert type(done.exception).__name__ == "TableError"


def test_standard_input(good, run):
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.Table.from_pandas(good), buffer)
    done = run("describe", "-", "--json", input=buffer.getvalue())
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["n_rows"] == len(good)
