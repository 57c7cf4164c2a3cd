"""What is known of groups: what every kind knows of its columns, splits, score and words."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from groupwise.base import Predictions
from groupwise.groups import Groups, show
from groupwise.jobs.class_answers import ClassAnswers
from groupwise.jobs.fold_result import GroupResults
from groupwise.jobs.targets import (
    Targets,
    about_columns,
    class_codes,
    ids_of,
    label_column,
    labels_of,
)
from groupwise.model_selection import WholeGroupKFold
from groupwise.tables import OptionError, TableError

__all__ = [
    "KINDS",
    "Split",
    "Supervision",
    "make_supervision",
    "named",
    "plain_folds",
]

Split = tuple[NDArray[np.intp], NDArray[np.intp]]
#: The kinds that a caller can ask for, by name; each class enters itself.
KINDS: dict[str, type["Supervision"]] = {}


@dataclass(frozen=True)
class Supervision(ClassAnswers):
    """Base of the kinds of supervision: labels by group, two or more classes.

    Attributes
    ----------
    group : str
        Column of group ids.
    label : tuple of str
        One column of labels; for proportions one column per class.
    """

    group: str | None
    label: tuple[str, ...]

    #: Its name, and what the label says, in half a sentence.
    kind: ClassVar[str]
    meaning: ClassVar[str]
    #: What the score is the mean of, and what falls as it rises.
    score_name: ClassVar[str] = "share of groups predicted right"
    error_name: ClassVar[str] = "share of groups predicted wrong"
    #: Whether a group's score is 0 or 1, so that a picture of it shows a probability instead.
    right_or_wrong: ClassVar[bool] = True
    #: Arguments it cannot do without, besides ``group`` and ``label``.
    required: ClassVar[tuple[str, ...]] = ()
    #: Whether the score is that of rows, so that a group counts as often as it has rows.
    counts_rows: ClassVar[bool] = False
    #: Whether a group's score depends on what is said of the others.
    compares_groups: ClassVar[bool] = False
    #: Whether a number that is predicted is of the same unit as the known.
    same_unit: ClassVar[bool] = True
    #: Whether a row can weigh towards its group's label.
    explains: ClassVar[bool] = True
    #: The kind whose sets or intervals have a coverage; ``None``: none have, for this reason.
    covered_as: ClassVar[str | None] = None
    not_covered: ClassVar[str] = ""

    def __init_subclass__(cls, by_name: bool = True) -> None:
        if by_name:
            KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        if self.group is None:
            raise OptionError(f"`kind` {self.kind} needs `group`: the column that names the group")
        if len(self.label) != 1:
            raise OptionError(f"`kind` {self.kind} takes one `label`, got {len(self.label)}")

    def roles(self) -> dict[str, str]:
        """Columns that are no features, with what they are."""
        roles = {} if self.group is None else {self.group: "group"}
        if self.group in self.label:
            raise OptionError(f"`group` and `label` name the same column, {self.group!r}")
        return roles | dict.fromkeys(self.label, "label")

    def groups_in(self, frame: pd.DataFrame, name: str) -> Groups:
        """The groups of a table's rows."""
        assert self.group is not None
        return Groups(ids_of(frame, self.group, name, "group"))

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        """Labels and groups of a table's rows; ``classes`` are those of a fitted model."""
        groups = self.groups_in(frame, name)
        labels = labels_of(frame, self.label[0], name, groups)
        advice = "; if rows have labels of their own, say `kind` measure, transfer or proportions"
        with about_columns(name, self.label[0], advice=advice):
            groups.one_per_group(labels)
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        return Targets(codes, groups, classes)

    def labelled_rows(self, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        """Which rows have a label; a group has it on all of its rows or on none.

        Raises
        ------
        TableError
            If no row has one, or some rows of a group have and others have not.
        """
        columns = [label_column(frame, column, name) for column in self.label]
        labelled = ~np.logical_and.reduce([values.isna().to_numpy() for values in columns])
        if not labelled.any():
            raise TableError(
                f"{name}: {named(self.label)} no value at all: there is nothing to learn from"
            )
        if not labelled.all() and not self.rows_labelled:
            groups = self.groups_in(frame, name)
            share = groups.mean(labelled.astype(float))
            mixed = np.flatnonzero((share > 0) & (share < 1))
            if len(mixed):
                n_rows = int(groups.sizes[mixed[0]])
                raise TableError(
                    f"{name}: {named(self.label)} a value on "
                    f"{round(share[mixed[0]] * n_rows)} of the {n_rows} rows of group "
                    f"{show(groups.names[mixed[0]])}; a group has its label on all of its rows, "
                    f"or on none and is not labelled ({len(mixed)} such groups)"
                )
        return labelled

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        """Whole groups in ``n_splits`` folds, fewer where a class has fewer groups."""
        y_group = targets.y[targets.groups.first_rows]
        counts = np.bincount(y_group, minlength=len(targets.classes))
        if counts.min() < 2:
            few = "one group only" if counts.min() else "no group"
            raise TableError(
                f"class {targets.classes[int(counts.argmin())]!r} has {few}; at least two are "
                "needed to learn from one and be judged on another"
            )
        if targets.whole is not None:
            return _stratified_whole_folds(targets, y_group, n_splits, seed)
        folds = WholeGroupKFold(min(n_splits, int(counts.min())), random_state=seed)
        return list(folds.split(targets.y, targets.y, targets.groups.codes))

    def is_target(self, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        """Which rows are of the kind that counts."""
        return np.ones(len(frame), dtype=bool)

    def unlabelled_ids(self, groups: Groups) -> dict[str, Any]:
        """What ``fit`` is given with rows that have no label."""
        return {"groups_unlabeled": groups.names[groups.codes]}

    def ids(self, targets: Targets) -> dict[str, Any]:
        """What ``fit`` and ``score`` are given besides rows and labels."""
        return {"groups": targets.groups.names[targets.groups.codes]}

    def label_values(self, targets: Targets) -> dict[str, NDArray[Any]]:
        """What no feature may merely rename, by what it is, on each row."""
        return {"label": targets.y} if targets.y.ndim == 1 else {}

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        """What an estimator's constructor has to know, where it takes it."""
        return {}

    def held_out(self, targets: Targets) -> Targets:
        """What is judged of rows that a model has not seen."""
        return targets

    def judged_rows(self, targets: Targets) -> NDArray[np.intp]:
        """Rows that count in a score."""
        return np.arange(targets.groups.n_rows)

    def judge(self, predictions: Predictions, targets: Targets) -> NDArray[np.float64]:
        """The score of each group, between 0 and 1; NaN leaves a group out."""
        truth = targets.y[targets.groups.first_rows]
        return (predictions.code_group == truth).astype(float)

    def mean_score(self, score_group: NDArray[np.float64], sizes: NDArray[np.intp]) -> float:
        """What groups' scores come to: what ``score`` of an estimator says."""
        counted = ~np.isnan(score_group)
        weight = sizes[counted] if self.counts_rows else None
        return float(np.average(score_group[counted], weights=weight))

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        """What the codes mean, for people."""
        return f"classes {', '.join(classes)}"

    def in_words(self, units: Sequence[GroupResults]) -> str | None:
        """What held-out groups say besides the score; ``None``: nothing."""
        return None

    def check_covered(self) -> str:
        """The kind whose sets or intervals have a coverage; an error where none have."""
        if self.covered_as is None:
            raise OptionError(f"`coverage` {self.not_covered}")
        return self.covered_as

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kind": self.kind} | asdict(self)


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


def plain_folds(targets: Targets, n_splits: int, seed: int) -> list[Split]:
    """Folds of whole groups, or of what is kept whole."""
    ids = targets.groups if targets.whole is None else Groups(targets.whole)
    if ids.n_groups < 2:
        what = "group" if targets.whole is None else "value of `keep_whole`"
        raise TableError(
            f"there is one {what} only; at least two are needed, to learn and to judge"
        )
    folds = WholeGroupKFold(min(n_splits, ids.n_groups), stratify=False, random_state=seed)
    return list(folds.split(ids.codes, None, ids.codes))


def _stratified_whole_folds(
    targets: Targets, y_group: NDArray[np.intp], n_splits: int, seed: int
) -> list[Split]:
    """Folds that divide no coarser id, with every class of groups spread over them."""
    groups = targets.groups
    whole = Groups(np.asarray(targets.whole)[groups.first_rows])
    spread = [len(np.unique(whole.codes[y_group == code])) for code in np.unique(y_group)]
    if min(spread) < 2:
        code = np.unique(y_group)[int(np.argmin(spread))]
        raise TableError(
            f"class {targets.classes[code]!r} has groups of one value of `keep_whole` only; at "
            "least two are needed to learn from one and be judged on another"
        )
    folds = StratifiedGroupKFold(min(n_splits, *spread), shuffle=True, random_state=seed)
    splits = []
    for _, test in folds.split(y_group, y_group, whole.codes):
        inside = np.isin(groups.codes, test)
        if inside.any():
            splits.append((np.flatnonzero(~inside), np.flatnonzero(inside)))
    return splits


def named(columns: Sequence[str]) -> str:
    """Columns as the beginning of a sentence."""
    several = len(columns) > 1
    return f"column{'s' * several} {', '.join(map(repr, columns))} {'have' if several else 'has'}"
