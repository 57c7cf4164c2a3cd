"""Who fits candidates: this process, one after another, or others."""

from collections.abc import Sequence
from typing import Protocol

from groupwise.auto.candidates import Candidate
from groupwise.auto.entries import Entry, Task
from groupwise.auto.fold_tables import FoldTables
from groupwise.auto.kinds import Kind
from groupwise.auto.members import Fold, FoldAnswer, Member, Trainer, one_thread
from groupwise.auto.store import Store
from groupwise.boosting.lightgbm import share_bins
from groupwise.kernels import share_kernels

__all__ = ["InProcess", "Runner"]


class Runner(Protocol):
    """What fits candidates: in this process, or in others."""

    def run(self, tasks: Sequence[Task]) -> None:
        """Run tasks; each entry that is asked is left with its answer, or failed, or out of time.

        Where a process would be idle it may begin tasks that are not asked yet, the surest first;
        their entries are left as they are, and the answers kept until they are asked for.
        """
        ...

    def refit(self, entries: Sequence[Entry]) -> list[Member | None]:
        """Fit to all rows; ``None`` for what was not done in time."""
        ...

    def close(self) -> None:
        """Let everything go."""
        ...


class InProcess:
    """Fits candidates one after another, without a limit."""

    def __init__(self, kind: Kind, tables: FoldTables, seed: int, store: Store | None):
        self._kind, self._tables, self._seed, self._store = kind, tables, seed, store
        self._current: tuple[int, Fold] | None = None

    def run(self, tasks: Sequence[Task]) -> None:
        with share_kernels(), share_bins(), one_thread():
            for task in tasks:
                if task.is_asked:
                    task.entry.take(task.fold, self._answer(task.entry.candidate, task.fold))

    def _answer(self, candidate: Candidate, fold: int) -> FoldAnswer:
        """What the store has, or what comes of it now."""
        kept = None if self._store is None else self._store.get(candidate, fold)
        if kept is not None:
            return kept
        found = self._fold(fold).answer(candidate)
        if self._store is not None:
            self._store.put(candidate, fold, found)
        return found

    def close(self) -> None:
        """Let the rows of the last fold go."""
        if self._current is not None:
            self._current = None
            self._tables.give_back()

    def _fold(self, number: int) -> Fold:
        if self._current is None or self._current[0] != number:
            self._current = number, Fold(self._kind, self._tables, number, self._seed)
            self._tables.keep_only([number])
        return self._current[1]

    def refit(self, entries: Sequence[Entry]) -> list[Member | None]:
        self.close()
        trainer = Trainer(self._kind, self._tables.problem, self._seed)
        with share_kernels(), share_bins(), one_thread():
            return [trainer.fit(entry.candidate) for entry in entries]
