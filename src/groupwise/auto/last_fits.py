"""The members of the model: fitted to all rows, or to as many as there is time for."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.budget import Budget
from groupwise.auto.choice import Choice, choose, choose_among, keep_members
from groupwise.auto.ensemble import Answer
from groupwise.auto.entries import Entry
from groupwise.auto.members import FoldAnswer, Member
from groupwise.auto.problem import Split
from groupwise.auto.race import Race
from groupwise.auto.runner import Runner
from groupwise.auto.sampling import Sampler
from groupwise.auto.workers import Workers

__all__ = ["LastFits"]

_SMALLEST_STEP, _LARGEST_STEP = 1.5, 10.0  # times as many rows
# So many groups of the sample, or that part of the table if it is more, are asked about once more.
_LEAST_JUDGED, _JUDGED_SHARE = 200, 0.05

logger = logging.getLogger("groupwise.auto")


class LastFits:
    """Fits the members that were chosen.

    Parameters
    ----------
    race : Race
    runner : Runner
    budget : Budget
    whole : dict of int to int or None
        The coarser id of each group by its name, where folds divide none.
    """

    def __init__(self, race: Race, runner: Runner, budget: Budget, whole: Mapping[int, int] | None):
        self._race, self._runner, self._budget, self._whole = race, runner, budget, whole
        self._seconds, self._seconds_to_choose = 0.0, 0.0

    def choose_and_fit(self) -> tuple[Choice, list[Member]]:
        """Fit to the rows that they competed on; some may be left out, as time is over."""
        race, started = self._race, time.monotonic()
        choice = choose(race.kind, race, self._whole)
        chosen = time.monotonic()
        members = self._runner.refit(choice.entries)
        self._seconds_to_choose, self._seconds = chosen - started, time.monotonic() - chosen
        return keep_members(race.kind, race, self._whole, choice, members)

    def fit_to_more_rows(
        self,
        choice: Choice,
        members: Sequence[Member],
        sampler: Sampler,
        rows: NDArray[np.intp],
        splits: Sequence[Split],
    ) -> tuple[Choice, list[Member]]:
        """Fit those of a sample again, to as many rows of the table as time is left for.

        It is done in steps: how long a step takes says how large the next can be. Groups of the
        sample's first folds are left out, so that the members, which know more now, can be asked
        about them; their scalings, weights and estimate are learned anew from that.

        Parameters
        ----------
        choice : Choice
        members : sequence of Member
            As :meth:`choose_and_fit` has left them.
        sampler : Sampler
        rows : ndarray of shape (n_sampled,)
            Of the table, that are the sample.
        splits : sequence of (train, test)
            The folds of the sample.
        """
        assert isinstance(self._runner, Workers)  # only a limit makes it a sample
        self._budget.keep_for_choice(self._seconds_to_choose)
        problem, members = sampler.problem, list(members)
        entries, again = choice.entries, list(choice.entries)
        tests = [rows[test] for _, test in splits[: self._n_judged(choice, splits, problem.n_rows)]]
        judged = np.concatenate(tests) if tests else np.empty(0, np.intp)
        whole = problem.groups.codes if problem.keep_whole is None else problem.keep_whole
        is_judged = np.isin(whole, np.unique(whole[judged]))
        most = problem.n_rows - int(is_judged.sum())
        n_fitted = len(rows)
        while True:
            times = self._budget.times_affordable(self._seconds)
            if min(times, most / n_fitted) > _SMALLEST_STEP * _LARGEST_STEP:
                times = _LARGEST_STEP
            train = sampler.rows(min(times * n_fitted, problem.n_rows))
            train = train[~is_judged[train]]
            if len(train) < _SMALLEST_STEP * n_fitted:
                break
            started = time.monotonic()
            both = np.union1d(train, judged)
            tables = sampler.tables(both)
            split = np.searchsorted(both, train), np.searchsorted(both, judged)
            tables = tables.with_splits([split] if tests else [])
            found = self._runner.fit_and_ask(tables, entries)
            self._seconds = time.monotonic() - started
            n_fitted = len(train)
            for place, new in enumerate(found):
                if new is not None:
                    members[place], answer = new
                    folds = _by_fold(answer, [problem.groups.codes[test] for test in tests])
                    again[place] = Entry(entries[place].candidate, folds)
            n_new = sum(new is not None for new in found)
            told = n_new, len(found), f"{n_fitted:,}", f"{problem.n_rows:,}"
            logger.info("%d of %d members fitted again, to %s of %s rows", *told)
            if n_new < len(found):
                break
        if not tests or n_fitted == len(rows):
            return choice, members
        luck = 1.0 + len(judged) / n_fitted
        race = self._race
        choice = choose_among(race.kind, race, self._whole, again, len(tests), luck=luck)
        chosen = choice.ensemble.chosen
        choice = replace(choice, entries=[entries[place] for place in chosen])
        return choice, [members[place] for place in chosen]

    def _n_judged(self, choice: Choice, splits: Sequence[Split], n_rows: int) -> int:
        """How many folds to leave out; none, where that would be too few groups to go by."""
        n_tested = np.cumsum([len(test) for _, test in splits[: choice.n_folds]])
        folds = range(1, choice.n_folds + 1)
        names = [self._race.held_out.names(number) for number in folds]
        if self._whole is not None:  # groups of one user say less than as many of several
            names = [np.unique([self._whole[name] for name in some]) for some in names]
        enough = int(np.searchsorted([len(some) for some in names], _LEAST_JUDGED)) + 1
        if enough > choice.n_folds:
            return 0
        return max(enough, int(np.searchsorted(n_tested, _JUDGED_SHARE * n_rows, side="right")))


def _by_fold(answer: Answer, codes: Sequence[NDArray[np.intp]]) -> dict[int, FoldAnswer]:
    """An answer about the rows of several folds, one after another; ``codes`` are their groups."""
    asked = np.unique(np.concatenate(codes)) if codes else ()
    end, folds = 0, {}
    for number, part in enumerate(codes):
        rows, groups = slice(end, end + len(part)), np.searchsorted(asked, np.unique(part))
        found = {name: v[rows if name.endswith("_row") else groups] for name, v in answer.items()}
        folds[number], end = FoldAnswer(found, 0.0), end + len(part)
    return folds
