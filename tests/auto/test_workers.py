"""Processes, time, memory and disk; candidates that fit in milliseconds."""

import io
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
import psutil
import pytest

from groupwise.auto import AutoGroupClassifier, budget, runner, workers
from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate
from groupwise.auto.entries import Certainty, Entry, Task
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.kinds import Labels
from groupwise.auto.members import FoldAnswer
from groupwise.auto.problem import Problem
from groupwise.auto.processes import Process, Starter
from groupwise.auto.store import Store
from groupwise.datasets import make_sessions
from groupwise.groups import Groups
from groupwise.methods import Method
from tests.auto.conftest import cheap

SLEEPER = """
import time
from groupwise.majority import NaiveGroupClassifier

class Sleeper(NaiveGroupClassifier):
    def _learn(self, data):
        time.sleep(60)

class Glutton(NaiveGroupClassifier):
    def _learn(self, data):
        block = bytearray(2**28)
        block[::4096] = b"x" * len(block[::4096])
        time.sleep(60)

class Quitter(NaiveGroupClassifier):
    def _learn(self, data):
        import os
        os._exit(3)

class Refuser(NaiveGroupClassifier):
    def _learn(self, data):
        raise ValueError("too many rows")
"""


@pytest.fixture
def troublemakers(tmp_path, monkeypatch):
    (tmp_path / "troublemakers.py").write_text(SLEEPER)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "troublemakers:"


def stopped(limit):
    """A budget whose clock stands still."""
    return Budget(limit, clock=lambda: 0.0)


def fit(data, **options):
    model = AutoGroupClassifier(cv=2, random_state=0, **options)
    return model.fit(data.X, data.y, groups=data.groups)


def same(one, other, data):
    answers = (m.predictions(data.X, data.groups) for m in (one, other))
    first, second = ((p.proba_row, p.proba_group) for p in answers)
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])
    assert one.estimate_ == other.estimate_


@pytest.mark.long
@pytest.mark.parametrize("can_fork", [True, False])
def test_the_model_does_not_depend_on_the_number_of_processes(
    data, cheap_candidates, monkeypatch, can_fork
):
    monkeypatch.setattr(workers, "Starter", partial(Starter, can_fork=can_fork))
    same(fit(data), fit(data, n_jobs=2), data)


@pytest.mark.long
def test_workers_end_with_the_process_that_started_them(data, cheap_candidates, tmp_path):
    """Killed, it cannot end them: their input does."""
    script = tmp_path / "run.py"
    script.write_text(
        "import sys, time\n"
        "from pathlib import Path\n"
        "import joblib\n"
        "from groupwise.auto.processes import Process, Starter\n"
        "if __name__ == '__main__':\n"
        f"    job = Path({str(tmp_path / 'job')!r})\n"
        "    joblib.dump((None, None, 0, job.parent, '', ()), job)\n"
        "    process = Process(Starter(job))\n"
        "    while not process.is_ready():\n"
        "        time.sleep(0.01)\n"
        "    print(process._id, flush=True)\n"
        "    time.sleep(60)\n"
    )
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
    )
    worker = psutil.Process(int(process.stdout.readline()))
    source = worker.parent()
    process.kill()
    process.communicate()
    gone, alive = psutil.wait_procs([worker, source], timeout=20)
    assert len(gone) == 2 and not alive


def test_finished_folds_are_kept_and_the_run_goes_on(data, cheap_candidates, tmp_path, monkeypatch):
    whole = fit(data, folder=tmp_path / "race")
    kept = sorted((tmp_path / "race").iterdir())
    assert len(kept) == 6  # three candidates, two folds
    for path in kept[1::2]:
        path.unlink()
    same(fit(data, folder=tmp_path / "race"), whole, data)
    # all there: no candidate is fitted on a fold again
    monkeypatch.setattr(runner.Fold, "answer", lambda *_: pytest.fail("fitted again"))
    same(fit(data, folder=tmp_path / "race"), whole, data)


