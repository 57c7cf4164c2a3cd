"""From the options of a command to a job."""

import ast
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from groupwise.groups import Groups
from groupwise.jobs import KINDS, Job, Supervision, make_supervision
from groupwise.jobs.known import get_column, ids_of
from groupwise.tables import LoadedTable, OptionError, TableError, read_table

__all__ = ["Question", "parse_params"]


@dataclass(frozen=True)
class Question:
    """What the options of a command say about a table."""

    table: str
    sql: str | None = None
    group: str | None = None
    label: list[str] = field(default_factory=list)
    kind: str | None = None
    measure: str | None = None
    domain: str | None = None
    target: str | None = None
    positive: str | None = None
    features: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)
    order: str | None = None
    seed: int = 0

    def read(self) -> LoadedTable:
        """The table itself; ids stay as they are written."""
        text = [column for column in (self.group, self.domain) if column is not None]
        return read_table(self.table, sql=self.sql, text=text)

    def supervision(self, frame: pd.DataFrame, name: str) -> tuple[Supervision, str | None]:
        """What is known of the groups, and why, where the options leave it open."""
        if not self.label:
            raise OptionError("--label is missing: which column says what is known?")
        kind, why = (self.kind, None) if self.kind else self._guess(frame, name)
        given = {
            "group": self.group,
            "label": tuple(self.label),
            "measure": self.measure,
            "domain": self.domain,
            "target": self.target,
            "positive": self.positive,
        }
        return make_supervision(str(kind), **given), why

    def job(self, table: LoadedTable) -> tuple[Job, str | None]:
        """The table with its question, checked."""
        supervision, why = self.supervision(table.frame, table.name)
        job = Job.from_table(
            table,
            supervision,
            wanted=self.features,
            ignored=self.ignore,
            order=self.order,
            seed=self.seed,
        )
        return job, why

    def _guess(self, frame: pd.DataFrame, name: str) -> tuple[str, str]:
        if self.domain or self.target:
            return "transfer", "as --domain is given"
        if self.measure:
            return "measure", "as --measure is given"
        if len(self.label) > 1:
            return "proportions", "as there is more than one --label"
        if self.group is None:
            raise OptionError("--group is missing: which column names the group?")
        groups = Groups(ids_of(frame, self.group, name, "--group"))
        labels = get_column(frame, self.label[0], name, "--label")
        per_group = labels.groupby(groups.codes).nunique(dropna=True)
        if int(per_group.max()) <= 1:
            return "majority", f"as {self.label[0]!r} is the same on all rows of a group"
        if float((per_group > 1).mean()) < 0.1:
            return "majority", "as few groups hold more than one label"
        raise TableError(
            f"{name}: column {self.label[0]!r} holds more than one label in "
            f"{int((per_group > 1).sum())} of {len(per_group)} groups: say --kind measure (a score "
            "per group), proportions (only the numbers per group are used) or transfer"
        )


def parse_params(given: list[str] | None) -> dict[str, Any]:
    """``k=v`` options as values: numbers, True, None and tuples as in Python, else text.

    Examples
    --------
    >>> parse_params(["gamma=4", "rule=mean", "early_stopping=True"])
    {'gamma': 4, 'rule': 'mean', 'early_stopping': True}
    """
    params = {}
    for part in given or []:
        name, mark, text = part.partition("=")
        if not mark or not name:
            raise OptionError(f"--param must be name=value, got {part!r}")
        try:
            params[name.strip()] = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            params[name.strip()] = text
    return params


def kinds_help() -> str:
    """The kinds, for messages."""
    return ", ".join(KINDS)
