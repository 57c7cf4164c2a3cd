"""The kinds of supervision by name."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from groupwise.jobs.groupings import KINDS_OF_GROUPINGS, SeveralSupervision
from groupwise.jobs.supervision import (
    Majority,
    Measure,
    Presence,
    Proportions,
    Reports,
    Supervision,
    Transfer,
)
from groupwise.tables import OptionError

__all__ = ["KINDS", "make_supervision", "supervision_of_groupings"]

KINDS: dict[str, type[Supervision]] = {
    kind.kind: kind
    for kind in (Majority, Presence, Proportions, Reports, Measure, Transfer, SeveralSupervision)
}


def make_supervision(kind: str, *, label: str | Sequence[str], **columns: Any) -> Supervision:
    """A kind of supervision from its columns; arguments that it has no use for are refused by name.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    label : str or sequence of str
        Column of labels; for proportions one per class.
    **columns
        ``group`` and what the kind takes besides; ``None`` is the same as nothing.

    Examples
    --------
    >>> make_supervision("presence", label="active", group="molecule", positive="yes")
    Presence(group='molecule', label=('active',), positive='yes')
    """
    if kind not in KINDS:
        raise OptionError(f"`kind` must be one of {', '.join(KINDS)}, got {kind!r}")
    chosen = KINDS[kind]
    given = {name: value for name, value in columns.items() if value is not None}
    useless = sorted(set(given) - {field.name for field in fields(chosen)})
    if useless:
        raise OptionError(f"`kind` {kind} has no use for `{useless[0]}`")
    labels = (label,) if isinstance(label, str) else tuple(label)
    return chosen(**{"group": None, "label": labels} | given)


def supervision_of_groupings(
    kind: str,
    *,
    groups: Sequence[str],
    labels: Sequence[str | Sequence[str]],
    group_weights: Mapping[str, float] | None = None,
    **columns: Any,
) -> SeveralSupervision:
    """What is known by each of several groupings of the same rows.

    Parameters
    ----------
    kind : str
        Of each of them.
    groups : sequence of str
        Columns of ids, the one that is judged and predicted first.
    labels : sequence of str or of sequences of str
        What ``label`` would be for each alone; one entry: labels of rows, which all of them count.
    group_weights : mapping, default=None
        Of groupings, by their column; 1 for those it does not name.
    **columns
        What the kind takes besides; ``None`` is the same as nothing.

    Examples
    --------
    >>> known = supervision_of_groupings("proportions", groups=["age", "county"], labels=["smokes"])
    >>> known.group, known.labels
    ('age', (('smokes',), ('smokes',)))
    """
    each = [(label,) if isinstance(label, str) else tuple(label) for label in labels]
    if kind not in KINDS_OF_GROUPINGS:
        raise OptionError(
            f"more than one `group` is for `kind` {', '.join(KINDS_OF_GROUPINGS)}, not {kind}"
        )
    if len(each) == 1:
        if kind != "proportions" or len(each[0]) != 1:
            raise OptionError(
                f"{len(groups)} `group` need a `label` each, the columns of a `label` with commas "
                "between; one for all of them is a column of rows' labels (`kind` proportions)"
            )
        each *= len(groups)
    elif len(each) != len(groups):
        raise OptionError(f"{len(groups)} `group` need a `label` each, got {len(each)}")
    weights = group_weights or {}
    unknown = [name for name in weights if name not in groups]
    if unknown:
        raise OptionError(f"`group_weights` names {unknown[0]!r}, which is no `group`")
    given = {name: value for name, value in columns.items() if value is not None}
    for label, group in zip(each, groups, strict=True):  # a bad column or word is told as for one
        make_supervision(kind, label=label, group=group, **given)
    return SeveralSupervision(
        group=groups[0],
        label=each[0],
        of=kind,
        groups=tuple(groups),
        labels=tuple(each),
        weights=tuple(float(weights.get(group, 1.0)) for group in groups),
        **given,
    )
