"""Attack the library where strangers reach it, and print what was tried and what survived.

    python benchmarks/attack.py            # the table of docs/security.md, half an hour
    python benchmarks/attack.py sql bombs  # some of it

Seeds are fixed. A case survives if nothing was run, written, shown or mixed up, and the error, if
there is one, is a line of words. The cases of the tests (tests/security) are used again.
"""

import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import groupwise.auto.base as auto
import groupwise.incontext.classifier as incontext
from groupwise import (
    Groups,
    GroupStatisticsClassifier,
    HistTrees,
    NaiveGroupClassifier,
    SBoostClassifier,
)
from groupwise.cli.terminal import visible
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import (
    GroupBoostClassifier,
    GroupBoostMultilabelClassifier,
    GroupBoostRegressor,
)
from groupwise.io import ModelFileError, load_model, save_model
from groupwise.jobs import Result
from groupwise.measures import BoostedRowsClassifier
from groupwise.proportions import GroupStatisticsRegressor, KernelCountClassifier
from groupwise.report import render
from groupwise.tables import TableError, read_table, write_table
from groupwise.tables.formats import without_password
from groupwise.testing import all_estimators
from groupwise.transfer import TransductiveSVC, WeightedTransferClassifier

TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(TESTS.parent))
ROOMS = (
    *("majority", "proportions", "presence", "measures", "transfer", "gbdt"),
    *("auto", "incontext", "nets", "relative", "uncertainty"),
)
SECONDS = 25  # that an estimator may take for 48 rows
PROGRAM = "import groupwise.cli; groupwise.cli.main()"
SPEAKING = "import groupwise.cli; print('up', flush=True); groupwise.cli.main()"
ONLY = os.environ.get("ONLY", "")  # what the settings' texts must match, to try some of them
Outcomes = Iterator[bool]


def cases_of(name, folder="security"):
    """A test module, for its lists of cases."""
    path = TESTS / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"attack_{folder}_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(*arguments, program=PROGRAM, **options):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], timeout=300,
                          capture_output=True, env=environment, **options)  # fmt: skip


def trees(folder: Path) -> Outcomes:
    """Random trees of package classes, dangerous names and all loaders of skops."""
    from skops.io._audit import NODE_TYPE_MAPPING

    tests, craft = cases_of("test_model_files"), cases_of("conftest").Crafted(folder)
    names = sorted(tests.own_classes()) + tests.DANGEROUS * 8
    loaders = sorted({loader for loader, _ in NODE_TYPE_MAPPING})
    watch, array = tests.Watch(), io.BytesIO()
    np.save(array, np.arange(3.0))
    load_model(craft(*craft.schema()))
    for seed in range(5):
        rng = random.Random(1000 + seed)
        for _ in range(400):
            schema = tests.random_tree(rng, names, loaders) | {"protocol": tests.PROTOCOL}
            path = craft(schema, {"a.npy": array.getvalue(), "b.bin": b"x"})
            watch.seen, watch.on = [], True
            try:
                load_model(path)
                survived = True
            except ModelFileError:
                survived = True
            except Exception:
                survived = False
            finally:
                watch.on = False
            yield survived and not watch.seen


def chains(folder: Path) -> Outcomes:
    """Every class of the package as a constructor, a method, a partial, a key, an operator."""
    tests, conftest = cases_of("test_model_files"), cases_of("conftest")
    craft, node = conftest.Crafted(folder), conftest.node
    target = folder / "pwned"
    text = node("JsonNode", "builtins.str", content=json.dumps(f"touch {target}"))
    arguments = node("TupleNode", "builtins.tuple", content=[text])
    system = node("FunctionNode", "os.system")
    for name in [*sorted(tests.own_classes()), *tests.DANGEROUS]:
        keys = node("ListNode", "builtins.list", content=[node("TypeNode", name)])
        for schema in (
            node("ConstructorFromReduceNode", name, content=arguments),
            node("MethodNode", name, content={"obj": node("ObjectNode", name), "func": "build"}),
            node("DictNode", "builtins.dict", content={f"touch {target}": text}, key_types=keys),
            node("PartialNode", "functools.partial", content={
                "func": system, "args": arguments, "kwds": text, "namespace": text}),
        ):  # fmt: skip
            try:
                load_model(craft(schema | {"protocol": tests.PROTOCOL}))
                yield False
            except ModelFileError:
                yield not target.exists()


