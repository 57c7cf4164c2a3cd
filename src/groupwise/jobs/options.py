"""What is asked of one or more tables, and the job that comes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from groupwise.groups import Groups
from groupwise.jobs.groupings import supervision_of_groupings
from groupwise.jobs.job import Job
from groupwise.jobs.supervision import Supervision, make_supervision
from groupwise.jobs.targets import are_numbers, ids_of, label_column, refuse_stray_blanks
from groupwise.tables import (
    LoadedTable,
    OptionError,
    TableError,
    as_table,
    join_groups,
    stack_sources,
)
from groupwise.tables.read import TableLike

__all__ = ["JobOptions", "read_tables"]


def read_tables(
    table: TableLike,
    *,
    groups_table: TableLike | None = None,
    group: str | Sequence[str] | None = None,
    domain: str | None = None,
    sql: str | None = None,
    header: bool = True,
    texts: Sequence[str] = (),
) -> LoadedTable:
    """A table of rows, with the columns of a table of groups beside them; ids stay as written.

    Parameters
    ----------
    table, groups_table : str, Path, DataFrame or LoadedTable
    group, domain : str, default=None
        Columns that are ids; of several groups the first joins the tables.
    sql : str, default=None
        Query whose answer is the table of rows.
    header : bool, default=True
        Whether the first line of a CSV file names the columns.
    texts : sequence of str, default=()
        Further columns that stay as written: what a model knows as categories or texts, which may
        look like numbers or booleans where a new table has few of them.
    """
    groups = _listed(group)
    text = [*groups, *([] if domain is None else [domain]), *texts]
    rows = as_table(table, sql=sql, text=text, header=header)
    if groups_table is None:
        return rows
    lines = as_table(groups_table, name="the table of groups", text=text, header=header)
    return join_groups(rows, lines, groups[0] if groups else None)


@dataclass(frozen=True)
class JobOptions:
    """Tables, and what is known of their groups; what is left open is told by the rest.

    Attributes
    ----------
    table : str, Path, DataFrame or LoadedTable
        One line per row. A DataFrame may be of pandas or polars.
    groups_table : the same, default=None
        One line per group, joined on ``group``: labels, counts, features of groups.
    sources : sequence or mapping of the same, default=()
        Tables like ``table`` from elsewhere: its rows count, theirs may help (transfer).
    sql : str, default=None
    header : bool, default=True
    group : str or sequence of str, default=None
        Several: groupings of the same rows, the one that is judged and predicted first.
    label : str or sequence of str
        With several groups an entry for each (a column, or a sequence of them), or one column of
        rows' labels that all of them count.
    group_weights : mapping of str to float, default=None
        What groupings weigh, by their column, where there are several; 1 if not named.
    kind, measure, domain, target_domain, positive : str, default=None
    reported : str, default=None
        What was done to the counts in ``label`` before they were published, in words: see
        :func:`~groupwise.jobs.reports.parse_reported`.
    exposure : str, default=None
        Column of what a row's rate is multiplied by, for totals of counts.
    event : str, default=None
        Column that says whether the event was seen, 0 or 1, for survival times.
    wanted, ignored : sequence of str
        Columns to learn from, or not to.
    order : str, default=None
        Column that orders the rows of a group.
    keep_whole : str, default=None
        Column of coarser ids that no fold divides: users who have several sessions each.
    seed : int, default=0
    """

    table: TableLike
    groups_table: TableLike | None = None
    sources: Sequence[TableLike] | Mapping[str, TableLike] = ()
    sql: str | None = None
    header: bool = True
    group: str | Sequence[str] | None = None
    label: str | Sequence[str | Sequence[str]] = field(default_factory=list)
    group_weights: Mapping[str, float] | None = None
    kind: str | None = None
    measure: str | None = None
    domain: str | None = None
    target_domain: str | None = None
    positive: str | None = None
    reported: str | None = None
    exposure: str | None = None
    event: str | None = None
    wanted: Sequence[str] = ()
    ignored: Sequence[str] = ()
    order: str | None = None
    keep_whole: str | None = None
    seed: int = 0

    @property
    def groups(self) -> list[str]:
        """Columns of ids."""
        return _listed(self.group)

    @property
    def labels(self) -> list[str]:
        """Columns of labels, of all groupings."""
        return [column for label in _listed(self.label) for column in _listed(label)]

    def read(self) -> tuple[LoadedTable, "JobOptions"]:
        """All tables as one, and the options for that one."""
        table = read_tables(
            self.table,
            groups_table=self.groups_table,
            group=self.groups,
            domain=None if self.sources else self.domain,
            sql=self.sql,
            header=self.header,
        )
        if not self.sources:
            return table, self._for(table)
        names, sources = self._read_sources(table)
        target = self.target_domain or names[0]
        if target in sources:
            raise OptionError(f"`target_domain` {target!r} is the name of a source")
        stacked, column = stack_sources(
            table, sources, target_name=target, column=self.domain, label=self.labels
        )
        return stacked, self._for(stacked, domain=column, target_domain=target)

    def _for(self, table: LoadedTable, **changes: Any) -> "JobOptions":
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return JobOptions(
            **values | {"table": table, "groups_table": None, "sources": ()} | changes
        )

    def _read_sources(self, table: LoadedTable) -> tuple[list[str], dict[str, LoadedTable]]:
        """Names of all tables, the target first, and the sources."""
        given = self.sources
        if isinstance(given, Mapping):
            names, tables = [_table_name(self.table, "target"), *map(str, given)], [*given.values()]
        else:
            names = [_table_name(self.table, "target")]
            names += [_table_name(one, f"source {k}") for k, one in enumerate(given, start=1)]
            tables = list(given)
        names = _different(names)
        loaded = {
            name: read_tables(one, group=self.groups, header=self.header)
            for name, one in zip(names[1:], tables, strict=True)
        }
        if self.groups_table is not None:
            raise OptionError("`groups_table` and `sources` do not go together")
        return names, loaded

    def supervision(self, frame: pd.DataFrame, name: str) -> tuple[Supervision, str | None]:
        """What is known of the groups, and why, where the options leave it open."""
        if not self.labels:
            raise OptionError("`label` is missing: which column says what is known?")
        kind, why = (self.kind, None) if self.kind else self._guess(frame, name)
        told = {
            "measure": self.measure,
            "domain": self.domain,
            "target_domain": self.target_domain,
            "positive": self.positive,
            "reported": self.reported,
            "exposure": self.exposure,
            "event": self.event,
        }
        if len(self.groups) > 1:
            return supervision_of_groupings(
                str(kind),
                groups=self.groups,
                labels=_listed(self.label),
                group_weights=self.group_weights,
                **told,
            ), why
        if self.group_weights:
            raise OptionError("`group_weights` are for more than one `group`")
        group = self.groups[0] if self.groups else None
        supervision = make_supervision(str(kind), label=self.labels, group=group, **told)
        return supervision, why

    def job(self) -> tuple[Job, str | None]:
        """The checked tables, ready to be learned from, and why they are of this kind."""
        table, options = self.read()
        supervision, why = options.supervision(table.frame, table.name)
        job = Job.from_table(
            table,
            supervision,
            wanted=self.wanted,
            ignored=self.ignored,
            order=self.order,
            keep_whole=self.keep_whole,
            seed=self.seed,
        )
        return job, why

    def _guess(self, frame: pd.DataFrame, name: str) -> tuple[str, str]:
        if self.domain or self.target_domain:
            return "transfer", "as domains are given"
        if self.measure:
            return "measure", "as a measure is given"
        if self.reported:
            return "reported", "as it is said what was done to counts"
        if self.exposure:
            return "total", "as an exposure is given"
        if self.event:
            return "survival", "as an event is given"
        of_first = _listed(_listed(self.label)[0]) if len(self.groups) > 1 else self.labels
        if len(of_first) > 1:
            return "proportions", "as there is more than one label"
        if not self.groups:
            raise OptionError("`group` is missing: which column names the group?")
        column = of_first[0]
        groups = Groups(ids_of(frame, self.groups[0], name, "group"))
        labels = label_column(frame, column, name)
        refuse_stray_blanks(labels, name, column)
        per_group = labels.groupby(groups.codes).nunique(dropna=True)
        if int(per_group.max()) <= 1:
            why = f"as {column!r} is the same on all rows of a group"
            if labels.nunique() == 2 and self.positive is not None:
                return "presence", f"{why} and `positive` is given"
            return "majority", why
        if float((per_group > 1).mean()) < 0.1:
            return "majority", "as few groups hold more than one label"
        if are_numbers(labels, groups):
            raise TableError(
                f"{name}: column {column!r} holds a number of each row, "
                f"{labels.nunique():,} different ones: say `kind` mean (of a group's rows)"
            )
        raise TableError(
            f"{name}: column {column!r} holds more than one label in "
            f"{int((per_group > 1).sum())} of {len(per_group)} groups: say `kind` measure (a score "
            "per group), proportions (only the numbers per group are used) or transfer"
        )


def _listed(given: Any) -> list[Any]:
    """One thing or several, as a list."""
    if given is None:
        return []
    return [given] if isinstance(given, str) else list(given)


def _table_name(given: TableLike, otherwise: str) -> str:
    """A domain's name: the file's without its endings."""
    if isinstance(given, str | Path) and str(given) != "-":
        return Path(given).name.split(".")[0] or otherwise
    return otherwise


def _different(names: Sequence[str]) -> list[str]:
    """The names with a number behind those that were there before."""
    out: list[str] = []
    for name in names:
        count = 2
        different = name
        while different in out:
            different, count = f"{name} ({count})", count + 1
        out.append(different)
    return out
