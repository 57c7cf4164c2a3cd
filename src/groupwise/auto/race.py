"""The race of candidates over folds: who runs when, and who is dropped."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.budget import Budget, affordable
from groupwise.auto.candidates import Candidate, variants
from groupwise.auto.ensemble import FEW_GROUPS, N_BEST, best_of_each
from groupwise.auto.entries import Certainty, Entry, Task
from groupwise.auto.held_out import HeldOut
from groupwise.auto.kinds import Kind
from groupwise.auto.problem import Problem, Split
from groupwise.auto.runner import Runner
from groupwise.auto.scaling import is_worse

__all__ = ["Race"]

logger = logging.getLogger("groupwise.auto")

# So many methods' settings are searched.
_N_SEARCHED = 3
# Nobody is dropped before.
_FOLDS_OF_ALL = 2


class Race:
    """Tiers of candidates, each over all folds in rounds.

    After a round, candidates that are clearly behind the fifth best leave (baselines stay); the
    methods that lead then try their settings, boosting with more rounds and larger trees as long as
    these are clearly worth it, and slow methods come last. Decisions fall between rounds and depend
    on losses only, never on the number of processes; where a limit leaves too little time for all,
    the slowest leave that are not among the best.

    Parameters
    ----------
    kind : Kind
    problem : Problem
    splits : sequence of (train, test)
    runner : Runner
    budget : Budget
    """

    def __init__(
        self,
        kind: Kind,
        problem: Problem,
        splits: Sequence[Split],
        runner: Runner,
        budget: Budget,
    ):
        self.kind, self.n_folds, self.runner, self.budget = kind, len(splits), runner, budget
        self.held_out = HeldOut(kind, problem, splits)
        self._n_groups = self.held_out.truth(self.n_folds).groups.n_groups
        self._few_groups = self._n_groups < FEW_GROUPS
        self.entries: list[Entry] = []

    def run(self, tiers: Sequence[Sequence[Candidate]]) -> None:
        """Run the tiers, then the settings of the leading methods, then slow methods."""
        quick = [[c for c in tier if not c.method.is_slow] for tier in tiers]
        slow = [c for tier in tiers for c in tier if c.method.is_slow]
        for number, tier in enumerate(quick):
            coming = [c for later in quick[number + 1 :] for c in later]
            self.run_tier(tier, coming + slow)
        more = [] if self._few_groups else self._more_settings()
        while more:
            self.run_tier(more, slow)
            more = self._more_boosting()
        # against the clock one after another: half judged they are worth nothing
        step = self.budget.n_jobs if self.budget.is_limited else len(slow)
        for first in range(0, len(slow), max(step, 1)):
            self.run_tier(slow[first : first + step], slow[first + step :])

    def run_tier(self, tier: Sequence[Candidate], coming: Sequence[Candidate] = ()) -> None:
        """Run candidates over all folds, as far as time goes; ``coming`` ones are run later."""
        entries = [Entry(candidate) for candidate in tier]
        self.entries += entries
        for fold in range(self.n_folds):
            running = [entry for entry in entries if entry.state == "running"]
            if self.budget.is_over:
                break
            self.runner.run(self._tasks(running, coming, fold))
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

    def run_whatever_it_takes(self, candidate: Candidate, runner: Runner) -> None:
        """Run one candidate, in the place of its first attempt, without a limit."""
        self.runner, self.budget = runner, Budget(None)
        self.entries = [entry for entry in self.entries if entry.candidate is not candidate]
        self.run_tier([candidate])

    def _tasks(
        self, running: Sequence[Entry], coming: Sequence[Candidate], fold: int
    ) -> list[Task]:
        """What is asked on a fold, and what will be or may be after it.

        Against the clock nothing is sure, and what is coming may take all the time there is: only
        slow methods, which come one after another, are begun before their turn.
        """
        own = [(entry, number) for number in range(fold + 1, self.n_folds) for entry in running]
        entries = [Entry(candidate) for candidate in coming]
        others = [(entry, number) for number in range(self.n_folds) for entry in entries]
        if self.budget.is_limited:
            is_slow = any(entry.candidate.method.is_slow for entry in running)
            sure, likely = [], own + others if is_slow else own
        else:
            sure = [later for later in own + others if self._is_sure(*later)]
            next_ones = [later for later in own if later[1] == fold + 1]
            likely = [later for later in next_ones if not self._is_sure(*later)]
        return [
            *(Task(entry, fold) for entry in running),
            *(Task(*later, Certainty.SURE) for later in sure),
            *(Task(*later, Certainty.LIKELY) for later in likely),
        ]

    def _is_sure(self, entry: Entry, fold: int) -> bool:
        return fold < _FOLDS_OF_ALL or entry.candidate.is_baseline or self._few_groups

    def _losses(self, entries: Sequence[Entry], n_folds: int) -> list[NDArray[Any]]:
        truth = self.held_out.truth(n_folds)
        return [self.kind.loss(self.held_out.answer(e, n_folds), truth) for e in entries]

    def usable(self, n_folds: int) -> list[Entry]:
        """Entries with answers on the first folds."""
        folds = range(n_folds)
        return [e for e in self.entries if e.state != "failed" and all(f in e.folds for f in folds)]

    def in_order(self, n_folds: int) -> tuple[list[Entry], list[NDArray[Any]], list[int]]:
        """What the first folds judged, its losses, and the best of each method in their order."""
        entries = self.usable(n_folds)
        losses = self._losses(entries, n_folds)
        means = [float(np.nanmean(loss)) for loss in losses]
        return entries, losses, best_of_each(means, [e.candidate.method.name for e in entries])

    def _after_round(self, n_folds: int) -> None:
        """Keep time for the leaders' last fits, and drop who is clearly behind them."""
        entries, losses, order = self.in_order(n_folds)
        if not entries:
            return
        leaders = order[: self.kind.n_averaged(self._n_groups)]
        self.budget.keep_for_last_fits(
            [entries[place].seconds_of_all(self.n_folds) for place in leaders]
        )
        if (
            _FOLDS_OF_ALL <= n_folds < self.n_folds
            and not self._few_groups
            and len(order) >= N_BEST
        ):
            self._drop(entries, losses, losses[order[N_BEST - 1]], n_folds)

    def _leave_out_the_slowest(self, tier: Sequence[Entry], n_folds: int) -> None:
        """Let those go on that the time left is enough for: the best first, then the quickest."""
        if not self.budget.is_limited:
            return
        running = [entry for entry in tier if entry.state == "running"]
        rivals = self.usable(n_folds)
        means = [float(np.nanmean(loss)) for loss in self._losses(rivals, n_folds)]
        best = {id(rivals[place]) for place in np.argsort(means)[:N_BEST]}
        order = sorted(running, key=lambda e: (id(e) not in best, e.seconds))
        n_ahead = self.budget.folds_ahead(n_folds, self.n_folds)
        costs = [n_ahead * entry.seconds / n_folds for entry in order]
        needed = bool(order) and order[0].candidate.is_baseline  # there has to be one
        paid = affordable(costs, self.budget.seconds_left, first_anyway=needed)
        for entry, goes_on in zip(order, paid, strict=True):
            if not goes_on:
                entry.state = "out of time"

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
        """The small searches of the methods that lead."""
        entries, _, order = self.in_order(self.n_folds)
        found = [variants(entries[place].candidate) for place in order]
        more = [candidate for some in [s for s in found if s][:_N_SEARCHED] for candidate in some]
        return self._not_tried(more)

    def _more_boosting(self) -> list[Candidate]:
        """More rounds and larger trees, where a method's best is clearly better than the next."""
        entries, losses, order = self.in_order(self.n_folds)
        more = []
        for best in order:
            candidate = entries[best].candidate
            smaller = [n for n, e in enumerate(entries) if e.candidate.is_smaller(candidate)]
            if not smaller:
                continue
            next_smaller = max(smaller, key=lambda n: entries[n].candidate.effort)
            if is_worse(losses[next_smaller], losses[best], errors=2.0):
                more += candidate.grown()
        return self._not_tried(more)

    def _not_tried(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        tried = {entry.candidate.key() for entry in self.entries}
        return [candidate for candidate in candidates if candidate.key() not in tried]
