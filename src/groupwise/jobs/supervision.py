"""What is known of groups: five kinds, each of which knows its columns, splits and score."""

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.jobs.answer import Answer
from groupwise.jobs.known import Known, class_codes, ids_of, labels_of, shares_of
from groupwise.measures import get_measure
from groupwise.model_selection import WholeGroupKFold
from groupwise.tables import OptionError, TableError

__all__ = ["KINDS", "Supervision", "make_supervision"]

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True)
class Supervision:
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

    kind: ClassVar[str]
    score_name: ClassVar[str] = "share of groups predicted right"
    #: Whether labels belong to rows, so that single predictions can be judged.
    rows_labelled: ClassVar[bool] = False
    #: Whether a row can weigh towards its group's label.
    explains: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.group is None:
            raise OptionError(f"--kind {self.kind} needs --group: the column that names the group")
        if len(self.label) != 1:
            raise OptionError(f"--kind {self.kind} takes one --label, got {len(self.label)}")

    def roles(self) -> dict[str, str]:
        """Columns that are no features, with what they are."""
        roles = {} if self.group is None else {self.group: "group"}
        if self.group in self.label:
            raise OptionError(f"--group and --label name the same column, {self.group!r}")
        return roles | dict.fromkeys(self.label, "label")

    def groups_in(self, frame: pd.DataFrame, name: str) -> Groups:
        """The groups of a table's rows."""
        assert self.group is not None
        return Groups(ids_of(frame, self.group, name, "--group"))

    def known_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Known:
        """Labels and groups of a table's rows; ``classes`` are those of a fitted model."""
        groups = self.groups_in(frame, name)
        labels = labels_of(frame, self.label[0], name, groups)
        try:
            groups.one_per_group(labels, name=f"{name}: column {self.label[0]!r}")
        except GroupDataError as error:
            raise TableError(f"{error}{self._advice()}") from error
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        return Known(codes, groups, classes)

    def _advice(self) -> str:
        return "; if rows have labels of their own, say --kind measure, transfer or proportions"

    def splits(self, known: Known, n_splits: int, seed: int) -> list[Split]:
        """Whole groups in ``n_splits`` folds, fewer where a class has fewer groups."""
        y_group = known.y[known.groups.first_rows]
        counts = np.bincount(y_group, minlength=len(known.classes))
        if counts.min() < 2:
            raise TableError(
                f"class {known.classes[int(counts.argmin())]!r} has {counts.min()} group(s); at "
                "least two are needed to learn from one and be judged on another"
            )
        folds = WholeGroupKFold(min(n_splits, int(counts.min())), random_state=seed)
        return list(folds.split(known.y, known.y, known.groups.codes))

    def fit_options(self, known: Known) -> dict[str, Any]:
        """What ``fit`` is given besides rows and labels."""
        return {"groups": known.groups.names[known.groups.codes]}

    def constructor(self) -> dict[str, Any]:
        """What an estimator's constructor has to know, where it takes it."""
        return {}

    def judged_rows(self, known: Known) -> NDArray[np.intp]:
        """Rows that count in a score."""
        return np.arange(known.groups.n_rows)

    def judge(self, answer: Answer, known: Known) -> NDArray[np.float64]:
        """The score of each group, between 0 and 1; NaN leaves a group out."""
        truth = known.y[known.groups.first_rows]
        return (answer.group_code == truth).astype(float)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"kind": self.kind} | asdict(self)


@dataclass(frozen=True)
class Majority(Supervision):
    """The label is the class most rows of the group have."""

    kind: ClassVar[str] = "majority"


@dataclass(frozen=True)
class Presence(Supervision):
    """The label says whether at least one row of the group is positive."""

    positive: str | None = None

    kind: ClassVar[str] = "presence"

    def known_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Known:
        known = super().known_in(frame, name, classes)
        if classes is not None:
            return known
        found = known.classes
        if len(found) != 2:
            raise TableError(
                f"{name}: column {self.label[0]!r} must hold two classes for --kind presence, "
                f"it holds {len(found)}"
            )
        if self.positive is not None and self.positive not in found:
            raise TableError(
                f"{name}: column {self.label[0]!r} never holds {self.positive!r} (--positive); it "
                f"holds {found[0]!r} and {found[1]!r}"
            )
        if self.positive == found[0]:
            return Known(1 - known.y, known.groups, found[::-1])
        return known


@dataclass(frozen=True)
class Proportions(Supervision):
    """How many rows of each class a group has: one column per class, or labels to be counted."""

    kind: ClassVar[str] = "proportions"
    score_name: ClassVar[str] = "1 - mean error of the groups' shares"

    def __post_init__(self) -> None:
        if self.group is None:
            raise OptionError("--kind proportions needs --group: the column that names the group")
        if len(set(self.label)) != len(self.label):
            raise OptionError(f"--label names a column twice: {', '.join(self.label)}")

    def known_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Known:
        groups = self.groups_in(frame, name)
        if len(self.label) > 1:
            return Known(shares_of(frame, self.label, name, groups), groups, self.label)
        labels = labels_of(frame, self.label[0], name, groups)
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        counts = groups.sum(np.eye(len(classes))[codes])
        return Known((counts / groups.sizes[:, None])[groups.codes], groups, classes)

    def splits(self, known: Known, n_splits: int, seed: int) -> list[Split]:
        return _plain_folds(known.groups, n_splits, seed)

    def judge(self, answer: Answer, known: Known) -> NDArray[np.float64]:
        truth = known.y[known.groups.first_rows]
        return 1.0 - 0.5 * np.abs(answer.group_proba - truth).sum(axis=1)


