"""Candidates fitted to rows: one fold at a time, and the members of the model.

Whoever calls does it inside :func:`one_thread`: then answers do not depend on the machine.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.compose import ColumnTransformer
from threadpoolctl import threadpool_limits

from groupwise._typing import Rows
from groupwise.auto.candidates import Candidate
from groupwise.auto.ensemble import Answer
from groupwise.auto.fold_tables import FoldTables
from groupwise.auto.kinds import Kind, Problem
from groupwise.groups import Groups
from groupwise.majority import NaiveGroupClassifier
from groupwise.preparation import Prepared, fit_preparation, needs_preparation, prepare
from groupwise.rules import get_rule

__all__ = ["Fold", "FoldAnswer", "Member", "Trainer", "key_of_fit", "one_thread"]


@dataclass(frozen=True)
class Member:
    """A fitted method with what its columns need.

    Attributes
    ----------
    name : str
        Of the candidate.
    explains : bool
        Whether its answers about rows mean something.
    n_classes : int
        0 for a regressor.
    categories : tuple of int
        Columns of the rows that hold codes of categories.
    preparation : ColumnTransformer or None
    estimator : estimator
        Fitted to class codes, shares or numbers.
    n_groups : int, default=0
        Groups that it was fitted to; 0 where an older model file does not say.
    """

    name: str
    explains: bool
    n_classes: int
    categories: tuple[int, ...]
    preparation: ColumnTransformer | None
    estimator: Any
    n_groups: int = 0

    def predictions(self, rows: Rows, groups: Groups) -> Any:
        """What it says of checked rows and their groups."""
        return self.predictions_of(prepare(rows, self.categories, self.preparation), groups)

    def predictions_of(self, prepared: Prepared, groups: Groups) -> Any:
        """The same of rows that are prepared already."""
        found = self.estimator.predictions(prepared, groups)
        return found.with_classes(np.arange(self.n_classes)) if self.n_classes else found


class Trainer:
    """Fits candidates to the same rows, which are prepared once for all of them."""

    def __init__(self, kind: Kind, problem: Problem, seed: int):
        self.kind, self.problem, self.seed = kind, problem, seed
        self._ready: dict[bool, tuple[ColumnTransformer | None, Prepared]] = {}
        self._of_rows: dict[str, Any] = {}

    def fit(self, candidate: Candidate) -> Member:
        """Fit one candidate."""
        problem = self.problem
        estimator = candidate.method.build(self.kind.fixed, candidate.params, self.seed)
        preparation, X = self._prepared_for(estimator)
        if isinstance(estimator, NaiveGroupClassifier):
            estimator = self._fit_rows_once(candidate, estimator, X)
        else:
            self._fit(estimator, X)
        return Member(
            candidate.name,
            candidate.method.explains,
            problem.n_classes,
            problem.categories,
            preparation,
            estimator,
            problem.groups.n_groups,
        )

    def _fit(self, estimator: Any, X: Prepared) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator.fit(X, self.problem.y, **self.kind.ids(self.problem))

    def _fit_rows_once(self, candidate: Candidate, estimator: Any, X: Prepared) -> Any:
        """Rows know nothing of the rule by which they will decide: one fit serves all rules."""
        key = key_of_fit(candidate)
        if key not in self._of_rows:
            self._fit(estimator, X)
            self._of_rows = {key: estimator}
        fitted = copy(self._of_rows[key])
        fitted.rule = estimator.rule
        fitted.rule_ = get_rule(estimator.rule)
        return fitted

    def _prepared_for(self, estimator: Any) -> tuple[ColumnTransformer | None, Prepared]:
        problem = self.problem
        needs = needs_preparation(problem.X, estimator)
        if needs not in self._ready:
            made = fit_preparation(problem.X, problem.numbers, problem.categories, estimator)
            self._ready[needs] = made, prepare(problem.X, problem.categories, made)
        return self._ready[needs]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let every fit and answer inside this block have one thread, whatever it would take."""
    with threadpool_limits(1), parallel_config(backend="sequential"):
        yield


def key_of_fit(candidate: Candidate) -> str:
    """The same for candidates that differ by their rule alone, whose rows one fit serves."""
    others = {name: value for name, value in candidate.params.items() if name != "rule"}
    return replace(candidate, params=others).key()


@dataclass(frozen=True)
class FoldAnswer:
    """What came of one candidate on one fold.

    Attributes
    ----------
    answer : dict of str to ndarray
        About the held-out rows or groups; empty where it failed.
    seconds : float
        Of the fit and the answer.
    failed : str
        Why it failed, or nothing.
    """

    answer: Answer
    seconds: float
    failed: str = ""


class Fold:
    """One fold: candidates are fitted to its training rows and asked about the others."""

    def __init__(self, kind: Kind, tables: FoldTables, number: int, seed: int):
        self._kind, self._tables, self._number, self._seed = kind, tables, number, seed
        self._test_ready: dict[bool, Prepared] = {}

    @cached_property
    def _parts(self) -> tuple[Trainer, Problem]:
        """What fits to the training rows, and the others."""
        train, test = self._tables.problems(self._number)
        return Trainer(self._kind, train, self._seed), test

    def answer(self, candidate: Candidate) -> FoldAnswer:
        """Fit and ask; whatever goes wrong is the candidate's failure, with its reason."""
        started = time.perf_counter()
        try:
            answer = self._answer(candidate)
        except Exception as error:  # of any method: told in leaderboard_, and the race goes on
            reason = (str(error).splitlines() or [""])[0]
            failed = f"{type(error).__name__}: {reason}"
            return FoldAnswer({}, time.perf_counter() - started, failed)
        return FoldAnswer(answer, time.perf_counter() - started)

    def _answer(self, candidate: Candidate) -> Answer:
        trainer, asked = self._parts
        member = trainer.fit(candidate)
        needs = member.preparation is not None
        if needs not in self._test_ready:
            self._test_ready[needs] = prepare(asked.X, member.categories, member.preparation)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = member.predictions_of(self._test_ready[needs], asked.groups)
        answer = {name: np.asarray(getattr(found, name)) for name in self._kind.keeps}
        if not all(np.isfinite(values).all() for values in answer.values()):
            raise ValueError("its answers are not finite")
        return answer
