"""What the automatic classifier and regressor share: the race, and what is known after it."""

from collections.abc import Sequence
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from logging import getLogger
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import RandomState, Rows
from groupwise.auto.budget import Budget
from groupwise.auto.candidates import Candidate, first_candidates
from groupwise.auto.choice import (
    Estimate,
    HeldOutGroups,
    board,
    held_out_groups,
)
from groupwise.auto.ensemble import Answer
from groupwise.auto.fold_tables import FoldTables
from groupwise.auto.kinds import Kind
from groupwise.auto.last_fits import LastFits
from groupwise.auto.members import Member
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.race import Race
from groupwise.auto.runner import InProcess, Runner
from groupwise.auto.sampling import Sampler, affordable_rows
from groupwise.auto.store import Store
from groupwise.auto.workers import Workers
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import check_groups, check_number
from groupwise.inputs.rows import LARGEST_UNSCALED
from groupwise.model_selection import Splitter
from groupwise.preparation import Unprepared
from groupwise.threads import few_threads

__all__ = ["AutoMixin", "with_unprepared", "with_whole"]

logger = getLogger("groupwise.auto")


class AutoMixin:
    """The race and what is known after it; classifier and regressor alike."""

    _splits_on_categories = True
    _largest_value = LARGEST_UNSCALED

    cv: int | Splitter
    time_limit: float | None
    n_jobs: int | None
    folder: str | Path | None
    random_state: RandomState

    members_: list[Member]
    estimate_: Estimate
    not_tried_: dict[str, str]
    n_groups_: int
    n_groups_used_: int
    held_out_: HeldOutGroups

    def _check_effort(self) -> None:
        if isinstance(self.cv, bool) or not isinstance(self.cv, Splitter):
            check_number("cv", self.cv, "[2, inf)", whole=True)
        if self.time_limit is not None:
            check_number("time_limit", self.time_limit, "(0, inf)")

    def _folds(self) -> int | Splitter:
        return self.cv if isinstance(self.cv, Splitter) else int(self.cv)

    def _budget(self) -> Budget:
        """The time of a fit that begins now."""
        return Budget(self.time_limit, effective_n_jobs(self.n_jobs))

    def _race(
        self, kind: Kind, given: Problem, budget: Budget, *, measure: str | None = None
    ) -> None:
        """Let candidates compete, and fit those chosen to all rows."""
        problem, position = in_canonical_order(given)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        tiers, self.not_tried_ = first_candidates(
            kind.name,
            n_rows=problem.n_rows,
            n_features=problem.n_features,
            n_classes=problem.n_classes,
            measure=measure,
        )
        with ExitStack() as files:
            sampler = Sampler(kind, problem, seed, files)
            del problem  # from here on rows are mapped, not in memory
            rows = sampler.rows(self._affordable_rows(kind, sampler, tiers[0], seed, budget))
            if len(rows) < sampler.problem.n_rows:
                both = f"{len(rows):,}", f"{sampler.problem.n_rows:,}"
                logger.info("candidates compete on %s of %s rows, in whole groups", *both)
            tables = sampler.tables(rows)
            problem = tables.problem
            whole = problem.whole_of_groups()
            tables = tables.with_splits(kind.splits(problem, self._folds(), seed))
            runner = self._runner(kind, tables, tiers, seed, budget)
            try:
                race = Race(kind, problem, tables.splits, runner, budget)
                race.run(tiers)
                if budget.is_over and not race.usable(1):
                    cheapest, here = tiers[0][0], InProcess(kind, tables, seed, None)
                    race.run_whatever_it_takes(cheapest, here)
                last_fits = LastFits(race, runner, budget, whole)
                choice, members = last_fits.choose_and_fit()
                if len(rows) < sampler.problem.n_rows and not budget.is_over:
                    sample = rows, tables.splits
                    choice, members = last_fits.fit_to_more_rows(choice, members, sampler, *sample)
            finally:
                runner.close()
        self.members_ = members
        self._ensemble = choice.ensemble
        self._board = board(kind, race, whole, choice, {member.name for member in self.members_})
        self.estimate_ = choice.estimate
        self.n_groups_used_ = problem.groups.n_groups
        self.held_out_ = held_out_groups(kind, race, choice, position)
        late = [e.candidate.name for e in race.entries if e.state == "out of time" and not e.folds]
        self.not_tried_ |= dict.fromkeys(late, "out of time")

    def _affordable_rows(
        self, kind: Kind, sampler: Sampler, tier: list[Candidate], seed: int, budget: Budget
    ) -> float:
        """How many rows the first tier can be judged on in what is left of the time."""
        if not budget.is_limited:
            return np.inf
        cv, problem = self._folds(), sampler.problem
        if not isinstance(cv, int):
            cv = cv.get_n_splits(problem.X, problem.y, problem.undivided)
        return affordable_rows(kind, sampler, tier, budget, n_folds=cv, seed=seed)

    def _runner(
        self,
        kind: Kind,
        tables: FoldTables,
        tiers: Sequence[Sequence[Candidate]],
        seed: int,
        budget: Budget,
    ) -> Runner:
        """What fits candidates: other processes where there is a limit or more than one job."""
        store = None
        if self.folder is not None:
            digest = Store.digest_of(kind, tables.problem, tables.splits, seed)
            store = Store(Path(self.folder), digest)
        if not budget.is_limited and budget.n_jobs == 1:
            return InProcess(kind, tables, seed, store)
        needed = {c.method.needs for tier in tiers for c in tier if c.method.needs is not None}
        # with a limit, what slow methods need, which may never have their turn, they load
        # themselves
        modules = () if budget.is_limited else sorted(needed)
        return Workers(kind, tables, seed, store, budget, modules=modules)

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """All candidates, the best score first.

        The score of the first flatters it: it is first among many. What the model is worth is
        ``estimate_``.
        """
        check_is_fitted(self)
        return pd.DataFrame(self._board)

    def with_members(self, members: Sequence[Member], n_groups: int) -> Self:
        """A copy with these members, fitted elsewhere to more groups, in the place of its own.

        What was learned on held-out groups stays: scalings, weights, ``estimate_``.

        Parameters
        ----------
        members : sequence of Member
            As many as there are, in the same order.
        n_groups : int
            There are now.
        """
        check_is_fitted(self)
        given, own = [m.name for m in members], [m.name for m in self.members_]
        if given != own:
            raise ValueError(f"members must be {', '.join(own)}, got {', '.join(given)}")
        other = copy(self)
        other.members_, other.n_groups_ = list(members), n_groups
        return other

    def _asked(self, rows: Rows, groups: Groups) -> tuple[list[Any], Answer]:
        """The members' predictions and the ensemble's answer."""
        with few_threads(groups.n_rows):
            found = [member.predictions(rows, groups) for member in self.members_]
        names = ("proba_group", "proba_row", "score_row", "y_group", "y_row")
        answers = [{name: getattr(f, name) for name in names if hasattr(f, name)} for f in found]
        return found, self._ensemble.combine(answers, groups)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # of what it is mixed into
        tags.input_tags.allow_nan = True
        return tags


def with_unprepared(problem: Problem, unprepared: Unprepared | None) -> Problem:
    """The problem with the rows as they were before their preparation."""
    if unprepared is None:
        return problem
    n_rows = _num_samples(unprepared.table)
    if n_rows != problem.n_rows:
        raise GroupDataError(
            f"unprepared must hold the rows of X: it has {n_rows}, X has {problem.n_rows}"
        )
    return replace(problem, unprepared=unprepared)


def with_whole(problem: Problem, keep_whole: ArrayLike | None) -> Problem:
    """The problem with coarser ids that no fold divides."""
    if keep_whole is None:
        return problem
    whole = check_groups(keep_whole, problem.n_rows, name="keep_whole")
    return replace(problem, keep_whole=whole.codes)
