"""The race of candidates over folds: who runs when, who is dropped, and what is kept on disk."""

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

import groupwise
from groupwise.auto.candidates import Candidate, variants
from groupwise.auto.ensemble import FEW_GROUPS, N_BEST, Answer, Truth, best_of_each
from groupwise.auto.fold_tables import FoldTables
from groupwise.auto.kinds import Kind, Problem, Split
from groupwise.auto.members import Fold, FoldAnswer, Member, Trainer, one_thread
from groupwise.auto.scaling import is_worse
from groupwise.boosting.lightgbm import share_bins
from groupwise.files import atomic_write
from groupwise.groups import Groups
from groupwise.kernels import share_kernels

__all__ = ["LEAST_FOLDS", "Entry", "HeldOut", "InProcess", "Race", "Runner", "Store", "Task"]

logger = logging.getLogger("groupwise.auto")

# So many methods' settings are searched.
_N_SEARCHED = 3
#: Where time is short, those that can be judged on so many folds go on.
LEAST_FOLDS = 3
# Nobody is dropped before.
_FOLDS_OF_ALL = 2

Task = tuple["Entry", int]


@dataclass
class Entry:
    """A candidate and how far it has come.

    Attributes
    ----------
    candidate : Candidate
    folds : dict of int to FoldAnswer
    state : str
        ``"running"``, ``"finished"``, ``"dropped"``, ``"failed"`` or ``"out of time"``.
    reason : str
        Why it failed.
    """

    candidate: Candidate
    folds: dict[int, FoldAnswer] = field(default_factory=dict)
    state: str = "running"
    reason: str = ""

    @property
    def seconds(self) -> float:
        return sum(fold.seconds for fold in self.folds.values())

    def seconds_of_all(self, n_folds: int) -> float:
        """What a fit to all rows will take, if time grows with the rows."""
        return self.seconds / len(self.folds) * n_folds / (n_folds - 1)

    def fail(self, reason: str) -> None:
        """Leave the race."""
        if self.state == "failed":  # told already, of another fold
            return
        self.state, self.reason = "failed", reason
        logger.info("%s failed: %s", self.candidate.name, reason)


class HeldOut:
    """Answers about held-out rows, put together from folds."""

    def __init__(self, kind: Kind, problem: Problem, splits: Sequence[Split]):
        rows = kind.counted_rows(problem)
        groups = Groups(problem.groups.codes[rows])
        self._rows_of = [np.searchsorted(rows, test) for _, test in splits]
        fold_group = np.full(groups.n_groups, -1)
        n_held = np.zeros(groups.n_groups, np.intp)
        for number, places in enumerate(self._rows_of):
            tested = np.unique(groups.codes[places])
            fold_group[tested] = number
            n_held[tested] += 1
        if (n_held != 1).any():
            raise ValueError("cv must hold every group out exactly once")
        y = problem.y[rows]
        self._truth = Truth(y, groups, fold_group, problem.n_classes)
        self._names = problem.groups.names[groups.names]

    def truth(self, n_folds: int) -> Truth:
        """What is known of the groups of the first folds."""
        return self._truth.take(self._truth.fold_group < n_folds)

    def answer(self, entry: Entry, n_folds: int) -> Answer:
        """One candidate's answers about them."""
        truth, whole = self._truth, {}
        for name, first in entry.folds[0].answer.items():
            n = truth.groups.n_rows if name.endswith("_row") else truth.groups.n_groups
            whole[name] = np.full((n, *first.shape[1:]), np.nan)
        for number in range(n_folds):
            rows = self._rows_of[number]
            for name, values in entry.folds[number].answer.items():
                at = rows if name.endswith("_row") else np.unique(truth.groups.codes[rows])
                whole[name][at] = values
        return truth.take_answer(whole, truth.fold_group < n_folds)

    def names(self, n_folds: int) -> NDArray[np.intp]:
        """Names of the groups of the first folds, in the order of the answers."""
        return self._names[self._truth.fold_group < n_folds]


