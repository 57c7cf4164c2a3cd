"""Killed, interrupted, forked and started in odd surroundings."""

import itertools
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from groupwise import forks

PROGRAM = "import groupwise.cli; groupwise.cli.main()"
SPEAKING = "import groupwise.cli; print('up', flush=True); groupwise.cli.main()"


def command(*arguments, program=PROGRAM, **options):
    return subprocess.run([sys.executable, "-c", program, *map(str, arguments)],
                          **{"capture_output": True, "timeout": 120, **options})  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.RandomState(0)
    y = np.tile(["a", "b"], 20).repeat(4)
    frame = pd.DataFrame({"session": np.arange(40).repeat(4), "kind": y,
                          "x": (y == "b") + rng.normal(size=160)})  # fmt: skip
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    frame.to_parquet(path)
    return path


@pytest.fixture
def compare(run, table):
    def words(folder, *more):
        return ["compare", table, "-g", "session", "-l", "kind", "-m", "naive-logistic", "--folds",
                2, "--no-search", "-q", "-o", folder, *more]  # fmt: skip

    def compare(folder, *more, program=None):
        if program is None:
            return run(*words(folder, *more))
        return command(*words(folder, *more), program=program)

    return compare


# ``os.replace`` is the moment a file becomes whole; it stops at one of the writes.


@pytest.mark.parametrize("at", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_killed_comparison_continues(compare, tmp_path, at):
    program = (
        "import os\nreally, n = os.replace, 0\ndef stop(*a):\n    global n\n    n += 1\n"
        f"    if n == {at}: os.kill(os.getpid(), 9)\n    return really(*a)\nos.replace = stop\n"
    )
    folder = tmp_path / "c"
    assert compare(folder, program=program + PROGRAM).returncode == -9
    check_continues(compare, folder)


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("at", [1, 2])
def test_a_stopped_comparison_continues(compare, tmp_path, monkeypatch, error, at):
    writes = itertools.count(1)
    really = os.replace

    def stop(*paths):
        if next(writes) == at:
            raise error
        return really(*paths)

    folder = tmp_path / "c"
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        assert compare(folder).exit_code in (5, 130)
    check_continues(compare, folder)


def check_continues(compare, folder):
    done = compare(folder)
    assert done.exit_code == 0, done.stderr
    assert (folder / "result.json").exists() and not list(folder.rglob("*.part"))


def test_a_folder_of_somebody_else_is_still_refused(compare, tmp_path):
    folder = tmp_path / "c"
    for name in ("notes.txt", ".plan.json.part", "folds/mine.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("mine")
        done = compare(folder)
        assert done.exit_code == 3 and "is not empty" in done.stderr
        (folder / name).unlink()


def test_folds_of_another_plan_are_not_mixed_in(compare, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    assert compare(one, "--seed", 1).exit_code == 0
    assert compare(other, "--seed", 2).exit_code == 0
    fold = "folds/naive-logistic.0.json"
    (one / fold).write_bytes((other / fold).read_bytes())
    (one / "result.json").unlink()
    done = compare(one, "--seed", 1)
    assert done.exit_code == 3 and "another plan" in done.stderr
    (one / fold).unlink()
    assert compare(one, "--seed", 1).exit_code == 0
    content = json.loads((one / "result.json").read_text())
    assert "plan" not in content["methods"]["naive-logistic"][0]


@pytest.mark.parametrize("moment", [0.15, 0.5, 1.2])
def test_control_c_in_the_first_seconds(table, moment, tmp_path):
    """From our first line on; the start before it is Python's."""
    process = subprocess.Popen(
        [sys.executable, "-c", SPEAKING, "fit", str(table), "-g",
         "session", "-l", "kind", "-q"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdout.readline()
    time.sleep(moment)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    if process.returncode != 0:  # else it was quicker
        assert process.returncode == 130
        assert errors.decode().strip() == "error: interrupted"


@pytest.mark.long
def test_a_closed_standard_input():
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -c "{PROGRAM}" describe - <&-'],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3 and done.stderr == b"error: -: standard input is closed\n"


@pytest.mark.long
def test_plain_c_locale_and_a_path_that_is_not_ascii(table, tmp_path):
    folder = tmp_path / "größe"
    folder.mkdir()
    source = folder / "tämä.parquet"
    source.write_bytes(table.read_bytes())
    locale = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    model, page = folder / "m.skops", folder / "p.html"
    done = command("fit", source, "-g", "session", "-l", "kind", "-m", "naive-logistic", "--folds",
                   2, "-o", model, "--report", page, env={**os.environ, **locale})  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "tämä" in page.read_text(encoding="utf-8") and model.exists()


# Forks.


def _child(queue):
    try:
        forks.use_engine("test-engine")
        queue.put("went on")
    except RuntimeError as error:
        queue.put(str(error))


@pytest.mark.parametrize(("threads", "says"), [("2", "would wait for ever"), ("1", "went on")])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_engine_with_threads_is_refused_after_a_fork(threads, says, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    monkeypatch.setattr(forks, "_used", set())
    forks.use_engine("test-engine")
    forks.use_engine("test-engine")  # here it goes on working
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_child, args=(queue,))
    process.start()
    assert says in queue.get(timeout=30)
    process.join()


def test_xgboost_after_a_fork_says_so(tmp_path):
    pytest.importorskip("xgboost")
    program = """
import multiprocessing, numpy as np
from groupwise import GroupBoostClassifier
X = np.random.RandomState(0).normal(size=(400, 3)); y = (X[:, 0] > 0).astype(int)
model = GroupBoostClassifier(engine="xgboost", n_estimators=3)
def fit(queue):
    try: model.fit(X, y, groups=np.arange(400)); queue.put("fitted")
    except RuntimeError as error: queue.put(str(error))
model.fit(X, y, groups=np.arange(400))
context = multiprocessing.get_context("fork"); queue = context.Queue()
context.Process(target=fit, args=(queue,)).start()
print(queue.get(timeout=60))
"""
    done = command(program=program, text=True, env={**os.environ, "OMP_NUM_THREADS": "2"})
    assert "would wait for ever" in done.stdout, done.stderr


def test_checkpoints_carry_a_digest(tmp_path):
    pytest.importorskip("distributed")
    import xgboost

    from groupwise.dask.checkpoint import Checkpoint, CheckpointState, read_checkpoint

    path = Path(tmp_path / "fit.json")
    trees = xgboost.train({}, xgboost.DMatrix([[0.0], [1.0]], [0, 1]), num_boost_round=5)
    booster = trees.save_raw("json").decode()
    state = CheckpointState(5, {"train": [0.5, float("nan")]}, booster)
    Checkpoint(str(path), 5, {"a": (1, 2)}).write(state)
    assert read_checkpoint(path, {"a": [1, 2]}).booster == state.booster
    whole = path.read_text()
    altered = [whole.replace("5E-1", "6E-1"), whole.replace(": 5", ": 6"), whole[:-9],
               json.dumps(json.loads(whole) | {"booster": None}), whole.replace("0.5", '"x"'),
               json.dumps(json.loads(whole) | {"n_rounds": "five"}), "[" * 100_000, "null", "",
               whole.replace('"digest"', '"other"')]  # fmt: skip
    for text in altered:
        path.write_text(text)
        with pytest.raises(ValueError, match=r"fit\.json (was altered|is no checkpoint)"):
            read_checkpoint(path, {"a": [1, 2]})
