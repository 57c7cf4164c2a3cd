"""One table with its question: everything a method needs to be fitted and judged."""

import time
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from groupwise.jobs.evidence import gather
from groupwise.jobs.known import Known
from groupwise.jobs.memory import PeakMemory
from groupwise.jobs.method import Method
from groupwise.jobs.model import TableModel, fit_model, tuned
from groupwise.jobs.supervision import Split, Supervision
from groupwise.tables import ColumnUse, LoadedTable, Schema, choose_features
from groupwise.tables.columns import column_kind

__all__ = ["Job"]


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
    known : Known
    order : ndarray of shape (n_rows,)
        Where in its group a row stands: values of a column, or positions in the table.
    seed : int
    """

    table: str
    fingerprint: str
    supervision: Supervision
    uses: list[ColumnUse]
    features: pd.DataFrame
    known: Known
    order: NDArray[Any]
    seed: int

    @classmethod
    def from_table(
        cls,
        table: LoadedTable,
        supervision: Supervision,
        *,
        wanted: Sequence[str] = (),
        ignored: Sequence[str] = (),
        order: str | None = None,
        seed: int = 0,
    ) -> "Job":
        """Check a table against a kind of supervision and choose its features.

        Raises
        ------
        TableError
            Naming the table and the column, row or group that is wrong.
        """
        roles = supervision.roles() | ({} if order is None else {order: "order"})
        known = supervision.known_in(table.frame, table.name)
        uses = choose_features(
            table.frame,
            roles,
            name=table.name,
            wanted=wanted,
            ignored=ignored,
            same_as=_answers(known, supervision),
        )
        schema = Schema.from_uses(uses)
        return cls(
            table=table.name,
            fingerprint=table.fingerprint,
            supervision=supervision,
            uses=uses,
            features=schema.conform(table.frame, name=table.name),
            known=known,
            order=order_of(table.frame, order, table.name),
            seed=seed,
        )

    @property
    def schema(self) -> Schema:
        return Schema.from_uses(self.uses)

    @property
    def n_rows(self) -> int:
        return len(self.features)

    def fit(self, method: Method, params: dict[str, Any], rows: Any = None) -> TableModel:
        """Fit a method to the rows (all of them by default)."""
        features, known = self._part(rows)
        with _few_threads(len(features)):
            return fit_model(features, known, method=method, params=params, **self._context())

    def tune(self, method: Method, params: dict[str, Any], rows: Any = None) -> dict[str, Any]:
        """The method's small search, on whole groups of the rows."""
        features, known = self._part(rows)
        with _few_threads(len(features)):
            return tuned(features, known, method=method, params=params, **self._context())

    def _part(self, rows: Any) -> tuple[pd.DataFrame, Known]:
        if rows is None:
            return self.features, self.known
        return self.features.iloc[rows], self.known.take(rows)

    def splits(self, n_splits: int) -> list[Split]:
        return self.supervision.splits(self.known, n_splits, self.seed)

    def run_fold(
        self,
        method: Method,
        params: dict[str, Any],
        split: Split,
        *,
        search: bool,
        curve: bool = True,
    ) -> dict[str, Any]:
        """Fit on one part, judge on the other; plain values, for JSON.

        With ``curve`` the error is followed round by round where the method has rounds.
        """
        train, test = split
        started = time.perf_counter()
        with PeakMemory() as peak, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, when the model itself is fitted
            chosen = self.tune(method, params, train) if search else params
            fitting = time.perf_counter()
            model = self.fit(method, chosen, train)
            fitted = time.perf_counter()
        known = self.known.take(test)
        found = gather(model, self.features.iloc[test], known, self.order[test], curve=curve)
        return found | {
            "params": {name: _plain(value) for name, value in chosen.items()},
            "seconds_search": fitting - started,
            "seconds_fit": fitted - fitting,
            "seconds_predict": time.perf_counter() - fitted,
            "memory_mib": peak.mib,
            "n_train": len(train),
        }

    def wants_curve(self, fold: int) -> bool:
        """Whether to draw a fold's learning curve: of a large table the first is enough."""
        return fold == 0 or self.n_rows <= 20_000

    def _context(self) -> dict[str, Any]:
        return {"supervision": self.supervision, "schema": self.schema, "seed": self.seed}


def _few_threads(n_rows: int) -> Any:
    """One thread for a small table, where more would only wait for each other."""
    return threadpool_limits(1) if n_rows < 20_000 else nullcontext()


def order_of(frame: pd.DataFrame, column: str | None, name: str) -> NDArray[Any]:
    """Where the rows stand in their groups."""
    from groupwise.jobs.known import get_column

    if column is None:
        return np.arange(len(frame))
    values = get_column(frame, column, name, "--order")
    if column_kind(values) == "date":
        return values.astype(str).to_numpy(dtype=str)
    return values.to_numpy()


def _answers(known: Known, supervision: Supervision) -> dict[str, Any]:
    """Values that a feature must not merely rename."""
    answers: dict[str, Any] = {}
    if supervision.group is not None:
        answers["group"] = known.groups.codes
    if known.y.ndim == 1:
        answers["label"] = known.y
    if known.domains is not None:
        answers["domain"] = known.domains
    return answers


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | type(None)) else repr(value)