class Store:
    """Finished folds in a folder, one file each, named by everything that makes them what they are.

    Parameters
    ----------
    folder : Path
    digest : str
        Of the data, the folds and the seed; nothing for a folder that goes with the fit.
    """

    def __init__(self, folder: Path, digest: str):
        self.folder, self.digest = folder, digest
        folder.mkdir(parents=True, exist_ok=True)

    @staticmethod
    def digest_of(kind: Kind, problem: Problem, splits: Sequence[Split], seed: int) -> str:
        """A text that differs where anything does that a fold's answer depends on."""
        digest = hashlib.blake2b(digest_size=16)
        told = (groupwise.__version__, kind, problem.categories, problem.n_classes, seed)
        digest.update(repr(told).encode())
        X: Any = problem.X
        parts: list[Any] = [X.data, X.indices, X.indptr] if issparse(X) else [X]
        parts += [problem.y, problem.groups.codes, *(test for _, test in splits)]
        if problem.unprepared is not None:
            digest.update(joblib.hash(problem.unprepared).encode())
        if problem.domains is not None:
            parts.append(problem.domains)
        for part in parts:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.data)
        return digest.hexdigest()

    def path(self, candidate: Candidate, fold: int) -> Path:
        """Where a fold is kept."""
        told = f"{self.digest} {candidate.key()} {fold}"
        name = hashlib.blake2b(told.encode(), digest_size=8).hexdigest()
        return self.folder / f"{candidate.method.name}.{name}.npz"

    def get(self, candidate: Candidate, fold: int) -> FoldAnswer | None:
        """A finished fold, or ``None``."""
        path = self.path(candidate, fold)
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as held:
            answer = {name: held[name] for name in held.files if not name.startswith(".")}
            return FoldAnswer(answer, float(held[".seconds"]), str(held[".failed"]))

    def put(self, candidate: Candidate, fold: int, found: FoldAnswer) -> None:
        """Keep a fold, whole or not at all."""
        more = {".seconds": np.array(found.seconds), ".failed": np.array(found.failed)}
        sync = bool(self.digest)  # a later fit reads it
        with atomic_write(self.path(candidate, fold), sync=sync) as part, part.open("wb") as stream:
            # ignored: to the stubs any name could be savez's own option
            np.savez(stream, **found.answer, **more)  # type: ignore[arg-type]


class Runner(Protocol):
    """What fits candidates: in this process, or in others."""

    @property
    def out_of_time(self) -> bool:
        """Whether nothing more can be begun."""
        ...

    @property
    def seconds_left(self) -> float:
        """What there is for folds, in all processes together."""
        ...

    @property
    def n_jobs(self) -> int:
        """How many folds are run at a time."""
        ...

    def run(
        self, tasks: Sequence[Task], then: Sequence[Task] = (), perhaps: Sequence[Task] = ()
    ) -> None:
        """Run entries on folds; each is left with its answer, or failed, or out of time.

        Where a process would be idle it may run what is sure to be asked for afterwards
        (``then``), or else what is likely to be (``perhaps``); their entries are left as they are,
        and the answers kept until they are asked for.
        """
        ...

    def expect(self, seconds: Sequence[float]) -> None:
        """Be told what the fits of the present leaders to all rows will take."""
        ...

    def refit(self, entries: Sequence[Entry]) -> list[Member | None]:
        """Fit to all rows; ``None`` for what was not done in time."""
        ...

    def close(self) -> None:
        """Let everything go."""
        ...


class InProcess:
    """Fits candidates one after another, without a limit."""

    out_of_time = False
    seconds_left = np.inf
    n_jobs = 1

    def __init__(self, kind: Kind, tables: FoldTables, seed: int, store: Store | None):
        self._kind, self._tables, self._seed, self._store = kind, tables, seed, store
        self._current: tuple[int, Fold] | None = None

    def run(
        self, tasks: Sequence[Task], then: Sequence[Task] = (), perhaps: Sequence[Task] = ()
    ) -> None:
        with share_kernels(), share_bins(), one_thread():
            for entry, fold in tasks:
                found = None if self._store is None else self._store.get(entry.candidate, fold)
                if found is None:
                    found = self._fold(fold).answer(entry.candidate)
                    if self._store is not None:
                        self._store.put(entry.candidate, fold, found)
                take_answer(entry, fold, found)

    def expect(self, seconds: Sequence[float]) -> None:
        """There is no limit."""

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


