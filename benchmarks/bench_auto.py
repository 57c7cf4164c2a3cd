"""Time, processes and memory of the automatic choice on tables of any size.

Run ``python benchmarks/bench_auto.py [limits|kinds|long|jobs|large|memory]`` on an idle machine.
Rows of made-up sessions in groups of ten, 20 features; limits are seconds on the clock: other
work counts.

- ``limits``: wall seconds against ``time_limit``, for 500 to a million rows.
- ``kinds``: the same for a million rows of every other kind.
- ``long``: ten minutes on 500 rows and on a million.
- ``jobs``: one process against two, in turns, without a limit, on 2,000 rows.
- ``large``: 100 thousand rows of 50 features within 300 seconds of CPU.
- ``memory``: the most that a fit holds beside its table, less what it holds for 500 rows with the
  same methods (what programs need) and what fitting its largest member alone holds.
"""

import contextlib
import logging
import os
import re
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import psutil
from harness import Report

from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor, base
from groupwise.auto.candidates import Candidate, first_candidates
from groupwise.auto.kinds import Labels
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.methods import get_method

logger = logging.getLogger("bench_auto")

_FOLDER = "groupwise-auto-"  # what folders of a fit are called


def data(n_rows: int, n_features: int = 20, size: int = 10) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    groups = np.repeat(np.arange(n_rows // size), size)
    signal = X[:, :3].sum(axis=1).reshape(-1, size).mean(axis=1) * np.sqrt(size)
    y = (signal + rng.normal(size=len(signal)) > 0).astype(int)
    return X, y[groups], groups


@dataclass
class Held:
    """The most memory, in MiB.

    Attributes
    ----------
    own : float
        Anonymous pages and shared memory, which the system cannot take back.
    mapped : float
        These and the pages of tables in files that are mapped, which it can if they are on a disk.
    files : float
        The size of these files, mapped or not: where the temporary folder is in memory, so is this.
    libraries : set of str
        That were loaded.
    """

    own: float = 0.0
    mapped: float = 0.0
    files: float = 0.0
    libraries: set[str] = field(default_factory=set)


class Spent:
    """CPU seconds and memory of this process and those it starts, beyond what it holds before.

    Both are looked at every so many seconds, so that what a process did since the last look is
    missed. A page that several processes share counts once (PSS).
    """

    def __init__(self, every: float = 0.5):
        self.every = every

    def __enter__(self) -> "Spent":
        self.cpu, self.most, self._seen = 0.0, Held(), {}
        self._start = pages_of(os.getpid())[0]
        self._own = time.process_time()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        own, tables, folders = -self._start, 0.0, set()
        me = psutil.Process()
        for process in (me, *me.children(recursive=True)):
            try:
                pages = pages_of(process.pid)
                times = process.cpu_times()
            except (psutil.Error, OSError):  # it ended meanwhile
                continue
            own, tables = own + pages[0], tables + pages[1]
            self.most.libraries |= pages[2]
            folders |= pages[3]
            if process.pid != os.getpid():
                self._seen[process.pid] = times.user + times.system
        self.most.own = max(self.most.own, own)
        self.most.mapped = max(self.most.mapped, own + tables)
        self.most.files = max(self.most.files, size_of(folders))

    def _watch(self) -> None:
        while not self._done.wait(self.every):
            self._look()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self.cpu = time.process_time() - self._own + sum(self._seen.values())


def pages_of(process: int) -> tuple[float, float, set[str], set[Path]]:
    """MiB of a process in no file and in files of tables, its libraries and folders of tables."""
    parts = Path(f"/proc/{process}/smaps").read_text()
    whole = Path(f"/proc/{process}/smaps_rollup").read_text()
    own = re.findall(r"Pss_(?:Anon|Shmem): +(\d+)", whole)
    tables = [part.partition("Pss:")[2].split(maxsplit=1)[0] for part in parts.split(_FOLDER)[1:]]
    anonymous, mapped = (sum(map(int, sizes)) / 2**10 for sizes in (own, tables))
    libraries = set(re.findall(r"/\S+\.so\b\S*", parts))
    folders = set(map(Path, re.findall(rf"/\S*{_FOLDER}[^/\s]+", parts)))
    return anonymous, mapped, libraries, folders


def size_of(folders: set[Path]) -> float:
    """MiB of the files that are there."""
    size = 0
    for path in (path for folder in folders for path in folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # it went meanwhile
            size += path.stat().st_size
    return size / 2**20


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


def curved(n_rows: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Rows of 20 features, a score of each row that no line fits, noise, groups of ten."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 20))
    score = X[:, 0] * X[:, 1] + np.sin(2.0 * X[:, 2]) + np.abs(X[:, 3]) - 0.8
    score += X[:, 4] * (X[:, 5] > 0)
    return X, score, rng.standard_normal(n_rows), np.repeat(np.arange(n_rows // 10), 10)


def known_of(kind: str, n_rows: int, seed: int) -> tuple[Any, Any, dict[str, Any]]:
    """Rows, what is known of them, and their groups or domains."""
    X, score, noise, ids = curved(n_rows, seed)
    groups = Groups(ids)
    y_row = (score + noise > 0).astype(int)
    if kind == "majority":
        code = (groups.mean(score + noise) > 0).astype(int)
        return X, code[ids], {"groups": ids}
    if kind == "presence":
        code = (groups.sum(score + noise > 3.5) > 0).astype(int)
        return X, code[ids], {"groups": ids}
    if kind == "proportions":
        share = groups.mean(y_row)[ids]
        return X, np.column_stack([1.0 - share, share]), {"groups": ids}
    if kind == "measure":
        return X, y_row, {"groups": ids}
    if kind == "total":
        return X, groups.sum(score + noise)[ids], {"groups": ids}
    old = ids >= n_rows // 200  # 5 % are the target's, where one column means the opposite
    y_row = (np.where(old, score, score - 2.0 * np.sin(2.0 * X[:, 2])) + noise > 0).astype(int)
    return X, y_row, {"domains": np.where(old, "old", "new")}


def kinds(report: Report) -> None:
    lines = []
    for limit, kind in product(
        (10, 60), ("majority", "presence", "proportions", "measure", "transfer", "total")
    ):
        effort: dict[str, Any] = {"time_limit": limit, "n_jobs": 2, "random_state": 0}
        told = {"target_domain": "new"} if kind == "transfer" else {}
        model: Any = (
            AutoGroupRegressor(kind, **effort)
            if kind == "total"
            else AutoGroupClassifier(kind, **told, **effort)
        )
        X, known, ids = known_of(kind, 1_000_000, 0)
        line = {"kind": kind, **timed(model, X, known, ids)}
        X, known, ids = known_of(kind, 200_000, 1)
        if kind == "transfer":
            target = ids.pop("domains") == "new"
            X, known = X[target], known[target]
        fitted_to = [member.n_groups for member in model.members_]
        line["members fitted to groups"] = f"{min(fitted_to):,} to {max(fitted_to):,}"
        line["score on new groups"] = round(float(model.score(X, known, **ids)), 4)
        logger.info("%s", line)
        lines.append(line)
    note = "Asked: within 10 % or one second. New: 20,000 groups, of transfer 10,000 target rows."
    report.add("Limits held, a million rows", lines, note)


def one_limit(rows: tuple[Any, Any, Any], limit: float) -> dict[str, Any]:
    X, y, groups = rows
    model = AutoGroupClassifier("majority", time_limit=limit, n_jobs=2, random_state=0)
    return timed(model, X, y, {"groups": groups})


def timed(model: Any, X: Any, y: Any, told: dict[str, Any]) -> dict[str, Any]:
    limit = model.time_limit
    with Spent() as spent:
        started = time.monotonic()
        model.fit(X, y, **told)
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
        "memory MiB": round(spent.most.mapped),
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
    lines = [one_memory(100_000, 50, 150.0), one_memory(1_000_000, 20, 600.0)]
    report.add(
        "Memory with two processes",
        lines,
        "MiB beside the table that is given; asked: at most three times the table beyond the "
        "largest member. *Own* are anonymous pages (and shared memory) of all processes, *mapped* "
        "these and the pages of tables in files that processes map, which the system can drop as "
        "long as they are on a disk; *files* is what such files took at most. *Of 500 rows* is the "
        "same for 500 rows and the methods that were tried, *largest member* what fitting it "
        "alone holds beside the table and its programs. Where the time is too short for all groups "
        "(on a busy machine sooner), a part of the rows is used: the last column is in units of "
        "their size.",
    )


def one_memory(n_rows: int, n_features: int, limit: float) -> dict[str, Any]:
    table = data(n_rows, n_features)
    most, board, n_groups = in_new_process(memory_of_fit, table, limit)
    was_tried = (board["folds"] > 0) | (board["state"] == "failed")
    few = [part[:500] for part in table]
    fixed, _, _ = in_new_process(memory_of_fit, few, 60.0, set(board.loc[was_tried, "method"]))
    rows = [part[: 10 * n_groups] for part in table]
    alone = {
        f"{line.method} {line.params or ''}".strip(): in_new_process(
            memory_of_member, rows, line.method, line.params
        )
        for line in board[board["state"] == "chosen"].itertuples()
    }
    largest = max(alone, key=lambda name: alone[name])
    size = table[0].nbytes / 2**20
    beyond = [each - alone[largest] for each in (most.own - fixed.own, most.mapped - fixed.mapped)]
    used = size * n_groups / len(np.unique(table[2]))
    line = {
        "rows": f"{n_rows:,}",
        "features": n_features,
        "limit s": round(limit),
        "load": round(os.getloadavg()[0], 1),
        "table": round(size),
        "rows used": round(used),
        "own": round(most.own),
        "mapped": round(most.mapped),
        "files": round(most.files),
        "of 500 rows": round(fixed.own),
        "libraries that one of them lacks": len(most.libraries ^ fixed.libraries),
        "largest member": f"{largest} {alone[largest]:.0f}",
        "beyond, tables: own, mapped": " ".join(f"{each / size:.2f}" for each in beyond),
        "beyond, rows used: own, mapped": " ".join(f"{each / used:.2f}" for each in beyond),
    }
    logger.info("%s", line)
    return line


def in_new_process(function: Any, *given: Any) -> Any:
    """So that nothing is left from the last one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def memory_of_fit(
    table: Any, time_limit: float, methods: set[str] | None = None
) -> tuple[Held, pd.DataFrame, int]:
    """Of all candidates, or of these methods alone."""
    if methods is not None:
        base.first_candidates = partial(only, methods)
    X, y, groups = table
    with Spent(every=0.2) as spent:
        model = AutoGroupClassifier("majority", time_limit=time_limit, n_jobs=2, random_state=0)
        model.fit(X, y, groups=groups)
    return spent.most, model.leaderboard_, model.n_groups_used_


def only(methods: set[str], *given: Any, **told: Any) -> Any:
    tiers, not_tried = first_candidates(*given, **told)
    return [[c for c in tier if c.method.name in methods] for tier in tiers], not_tried


def memory_of_member(table: Any, name: str, params: dict[str, Any]) -> float:
    """With what its columns need, and without its programs."""
    X, y, groups = table
    method = get_method("majority", name, n_rows=len(y), n_classes=2)
    rows = Problem(X, y, Groups(groups), 2)
    for problem in (rows.take(np.arange(500)), rows):  # the first loads what it needs
        with Spent(every=0.02) as spent, one_thread():
            Trainer(Labels("majority"), problem, 0).fit(Candidate(method, params))
    return spent.most.own


SECTIONS = {
    "limits": limits,
    "kinds": kinds,
    "long": long,
    "jobs": jobs,
    "large": large,
    "memory": memory,
}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    for section in sys.argv[1:] or SECTIONS:
        report = Report(f"auto_{section}", "The automatic choice: time, processes, memory")
        SECTIONS[section](report)
