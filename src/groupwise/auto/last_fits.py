"""The members of the model: fitted to all rows, or to as many as there is time for."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.budget import Budget
from groupwise.auto.choice import Choice, choose, choose_among, keep_members
from groupwise.auto.ensemble import Answer
from groupwise.auto.entries import Entry
from groupwise.auto.members import FoldAnswer, Member
from groupwise.auto.problem import Problem, Split
from groupwise.auto.race import Race
from groupwise.auto.runner import Runner
from groupwise.auto.sampling import Sampler
from groupwise.auto.workers import Workers

__all__ = ["LastFits"]

_SMALLEST_STEP, _LARGEST_STEP = 1.5, 10.0  # times as many rows
# So many groups, and of each class, are asked about once more, or, if it is more, the first part of
# the table's rows; none, if it is more than the second.
_LEAST_JUDGED, _LEAST_OF_CLASS = 200, 10
_JUDGED_SHARE, _MOST_JUDGED = 0.05, 0.2

logger = logging.getLogger("groupwise.auto")


@dataclass(frozen=True)
class LeftOut:
    """Rows of the table that are left out of fits to more rows, to be asked about.

    Attributes
    ----------
    tests : list of ndarray
        Those that were held out in the first folds of the sample, fold by fold.
    rows : ndarray
        The same, one fold after another.
    near : ndarray of shape (n_rows,)
        Whether a row of the table is one of their groups', or of what no fold divides.
    """

    tests: list[NDArray[np.intp]]
    rows: NDArray[np.intp]
    near: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, tests: list[NDArray[np.intp]]) -> "LeftOut":
        rows = np.concatenate(tests) if tests else np.empty(0, np.intp)
        whole = problem.undivided
        return cls(tests, rows, np.isin(whole, np.unique(whole[rows])))


class LastFits:
    """Fits the members that are chosen.

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
        self._budget.keep_for_choice(self._seconds_to_choose)
        tests = [rows[test] for _, test in splits[: choice.n_folds]]
        n_judged = self._n_judged(sampler.problem, tests)
        left_out = LeftOut.of(sampler.problem, tests[:n_judged])
        members, entries = list(members), list(choice.entries)
        n_fitted = len(rows)
        while (train := self._next_rows(sampler, left_out, n_fitted)) is not None:
            found = self._step(sampler, left_out, train, choice.entries)
            new = {place: both for place, both in enumerate(found) if both is not None}
            n_fitted = len(train) if new else n_fitted
            for place, (member, folds) in new.items():
                members[place] = member
                entries[place] = Entry(choice.entries[place].candidate, folds)
            told = len(new), len(found), f"{len(train):,}", f"{sampler.problem.n_rows:,}"
            logger.info("%d of %d members fitted again, to %s of %s rows", *told)
            if len(new) < len(found):
                break
        if n_fitted == len(rows) or not n_judged:
            return choice, members
        luck = 1.0 + len(left_out.rows) / n_fitted
        again = choose_among(self._race.kind, self._race, self._whole, entries, n_judged, luck=luck)
        chosen = again.ensemble.chosen
        again = replace(again, entries=[choice.entries[place] for place in chosen])
        return again, [members[place] for place in chosen]

    def _n_judged(self, problem: Problem, tests: list[NDArray[np.intp]]) -> int:
        """How many folds to leave out; none, where that would be too few groups to go by."""
        enough = [
            number
            for number in range(1, len(tests) + 1)
            if self._are_enough(problem, np.concatenate(tests[:number]))
        ]
        shares = [float(LeftOut.of(problem, tests[:n]).near.mean()) for n in enough]
        affordable = [n for n, share in zip(enough, shares, strict=True) if share <= _MOST_JUDGED]
        if not affordable:
            return 0
        small = [n for n, share in zip(enough, shares, strict=True) if share <= _JUDGED_SHARE]
        return max(small, default=affordable[0])

    def _are_enough(self, problem: Problem, rows: NDArray[np.intp]) -> bool:
        """Whether these rows are of enough groups or users, and of enough of each class."""
        users = np.unique(problem.undivided, return_inverse=True)[1]
        if len(np.unique(users[rows])) < _LEAST_JUDGED:
            return False
        of_rows = self._race.kind.classes_row(problem)
        if of_rows is None:
            return True
        names, classes = np.unique(of_rows, return_inverse=True)
        both = np.unique(classes[rows] * problem.n_rows + users[rows])
        of_class = np.bincount(both // problem.n_rows, minlength=len(names))
        needed = np.unique(classes[self._race.kind.counted_rows(problem)])  # none of sources alone
        return bool(of_class[needed].min() >= _LEAST_OF_CLASS)

    def _next_rows(
        self, sampler: Sampler, left_out: LeftOut, n_fitted: int
    ) -> NDArray[np.intp] | None:
        """As many as can be afforded, or a step towards them; ``None``: hardly more than now."""
        times = self._budget.times_affordable(self._seconds)
        if min(times, sampler.problem.n_rows / n_fitted) > _SMALLEST_STEP * _LARGEST_STEP:
            times = _LARGEST_STEP
        rows = sampler.rows(times * n_fitted)
        rows = rows[~left_out.near[rows]]
        return rows if len(rows) >= _SMALLEST_STEP * n_fitted else None

    def _step(
        self,
        sampler: Sampler,
        left_out: LeftOut,
        train: NDArray[np.intp],
        entries: Sequence[Entry],
    ) -> list[tuple[Member, dict[int, FoldAnswer]] | None]:
        """Fit to these rows and ask about those left out; ``None`` for what was late."""
        assert isinstance(self._runner, Workers)  # only a limit makes it a sample
        started = time.monotonic()
        both = np.union1d(train, left_out.rows)
        split = np.searchsorted(both, train), np.searchsorted(both, left_out.rows)
        tables = sampler.tables(both).with_splits([split] if left_out.tests else [])
        found = self._runner.fit_and_ask(tables, entries)
        if left_out.tests and sampler.problem.unprepared is not None:
            # the model is asked with words of all rows, which those left out have a part in
            of_model = self._runner.fit_and_ask(sampler.tables(train), entries)
            found = [
                None if old is None or new is None else (new[0], old[1])
                for old, new in zip(found, of_model, strict=True)
            ]
        self._seconds = time.monotonic() - started
        codes = [sampler.problem.groups.codes[test] for test in left_out.tests]
        return [None if new is None else (new[0], _by_fold(new[1], codes)) for new in found]


def _by_fold(answer: Answer, codes: Sequence[NDArray[np.intp]]) -> dict[int, FoldAnswer]:
    """An answer about the rows of several folds, one after another; ``codes`` are their groups."""
    asked = np.unique(np.concatenate(codes)) if codes else ()
    end, folds = 0, {}
    for number, part in enumerate(codes):
        rows, groups = slice(end, end + len(part)), np.searchsorted(asked, np.unique(part))
        found = {name: v[rows if name.endswith("_row") else groups] for name, v in answer.items()}
        folds[number], end = FoldAnswer(found, 0.0), end + len(part)
    return folds
