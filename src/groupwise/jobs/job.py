"""One table with its question: everything a method needs to be fitted and judged."""

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.jobs.evaluate import evaluate_fold
from groupwise.jobs.fold_result import FoldResult
from groupwise.jobs.model import (
    TableModel,
    column_importance,
    fit_model,
    search_params,
)
from groupwise.jobs.owners import coarser_ids, coarser_notes
from groupwise.jobs.peak_memory import PeakMemory
from groupwise.jobs.result import Result, RunInfo
from groupwise.jobs.supervision import Split, Supervision
from groupwise.jobs.targets import Targets, order_of, whole_of
from groupwise.methods import AUTO, Method, get_method, methods_for
from groupwise.tables import ColumnUse, LoadedTable, Schema, choose_features
from groupwise.tables.columns import unit_notes
from groupwise.tables.copies import telling_notes
from groupwise.threads import few_threads

__all__ = ["Job", "Progress", "Unlabelled", "run_steps"]

Found = TypeVar("Found")
# Of fewer a column may tell all labels by chance.
_FEW_GROUPS = 10
#: ``progress(found, n)`` gives the results on as they come, and shows that they pass.
Progress = Callable[[Iterable[Any], int], Iterable[Any]]


@dataclass(frozen=True)
class Unlabelled:
    """Rows whose label nobody knows.

    Attributes
    ----------
    features : DataFrame
    groups : Groups
    rows : ndarray
        Their positions in the table.
    is_target : ndarray of bool
        Whether they count (transfer: whether they are of the target).
    """

    features: pd.DataFrame
    groups: Groups
    rows: NDArray[np.intp]
    is_target: NDArray[np.bool_]


