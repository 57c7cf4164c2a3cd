"""Cells: one method on one fold of one set, a line of JSON each; a run that stopped goes on."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from arena.folds import FoldFile
from arena.judge import judge
from arena.methods import Entry, entries_of
from arena.problem import Problem, task_of
from arena.processes import ENVIRONMENTS, Worker
from arena.sets import SETS, Set

__all__ = ["Arena", "CellStore", "missing_cells"]

#: CPU seconds that a method has for a cell, its inner folds included.
CELL_SECONDS = 120
SEED = 0
Cell = tuple[Set, Entry, int]


class CellStore:
    """Finished cells in a file.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path):
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.cells: list[dict[str, Any]] = [json.loads(line) for line in lines]
        self._known = {self.key(cell) for cell in self.cells}
        self._lock = threading.Lock()

    @staticmethod
    def key(cell: dict[str, Any]) -> tuple[Any, ...]:
        """What tells a cell from others."""
        return cell["room"], cell["set"], cell["method"], cell["fold"]

    def has(self, cell: Cell) -> bool:
        """Whether it is there."""
        of, entry, fold = cell
        return (of.room, of.name, entry.name, fold) in self._known

    def add(self, cell: dict[str, Any]) -> None:
        """Keep a cell, at once."""
        with self._lock:
            self.cells.append(cell)
            self._known.add(self.key(cell))
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps(cell) + "\n")


def missing_cells(store: CellStore, rooms: Iterable[str], n_folds: int) -> Iterator[Cell]:
    """What is to do: fold by fold, and in each the first set of every room, then the second, ..."""
    by_room = [[each for each in SETS if each.room == room] for room in rooms]
    for fold in range(n_folds):
        for turn in zip_longest(*by_room):
            for of in turn:
                for entry in entries_of(of.room) if of is not None else ():
                    if not store.has((of, entry, fold)):
                        yield of, entry, fold


@cache
def _loaded(load: Callable[[], Problem]) -> Problem:
    return load()


class Arena:
    """Runs cells in the methods' own processes.

    Parameters
    ----------
    fold_file : FoldFile
    """

    def __init__(self, fold_file: FoldFile):
        self.fold_file = fold_file
        self._own = threading.local()
        self._workers: list[Worker] = []
        self._versions: dict[str, dict[str, str]] = {}
        self._lock = threading.Lock()

    def run_cell(self, cell: Cell) -> dict[str, Any]:
        """One line: scores, or why there are none."""
        of, entry, fold = cell
        with self._lock:
            problem = _loaded(of.load)
            split = self.fold_file.splits(f"{of.room}/{of.name}", problem)[fold]
        line: dict[str, Any] = {
            "room": of.room, "set": of.name, "method": entry.name, "maker": entry.maker,
            "fold": fold, "seed": SEED,
        }  # fmt: skip
        reason = entry.reason_against(problem, len(split.train))
        if reason is not None:
            return {**line, "not for it": reason}
        worker = self._worker(entry.environment)
        task = task_of(problem, split, of.room, SEED)
        reply = worker.ask(entry.function, task, CELL_SECONDS)
        line |= {"cpu s": reply["cpu"], "versions": self._versions[entry.environment]}
        if "error" in reply:
            return {**line, "error": reply["error"]}
        answer = reply["answer"]
        if "estimate" in answer:  # of the automatic choice: score, low and high
            line["estimate"] = np.round(answer["estimate"], 6).tolist()
        return {**line, **judge(of.room, problem, split, answer)}

    def run(
        self,
        cells: Iterable[Cell],
        store: CellStore,
        *,
        n_jobs: int = 1,
        seconds: float | None = None,
        tell: Callable[[dict[str, Any]], Any] = lambda line: None,
    ) -> None:
        """Run cells and keep them; none begins after so many seconds."""
        began = time.monotonic()

        def one(cell: Cell) -> None:
            if seconds is None or time.monotonic() - began < seconds:
                line = self.run_cell(cell)
                store.add(line)
                tell(line)

        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(one, cells))

    def _worker(self, environment: str) -> Worker:
        """The process of an environment that the current thread has for itself."""
        mine = self._own.__dict__.setdefault("workers", {})
        if environment not in mine:
            made = mine[environment] = Worker(ENVIRONMENTS[environment])
            with self._lock:
                self._workers.append(made)
                if environment not in self._versions:
                    self._versions[environment] = ENVIRONMENTS[environment].versions()
        return mine[environment]

    def close(self) -> None:
        """End the methods' processes."""
        for worker in self._workers:
            worker.close()