def damage(folder: Path) -> Outcomes:
    """Model files cut short or with one bit flipped: an error in words, or the same model."""
    path = folder / "model.skops"
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(80, 3)), rng.randint(2, size=80)
    model = SBoostClassifier(n_estimators=3).fit(X, y, groups=np.arange(80))
    expected = model.predict_proba(X)
    whole = save_model(model, path).read_bytes()
    draw = random.Random(7)
    for case in range(1200):
        content = bytearray(whole)
        if case % 4 == 0:
            del content[draw.randrange(len(content)) :]
        else:
            start = len(content) - 400 if case % 4 == 1 else 0
            content[draw.randrange(start, len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(bytes(content))
        try:
            yield bool(np.array_equal(load_model(path).predict_proba(X), expected))
        except ModelFileError as error:
            yield "model.skops" in str(error)
        except Exception:
            yield False


def bombs(folder: Path) -> Outcomes:
    """Files that would unpack to thousands of times their size, or claim to be huge."""
    import tracemalloc

    craft = cases_of("conftest").Crafted(folder)
    model = NaiveGroupClassifier()
    model.weights = np.arange(4.0)
    schema, members = craft.schema(model)
    (name,) = [member for member in members if member.endswith(".npy")]
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", b"\0" * (300 << 20))
    zeros = b"\0" * (300 << 20)
    paths = [
        craft(schema, members | {"x.npy": zeros}, deflate=("x.npy",), name="a.skops"),
        craft(schema, members | {"result.json": zeros}, deflate=("result.json",), name="b.skops"),
        craft(zeros, members, deflate=("schema.json",), name="c.skops"),
        craft(schema, members | {"x.npz": inner.getvalue()}, name="d.skops"),
    ]
    del zeros
    for shape in (b"(10**12,)", b"(999999999999,)", b"(-1,)", b"(1,)*40", b"(2**62, 4)"):
        text = members[name][10:].replace(b"(4,)", shape)
        length = int.from_bytes(members[name][8:10], "little") + len(shape) - 4
        crafted = b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + text
        paths.append(craft(schema, members | {name: crafted}, name=f"{len(paths)}.skops"))
    for path in paths:
        tracemalloc.start()
        try:
            load_model(path)
            survived = False
        except ModelFileError:
            survived = tracemalloc.get_traced_memory()[1] < 32 << 20
        finally:
            tracemalloc.stop()
        yield survived


def nesting(folder: Path) -> Outcomes:
    """JSON lines nested up to a million levels, in a process that could die of it."""
    for levels in (250, 5_000, 100_000, 1_000_000):
        for begin, end in (("[", "]"), ('{"a":', "}"), ('["]]",', "]"), ('[{"a":', "}]")):
            path = folder / "deep.jsonl"
            path.write_text('{"g": "x", "v": ' + begin * levels + "1" + end * levels + "}\n")
            done = command("describe", path)
            yield done.returncode == 3 and done.stderr.count(b"\n") == 1


def sql(folder: Path) -> Outcomes:
    """Statements that write, attach, install or leave, on DuckDB (file, memory) and SQLite."""
    import duckdb

    tests = cases_of("test_sql")
    os.chdir(folder)
    for name in ("a.duckdb", "other.duckdb"):
        with duckdb.connect(name) as connection:
            connection.execute("create table t as select 1 as a, 'x' as b")
            connection.execute("create sequence s")
    for name in ("a.sqlite", "other.sqlite"):
        connection = sqlite3.connect(name)
        connection.execute("create table t as select 1 as a, 'x' as b")
        connection.commit()
        connection.close()
    before = tests.files(folder)
    for source in ("a.duckdb", "a.sqlite", ":memory:"):
        for query in tests.WRITES + tests.DUCKDB:
            try:
                read_table(source, sql=query)
                yield False
            except TableError:
                yield tests.files(folder) == before
        for query in tests.GOOD if source != ":memory:" else tests.GOOD[3:4]:
            yield len(read_table(source, sql=query).frame) > 0 and tests.files(folder) == before


def passwords(folder: Path) -> Outcomes:
    """Addresses in every form: function, library and command line."""
    for address in cases_of("test_addresses").ADDRESSES:
        yield "hunter2" not in without_password(address)
        try:
            read_table(address, sql="select 1")
            yield False
        except TableError as error:
            yield "hunter2" not in str(error)
        done = command("describe", address, "--sql", "select 1", cwd=folder)
        yield done.returncode == 3 and b"hunter2" not in done.stdout + done.stderr


def tables(folder: Path) -> Outcomes:
    """Damaged CSV, Parquet, Feather, Arrow and JSON lines files: a table, or an error in words."""
    rng = np.random.RandomState(1)
    frame = pd.DataFrame({"g": np.repeat([f"s{i}" for i in range(20)], 5),
                          "x": rng.normal(size=100), "y": np.arange(100) % 2})  # fmt: skip
    draw = random.Random(11)
    for suffix in (".csv", ".tsv", ".parquet", ".feather", ".jsonl"):
        path = write_table(frame, folder / f"t{suffix}")
        whole = path.read_bytes()
        for case in range(160):
            content = bytearray(whole)
            if case % 4 == 0:
                del content[draw.randrange(len(content)) :]
            else:
                for _ in range(case % 4):
                    content[draw.randrange(len(content))] = draw.randrange(256)
            path.write_bytes(bytes(content))
            try:
                read_table(path)
                yield True
            except TableError:
                yield True
            except Exception:
                yield False


def cells(folder: Path) -> Outcomes:
    """Texts that a spreadsheet would run, in cells and names; escapes of terminals."""
    tests = cases_of("test_outputs")
    for text in tests.FORMULAS + tests.HARMLESS:
        frame = pd.DataFrame({text or "e": [text]})
        written = write_table(frame, folder / "o.csv").read_bytes().decode()
        first = written.lstrip('"')[:1]
        yield text not in tests.FORMULAS or first == "'"
    for code in [*range(32), 127, *range(128, 160), *range(0x200B, 0x2010), *range(0x202A, 0x202F),
                 *range(0x2066, 0x206A), 0xFEFF, 0xD83D]:  # fmt: skip
        shown = visible(f"a{chr(code)}b")
        yield shown.isascii() and (shown.isprintable() or chr(code) in "\n\t")


def ids(folder: Path) -> Outcomes:
    """Distinct ids stay apart, long ones cost what they are, others are refused in words."""
    import tracemalloc

    for made in ([2**63, 2**63 + 1, -1], [2**64, 2**64 + 1], ["a", "a\0"], ["", "\0"],
                 [2**53, 2**53 + 1, 0.5], [1, "1"], [b"a", b"a\0"], [True, "True"]):  # fmt: skip
        yield Groups(made).n_groups == len(made)
    for length in (1_000, 20_000, 100_000):
        tracemalloc.start()
        groups = Groups(["x"] * 20_000 + ["y" * length])
        yield groups.n_groups == 2 and tracemalloc.get_traced_memory()[1] < 16 << 20
        tracemalloc.stop()
    for bad in ([], {}, set(), np.zeros(2)):
        try:
            Groups(["a", bad])
            yield False
        except GroupDataError:
            yield True


def interruptions(folder: Path) -> Outcomes:
    """Stops at each write of a comparison, which then continues; Ctrl-C at twelve moments."""
    tests = cases_of("test_interruption")
    y = np.tile(["a", "b"], 20).repeat(4)
    frame = pd.DataFrame({"session": np.arange(40).repeat(4), "kind": y,
                          "x": (y == "b") + np.random.RandomState(0).normal(size=160)})  # fmt: skip
    table = folder / "t.parquet"
    frame.to_parquet(table)
    for how, stop in tests.STOPS.items():
        for at in (1, 2, 3, 4):
            program = (
                "import os\nreally, n = os.replace, 0\ndef stop(*a):\n    global n\n    n += 1\n"
                f"    if n == {at}: {stop}\n    return really(*a)\nos.replace = stop\n" + PROGRAM
            )
            out = folder / f"{how}{at}"
            tests.compare(table, out, program=program)
            done = tests.compare(table, out)
            yield done.returncode == 0 and not list(out.rglob("*.part"))
    for moment in np.linspace(0.05, 2.5, 12):
        process = subprocess.Popen(
            [sys.executable, "-c", SPEAKING, "fit", str(table), "-g",
             "session", "-l", "kind", "-q"],
            cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        process.stdout.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=120)[1]
        yield process.returncode == 0 or (
            process.returncode == 130 and errors.strip() == b"error: interrupted"
        )


def settings():
    """The settings of all estimators that the rooms' contract tests try, and some more, by text."""
    found = {}
    for room in ROOMS:
        lists = [v for v in vars(cases_of("test_contract", room)).values() if isinstance(v, list)]
        for setting in [s for each in lists for s in each if hasattr(s, "get_params")]:
            found.setdefault(" ".join(repr(setting).split()), setting)
    trees = HistTrees(2, n_jobs=1)
    for setting in [
        *(WeightedTransferClassifier(trees, weighting=w) for w in ("logistic", "kliep", "kmm")),
        *(WeightedTransferClassifier(weighting=w) for w in ("logistic", "kliep", "kmm", "union")),
        GroupBoostClassifier("majority_softmax", n_estimators=4, trees=trees, engine="xgboost"),
        GroupBoostClassifier("presence", n_estimators=4, trees=trees, engine="xgboost"),
        GroupBoostRegressor("total", n_estimators=4, trees=trees, engine="xgboost"),
        GroupBoostClassifier(n_estimators=4, trees=trees, early_stopping=True),
        GroupBoostMultilabelClassifier(n_estimators=4, trees=trees),
        KernelCountClassifier(goal="transduction", alphas=(0.1,), cv=2, widths=(1.0,), rhos=(1.0,)),
        GroupStatisticsClassifier(),
        GroupStatisticsRegressor(),
        NaiveGroupClassifier(),
        BoostedRowsClassifier(n_estimators=5, n_jobs=1, balance_groups=True),
        TransductiveSVC(C=10.0, unlabeled_cost=1.0),
    ]:
        found.setdefault(" ".join(repr(setting).split()), setting)
    missing = set(all_estimators()) - {type(setting).__name__ for setting in found.values()}
    assert not missing, f"no contract test has {missing}"
    return found


def answer_questions(pipe):
    """In a process of its own, which may hang or die: the outcome of a setting and an odd input."""
    odd, known = cases_of("test_odd_inputs"), settings()
    auto.first_candidates = cases_of("test_contract", "auto").candidates  # of milliseconds
    incontext.load_network = lambda device: cases_of("test_contract", "incontext").short_network()
    with contextlib.suppress(EOFError):
        while True:
            setting, name = pipe.recv()
            pipe.send(odd.outcome(known[setting], odd.ODD[name]))


class Asker:
    """Asks the process, and starts another one where there is no answer in time."""

    def __init__(self):
        self.context, self.process = multiprocessing.get_context("spawn"), None

    def __call__(self, setting, name):
        if self.process is None:
            self.pipe, there = self.context.Pipe()
            self.process = self.context.Process(target=answer_questions, args=(there,), daemon=True)
            self.process.start()
            there.close()
            self.pipe.send((next(iter(settings())), "DataFrame"))
            self.pipe.recv()  # everything is imported
        self.pipe.send((setting, name))
        try:
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
            found = f"slow: no answer in {SECONDS} s"
        except EOFError:
            found = "died"
        self.process.kill()
        self.process.join()
        self.process = None
        return found


def estimators(folder: Path) -> Outcomes:
    """Odd inputs to every setting of every estimator: finite answers, or an error in words."""
    odd, ask = cases_of("test_odd_inputs"), Asker()
    for setting, estimator in settings().items():
        if not re.search(ONLY, setting):
            continue
        print(time.strftime("%H:%M:%S"), setting, file=sys.stderr, flush=True)
        for name, case in odd.ODD.items():
            if odd.applies(case, name, estimator):
                found = ask(setting, name)
                if found not in ("finite", "refused"):
                    print(json.dumps([setting, name, found]), file=sys.stderr, flush=True)
                yield found in ("finite", "refused")


def results(folder: Path) -> Outcomes:
    """Results altered in one place: a report, or an error in words."""
    y = np.tile(["a", "b"], 10).repeat(4)
    table = folder / "t.parquet"
    x = (y == "b") + np.random.RandomState(0).normal(size=80)
    pd.DataFrame({"session": np.arange(20).repeat(4), "kind": y, "x": x}).to_parquet(table)
    out = folder / "c"
    command("compare", table, "-g", "session", "-l", "kind", "-m", "naive-logistic", "-m", "sboost",
            "--folds", "2", "--no-search", "-q", "-o", out)  # fmt: skip
    text = (out / "result.json").read_text()
    values = [None, True, -1, 0, 10**9, 10**400, 1e308, float("nan"), float("inf"), "", "x", "<b>",
              [], [1], {}, {"a": 1}, [[]]]  # fmt: skip
    draw = random.Random(3)
    for case in range(400):
        content = json.loads(text)
        node, place = draw.choice(list(places(content)))
        node[place] = draw.choice([*values, [node[place]] * 2])
        if case % 5 == 0:
            del node[place]
        try:
            render(Result.from_json(json.dumps(content), "r.json"))
            yield True
        except TableError as error:
            yield "r.json" in str(error)
        except Exception as error:
            print(json.dumps([str(place), repr(error)]), file=sys.stderr, flush=True)
            yield False
    for levels in (1_000, 100_000, 1_000_000):
        for begin, end in (("[", "]"), ('{"a":', "}")):
            try:
                Result.from_json(begin * levels + "1" + end * levels, "r.json")
                yield False
            except TableError as error:
                yield "r.json" in str(error)


def places(node):
    """Every list or dictionary inside, with each of its keys; of long lists the first three."""
    keys = list(node) if isinstance(node, dict) else range(min(3, len(node)))
    for key in keys:
        yield node, key
        if isinstance(node[key], dict | list):
            yield from places(node[key])


AREAS: dict[str, tuple[str, Callable[[Path], Outcomes]]] = {
    "trees": ("random trees of classes and loaders: nothing called or written", trees),
    "chains": ("every class as constructor, method, key or partial: refused", chains),
    "damage": ("model file cut or bits flipped: never another model, always words", damage),
    "bombs": ("files that unpack to gigabytes: refused in 32 MB", bombs),
    "nesting": ("JSON nested up to a million levels: refused in words", nesting),
    "sql": ("statements on DuckDB and SQLite: reads read, nothing else happens", sql),
    "passwords": ("addresses with a password: shown nowhere", passwords),
    "tables": ("damaged tables: read, or refused in words", tables),
    "cells": ("formulas in CSV, escapes on terminals: neutralised", cells),
    "ids": ("ids: apart, cheap, or refused in words", ids),
    "results": ("results altered or nested without end: a report, or refused in words", results),
    "interruptions": (
        "stopped at a write: continues; Ctrl-C while loading: one line",
        interruptions,
    ),
    "estimators": (
        "odd inputs to every estimator: finite answers, or words",
        estimators,
    ),
}


def main(wanted: list[str]) -> None:
    print("| area | tried | survived |\n| --- | ---: | ---: |", flush=True)
    for name, (words, attack) in AREAS.items():
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as folder:
            outcomes = list(attack(Path(folder)))
            os.chdir("/")
        print(f"| {words} | {len(outcomes):,} | {sum(outcomes):,} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
