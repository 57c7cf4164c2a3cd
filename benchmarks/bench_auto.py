"""Time, processes and memory of the automatic choice on tables of any size.

Run ``python benchmarks/bench_auto.py [limits|long|jobs|large|memory]`` on an idle machine. Rows of
made-up sessions in groups of ten, 20 features; limits are seconds on the clock: other work counts.

- ``limits``: wall seconds against ``time_limit``, for 500 to a million rows.
- ``long``: ten minutes on 500 rows and on a million.
- ``jobs``: one process against two, in turns, without a limit, on 2,000 rows.
- ``large``: 100 thousand rows of 50 features within 300 seconds of CPU.
- ``memory``: the most that a fit holds beside its table, less what it holds for 500 rows (programs,
  most of it) and what fitting its largest member alone holds.
"""

import logging
import os
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import psutil
from harness import Report

from groupwise.auto import AutoGroupClassifier
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Labels, Problem
from groupwise.auto.members import Trainer
from groupwise.groups import Groups
from groupwise.methods import get_method

logger = logging.getLogger("bench_auto")


def data(n_rows: int, n_features: int = 20, size: int = 10) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    groups = np.repeat(np.arange(n_rows // size), size)
    signal = X[:, :3].sum(axis=1).reshape(-1, size).mean(axis=1) * np.sqrt(size)
    y = (signal + rng.normal(size=len(signal)) > 0).astype(int)
    return X, y[groups], groups


class Spent:
    """CPU seconds and the most memory (MiB) of this process and those it starts.

    Memory is what is resident in all of them, shared pages counted once (PSS); both are looked at
    every so many seconds, so that what a process did since the last look is missed.
    """

    def __init__(self, every: float = 0.5):
        self.every = every

    def __enter__(self) -> "Spent":
        self.cpu, self.most, self._seen = 0.0, 0.0, {}
        self._start = self._memory()
        self._own = time.process_time()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _memory(self) -> float:
        total = 0
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                total += process.memory_full_info().pss
                if process.pid != os.getpid():
                    times = process.cpu_times()
                    self._seen[process.pid] = times.user + times.system
            except psutil.Error:  # it ended meanwhile
                continue
        return total / 2**20

    def _watch(self) -> None:
        while not self._done.wait(self.every):
            self.most = max(self.most, self._memory() - self._start)

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.cpu = time.process_time() - self._own + sum(self._seen.values())


def limits(report: Report) -> None:
    lines = []
    for n_rows in (500, 10_000, 100_000, 1_000_000):
        rows = data(n_rows)
        for limit in (10, 60):
            lines.append(one_limit(rows, limit))
    report.add("Limits held", lines, "Asked: within 10 % or one second.")


def long(report: Report) -> None:
    lines = [one_limit(data(n_rows), 600) for n_rows in (500, 1_000_000)]
    report.add("Ten minutes", lines, "Asked: within 10 %.")


def one_limit(rows: tuple[Any, Any, Any], limit: float) -> dict[str, Any]:
    X, y, groups = rows
    model = AutoGroupClassifier("majority", time_limit=limit, n_jobs=2, random_state=0)
    with Spent() as spent:
        started = time.monotonic()
        model.fit(X, y, groups=groups)
        wall = time.monotonic() - started
    board = model.leaderboard_
    line = {
        "rows": f"{len(y):,}",
        "limit s": limit,
        "wall s": round(wall, 1),
        "over": f"{wall / limit - 1:+.0%}",
        "candidates finished": int(board["state"].isin(["finished", "chosen"]).sum()),
        "groups used": f"{model.n_groups_used_:,}",
        "estimate": round(model.estimate_.score, 3),
        "load": round(os.getloadavg()[0], 1),
        "memory MiB": round(spent.most),
    }
    logger.info("%s", line)
    return line


def jobs(report: Report) -> None:
    X, y, groups = data(2_000)
    wall: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    answers = []
    for _ in range(2):
        for n_jobs in wall:
            model = AutoGroupClassifier("majority", n_jobs=n_jobs, random_state=0)
            started, before = time.monotonic(), os.times()
            model.fit(X, y, groups=groups)
            wall[n_jobs].append(time.monotonic() - started)
            # user and system time of this process and of those that it has waited for
            spent = sum(os.times()[:4]) - sum(before[:4])
            cpu[n_jobs].append(spent)
            answers.append(model.predict_groups_proba(X, groups))
            logger.info("%d jobs: %.1f s, %.1f s of CPU", n_jobs, wall[n_jobs][-1], spent)
    ratio = [one / two for one, two in zip(wall[1], wall[2], strict=True)]
    line = {
        "one process s": round(float(np.median(wall[1])), 1),
        "two processes s": round(float(np.median(wall[2])), 1),
        "times quicker": " ".join(f"{value:.2f}" for value in ratio),
        "one, CPU s": " ".join(f"{value:.1f}" for value in cpu[1]),
        "two, CPU s": " ".join(f"{value:.1f}" for value in cpu[2]),
        "same answers": all(np.array_equal(answers[0], other) for other in answers),
    }
    report.add("Two processes, 2,000 rows, no limit", [line], "Asked: 1.7 times.")


def large(report: Report) -> None:
    X, y, groups = data(100_000, 50)
    with Spent() as spent:
        started = time.monotonic()
        model = AutoGroupClassifier("majority", time_limit=150, n_jobs=2, random_state=0)
        model.fit(X, y, groups=groups)
        wall = time.monotonic() - started
    board = model.leaderboard_
    line = {
        "wall s": round(wall, 1),
        "cpu s": round(spent.cpu, 1),
        "candidates finished": int(board["state"].isin(["finished", "chosen"]).sum()),
        "groups used": f"{model.n_groups_used_:,} of {len(np.unique(groups)):,}",
    }
    logger.info("%s", line)
    report.add(
        "100,000 rows of 50 features, 150 s with two processes",
        [line],
        "Asked: five candidates in 300 s of CPU.",
    )


def memory(report: Report) -> None:
    lines = [one_memory(1_000_000, 20, 600.0), one_memory(100_000, 50, 150.0)]
    report.add(
        "Memory with two processes",
        lines,
        "MiB; asked: at most three times the table beyond the largest member.",
    )


def one_memory(n_rows: int, n_features: int, limit: float) -> dict[str, Any]:
    table = data(n_rows, n_features)
    few = [part[:500] for part in table]
    fixed, _ = in_new_process(memory_of_fit, few, 20.0)
    most, (members, n_groups) = in_new_process(memory_of_fit, table, limit)
    rows = [part[: 10 * n_groups] for part in table]
    alone = {name: in_new_process(memory_of_member, rows, method)[0] for name, method in members}
    largest = max(alone, key=lambda name: alone[name])
    size = table[0].nbytes / 2**20
    line = {
        "rows": f"{n_rows:,}",
        "features": n_features,
        "limit s": round(limit),
        "table": round(size),
        "groups used": f"{n_groups:,}",
        "of 500 rows": round(fixed),
        "in all": round(most),
        "largest member": f"{largest} {alone[largest]:.0f}",
        "beyond, tables": round((most - fixed - alone[largest]) / size, 2),
    }
    logger.info("%s", line)
    return line


def in_new_process(function: Any, *given: Any) -> Any:
    """So that nothing is left from the last one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def memory_of_fit(table: Any, time_limit: float) -> tuple[float, Any]:
    X, y, groups = table
    with Spent(every=0.1) as spent:
        model = AutoGroupClassifier("majority", time_limit=time_limit, n_jobs=2, random_state=0)
        model.fit(X, y, groups=groups)
    board = model.leaderboard_
    chosen = board[board["state"] == "chosen"]
    members = zip(chosen["method"], chosen["params"], strict=True)
    named = [(f"{name} {params or ''}".strip(), (name, params)) for name, params in members]
    return spent.most, (named, model.n_groups_used_)


def memory_of_member(table: Any, member: tuple[str, dict[str, Any]]) -> tuple[float, None]:
    """With what its columns need."""
    X, y, groups = table
    name, params = member
    method = get_method("majority", name, n_rows=len(y), n_classes=2)
    problem = Problem(X, y, Groups(groups), 2)
    with Spent(every=0.02) as spent:
        Trainer(Labels("majority"), problem, 0).fit(Candidate(method, params))
    return spent.most, None


SECTIONS = {"limits": limits, "long": long, "jobs": jobs, "large": large, "memory": memory}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for section in sys.argv[1:] or SECTIONS:
        report = Report(f"auto_{section}", "The automatic choice: time, processes, memory")
        SECTIONS[section](report)
