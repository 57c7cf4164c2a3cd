"""The method's side of a cell: a process that is given training data and test rows, no more.

``python worker.py MODULE.py`` imports a file with ``METHODS`` (name to function), then reads one
job per line from its standard input: ``{"method", "task", "answer", "seconds"}``, of which task and
answer are paths. Each job runs in a fork of its own, so nothing that one cell has seen is there for
the next. The reply, one line per job: CPU seconds, and the error if there was one.

This file needs numpy alone; a peer's environment need not have groupwise.
"""

import importlib.util
import json
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np


def load_module(path: str) -> Any:
    """A file as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_task(path: str) -> dict[str, Any]:
    """The arrays of a task, and its settings beside them."""
    with np.load(path, allow_pickle=False) as file:
        task = {name: file[name] for name in file.files}
    return {**json.loads(str(task.pop("about"))), **task}


def inner_folds(task: dict[str, Any], n_folds: int = 3) -> list[tuple[Any, Any]]:
    """Rows to learn from and rows held out; units (groups, or what is coarser) stay whole."""
    rng = np.random.default_rng(task["seed"])
    units = task.get("keep_whole", task["groups"])
    names, codes = np.unique(units, return_inverse=True)
    place = np.empty(len(names), int)
    place[rng.permutation(len(names))] = np.arange(len(names)) % n_folds
    fold = place[codes]
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)]


def part_of(task: dict[str, Any], train: Any, held: Any) -> dict[str, Any]:
    """The task of an inner fold: like the task itself, without the held-out labels."""
    of_rows = {"X", "y", "groups", "keep_whole", "domains"} & task.keys()
    part = {**task, **{name: task[name][train] for name in of_rows}}
    return {**part, "X_asked": task["X"][held], "groups_asked": task["groups"][held]}


def bags(X: Any, groups: Any) -> list[Any]:
    """Rows of each group, groups in the order of ``np.unique``."""
    codes = np.unique(groups, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    return np.split(X[order], np.cumsum(np.bincount(codes))[:-1])


def one_per_group(y: Any, groups: Any) -> Any:
    """The label of each group."""
    return y[np.unique(groups, return_index=True)[1]]


def choose(task: dict[str, Any], grid: list[Any], answer: Any) -> Any:
    """The setting whose ``answer(task, setting)["label"]`` has most inner groups right.

    Of equals it is the first. A fold whose training part has one class only counts for nobody.
    """
    if len(grid) == 1:
        return grid[0]
    right = np.zeros(len(grid))
    for train, held in inner_folds(task):
        if len(np.unique(task["y"][train])) < 2:
            continue
        truth = one_per_group(task["y"][held], task["groups"][held])
        part = part_of(task, train, held)
        right += [np.sum(answer(part, setting)["label"] == truth) for setting in grid]
    return grid[int(right.argmax())]


def do(method: Any, job: dict[str, Any]) -> None:
    """Read the task, ask the method, write its answer."""
    answer = method(read_task(job["task"]))
    arrays: dict[str, Any] = {name: np.asarray(value) for name, value in answer.items()}
    np.savez(job["answer"], **arrays)


def _in_child(method: Any, job: dict[str, Any]) -> None:
    """Never returns."""
    code = 0
    seconds = int(job["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    signal.alarm(10 * seconds)  # one that waits for ever uses no CPU
    try:
        do(method, job)
    except BaseException:
        Path(job["answer"] + ".error").write_text(traceback.format_exc())
        code = 1
    sys.stderr.flush()
    os._exit(code)


def _reply(job: dict[str, Any], status: int, used: resource.struct_rusage) -> dict[str, Any]:
    reply: dict[str, Any] = {"cpu": round(used.ru_utime + used.ru_stime, 3)}
    trace = Path(job["answer"] + ".error")
    by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    if by in (signal.SIGXCPU, signal.SIGKILL, signal.SIGALRM):
        reply["error"] = f"not done after {job['seconds']} CPU seconds"
    elif by is not None:
        reply["error"] = f"ended by signal {by}"
    elif trace.exists():
        reply["error"] = trace.read_text().strip().splitlines()[-1][:300]
        reply["trace"] = trace.read_text()
    return reply


def serve(path: str) -> None:
    """Do the jobs of standard input, each in a child."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what methods print is no reply
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    methods = load_module(path).METHODS
    print(json.dumps({"methods": sorted(methods)}), file=replies, flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            _in_child(methods[job["method"]], job)
        _, status, used = os.wait4(child, 0)
        print(json.dumps(_reply(job, status, used)), file=replies, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
