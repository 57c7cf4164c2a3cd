"""Samples of groups, where a table is too large for the time."""

import logging
import time
from collections.abc import Sequence
from contextlib import ExitStack

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate
from groupwise.auto.fold_tables import FoldTables, fold_tables
from groupwise.auto.kinds import Kind
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem

__all__ = ["Sampler", "affordable_rows"]

_LEAST_SAMPLE = 1000  # rows that are always affordable, and that a fit is timed on first
_ENOUGH_GROUPS = 1000  # so many are not thinned out for the sake of more folds
_LEAST_OF_CLASS = 10  # groups of each class, if there are as many
_LEAST_GROUPS = 5  # so many, or groups of so many users, whatever their size: folds need them
_HUGE = 10  # a group of more than this part of a sample's rows is taken last

logger = logging.getLogger("groupwise.auto")


class Sampler:
    """Draws whole groups: nearly all of a small sample are in a larger one, too.

    Parameters
    ----------
    kind : Kind
        Says which groups a sample must not miss.
    problem : Problem
        All rows; ``problem`` of the sampler is the same, not in memory.
    seed : int
    files : ExitStack
        Where the files of tables are let go in the end.
    """

    def __init__(self, kind: Kind, problem: Problem, seed: int, files: ExitStack):
        self._files = files
        self._whole = files.enter_context(fold_tables(problem))
        self.problem = problem = self._whole.problem
        self._drawn = np.random.RandomState(seed).permutation(problem.groups.n_groups)
        self._sizes = problem.groups.sizes[self._drawn]
        self._users = problem.undivided[problem.groups.first_rows][self._drawn]
        counted, classes = kind.counted_rows(problem), kind.classes_row(problem)
        self._counts = self._has(counted)
        self._classes = []
        if classes is not None:
            of_counted = classes[counted]
            self._classes = [self._has(counted[of_counted == c]) for c in np.unique(of_counted)]

    def _has(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Whether each drawn group has one of these rows."""
        groups = self.problem.groups
        return (np.bincount(groups.codes[rows], minlength=groups.n_groups) > 0)[self._drawn]

    def rows(self, n_rows: float) -> NDArray[np.intp]:
        """About so many rows, or all.

        Where some rows do not count (those of a source), the others have half of the sample. No
        class is missed, and a huge group, which would be there instead of many others, comes last.
        """
        if n_rows >= self.problem.n_rows:
            return np.arange(self.problem.n_rows)
        order = np.argsort(self._sizes > n_rows / _HUGE, kind="stable")
        needed, wanted = self._needed_and_wanted(order, n_rows)
        order = order[np.argsort(np.where(needed, 0, np.where(wanted, 1, 2)), kind="stable")]
        n_within = int(np.searchsorted(np.cumsum(self._sizes[order]), n_rows, side="right"))
        taken = np.zeros(len(order), bool)
        taken[self._drawn[order[: max(n_within, int(needed.sum()))]]] = True
        return np.flatnonzero(taken[self.problem.groups.codes])

    def _needed_and_wanted(
        self, order: NDArray[np.intp], n_rows: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which groups to take whatever their size, as folds need them, and which before others."""
        needed, wanted = np.zeros((2, len(order)), bool)
        for has_class in self._classes:
            has = has_class[order]
            number = np.cumsum(has)
            needed |= has & (number <= 2)  # one to learn from, one to be judged on
            wanted |= has & (number <= _LEAST_OF_CLASS)
        counted = np.flatnonzero(self._counts[order])
        _, first_of_user = np.unique(self._users[order[counted]], return_index=True)
        needed[counted[np.sort(first_of_user)[:_LEAST_GROUPS]]] = True
        if not self._counts.all():
            sizes = np.where(self._counts, self._sizes, 0)[order]
            wanted |= self._counts[order] & (np.cumsum(sizes) <= n_rows / 2)
        return needed, wanted

    def rows_of_groups(self, n_groups: int) -> float:
        """How many rows so many groups have."""
        return float(self._sizes[:n_groups].sum())

    def tables(self, rows: NDArray[np.intp]) -> FoldTables:
        """Tables of some of the rows, or of all."""
        if len(rows) == self.problem.n_rows:
            return self._whole
        return self._files.enter_context(fold_tables(self.problem.take(rows)))


def affordable_rows(
    kind: Kind,
    sampler: Sampler,
    tier: Sequence[Candidate],
    budget: Budget,
    *,
    n_folds: int,
    seed: int,
) -> float:
    """How many rows, of whole groups, the first tier can be run on in time; infinite: on all.

    The tier's last candidate that can be fitted is timed on two small samples of groups, and its
    time taken to grow with the rows. Of few groups none should be missed: there it is enough that
    two folds and the last fits can be run.

    Parameters
    ----------
    kind : Kind
    sampler : Sampler
    tier : sequence of Candidate
        The last is a typical one.
    budget : Budget
    n_folds : int
    seed : int
    """
    problem = sampler.problem
    if problem.n_rows <= 4 * _LEAST_SAMPLE:
        return np.inf
    small, larger = sampler.rows(_LEAST_SAMPLE), sampler.rows(4 * _LEAST_SAMPLE)
    # the first loads what it needs; of huge groups the two may be the same
    samples = [small, small, larger] if len(larger) > len(small) else [small]
    times = _times_of_a_fold(kind, problem, samples, tier, seed)
    if times is None:
        return np.inf  # the race says why nobody can be fitted
    per_row, fixed = times[-1] / len(samples[-1]), 0.0
    if len(times) > 1:
        per_row = max((times[2] - times[1]) / (len(larger) - len(small)), per_row / 4)
        fixed = max(times[1] - per_row * len(small), 0.0)

    def n_rows_in(seconds: float) -> float:
        return (seconds - fixed) / per_row

    enough = sampler.rows_of_groups(_ENOUGH_GROUPS)
    few = min(n_rows_in(budget.shortest_first_tier_fold()), enough)
    if max(n_rows_in(budget.first_tier_fold(n_folds)), few) >= problem.n_rows:
        return np.inf
    budget.keep_for_more_rows()
    n_rows = max(n_rows_in(budget.first_tier_fold(n_folds, sampled=True)), few, _LEAST_SAMPLE)
    return n_rows


def _times_of_a_fold(
    kind: Kind,
    problem: Problem,
    samples: Sequence[NDArray[np.intp]],
    tier: Sequence[Candidate],
    seed: int,
) -> list[float] | None:
    """Seconds of the whole tier on each sample, by the last candidate that can be fitted to all."""
    n_fits = len({candidate.method.name for candidate in tier})  # rules of one method share a fit
    for candidate in reversed(tier):
        times = []
        try:
            for rows in samples:
                with one_thread():
                    started = time.perf_counter()
                    Trainer(kind, problem.take(rows), seed).fit(candidate)
                    fitted = time.perf_counter()
                    if problem.unprepared is not None:
                        problem.unprepared.fold(rows, rows[:1])
                    prepared = time.perf_counter()
                times.append(n_fits * (fitted - started) + (prepared - fitted))
        except Exception as error:  # of any method: the race tells it, in leaderboard_
            logger.info("%s could not be timed: %s", candidate.name, error)
            continue
        return times
    return None
