"""What is known of the same rows by several groupings: precincts and counties, ages and towns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.base import Predictions
from groupwise.groups import Groupings
from groupwise.inputs.parameters import check_number
from groupwise.jobs.group_labels import Majority, Presence
from groupwise.jobs.proportions import Proportions
from groupwise.jobs.reports import Reports
from groupwise.jobs.supervision import Split, Supervision, make_supervision
from groupwise.jobs.targets import GroupingTargets, Targets, class_codes, get_column, labels_of
from groupwise.losses import (
    CountLikelihoodLoss,
    GroupLoss,
    MajorityLoss,
    NoisyOrLoss,
    ReportedCountLoss,
    SeveralGroupings,
)
from groupwise.tables import OptionError, TableError

__all__ = [
    "KINDS_OF_GROUPINGS",
    "SeveralSupervision",
    "supervision_from_dict",
    "supervision_of_groupings",
]

#: Kinds whose losses add up, with these.
KINDS_OF_GROUPINGS: dict[str, type[GroupLoss]] = {
    "majority": MajorityLoss,
    "presence": NoisyOrLoss,
    "proportions": CountLikelihoodLoss,
    "reported": ReportedCountLoss,
}
_CLASSES: dict[str, type[Supervision]] = {
    kind.kind: kind for kind in (Majority, Presence, Proportions, Reports)
}


@dataclass(frozen=True)
class SeveralSupervision(Supervision, by_name=False):
    """The same kind of knowledge by each of several groupings; the first is judged and predicted.

    Rows may be in no group of a grouping but the first, and groups of any may have no label.

    No label of a row that is judged is learned from. Where labels are those of rows, groups of the
    first grouping are held out, and the others' counts are made anew without their rows. What is
    known of groups as wholes cannot be cut: folds hold out pieces of the table that are whole in
    every grouping (counties with their precincts); where there are fewer pieces than folds, as in
    tables of margins, groups of the first grouping are held out, and a group of another grouping
    that has rows in both parts is left out of that training part.

    Attributes
    ----------
    group : str
    label : tuple of str
        Of the first grouping.
    of : str
        The kind of each.
    groups : tuple of str
        Columns of ids.
    labels : tuple of tuples of str
        Of each grouping.
    weights : tuple of float
    positive, reported : str, default=None
        As one grouping has them.
    """

    of: str = ""
    groups: tuple[str, ...] = ()
    labels: tuple[tuple[str, ...], ...] = ()
    weights: tuple[float, ...] = ()
    positive: str | None = None
    reported: str | None = None

    kind: ClassVar[str] = "groupings"
    meaning: ClassVar[str] = (
        "the same kind of thing is known of the groups of several groupings (more than one `group`)"
    )
    not_covered: ClassVar[str] = "is for one `group`"

    def __post_init__(self) -> None:
        # as read from JSON
        object.__setattr__(self, "label", tuple(self.label))
        object.__setattr__(self, "groups", tuple(self.groups))
        object.__setattr__(self, "labels", tuple(map(tuple, self.labels)))
        object.__setattr__(self, "weights", tuple(self.weights))
        if self.of not in KINDS_OF_GROUPINGS or len(self.groups) < 2:
            raise OptionError(
                "`kind` says what each of several `group` is known by: "
                f"{', '.join(KINDS_OF_GROUPINGS)}"
            )
        twice = [name for name in self.groups if self.groups.count(name) > 1]
        if twice:
            raise OptionError(f"`group` names a column twice: {twice[0]}")
        for name, weight in zip(self.groups, self.weights, strict=True):
            try:
                check_number(f"`group_weights` of {name!r}", weight, "(0, inf)")
            except ValueError as error:
                raise OptionError(str(error)) from error

    @property
    def parts(self) -> dict[str, Supervision]:
        """What is known by each grouping."""
        more = {"positive": self.positive, "reported": self.reported}
        given = {name: value for name, value in more.items() if value is not None}
        return {
            group: _CLASSES[self.of](group=group, label=label, **given)
            for group, label in zip(self.groups, self.labels, strict=True)
        }

    @property
    def first(self) -> Supervision:
        """What is known by the grouping that is judged."""
        return self.parts[self.groups[0]]

    @property
    def of_rows(self) -> bool:
        """Whether rows have labels, which groupings count."""
        return self.of == "proportions" and len(self.label) == 1

    # ignored: constants of the class for the other kinds; here they depend on the groupings' kind
    @property
    def score_name(self) -> str:  # type: ignore[override]
        return self.first.score_name

    @property
    def error_name(self) -> str:  # type: ignore[override]
        return self.first.error_name

    @property
    def right_or_wrong(self) -> bool:  # type: ignore[override]
        return self.first.right_or_wrong

    @property
    def mark(self) -> str:  # type: ignore[override]
        return self.first.mark

    def roles(self) -> dict[str, str]:
        roles: dict[str, str] = {}
        for part in self.parts.values():
            roles |= part.roles()
        both = set(self.groups) & {column for label in self.labels for column in label}
        if both:
            raise OptionError(f"`group` and `label` name the same column, {min(both)!r}")
        return roles

    def labelled_rows(self, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        """Which rows are in a group with a label, of any grouping that the table has."""
        labelled = self._inside(self.first, frame, name)
        for group, part in self.parts.items():
            if {group, *part.label} <= set(frame.columns):
                labelled = labelled | self._inside(part, frame, name)
        return labelled

    def _inside(self, part: Supervision, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        """Which rows are in a group of a grouping, with a label."""
        assert part.group is not None
        inside = np.ones(len(frame), bool)
        if part.group != self.groups[0]:
            inside = get_column(frame, part.group, name, "group").notna().to_numpy(copy=True)
            if not inside.any():
                raise TableError(f"{name}: column {part.group!r} (`group`) names no group at all")
        inside[inside] = part.labelled_rows(frame[inside], name)
        return inside

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        """Labels of all groupings; ``classes`` of a fitted model: of the first, which is judged."""
        judged = self._inside(self.first, frame, name)
        first = self.first.targets_in(frame[judged], name, classes)
        groups = self.groups_in(frame, name)
        found = {self.groups[0]: (judged, first)}
        if classes is None:
            for group, part in list(self.parts.items())[1:]:
                inside = self._inside(part, frame, name)
                found[group] = inside, self._others(part, frame[inside], name, first.classes)
        codes = {group: np.full(len(frame), -1) for group in self.groups}
        y: dict[str, NDArray[Any]] = {}
        for group, (inside, targets) in found.items():
            codes[group][inside] = targets.groups.codes
            y[group] = _on_all_rows(targets.known, inside)
        return Targets(
            _on_all_rows(first.y, judged),
            groups,
            first.classes,
            groupings=GroupingTargets(codes, y, self.of_rows),
        )

    def _others(
        self, part: Supervision, frame: pd.DataFrame, name: str, classes: tuple[str, ...]
    ) -> Targets:
        """Labels of a grouping after the first, in the first's classes."""
        if self.of_rows:
            groups = part.groups_in(frame, name)
            labels = labels_of(frame, part.label[0], name, groups)
            codes, _ = class_codes(labels, classes, groups, name, part.label[0])
            return Targets(codes, groups, classes)
        n_classes = len(classes)
        if self.of in ("proportions", "reported"):  # their columns say how many
            n_classes = len(part.classes) if isinstance(part, Reports) else len(part.label)
        if n_classes != len(classes):
            raise OptionError(
                f"`label` of {part.group!r} is of {n_classes} classes, that of "
                f"{self.groups[0]!r} of {len(classes)}"
            )
        return part.targets_in(frame, name, classes)

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        """Folds that no row of a training part shares a known label with; see the class."""
        rows = self.judged_rows(targets)
        if len(rows) == 0:
            raise TableError(f"no group of {self.groups[0]!r} has a label: there is none to judge")
        pieces = self._pieces(targets, n_splits)
        whole = targets.whole if pieces is None else pieces
        kept = targets.groups.codes if whole is None else whole
        if (kept[rows] == kept[rows[0]]).all():
            raise TableError(
                f"the groups of {self.groups[0]!r} that have a label are held out together: there "
                "are none to learn from"
            )
        inside = replace(targets, groupings=None, whole=whole).take(rows)
        splits = []
        for _, test in self.first.splits(inside, n_splits, seed):
            splits.append((np.flatnonzero(~np.isin(kept, kept[rows[test]])), rows[test]))
        return splits

    def _pieces(self, targets: Targets, n_splits: int) -> NDArray[np.intp] | None:
        """Of each row, the piece of the table that no known label reaches out of; if enough."""
        if self.of_rows or targets.groupings is None:
            return None
        table: dict[str, Any] = {**targets.groupings.ids(), self.groups[0]: targets.groups.codes}
        if targets.whole is not None:
            table["`keep_whole`"] = targets.whole
        pieces = Groupings(table).components()
        return pieces.codes if pieces.n_groups >= n_splits else None

    def about_folds(self, targets: Targets, n_splits: int) -> str:
        """What is held out while judging, in words."""
        first, others = self.groups[0], ", ".join(map(repr, self.groups[1:]))
        if self.of_rows:
            return f"groups of {first!r} are held out; {others} counted without their rows"
        pieces = self._pieces(targets, n_splits)
        if pieces is not None:
            n = len(np.unique(pieces))
            return f"{n:,} pieces of the table that are whole in every grouping are held out"
        return (
            f"groups of {first!r} are held out; groups of {others} with rows in both parts are not "
            "learned from there, so that the model of all rows knows more than those that are "
            "judged"
        )

    def ids(self, targets: Targets) -> dict[str, Any]:
        assert targets.groupings is not None
        found = targets.groupings.ids().items()
        return {"groups": {group: code for group, code in found if not np.isnan(code).all()}}

    def held_out(self, targets: Targets) -> Targets:
        assert targets.groupings is not None
        codes = {
            group: code if group == self.groups[0] else np.full(len(code), -1)
            for group, code in targets.groupings.codes.items()
        }
        return replace(targets, groupings=replace(targets.groupings, codes=codes))

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        """The loss of the groupings that the rows have groups of."""
        losses: dict[Any, str | GroupLoss] = {}
        weights: dict[Any, float] = {}
        for (group, part), weight in zip(self.parts.items(), self.weights, strict=True):
            if targets is not None and group not in self.ids(targets)["groups"]:
                continue
            law = {"reported": part.law()} if isinstance(part, Reports) else {}
            losses[group] = KINDS_OF_GROUPINGS[self.of](**law)
            weights[group] = weight
        return {"loss": SeveralGroupings(losses, weights)}

    def judged_rows(self, targets: Targets) -> NDArray[np.intp]:
        """Rows of groups of the first grouping whose label is known."""
        if targets.y.ndim == 2:
            return np.flatnonzero(~np.isnan(targets.y).any(axis=1))
        return np.flatnonzero(targets.y >= 0)

    def judge(self, predictions: Predictions, targets: Targets) -> NDArray[np.float64]:
        return self.first.judge(predictions, targets)


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


def supervision_from_dict(content: Mapping[str, Any]) -> Supervision:
    """Read what ``to_dict`` gave, of one grouping or of several."""
    if content["kind"] != SeveralSupervision.kind:
        return make_supervision(**content)
    return SeveralSupervision(**{name: part for name, part in content.items() if name != "kind"})


def _on_all_rows(values: NDArray[Any], inside: NDArray[np.bool_]) -> NDArray[Any]:
    """Values of some rows among all: NaN, or -1 for codes, on the others."""
    if inside.all():
        return values
    outside = -1 if values.dtype.kind == "i" else np.nan
    table = np.full((len(inside), *values.shape[1:]), outside, values.dtype)
    table[inside] = values
    return table