@dataclass(frozen=True)
class Measure(Supervision):
    """Rows are labelled; what counts is a measure of each group."""

    measure: str = "f1"
    positive: str | None = None

    kind: ClassVar[str] = "measure"
    rows_labelled: ClassVar[bool] = True
    explains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            get_measure(self.measure)
        except ValueError as error:
            raise OptionError(f"--measure: {error}") from error

    # ignored: a constant of the class for the other kinds; here it depends on the measure
    @property
    def score_name(self) -> str:  # type: ignore[override]
        return f"mean over groups of {self.measure}"

    def known_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Known:
        groups = self.groups_in(frame, name)
        labels = labels_of(frame, self.label[0], name, groups)
        codes, found = class_codes(labels, classes, groups, name, self.label[0])
        if classes is None and len(found) > 2 and not get_measure(self.measure).multiclass:
            raise TableError(
                f"{name}: the measure {self.measure!r} is for two classes, column "
                f"{self.label[0]!r} holds {len(found)}"
            )
        if classes is None and len(found) == 2 and self.positive == found[0]:
            return Known(1 - codes, groups, found[::-1])
        if classes is None and self.positive is not None and self.positive not in found:
            raise TableError(
                f"{name}: column {self.label[0]!r} never holds {self.positive!r} (--positive)"
            )
        return Known(codes, groups, found)

    def splits(self, known: Known, n_splits: int, seed: int) -> list[Split]:
        return _plain_folds(known.groups, n_splits, seed)

    def constructor(self) -> dict[str, Any]:
        return {"measure": self.measure}

    def judge(self, answer: Answer, known: Known) -> NDArray[np.float64]:
        return get_measure(self.measure)(known.y, answer.row_score, known.groups)


@dataclass(frozen=True)
class Transfer(Supervision):
    """Rows are labelled; those of one domain count, the others may help."""

    domain: str = ""
    target: str = ""

    kind: ClassVar[str] = "transfer"
    score_name: ClassVar[str] = "share of the target's rows predicted right"
    rows_labelled: ClassVar[bool] = True
    explains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.domain or not self.target:
            raise OptionError("--kind transfer needs --domain (a column) and --target (its value)")
        if len(self.label) != 1:
            raise OptionError(f"--kind transfer takes one --label, got {len(self.label)}")

    def roles(self) -> dict[str, str]:
        return super().roles() | {self.domain: "domain"}

    def groups_in(self, frame: pd.DataFrame, name: str) -> Groups:
        if self.group is None:
            return Groups(np.array([f"row {row}" for row in range(len(frame))]))
        return super().groups_in(frame, name)

    def known_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Known:
        groups = self.groups_in(frame, name)
        domains = ids_of(frame, self.domain, name, "--domain").astype(str)
        if not (domains == self.target).any():
            found = ", ".join(map(repr, np.unique(domains)[:8].tolist()))
            raise TableError(
                f"{name}: column {self.domain!r} never holds {self.target!r} (--target); it holds "
                f"{found}"
            )
        labels = labels_of(frame, self.label[0], name, groups)
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        return Known(codes, groups, classes, domains)

    def splits(self, known: Known, n_splits: int, seed: int) -> list[Split]:
        """Folds of the target's groups; a source row trains unless its group is being tested."""
        rows = self.judged_rows(known)
        inside = known.take(rows)
        splits = []
        for _, test in _plain_folds(inside.groups, n_splits, seed):
            tested = np.unique(known.groups.codes[rows[test]])
            train = np.flatnonzero(~np.isin(known.groups.codes, tested))
            splits.append((train, rows[test]))
        return splits

    def fit_options(self, known: Known) -> dict[str, Any]:
        return {"domains": known.domains}

    def constructor(self) -> dict[str, Any]:
        return {"target_domain": self.target}

    def judged_rows(self, known: Known) -> NDArray[np.intp]:
        return np.flatnonzero(np.asarray(known.domains) == self.target)

    def judge(self, answer: Answer, known: Known) -> NDArray[np.float64]:
        return known.groups.mean((answer.row_code == known.y).astype(float))


KINDS: dict[str, type[Supervision]] = {
    kind.kind: kind for kind in (Majority, Presence, Proportions, Measure, Transfer)
}


def make_supervision(kind: str, **columns: Any) -> Supervision:
    """A kind of supervision from options, those that it has no use for refused by name."""
    if kind not in KINDS:
        raise OptionError(f"--kind must be one of {', '.join(KINDS)}, got {kind!r}")
    chosen = KINDS[kind]
    given = {name: value for name, value in columns.items() if value is not None}
    useless = sorted(set(given) - {field.name for field in fields(chosen)})
    if useless:
        raise OptionError(f"--kind {kind} has no use for --{useless[0]}")
    return chosen(**({"group": None} | given))


def _plain_folds(groups: Groups, n_splits: int, seed: int) -> list[Split]:
    if groups.n_groups < 2:
        raise TableError("there is one group only; at least two are needed, to learn and to judge")
    folds = WholeGroupKFold(min(n_splits, groups.n_groups), stratify=False, random_state=seed)
    return list(folds.split(groups.codes, None, groups.codes))
