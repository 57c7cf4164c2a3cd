"""Candidates fitted in processes of their own, which can be stopped."""

import itertools
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import psutil

from groupwise.auto.budget import Budget, affordable
from groupwise.auto.ensemble import Answer
from groupwise.auto.entries import Certainty, Entry, Task
from groupwise.auto.fold_tables import FoldTables
from groupwise.auto.kinds import Kind
from groupwise.auto.members import Member, key_of_fit
from groupwise.auto.processes import Process, Starter
from groupwise.auto.runner import InProcess
from groupwise.auto.store import Store

__all__ = ["Workers"]

_LOOK = 0.01  # seconds between looks at the processes
_HELPED = 2  # so many baselines, against the clock: who comes later may be a forest
_SHORT = 1.0  # CPU seconds of a fit that takes no longer than the start of a process


class Workers:
    """Runs folds in processes, within a budget of time.

    Parameters
    ----------
    kind, tables, seed
        As in :class:`~groupwise.auto.runner.InProcess`.
    store : Store or None
        ``None``: folds are kept in a folder of their own until the end.
    budget : Budget
        Says how many processes there are, and what they may take.
    modules : sequence of str, default=()
        To be loaded before the first process is there, once for all.
    """

    def __init__(
        self,
        kind: Kind,
        tables: FoldTables,
        seed: int,
        store: Store | None,
        budget: Budget,
        *,
        modules: Sequence[str] = (),
    ):
        self._home = tempfile.TemporaryDirectory(prefix="groupwise-auto-")
        self._numbers = itertools.count()  # of other tables
        home = Path(self._home.name)
        self._store = store or Store(home / "folds", "")
        self._in_process, self._tables = InProcess(kind, tables, seed, self._store), tables
        self._starter, self._budget = Starter(home / "job"), budget
        self._n_jobs, self._n_folds = budget.n_jobs, len(tables.splits)
        where = (self._store.folder.absolute(), self._store.digest)
        joblib.dump((kind, tables, seed, *where, modules), self._starter.job)
        self._processes: list[Process] = []
        self._given_up: dict[Path, str] = {}  # what was to be left, and why it was not
        self._last_in_process = 0.0  # CPU seconds of the last fit in this process
        self._n_in_process = 0
        self._most_bytes = 0.8 * psutil.virtual_memory().available / budget.n_jobs

    def close(self) -> None:
        """End all processes and remove what they shared."""
        for process in self._processes:
            process.stop()
        self._starter.close()
        self._home.cleanup()

    def run(self, tasks: Sequence[Task]) -> None:
        asked = {self._path(task): task for task in tasks if task.is_asked}
        self._settle(asked)
        self._prepare({task.fold for task in asked.values()})
        in_turn = sorted(asked.values(), key=lambda task: self._turn(task.entry))
        waiting = self._to_do([*in_turn, *(task for task in tasks if not task.is_asked)])
        while asked:
            if self._budget.is_over:
                self._give_up()
                return
            worth_a_start = [task for task in waiting if task.certainty < Certainty.LIKELY]
            for process in self._enough_for(worth_a_start):
                if process.doing is not None:
                    self._look_after(process, self._budget.one_fold)
                if process.doing is None and process.is_ready():
                    self._hand_out(process, waiting)
            self._settle(asked)
            if asked and not self._help_at_the_start(waiting):
                time.sleep(_LOOK)

    def _path(self, task: Task) -> Path:
        return self._store.path(task.entry.candidate, task.fold)

    def _settle(self, asked: dict[Path, Task]) -> None:
        """Give entries what has come of them since."""
        for path, task in list(asked.items()):
            candidate = task.entry.candidate
            found = self._store.get(candidate, task.fold) if path.exists() else None
            if found is not None:
                task.entry.take(task.fold, found)
            elif path in self._given_up:
                task.entry.fail(self._given_up[path])
            else:
                continue
            del asked[path]

    def _to_do(self, tasks: Sequence[Task]) -> list[Task]:
        """Those that are neither done nor being done."""
        doing = {process.doing for process in self._processes}
        paths = [self._path(task) for task in tasks]
        return [
            task
            for task, path in zip(tasks, paths, strict=True)
            if path not in doing and path not in self._given_up and not path.exists()
        ]

    def _hand_out(self, process: Process, waiting: list[Task]) -> None:
        """Give a process its next task, and take that from those that wait.

        As long as it can it stays with its fold, for which everything is ready, and leaves those of
        others alone; what may be in vain comes last. What another process has fitted, and only has
        to apply another rule to, is left to it.
        """
        others = [other for other in self._processes if other is not process]
        folds_of_others = {other.fold for other in others}
        fits_of_others = {(other.fold, fit) for other in others for fit in other.fits}

        def rank(task: Task) -> tuple[bool, Certainty, bool]:
            is_new = task.fold != process.fold
            intrudes = is_new and task.fold in folds_of_others
            return intrudes or task.certainty is Certainty.LIKELY, task.certainty, is_new

        free = [
            task
            for task in waiting
            if (task.fold, key_of_fit(task.entry.candidate)) not in fits_of_others
        ]
        if free:
            task = min(free, key=rank)
            waiting.remove(task)
            process.ask((task.entry.candidate, task.fold, None), self._path(task))
            self._tables.keep_only([other.fold for other in self._processes])

    def _prepare(self, folds: set[int]) -> None:
        """Have the rows of these folds prepared; of the next ones too, where a process is free."""
        if not self._tables.missing(sorted(folds)):
            return
        last = max(max(folds) + 1, min(min(folds) + self._n_jobs, self._n_folds))
        todo = self._tables.missing(range(min(folds), last))
        self._make_files([((None, fold, None), self._tables.path(fold)) for fold in todo])

    def _help_at_the_start(self, waiting: list[Task]) -> bool:
        """Run a baseline here as long as no process has begun one: a start takes seconds.

        One that takes longer is the last, as processes that are ready meanwhile wait for its end.
        Against the clock only the cheapest are run, as nobody can end what runs here.
        """
        if any(process.doing is not None for process in self._processes):
            self._in_process.close()
            return False
        first = waiting[0] if waiting else None
        if first is None or not (first.is_asked and first.entry.candidate.is_baseline):
            return False
        is_late = self._budget.is_limited and self._n_in_process == _HELPED
        if self._last_in_process > _SHORT or is_late:
            return False
        started = time.process_time()  # other work makes a start as slow
        self._in_process.run([waiting.pop(0)])
        self._last_in_process = time.process_time() - started
        self._n_in_process += 1
        return True

    def _enough_for(self, waiting: Sequence[Any]) -> list[Process]:
        """The processes; one more for each task that waits, up to ``n_jobs``."""
        free = sum(process.doing is None for process in self._processes)
        for _ in range(min(len(waiting) - free, self._n_jobs - len(self._processes))):
            self._processes.append(Process(self._starter))
        return self._processes

    def _look_after(self, process: Process, most_seconds: float) -> None:
        """Free a process that is done, and one that has to be ended."""
        result = process.doing
        assert result is not None
        if result.exists():
            process.doing = None
            return
        trouble = process.trouble(most_seconds, self._most_bytes)
        if trouble is not None and not result.exists():
            self._given_up[result] = trouble

    def _give_up(self) -> None:
        for process in self._processes:
            if process.doing is not None:
                process.stop()

    def refit(self, entries: Sequence[Entry]) -> list[Member | None]:
        """Fit to all rows side by side, the best first in ``entries``; what is late is ended."""
        self._budget.begin_last_fits()
        members: list[Member | None] = self._fit_in_time(entries, None)
        for place in self._in_turn(entries):
            # one that was not made though there was time is fitted here, with its error; and one
            # there has to be
            if members[place] is None and not (self._budget.is_over and any(members)):
                members[place] = self._in_process.refit([entries[place]])[0]
        self._fit_quick_ones(entries, members)
        return members

    def fit_and_ask(
        self, tables: FoldTables, entries: Sequence[Entry]
    ) -> list[tuple[Member, Answer] | None]:
        """Fit to the one fold of other tables, or all their rows; ``None`` for what was late."""
        other = Path(self._home.name) / f"tables-{next(self._numbers)}"
        joblib.dump(tables, other)
        return self._fit_in_time(entries, other)

    def _fit_in_time(self, entries: Sequence[Entry], tables: Path | None) -> list[Any]:
        """What comes of the fits; ``None`` for what was late, or failed."""
        name = "model" if tables is None else f"model-{tables.name}"
        files = [Path(self._home.name) / f"{name}-{place}" for place in range(len(entries))]
        tasks = [
            ((entries[place].candidate, tables, files[place]), files[place])
            for place in self._in_turn(entries)
        ]
        self._make_files(tasks)
        return [joblib.load(file) if file.exists() else None for file in files]

    def _in_turn(self, entries: Sequence[Entry]) -> list[int]:
        return sorted(range(len(entries)), key=lambda place: self._turn(entries[place]))

    def _fit_quick_ones(self, entries: Sequence[Entry], members: list[Member | None]) -> None:
        """Fit here what was not made in time and takes hardly any, the best first."""
        missing = [place for place, member in enumerate(members) if member is None]
        costs = [entries[place].seconds_of_all(self._n_folds) for place in missing]
        paid = affordable(costs, self._budget.after_the_end)
        for place in itertools.compress(missing, paid):
            members[place] = self._in_process.refit([entries[place]])[0]

    def _turn(self, entry: Entry) -> float:
        """Against the clock the shortest first; else the longest, so that none is left alone."""
        return entry.seconds if self._budget.is_limited else -entry.seconds

    def _make_files(self, tasks: Sequence[tuple[tuple[Any, ...], Path]]) -> None:
        """Ask for files side by side; a process that ends leaves its own out."""
        waiting, missing = deque(tasks), {file for _, file in tasks}
        while missing:
            if self._budget.is_over:
                self._give_up()
                return
            for process in self._enough_for(waiting):
                if process.doing is not None:
                    own = process.doing in missing
                    self._look_after(process, np.inf if own else self._budget.one_fold)
                if process.doing is None and waiting and process.is_ready():
                    process.ask(*waiting.popleft())
            missing = {f for f in missing if not f.exists() and f not in self._given_up}
            if missing:
                time.sleep(_LOOK)
