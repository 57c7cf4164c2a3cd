"""Candidates fitted to rows: one fold at a time, and the members of the model.

Whoever calls does it inside :func:`one_thread`: then answers do not depend on the machine.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.compose import ColumnTransformer
from sklearn.utils import get_tags
from threadpoolctl import threadpool_limits

from groupwise._typing import Rows
from groupwise.auto.candidates import Candidate
from groupwise.auto.ensemble import Answer
from groupwise.auto.fold_tables import FoldTables, ReadyRows
from groupwise.auto.kinds import Kind
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.majority import NaiveGroupClassifier
from groupwise.preparation import Prepared, fit_preparation, needs_preparation, prepare
from groupwise.rules import get_rule

__all__ = ["Fold", "FoldAnswer", "Member", "Trainer", "key_of_fit", "one_thread"]

_Ready = tuple[ColumnTransformer | None, Prepared]


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
    """Fits candidates to the same rows, which are prepared once for all of them.

    Parameters
    ----------
    kind : Kind
    problem : Problem
    seed : int
    ready : tuple of (preparation, X), default=None
        The rows as they are prepared already, for the estimators that take them so.
    """

    def __init__(self, kind: Kind, problem: Problem, seed: int, ready: _Ready | None = None):
        self.kind, self.problem, self.seed = kind, problem, seed
        self._ready = {} if ready is None else {ready[0] is not None: ready}
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

    def _prepared_for(self, estimator: Any) -> _Ready:
        problem = self.problem
        needs = needs_preparation(problem.X, estimator)
        if needs not in self._ready:
            columns = problem.numbers, problem.categories
            self._ready[needs] = fit_preparation(problem.X, *columns, estimator)
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
    """One fold, or all rows: candidates are fitted to the training rows and asked about the others.

    Of the rows as they are and as they are prepared, it has those at hand that the last candidate
    took.

    Parameters
    ----------
    kind : Kind
    tables : FoldTables
    number : int or None
        ``None``: all rows, and nobody is asked.
    seed : int
    """

    def __init__(self, kind: Kind, tables: FoldTables, number: int | None, seed: int):
        self._kind, self._tables, self._number, self._seed = kind, tables, number, seed
        self._at_hand: tuple[bool, ReadyRows, Trainer] | None = None

    def fit(self, candidate: Candidate) -> Member:
        """Fit one candidate to the training rows."""
        return self._rows_for(candidate)[1].fit(candidate)

    def fit_and_ask(self, candidate: Candidate) -> tuple[Member, Answer]:
        """The same, with what it says of the held-out rows, if there are any."""
        rows, trainer = self._rows_for(candidate)
        member = trainer.fit(candidate)
        if self._number is None:
            return member, {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = member.predictions_of(rows.X[1], rows.parts[1].groups)
        answer = {name: np.asarray(getattr(found, name)) for name in self._kind.keeps}
        if not all(np.isfinite(values).all() for values in answer.values()):
            raise ValueError("its answers are not finite")
        return member, answer

    def answer(self, candidate: Candidate) -> FoldAnswer:
        """Fit and ask; whatever goes wrong is the candidate's failure, with its reason."""
        started = time.perf_counter()
        try:
            _, answer = self.fit_and_ask(candidate)
        except Exception as error:  # of any method: told in leaderboard_, and the race goes on
            reason = (str(error).splitlines() or [""])[0]
            failed = f"{type(error).__name__}: {reason}"
            return FoldAnswer({}, time.perf_counter() - started, failed)
        return FoldAnswer(answer, time.perf_counter() - started)

    def _rows_for(self, candidate: Candidate) -> tuple[ReadyRows, Trainer]:
        estimator = candidate.method.build(self._kind.fixed, candidate.params, self._seed)
        takes_gaps = get_tags(estimator).input_tags.allow_nan
        if self._at_hand is None or self._at_hand[0] != takes_gaps:
            self._at_hand = None  # before the others come
            rows = self._tables.ready(self._number, estimator)
            ready = rows.preparation, rows.X[0]
            trainer = Trainer(self._kind, rows.parts[0], self._seed, ready)
            self._at_hand = takes_gaps, rows, trainer
        return self._at_hand[1:]
