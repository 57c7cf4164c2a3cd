"""``groupwise describe``: what a table holds, and what can be learned from it."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from groupwise.cli import options
from groupwise.cli.console import Console, one_line_errors, renamed
from groupwise.groups import Groups, show
from groupwise.jobs import KINDS, JobOptions, coarser_ids, methods_for
from groupwise.jobs.group_labels import look_like_grades
from groupwise.jobs.owners import coarser_notes
from groupwise.jobs.targets import ids_of, label_column, too_many_classes
from groupwise.tables import LoadedTable, choose_features
from groupwise.tables.columns import ColumnUse, unit_notes


def describe(
    table: options.TablePath,
    groups_table: options.GroupsTable = None,
    source: options.Source = None,
    group: options.Group = None,
    label: options.Label = None,
    sql: options.Sql = None,
    header: options.Header = True,
    as_json: options.Json = False,
) -> None:
    """Show what a table holds: columns, groups, labels, conflicts, methods that apply.

    Example: groupwise describe sessions.parquet --group session --label kind
    """
    console = Console(as_json=as_json)
    with one_line_errors():
        labels = options.split_names(label)
        job_options = JobOptions(
            table=table,
            groups_table=groups_table,
            sources=source or (),
            sql=sql,
            header=header,
            group=group,
            label=labels,
        )
        loaded, read = job_options.read()
        found = _describe(loaded, group, labels, read.domain)
        for note in (*loaded.notes, *found["notes"]):
            console.note(renamed(note))
        _print(console, found)
        console.emit_json(found)


def _describe(
    table: LoadedTable, group: str | None, labels: list[str], domain: str | None
) -> dict[str, Any]:
    frame = table.frame
    roles = ({group: "group"} if group else {}) | dict.fromkeys(labels, "label")
    roles |= {domain: "domain"} if domain else {}
    for column in labels:
        label_column(frame, column, table.name)
    groups = None if group is None else Groups(ids_of(frame, group, table.name, "group"))
    same = _same_as(frame, groups, labels)
    uses = choose_features(frame, roles, name=table.name, same_as=same, of_groups=table.of_groups)
    missing = frame.isna().sum()
    found: dict[str, Any] = {
        "table": table.name,
        "fingerprint": table.fingerprint,
        "n_rows": len(frame),
        "columns": [asdict(use) | {"missing": int(missing[use.name])} for use in uses],
        "notes": unit_notes(frame, uses),
    }
    if groups is not None:
        found["groups"] = _sizes(groups)
        found["coarser"] = coarser_ids(frame, groups, [use.name for use in uses if not use.is_role])
    if domain is not None:
        counts = frame[domain].value_counts(sort=False)
        found["domains"] = {str(name): int(n) for name, n in counts.items()}
    if groups is not None and labels:
        found |= _labels(frame, groups, labels)
        found["methods"] = {
            kind: _methods(kind, len(frame), max(2, found["n_classes"])) for kind in found["kinds"]
        }
    elif groups is None and domain is None:
        found["group_candidates"] = _candidates(frame, uses)
    return found


def _same_as(frame: pd.DataFrame, groups: Groups | None, labels: list[str]) -> dict[str, Any]:
    """What no feature may merely rename."""
    same: dict[str, Any] = {} if groups is None else {"group": groups.codes}
    if len(labels) == 1 and frame[labels[0]].notna().all():
        values = frame[labels[0]]
        measured = pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > 20
        same["label"] = values.to_numpy(float) if measured else pd.factorize(values)[0]
    return same


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
        return {"kinds": _meanings("proportions"), "n_classes": len(labels)}
    values = frame[labels[0]]
    per_group = values.groupby(groups.codes).nunique(dropna=True)
    conflicts = per_group.index[per_group > 1]
    n_classes = int(values.nunique())
    found: dict[str, Any] = {
        "n_classes": n_classes,
        **_values(values),
        "missing_labels": int(values.isna().sum()),
        "groups_with_conflicts": len(conflicts),
        "conflicts": [_conflict(values, groups, int(code)) for code in conflicts[:5]],
    }
    kinds = _kinds(len(conflicts), n_classes, values, groups)
    if {"majority", "presence"} <= set(kinds):
        kinds |= _both_meanings(values.iloc[groups.first_rows])
    n_groups = int(values.notna().groupby(groups.codes).any().sum())
    found["groups_without_label"] = groups.n_groups - n_groups
    return found | {"kinds": kinds}


def _both_meanings(label_group: pd.Series) -> dict[str, str]:
    """What majority and presence would each take these labels to say."""
    counts = label_group.value_counts().sort_index()
    (no, n_no), (yes, n_yes) = list(counts.items())
    return {
        "majority": f"most rows of the {n_no:,} groups with {no!r} are {no!r}, most rows of the "
        f"{n_yes:,} groups with {yes!r} are {yes!r} (taken unless you say otherwise)",
        "presence": f"at least one row of each of the {n_yes:,} groups with {yes!r} is {yes!r}, "
        f"and no row of the {n_no:,} groups with {no!r} is (--kind presence; --positive {no} the "
        "other way round)",
    }


def _conflict(values: pd.Series, groups: Groups, code: int) -> str:
    inside = values[groups.codes == code].value_counts()
    counts = ", ".join(f"{label} x {n}" for label, n in inside.items())
    return f"group {show(groups.names[code])}: {counts}"


def _kinds(n_conflicts: int, n_classes: int, values: pd.Series, groups: Groups) -> dict[str, str]:
    """Kinds of supervision that fit, with what each takes the label to be."""
    numbers = pd.api.types.is_numeric_dtype(values.dtype)
    no_classes = _are_fractions(values) or too_many_classes(n_classes, groups)
    if n_conflicts:
        if no_classes:
            return _meanings("mean") if numbers else {}
        return _meanings("proportions", "measure", "transfer")
    if n_classes == 2 and not no_classes:
        return _meanings("majority", "presence")
    graded = numbers or look_like_grades(values.dropna().astype(str).unique().tolist())
    of_classes = () if no_classes else ("majority", "grade") if graded else ("majority",)
    return _meanings(*of_classes, *(("mean", "total", "survival") if numbers else ()))


def _are_fractions(values: pd.Series) -> bool:
    """Whether these are numbers, and not all of them whole: no names of classes."""
    if not pd.api.types.is_float_dtype(values.dtype):
        return False
    return bool((values.dropna() % 1 != 0).any())


def _values(values: pd.Series) -> dict[str, Any]:
    """How many rows have each label, or from where to where numbers go."""
    if _are_fractions(values):
        return {"range": [float(values.min()), float(values.max())]}
    return {"balance": {str(k): int(v) for k, v in values.value_counts().head(20).items()}}


def _meanings(*kinds: str) -> dict[str, str]:
    meanings = {}
    for kind in kinds:
        needed = [options.OPTION_NAMES[name] for name in KINDS[kind].required]
        meanings[kind] = KINDS[kind].meaning + (f" (give {' and '.join(needed)})" if needed else "")
    return meanings


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


def _labels_in_words(found: dict[str, Any]) -> str:
    if "range" in found:
        return "numbers from {:g} to {:g}".format(*found["range"])
    return ", ".join(f"{name} {n:,}" for name, n in found["balance"].items()) + " rows"


def _use_in_words(column: dict[str, Any]) -> str:
    is_feature = ColumnUse(column["name"], column["use"], "").is_feature
    return f"{column['use']} (group)" if is_feature and column["of_group"] else column["use"]


def _print(console: Console, found: dict[str, Any]) -> None:
    console.print(f"table:   {found['table']}: {found['n_rows']:,} rows")
    rows = [[c["name"], _use_in_words(c), c["why"], str(c["missing"])] for c in found["columns"]]
    table = Console.table("columns", ["column", "use", "why", "missing"], rows)
    table.columns[1].justify = table.columns[2].justify = "left"
    console.print(table)
    if "group_candidates" in found:
        console.print(
            f"groups could be: {', '.join(found['group_candidates']) or 'none'} (--group)"
        )
    if "groups" in found:
        sizes = found["groups"]["rows_each"]
        console.print(
            f"groups:  {found['groups']['n']:,}, of {sizes['min']:g} to {sizes['max']:g} rows "
            f"(median {sizes['median']:g}; largest {found['groups']['largest']})"
        )
    for name, n in found.get("domains", {}).items():
        console.print(f"domain:  {name}: {n:,} rows")
    for note in coarser_notes(found.get("coarser", {})):
        console.print(f"warning: {renamed(note)}")
    if "missing_labels" in found:
        console.print(f"labels:  {_labels_in_words(found)}; {found['missing_labels']} missing")
        console.print(
            f"         {found['groups_with_conflicts']} groups hold more than one label, "
            f"{found['groups_without_label']} have none"
        )
        for line in found["conflicts"]:
            console.print(f"         {line}")
    if not found.get("kinds", True):
        console.print(
            f"kind:    none: {found['n_classes']:,} different labels in {found['groups']['n']:,} "
            "groups are too many for classes"
        )
    for kind, meaning in found.get("kinds", {}).items():
        console.print(f"kind:    {kind}: {meaning}")
        console.print(f"         methods: {', '.join(found['methods'][kind])}")
