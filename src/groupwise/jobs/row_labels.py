"""Labels of rows: what counts is a measure of each group, or the rows of one domain."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.base import Predictions
from groupwise.groups import Groups
from groupwise.jobs.supervision import Split, Supervision, plain_folds
from groupwise.jobs.targets import Targets, class_codes, ids_of, labels_of
from groupwise.metrics import get_measure
from groupwise.tables import OptionError, TableError

__all__ = ["Measure", "Transfer"]


# Measures that are the same whichever of two classes is the positive one.
_OF_BOTH = ("accuracy", "balanced_accuracy", "matthews", "roc_area")


@dataclass(frozen=True)
class Measure(Supervision):
    """Rows are labelled; what counts is a measure of each group."""

    measure: str = "f1"
    positive: str | None = None

    kind: ClassVar[str] = "measure"
    meaning: ClassVar[str] = "rows are labelled, what counts is a score per group"
    error_name: ClassVar[str] = "1 - mean measure of the groups"
    covered_as: ClassVar[str | None] = "measure"
    right_or_wrong: ClassVar[bool] = False
    rows_labelled: ClassVar[bool] = True
    explains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            get_measure(self.measure)
        except ValueError as error:
            raise OptionError(f"`measure`: {error}") from error

    # ignored: a constant of the class for the other kinds; here it depends on the measure
    @property
    def score_name(self) -> str:  # type: ignore[override]
        return f"mean over groups of {self.measure}"

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups = self.groups_in(frame, name)
        labels = labels_of(frame, self.label[0], name, groups)
        codes, found = class_codes(labels, classes, groups, name, self.label[0])
        if classes is None and len(found) > 2 and not get_measure(self.measure).multiclass:
            raise TableError(
                f"{name}: the measure {self.measure!r} is for two classes, column "
                f"{self.label[0]!r} holds {len(found)}"
            )
        if classes is None and len(found) == 2 and self.positive == found[0]:
            return Targets(1 - codes, groups, found[::-1])
        if classes is None and self.positive is not None and self.positive not in found:
            raise TableError(
                f"{name}: column {self.label[0]!r} never holds {self.positive!r} (`positive`)"
            )
        return Targets(codes, groups, found)

    @property
    def names_positive(self) -> bool:
        """Whether the measure of two classes is that of one of them."""
        return self.measure not in _OF_BOTH

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        words = super().classes_in_words(classes)
        if len(classes) != 2 or not self.names_positive:
            return words
        return f"{words}; {self.measure} is that of {classes[1]!r}"

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        return plain_folds(targets, n_splits, seed)

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        return {"measure": self.measure}

    def judge(self, predictions: Predictions, targets: Targets) -> NDArray[np.float64]:
        return get_measure(self.measure)(targets.y, predictions.score_row, targets.groups)


@dataclass(frozen=True)
class Transfer(Supervision):
    """Rows are labelled; those of one domain count, the others may help."""

    domain: str = ""
    target_domain: str = ""

    kind: ClassVar[str] = "transfer"
    meaning: ClassVar[str] = "rows are labelled, those of one domain count"
    score_name: ClassVar[str] = "share of the target's rows predicted right"
    error_name: ClassVar[str] = "share of the target's rows predicted wrong"
    covered_as: ClassVar[str | None] = "transfer"
    right_or_wrong: ClassVar[bool] = False
    required: ClassVar[tuple[str, ...]] = ("domain", "target_domain")
    rows_labelled: ClassVar[bool] = True
    counts_rows: ClassVar[bool] = True
    explains: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.domain or not self.target_domain:
            raise OptionError(
                "`kind` transfer needs `domain` (a column) and `target_domain` (its value)"
            )
        if len(self.label) != 1:
            raise OptionError(f"`kind` transfer takes one `label`, got {len(self.label)}")

    def roles(self) -> dict[str, str]:
        return super().roles() | {self.domain: "domain"}

    def groups_in(self, frame: pd.DataFrame, name: str) -> Groups:
        if self.group is None:
            return Groups(np.array([f"row {row}" for row in range(len(frame))]))
        return super().groups_in(frame, name)

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups = self.groups_in(frame, name)
        if classes is not None and self.domain not in frame.columns:  # new rows of the target
            domains = np.full(len(frame), self.target_domain)
        else:
            domains = ids_of(frame, self.domain, name, "domain").astype(str)
        if not (domains == self.target_domain).any():
            there = np.unique(domains).tolist()
            found = ", ".join(map(repr, there[:8])) + (", ..." if len(there) > 8 else "")
            raise TableError(
                f"{name}: column {self.domain!r} holds {self.target_domain!r} (`target_domain`) in "
                f"no row with a label; those with one are of {found}. Some rows of the target need "
                "a label, to be judged on"
            )
        labels = labels_of(frame, self.label[0], name, groups)
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        return Targets(codes, groups, classes, domains)

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        """Folds of the target's groups; a source row trains unless its group is being tested."""
        rows = self.judged_rows(targets)
        inside = targets.take(rows)
        splits = []
        whole = targets.groups.codes if targets.whole is None else targets.whole
        for _, test in plain_folds(inside, n_splits, seed):
            tested = np.unique(whole[rows[test]])
            train = np.flatnonzero(~np.isin(whole, tested))
            splits.append((train, rows[test]))
        return splits

    def is_target(self, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        return ids_of(frame, self.domain, name, "domain").astype(str) == self.target_domain

    def unlabelled_ids(self, groups: Groups) -> dict[str, Any]:
        return {}

    def ids(self, targets: Targets) -> dict[str, Any]:
        return {"domains": targets.domains}

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        return {"target_domain": self.target_domain}

    def judged_rows(self, targets: Targets) -> NDArray[np.intp]:
        return np.flatnonzero(np.asarray(targets.domains) == self.target_domain)

    def judge(self, predictions: Predictions, targets: Targets) -> NDArray[np.float64]:
        return targets.groups.mean((predictions.code_row == targets.y).astype(float))
