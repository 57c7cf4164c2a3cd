"""A sample of groups, where a table is too large for the time."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Kind
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem

__all__ = ["affordable_rows"]

_LEAST_SAMPLE = 1000  # rows that are always affordable, and that a fit is timed on first
_ENOUGH_GROUPS = 1000  # so many are not thinned out for the sake of more folds
_HUGE = 10  # a group of more than this part of a sample's rows is taken last


def affordable_rows(
    kind: Kind,
    problem: Problem,
    tier: Sequence[Candidate],
    budget: Budget,
    *,
    n_folds: int,
    seed: int,
) -> NDArray[np.intp] | None:
    """Rows of as many whole groups as the first tier can be run on in time; ``None``: of all.

    The tier's last candidate is timed on two small samples of groups, and its time taken to grow
    with the rows. Of few groups none should be missed: there it is enough that two folds and the
    last fits can be run.

    Parameters
    ----------
    kind : Kind
    problem : Problem
    tier : sequence of Candidate
        The last is a typical one.
    budget : Budget
    n_folds : int
    seed : int
    """
    if problem.n_rows <= 4 * _LEAST_SAMPLE:
        return None
    seconds, least_seconds = budget.first_tier_fold(n_folds), budget.shortest_first_tier_fold()
    drawn = np.random.RandomState(seed).permutation(problem.groups.n_groups)
    sizes_drawn = problem.groups.sizes[drawn]
    n_fits = len({candidate.method.name for candidate in tier})  # rules of one method share a fit

    def rows_of(n_rows: float) -> NDArray[np.intp]:
        # a huge group would be there instead of many others: these come first
        order = np.argsort(sizes_drawn > n_rows / _HUGE, kind="stable")
        n_within = int(np.searchsorted(np.cumsum(sizes_drawn[order]), n_rows, side="right"))
        taken = np.zeros(problem.groups.n_groups, bool)
        taken[drawn[order[: max(n_within, 2)]]] = True
        return np.flatnonzero(taken[problem.groups.codes])

    times, sizes = [], []  # of one fold
    for size in (_LEAST_SAMPLE, _LEAST_SAMPLE, 4 * _LEAST_SAMPLE):  # the first loads what it needs
        rows = rows_of(size)
        with one_thread():
            started = time.perf_counter()
            Trainer(kind, problem.take(rows), seed).fit(tier[-1])
            fitted = time.perf_counter()
            if problem.unprepared is not None:
                problem.unprepared.fold(rows, rows[:1])
            prepared = time.perf_counter()
        times.append(n_fits * (fitted - started) + (prepared - fitted))
        sizes.append(len(rows))
    per_row = max((times[2] - times[1]) / max(sizes[2] - sizes[1], 1), times[2] / sizes[2] / 4)
    fixed = max(times[1] - per_row * sizes[1], 0.0)

    def n_rows_in(seconds: float) -> float:
        return (seconds - fixed) / per_row

    enough = float(sizes_drawn[:_ENOUGH_GROUPS].sum())
    n_rows = max(n_rows_in(seconds), min(n_rows_in(least_seconds), enough))
    if n_rows >= problem.n_rows:
        return None
    return rows_of(max(n_rows, _LEAST_SAMPLE))