@dataclass(frozen=True)
class Job:
    """A table, what is known of its groups, and the columns to learn from.

    Attributes
    ----------
    table : str
        Its name.
    fingerprint : str
    supervision : Supervision
    uses : list of ColumnUse
    features : DataFrame
    targets : Targets
    order : ndarray of shape (n_rows,)
        Where in its group a row stands: values of a column, or positions in the table.
    seed : int
    keep_whole : str, default=None
        Column of coarser ids that no fold divides.
    unlabelled : Unlabelled, default=None
        Rows whose label nobody knows.
    notes : tuple of str
        What a person should know about the table.
    """

    table: str
    fingerprint: str
    supervision: Supervision
    uses: list[ColumnUse]
    features: pd.DataFrame
    targets: Targets
    order: NDArray[Any]
    seed: int
    keep_whole: str | None = None
    unlabelled: Unlabelled | None = None
    notes: tuple[str, ...] = ()

    @classmethod
    def from_table(
        cls,
        table: LoadedTable,
        supervision: Supervision,
        *,
        wanted: Sequence[str] = (),
        ignored: Sequence[str] = (),
        order: str | None = None,
        keep_whole: str | None = None,
        seed: int = 0,
    ) -> "Job":
        """Check a table against a kind of supervision and choose its features.

        Rows without a label (groups without, where groups have it) are set aside.

        Raises
        ------
        TableError
            Naming the table and the column, row or group that is wrong.
        """
        roles = supervision.roles() | ({} if order is None else {order: "order"})
        if keep_whole is not None:
            roles.setdefault(keep_whole, "kept whole")
        labelled = supervision.labelled_rows(table.frame, table.name)
        frame = table.frame if labelled.all() else table.frame[labelled].reset_index(drop=True)
        targets = supervision.targets_in(frame, table.name)
        targets = replace(targets, whole=whole_of(frame, keep_whole, table.name, targets.groups))
        uses = choose_features(
            frame,
            roles,
            name=table.name,
            wanted=wanted,
            ignored=ignored,
            same_as=_answers(targets, supervision),
            of_groups=table.of_groups,
        )
        schema = Schema.from_uses(uses)
        features = schema.conform(frame, name=table.name)
        return cls(
            table=table.name,
            fingerprint=table.fingerprint,
            supervision=supervision,
            uses=uses,
            features=features,
            targets=targets,
            order=order_of(frame, order, table.name),
            seed=seed,
            keep_whole=keep_whole,
            unlabelled=_set_aside(table, ~labelled, supervision, schema),
            notes=(
                *table.notes,
                *targets.notes,
                *unit_notes(frame, uses),
                *_users_behind(frame, targets, uses),
                *_too_good(features, targets, schema, wanted),
            ),
        )

    @property
    def schema(self) -> Schema:
        return Schema.from_uses(self.uses)

    @property
    def n_rows(self) -> int:
        return len(self.features)

    def about(
        self,
        *,
        command: str = "",
        n_splits: int | None = None,
        search: bool | None = None,
        params: dict[str, Any] | None = None,
    ) -> RunInfo:
        """Everything it takes to repeat the job."""
        return RunInfo(
            table=self.table,
            fingerprint=self.fingerprint,
            n_rows=self.n_rows,
            n_groups=self.targets.groups.n_groups,
            supervision=self.supervision,
            classes=self.targets.classes,
            columns=tuple(self.uses),
            command=command,
            seed=self.seed,
            keep_whole=self.keep_whole,
            n_unlabelled=0 if self.unlabelled is None else len(self.unlabelled.rows),
            n_splits=n_splits,
            search=search,
            params=None if params is None else {k: repr(v) for k, v in params.items()},
        )

    def reason_against(self, method: Method) -> str | None:
        """Why a method cannot be used here, or ``None``."""
        return method.reason_against(
            self.n_rows,
            len(self.targets.classes),
            self._measure,
            exposure=self.targets.exposure is not None,
        )

    def methods(self) -> list[Method]:
        """All methods for this kind."""
        return methods_for(self.supervision.kind)

    @property
    def has_auto(self) -> bool:
        """Whether there is an automatic choice among the methods that apply."""
        found = [method for method in self.methods() if method.name == AUTO]
        return any(self.reason_against(method) is None for method in found)

    def method(self, name: str | None = None) -> Method:
        """A method by name, or the first that applies to this table.

        Raises
        ------
        OptionError
            If there is no such method, or it cannot be used here.
        """
        return get_method(
            self.supervision.kind,
            name,
            n_rows=self.n_rows,
            n_classes=len(self.targets.classes),
            measure=self._measure,
            exposure=self.targets.exposure is not None,
        )

    @property
    def _measure(self) -> str | None:
        return self.supervision.constructor().get("measure")

    def fit(
        self, method: Method, params: dict[str, Any], rows: NDArray[np.intp] | None = None
    ) -> TableModel:
        """Fit a method to the rows (all of them by default)."""
        features, targets = self._part(rows)
        with few_threads(len(features)):
            return fit_model(
                features,
                targets,
                method=method,
                params=params,
                unlabelled=self._used_by(method),
                **self._context(),
            )

    def tune(
        self, method: Method, params: dict[str, Any], rows: NDArray[np.intp] | None = None
    ) -> dict[str, Any]:
        """The method's small search, on whole groups of the rows."""
        features, targets = self._part(rows)
        with few_threads(len(features)):
            return search_params(features, targets, method=method, params=params, **self._context())

    def _used_by(self, method: Method) -> tuple[pd.DataFrame, Groups] | None:
        """The rows without a label that a method learns from."""
        found = self.unlabelled
        if found is None or not method.uses_unlabelled or not found.is_target.any():
            return None
        names = found.groups.names[found.groups.codes]
        return found.features[found.is_target], Groups(names[found.is_target])

    def _part(self, rows: NDArray[np.intp] | None) -> tuple[pd.DataFrame, Targets]:
        if rows is None:
            return self.features, self.targets
        return self.features.iloc[rows], self.targets.take(rows)

    def splits(self, n_splits: int) -> list[Split]:
        return self.supervision.splits(self.targets, n_splits, self.seed)

    def judge(
        self,
        method: Method,
        params: dict[str, Any],
        *,
        n_splits: int,
        tune: bool = False,
        n_jobs: int | None = None,
        final: dict[str, Any] | None = None,
        command: str = "",
        progress: Progress | None = None,
    ) -> Result:
        """What a method is worth on groups it has not seen.

        Parameters
        ----------
        method : Method
        params : dict
        n_splits : int
        tune : bool, default=False
            Whether the method's small search runs inside each training part.
        n_jobs : int, default=None
            Processes.
        final : dict, default=None
            Parameters of the model of all rows, where a search has found others.
        command : str, default=""
            For the record.
        progress : callable, default=None
            ``progress(folds, n_folds)`` gives the folds on, and shows that they pass.
        """
        splits = self.splits(n_splits)
        fold = partial(self._run_numbered, method, params, tune)
        found: Iterable[FoldResult] = run_steps(fold, list(enumerate(splits)), n_jobs)
        if progress is not None:
            found = progress(found, len(splits))
        folds = list(found)
        about = self.about(
            command=command, n_splits=len(splits), params=params if final is None else final
        )
        return Result(about, {method.name: folds})

    def _run_numbered(
        self, method: Method, params: dict[str, Any], tune: bool, numbered: tuple[int, Split]
    ) -> FoldResult:
        number, split = numbered
        curve = self.wants_curve(number)
        return self.run_fold(method, params, split, search=tune, curve=curve, importance=True)

    def run_fold(
        self,
        method: Method,
        params: dict[str, Any],
        split: Split,
        *,
        search: bool,
        curve: bool = True,
        importance: bool = False,
    ) -> FoldResult:
        """Fit on one part, judge on the other.

        With ``curve`` the error is followed round by round where the method has rounds; with
        ``importance`` every column is shuffled once.
        """
        train, test = split
        started = time.perf_counter()
        with PeakMemory() as peak, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, when the model itself is fitted
            chosen = self.tune(method, params, train) if search else params
            fitting = time.perf_counter()
            model = self.fit(method, chosen, train)
            fitted = time.perf_counter()
        held_out = self.features.iloc[test], self.targets.take(test)
        shuffled = column_importance(model, *held_out) if importance else None
        asked = time.perf_counter()
        found = evaluate_fold(
            model,
            *held_out,
            self.order[test],
            known=self.targets.take(train),
            curve=curve,
            importance=shuffled,
        )
        return replace(
            found,
            params={name: _plain(value) for name, value in chosen.items()},
            seconds_search=fitting - started,
            seconds_fit=fitted - fitting,
            seconds_predict=time.perf_counter() - asked,
            memory_mib=peak.mib,
            n_train=len(train),
        )

    def wants_curve(self, fold: int) -> bool:
        """Whether to draw a fold's learning curve: of a large table the first is enough."""
        return fold == 0 or self.n_rows <= 20_000

    def _context(self) -> dict[str, Any]:
        return {"supervision": self.supervision, "schema": self.schema, "seed": self.seed}