def take_answer(entry: Entry, fold: int, found: FoldAnswer) -> None:
    """Give an entry what came of it."""
    entry.folds[fold] = found
    if found.failed:
        del entry.folds[fold]
        entry.fail(found.failed)


class Race:
    """Tiers of candidates, each over all folds in rounds.

    After a round, candidates that are clearly behind the fifth best leave (baselines stay); the
    methods that lead then try their settings, and slow methods come last. Decisions fall between
    rounds and depend on losses only, never on the number of processes; where a limit leaves too
    little time for all, the slowest leave that are not among the best.

    Parameters
    ----------
    kind : Kind
    problem : Problem
    splits : sequence of (train, test)
    runner : Runner
    """

    def __init__(self, kind: Kind, problem: Problem, splits: Sequence[Split], runner: Runner):
        self.kind, self.n_folds, self.runner = kind, len(splits), runner
        self.held_out = HeldOut(kind, problem, splits)
        self.entries: list[Entry] = []

    def run(self, tiers: Sequence[Sequence[Candidate]]) -> None:
        """Run the tiers, then the settings of the leading methods, then slow methods."""
        quick = [[c for c in tier if not c.method.is_slow] for tier in tiers]
        slow = [c for tier in tiers for c in tier if c.method.is_slow]
        for number, tier in enumerate(quick):
            coming = [c for later in quick[number + 1 :] for c in later]
            self.run_tier(tier, coming + slow)
        if not self._few_groups:
            self.run_tier(self._more_settings(), slow)
        # against the clock one after another: half judged they are worth nothing
        step = self.runner.n_jobs if self._in_a_hurry else len(slow)
        for first in range(0, len(slow), max(step, 1)):
            self.run_tier(slow[first : first + step], slow[first + step :])

    def run_tier(self, tier: Sequence[Candidate], coming: Sequence[Candidate] = ()) -> None:
        """Run candidates over all folds, as far as time goes; ``coming`` ones are run later."""
        entries = [Entry(candidate) for candidate in tier]
        self.entries += entries
        for fold in range(self.n_folds):
            running = [entry for entry in entries if entry.state == "running"]
            if self.runner.out_of_time:
                break
            self.runner.run(
                [(entry, fold) for entry in running], *self._later(running, coming, fold)
            )
            if any(e.state == "running" and fold not in e.folds for e in running):
                break  # the time is over
            self._after_round(fold + 1)
            self._leave_out_the_slowest(entries, fold + 1)
        for entry in entries:
            if entry.state == "running":
                entry.state = "finished" if len(entry.folds) == self.n_folds else "out of time"
            if entry.state == "finished":
                score = self.kind.score(
                    self.held_out.answer(entry, self.n_folds), self.held_out.truth(self.n_folds)
                )
                logger.info(
                    "%s: %.3f (%.1f s)", entry.candidate.name, np.nanmean(score), entry.seconds
                )

    def _later(
        self, running: Sequence[Entry], coming: Sequence[Candidate], fold: int
    ) -> tuple[list[Task], list[Task]]:
        """What is sure to be asked for after a fold, and what may be.

        Against the clock nothing is sure, and what is coming may take all the time there is: only
        slow methods, which come one after another, are begun before their turn.
        """
        own = [(entry, number) for number in range(fold + 1, self.n_folds) for entry in running]
        entries = [Entry(candidate) for candidate in coming]
        others = [(entry, number) for number in range(self.n_folds) for entry in entries]
        if self._in_a_hurry:
            is_slow = any(entry.candidate.method.is_slow for entry in running)
            return [], own + others if is_slow else own
        then = [task for task in own + others if self._is_sure(*task)]
        return then, [task for task in own if not self._is_sure(*task) and task[1] == fold + 1]

    def _is_sure(self, entry: Entry, fold: int) -> bool:
        return fold < _FOLDS_OF_ALL or entry.candidate.is_baseline or self._few_groups

    @property
    def _in_a_hurry(self) -> bool:
        return self.runner.seconds_left != np.inf

    def _losses(self, entries: Sequence[Entry], n_folds: int) -> list[NDArray[Any]]:
        truth = self.held_out.truth(n_folds)
        return [self.kind.loss(self.held_out.answer(e, n_folds), truth) for e in entries]

    def usable(self, n_folds: int) -> list[Entry]:
        """Entries with answers on the first folds."""
        folds = range(n_folds)
        return [e for e in self.entries if e.state != "failed" and all(f in e.folds for f in folds)]

    def _after_round(self, n_folds: int) -> None:
        """Say what the leaders will cost at the end, and drop who is clearly behind them."""
        entries = self.usable(n_folds)
        if not entries:
            return
        losses = self._losses(entries, n_folds)
        means = [float(np.nanmean(loss)) for loss in losses]
        order = best_of_each(means, [entry.candidate.method.name for entry in entries])
        leaders = order[: self.kind.n_averaged(self._n_groups)]
        self.runner.expect([entries[place].seconds_of_all(self.n_folds) for place in leaders])
        if (
            _FOLDS_OF_ALL <= n_folds < self.n_folds
            and not self._few_groups
            and len(order) >= N_BEST
        ):
            self._drop(entries, losses, losses[order[N_BEST - 1]], n_folds)

    def _leave_out_the_slowest(self, tier: Sequence[Entry], n_folds: int) -> None:
        """Let those go on that can be judged on three folds, then those that can be on all."""
        if not self._in_a_hurry:
            return
        left = self.runner.seconds_left
        to_do = (LEAST_FOLDS if n_folds < LEAST_FOLDS < self.n_folds else self.n_folds) - n_folds
        running = [entry for entry in tier if entry.state == "running"]
        rivals = self.usable(n_folds)
        means = [float(np.nanmean(loss)) for loss in self._losses(rivals, n_folds)]
        best = {id(rivals[place]) for place in np.argsort(means)[:N_BEST]}
        order = sorted(running, key=lambda e: (id(e) not in best, e.seconds))
        for entry in order:
            seconds = to_do * entry.seconds / n_folds
            needed = entry is order[0] and entry.candidate.is_baseline  # there has to be one
            if seconds <= left or needed:
                left -= seconds
            else:
                entry.state = "out of time"

    @property
    def _n_groups(self) -> int:
        return self.held_out.truth(self.n_folds).groups.n_groups

    @property
    def _few_groups(self) -> bool:
        return self._n_groups < FEW_GROUPS

    def _drop(
        self,
        entries: Sequence[Entry],
        losses: Sequence[NDArray[Any]],
        last: NDArray[Any],
        n_folds: int,
    ) -> None:
        for entry, loss in zip(entries, losses, strict=True):
            stays = entry.state != "running" or entry.candidate.is_baseline
            if not stays and is_worse(loss, last, errors=2.0):
                entry.state = "dropped"
                logger.info("%s dropped after %d folds", entry.candidate.name, n_folds)

    def _more_settings(self) -> list[Candidate]:
        entries = self.usable(self.n_folds)
        if not entries:
            return []
        means = [float(np.nanmean(loss)) for loss in self._losses(entries, self.n_folds)]
        order = best_of_each(means, [e.candidate.method.name for e in entries])
        found = [variants(entries[place].candidate) for place in order]
        more = [candidate for some in [s for s in found if s][:_N_SEARCHED] for candidate in some]
        tried = {entry.candidate.key() for entry in self.entries}
        return [candidate for candidate in more if candidate.key() not in tried]
