"""``groupwise describe``: what a table holds, and what can be learned from it."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from groupwise.cli import options
from groupwise.cli.console import Speaker, one_line_errors
from groupwise.cli.inputs import Question
from groupwise.groups import Groups, show
from groupwise.jobs import methods_for
from groupwise.jobs.known import get_column, ids_of
from groupwise.tables import LoadedTable, choose_features
from groupwise.tables.columns import ColumnUse


def describe(
    table: options.TablePath,
    group: options.Group = None,
    label: options.Label = None,
    sql: options.Sql = None,
    as_json: options.Json = False,
) -> None:
    """Say what a table holds: columns, groups, labels, conflicts, and which methods apply.

    Example: groupwise describe sessions.parquet --group session --label kind
    """
    speaker = Speaker(as_json=as_json)
    with one_line_errors():
        labels = options.split_names(label)
        question = Question(table=table, sql=sql, group=group, label=labels)
        loaded = question.read()
        found = _describe(loaded, group, labels)
        _say(speaker, found)
        speaker.give(found)


def _describe(table: LoadedTable, group: str | None, labels: list[str]) -> dict[str, Any]:
    frame = table.frame
    roles = ({group: "group"} if group else {}) | dict.fromkeys(labels, "label")
    for column in labels:
        get_column(frame, column, table.name, "--label")
    groups = None if group is None else Groups(ids_of(frame, group, table.name, "--group"))
    same = {} if groups is None else {"group": groups.codes}
    uses = choose_features(frame, roles, name=table.name, same_as=same)
    missing = frame.isna().sum()
    found: dict[str, Any] = {
        "table": table.name,
        "fingerprint": table.fingerprint,
        "n_rows": len(frame),
        "columns": [asdict(use) | {"missing": int(missing[use.name])} for use in uses],
    }
    if groups is not None:
        found["groups"] = _sizes(groups)
    if groups is not None and labels:
        found |= _labels(frame, groups, labels)
        found["methods"] = {
            kind: _methods(kind, len(frame), max(2, found["n_classes"])) for kind in found["kinds"]
        }
    elif groups is None:
        found["group_candidates"] = _candidates(frame, uses)
    return found


def _sizes(groups: Groups) -> dict[str, Any]:
    quantiles = np.quantile(groups.sizes, [0.0, 0.25, 0.5, 0.75, 1.0])
    return {
        "n": groups.n_groups,
        "rows_each": dict(
            zip(("min", "q1", "median", "q3", "max"), quantiles.tolist(), strict=True)
        ),
        "of_one_row": int((groups.sizes == 1).sum()),
        "largest": str(groups.names[int(groups.sizes.argmax())]),
    }


def _labels(frame: pd.DataFrame, groups: Groups, labels: list[str]) -> dict[str, Any]:
    if len(labels) > 1:
        return {"kinds": {"proportions": "one column per class"}, "n_classes": len(labels)}
    values = frame[labels[0]]
    per_group = values.groupby(groups.codes).nunique(dropna=True)
    conflicts = per_group.index[per_group > 1]
    n_classes = int(values.nunique())
    found: dict[str, Any] = {
        "n_classes": n_classes,
        "balance": {str(k): int(v) for k, v in values.value_counts().head(20).items()},
        "missing_labels": int(values.isna().sum()),
        "groups_with_conflicts": len(conflicts),
        "conflicts": [_conflict(values, groups, int(code)) for code in conflicts[:5]],
    }
    return found | {"kinds": _kinds(len(conflicts), n_classes)}


def _conflict(values: pd.Series, groups: Groups, code: int) -> str:
    inside = values[groups.codes == code].value_counts()
    counts = ", ".join(f"{label} x {n}" for label, n in inside.items())
    return f"group {show(groups.names[code])}: {counts}"


def _kinds(n_conflicts: int, n_classes: int) -> dict[str, str]:
    """Kinds of supervision that fit, with what each takes the label to be."""
    rows = {
        "proportions": "only how many rows of each class a group has is used",
        "measure": "rows have labels, what counts is a score per group",
        "transfer": "rows have labels, one domain counts (give --domain and --target)",
    }
    if n_conflicts:
        return rows
    whole = {"majority": "the label is the class most rows of the group have"}
    if n_classes == 2:
        whole["presence"] = "the label says whether at least one row is positive"
    return whole


def _methods(kind: str, n_rows: int, n_classes: int) -> list[str]:
    return [m.name for m in methods_for(kind) if m.reason_against(n_rows, n_classes) is None]


def _candidates(frame: pd.DataFrame, uses: list[ColumnUse]) -> list[str]:
    """Columns that could name groups: each value on several rows, and those mostly neighbours."""
    names = []
    for use in uses:
        values = frame[use.name].dropna()
        if not len(values) or pd.api.types.is_float_dtype(values.dtype):
            continue
        try:
            codes, different = pd.factorize(values)
        except TypeError:  # nested values have no equality
            continue
        n_runs = 1 + int(np.count_nonzero(np.diff(codes)))
        if 2 < len(different) <= len(values) / 2 and n_runs <= 2 * len(different):
            names.append(use.name)
    return names


def _say(speaker: Speaker, found: dict[str, Any]) -> None:
    speaker.say(f"table:   {found['table']}: {found['n_rows']:,} rows")
    rows = [[c["name"], c["use"], c["why"], str(c["missing"])] for c in found["columns"]]
    table = Speaker.table("columns", ["column", "use", "why", "missing"], rows)
    table.columns[1].justify = table.columns[2].justify = "left"
    speaker.say(table)
    if "group_candidates" in found:
        speaker.say(f"groups could be: {', '.join(found['group_candidates']) or 'none'} (--group)")
    if "groups" in found:
        sizes = found["groups"]["rows_each"]
        speaker.say(
            f"groups:  {found['groups']['n']:,}, of {sizes['min']:g} to {sizes['max']:g} rows "
            f"(median {sizes['median']:g}; largest {found['groups']['largest']})"
        )
    if "balance" in found:
        counts = ", ".join(f"{name} {n:,}" for name, n in found["balance"].items())
        speaker.say(f"labels:  {counts} rows; {found['missing_labels']} missing")
        speaker.say(f"         {found['groups_with_conflicts']} groups hold more than one label")
        for line in found["conflicts"]:
            speaker.say(f"         {line}")
    for kind, meaning in found.get("kinds", {}).items():
        speaker.say(f"kind:    {kind}: {meaning}")
        speaker.say(f"         methods: {', '.join(found['methods'][kind])}")