def run_steps(
    function: Callable[[Any], Found], steps: Sequence[Any], n_jobs: int | None = None
) -> Iterator[Found]:
    """What the function gives for each step, in the order of the steps, as soon as it is there.

    Parameters
    ----------
    function : callable
        Must not depend on what it was called with before; with more than one job it is sent to
        other processes.
    steps : sequence
    n_jobs : int, default=None
        Processes; ``None`` is one, this one; -1: as many as there are cores.

    Examples
    --------
    >>> list(run_steps(abs, [-1, 2]))
    [1, 2]
    """
    if effective_n_jobs(n_jobs) == 1 or len(steps) < 2:
        yield from map(function, steps)
        return
    yield from Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(step) for step in steps
    )


def _set_aside(
    table: LoadedTable, inside: NDArray[np.bool_], supervision: Supervision, schema: Schema
) -> Unlabelled | None:
    if not inside.any():
        return None
    rows = np.flatnonzero(inside)
    frame = table.frame.iloc[rows].reset_index(drop=True)
    groups = supervision.groups_in(table.frame, table.name)
    return Unlabelled(
        schema.conform(frame, name=table.name),
        Groups(groups.names[groups.codes[rows]]),
        rows,
        supervision.is_target(frame, table.name),
    )


def _answers(targets: Targets, supervision: Supervision) -> dict[str, Any]:
    """Values that a feature must not merely rename."""
    answers: dict[str, Any] = {}
    if supervision.group is not None:
        answers["group"] = targets.groups.codes
    answers |= supervision.label_values(targets)
    if targets.domains is not None:
        answers["domain"] = targets.domains
    return answers


def _too_good(
    features: pd.DataFrame, targets: Targets, schema: Schema, wanted: Sequence[str]
) -> list[str]:
    """Say which columns tell the label alone: they may have been made from it."""
    if not targets.classes or targets.y.ndim > 1 or targets.groups.n_groups < _FEW_GROUPS:
        return []
    columns = [name for name in schema.numbers + schema.categories if name not in wanted]
    return telling_notes(features, columns, targets.y)


def _plain(value: object) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)


def _users_behind(
    frame: pd.DataFrame, targets: Targets, uses: Sequence[ColumnUse]
) -> tuple[str, ...]:
    """That groups may belong to users, whom no fold keeps whole."""
    if targets.whole is not None:
        return ()
    free = [use.name for use in uses if not use.is_role]
    return coarser_notes(coarser_ids(frame, targets.groups, free))
