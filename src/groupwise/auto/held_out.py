"""Answers about held-out rows, of all folds together."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from groupwise.auto.ensemble import Answer, Truth
from groupwise.auto.entries import Entry
from groupwise.auto.kinds import Kind
from groupwise.auto.problem import Problem, Split
from groupwise.groups import Groups

__all__ = ["HeldOut"]


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