@pytest.mark.long
def test_other_data_do_not_go_on(data, cheap_candidates, tmp_path):
    fit(data, folder=tmp_path)
    other = make_sessions(data.X, data.y_row, size=5, n_other=(0, 2), random_state=5)
    fit(other, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 12


@pytest.mark.long
def test_killed_and_started_again_gives_the_same_model(data, cheap_candidates, tmp_path):
    script = tmp_path / "run.py"
    np.savez(tmp_path / "data.npz", X=data.X, y=data.y, groups=data.groups)
    script.write_text(
        "import sys, time, numpy as np\n"
        "from groupwise.auto import AutoGroupClassifier, store, base\n"
        "from tests.auto.conftest import cheap\n"
        "base.first_candidates = lambda kind, **_: cheap(kind)\n"
        "put = store.Store.put\n"
        "def slow(*given):\n"
        "    put(*given); time.sleep(0.2)\n"
        "store.Store.put = slow\n"
        f"d = np.load({str(tmp_path / 'data.npz')!r})\n"
        f"model = AutoGroupClassifier(cv=2, random_state=0, folder={str(tmp_path / 'race')!r})\n"
        "model.fit(d['X'], d['y'], groups=d['groups'])\n"
    )
    paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
    process = subprocess.Popen(
        [sys.executable, str(script)], env=os.environ | {"PYTHONPATH": paths}
    )
    until = time.monotonic() + 60
    while time.monotonic() < until and len(list((tmp_path / "race").glob("*.npz"))) < 2:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    n_kept = len(list((tmp_path / "race").glob("*.npz")))
    assert 2 <= n_kept < 6
    same(fit(data, folder=tmp_path / "race"), fit(data), data)


@pytest.mark.long
def test_candidates_that_run_away_are_left_out(data, add_candidates, troublemakers, monkeypatch):
    trouble = {"Sleeper": "took longer than 2 s", "Quitter": "ended with 3", "Glutton": "used more"}
    add_candidates(*(troublemakers + name for name in trouble))
    monkeypatch.setattr(budget, "_ONE_FOLD", 0.02)
    memory = type("Memory", (), {"available": 2**28 * 1.2})
    monkeypatch.setattr(workers.psutil, "virtual_memory", lambda: memory)
    model = fit(data, time_limit=100.0)
    board = model.leaderboard_.set_index("method")
    for name, reason in trouble.items():
        assert board.loc[name, "state"] == "failed" and reason in board.loc[name, "reason"]
    assert len(model.members_) == 3


@pytest.mark.slow
def test_the_limit_holds_and_the_model_is_usable(data, add_candidates, troublemakers):
    add_candidates(troublemakers + "Sleeper")
    started = time.monotonic()
    model = fit(data, time_limit=5.0)
    assert time.monotonic() - started < 8.0  # other tests may be running
    assert model.leaderboard_["state"].iloc[-1] in ("out of time", "failed")
    assert model.predict_groups(data.X, data.groups).shape == (len(np.unique(data.groups)),)


@pytest.mark.parametrize("can_fork", [True, False])
def test_a_last_fit_that_fails_says_why(data, troublemakers, monkeypatch, can_fork):
    """Its process ends, and does not wait for ever for another task."""
    monkeypatch.setattr(workers, "Starter", partial(Starter, can_fork=can_fork))
    kind = Labels("majority")
    problem = Problem(data.X, data.y, Groups(data.groups), 2)
    entry = Entry(Candidate(Method("majority", "refuser", troublemakers + "Refuser", "")))
    entry.folds[0] = FoldAnswer({}, 1.0)
    with fold_tables(problem, kind.splits(problem, 2, 0)) as tables:
        runner = workers.Workers(kind, tables, 0, None, Budget(None, n_jobs=2))
        try:
            with pytest.raises(ValueError, match="too many rows"):
                runner.refit([entry])
        finally:
            runner.close()


@pytest.mark.long
@pytest.mark.parametrize(
    ("left", "seconds", "fitted"),
    [
        (60.0, [3.0, 2.0, 1.0], [True, True, True]),
        (-1.0, [3.0, 2.0, 1.0], [False, False, True]),
        (-1.0, [0.5, 0.8, 0.4], [True, True, True]),
        (-1.0, [0.8, 1.0, 0.4], [True, False, True]),
    ],
)
def test_members_that_are_not_fitted_in_time_are_left_out(data, left, seconds, fitted):
    """With time all are; when it is over the quickest, and what fits into three seconds more."""
    kind = Labels("majority")
    problem = Problem(data.X, data.y, Groups(data.groups), 2)
    entries = [Entry(candidate) for tier in cheap("majority")[0] for candidate in tier]
    for entry, of_fold in zip(entries, seconds, strict=True):  # all rows take twice as long
        entry.folds[0] = FoldAnswer({}, of_fold)
    with fold_tables(problem, kind.splits(problem, 2, 0)) as tables:
        behind = 60.0 - left  # the clock began so long ago
        start = iter([time.monotonic() - behind])
        limit = Budget(60.0, n_jobs=2, clock=lambda: next(start, None) or time.monotonic())
        runner = workers.Workers(kind, tables, 0, None, limit)
        try:
            members = runner.refit(entries)
        finally:
            runner.close()
    names = [entry.candidate.name for entry in entries]
    assert [member is not None for member in members] == fitted
    assert all(m is None or m.name == name for m, name in zip(members, names, strict=True))


@pytest.mark.parametrize(("limit", "n_helped"), [(None, 3), (60.0, 2)])
def test_what_cannot_be_ended_is_short(data, limit, n_helped):
    """Where no process is ready this one helps; with a limit with the cheapest two."""
    kind = Labels("majority")
    problem = Problem(data.X, data.y, Groups(data.groups), 2)
    candidates = [replace(c, is_baseline=True) for tier in cheap("majority")[0] for c in tier]
    waiting = [Task(Entry(candidate), 0) for candidate in candidates]
    with fold_tables(problem, kind.splits(problem, 2, 0)) as tables:
        runner = workers.Workers(kind, tables, 0, None, Budget(limit, n_jobs=2))
        try:
            helped = [runner._help_at_the_start(waiting) for _ in range(4)]
        finally:
            runner.close()
    assert sum(helped) == n_helped
    assert len(waiting) == 3 - n_helped


def test_who_gets_which_task(data):
    """Each keeps its fold and what it has fitted, and helps with another's fold at last."""
    first, second, third = (c for tier in cheap("majority")[0] for c in tier)
    by_mean = replace(first, params={"rule": "mean"})
    kind = Labels("majority")
    problem = Problem(data.X, data.y, Groups(data.groups), 2)
    with fold_tables(problem, kind.splits(problem, 4, 0)) as tables:
        runner = workers.Workers(kind, tables, 0, None, Budget(None, n_jobs=2))
        try:
            one, other = runner._processes = [Recorded(), Recorded()]
            waiting = [Task(Entry(c), 0) for c in (first, second, by_mean, third)]
            waiting.append(Task(Entry(first), 1, Certainty.SURE))
            waiting.append(Task(Entry(first), 2, Certainty.LIKELY))
            for process in (one, other, other, other, other, one, one):
                runner._hand_out(process, waiting)
        finally:
            runner._processes = []
            runner.close()
    assert one.asked == [(first.name, 0), (by_mean.name, 0)]
    # its own fold, then help, what may be in vain last
    assert other.asked == [(first.name, 1), (second.name, 0), (third.name, 0), (first.name, 2)]


class Recorded(Process):
    """Nothing is started."""

    def __init__(self):
        self._starter, self.asked = None, []
        self.fold, self.fits = None, set()
        self._handle = type("Handle", (), {"tasks": io.BytesIO()})

    def ask(self, task, result):
        self.asked.append((task[0].name, task[1]))
        super().ask(task, result)


def test_a_folder_knows_what_was_learned_from(data, tmp_path):
    """Folds may be tested on the same groups, and learn from fewer."""
    rows = np.arange(len(data.X))
    inside = np.isin(data.groups, np.unique(data.groups)[::4])
    tests = [rows[inside], rows[np.isin(data.groups, np.unique(data.groups)[1::4])]]
    all_others = [(np.setdiff1d(rows, test), test) for test in tests]
    half = [(train[np.asarray(data.groups)[train] % 2 == 0], test) for train, test in all_others]
    problem = Problem(np.asarray(data.X), np.zeros(len(rows), int), Groups(data.groups), 2)
    kind = AutoGroupClassifier()._resolve_kind()
    digests = {Store.digest_of(kind, problem, splits, 0) for splits in (all_others, half)}
    assert len(digests) == 2


def test_a_folder_does_not_know_functions_apart(tmp_path):
    model = AutoGroupClassifier("measure", measure=lambda y, s: 1.0, folder=tmp_path)
    with pytest.raises(ValueError, match="a folder knows measures by name"):
        model.fit(np.zeros((4, 1)), [0, 1, 0, 1], groups=[0, 0, 1, 1])
