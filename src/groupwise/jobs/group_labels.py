"""One label of each group: the class of most rows, whether one row has it, or a grade."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from groupwise.jobs.fold_result import GroupResults
from groupwise.jobs.supervision import Supervision
from groupwise.jobs.targets import Targets
from groupwise.tables import TableError

__all__ = ["Grade", "Majority", "Presence"]


@dataclass(frozen=True)
class Majority(Supervision):
    """The label is the class most rows of the group have."""

    kind: ClassVar[str] = "majority"
    meaning: ClassVar[str] = "the label is the class most rows of a group have"
    covered_as: ClassVar[str | None] = "majority"


@dataclass(frozen=True)
class Presence(Supervision):
    """The label says whether at least one row of the group is positive."""

    positive: str | None = None

    kind: ClassVar[str] = "presence"
    meaning: ClassVar[str] = "the label says whether at least one row of a group is positive"
    covered_as: ClassVar[str | None] = "presence"

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        targets = super().targets_in(frame, name, classes)
        if classes is not None:
            return targets
        found = targets.classes
        if len(found) != 2:
            raise TableError(
                f"{name}: column {self.label[0]!r} must hold two classes for `kind` presence, "
                f"it holds {len(found)}"
            )
        if self.positive is not None and self.positive not in found:
            raise TableError(
                f"{name}: column {self.label[0]!r} never holds {self.positive!r} (`positive`); it "
                f"holds {found[0]!r} and {found[1]!r}"
            )
        if self.positive == found[0]:
            return Targets(1 - targets.y, targets.groups, found[::-1])
        return targets

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        return f"a group is {classes[1]!r} if at least one of its rows is, else {classes[0]!r}"


def look_like_grades(classes: Sequence[str]) -> bool:
    """Whether classes may well have an order: letters, or whole numbers.

    Examples
    --------
    >>> look_like_grades(["A", "B", "C"]), look_like_grades(["1", "2", "10"])
    (True, True)
    >>> look_like_grades(["no", "yes"]), look_like_grades(["cat", "dog", "fox"])
    (False, False)
    """
    letters = all(len(name) == 1 and name.isalpha() for name in classes)
    return len(classes) > 2 and (letters or all(name.isdecimal() for name in classes))


@dataclass(frozen=True)
class Grade(Supervision):
    """The label is a grade of the group: classes in the order of numbers, or of the alphabet.

    Methods are ranked by the share of groups with the right grade, which is what ``score`` of the
    estimators says and what a reader takes a score of grades to be; how far off the grades are on
    average is said beside it.
    """

    kind: ClassVar[str] = "grade"
    meaning: ClassVar[str] = "the label is a grade of a group: classes that have an order"
    covered_as: ClassVar[str | None] = "majority"

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        return f"grades {' < '.join(classes)}"

    def in_words(self, units: Sequence[GroupResults]) -> str:
        pairs = [pair for u in units for pair in zip(u.predicted, u.truth or (), strict=True)]
        return f"{np.mean([abs(said - known) for said, known in pairs]):.2f} grades off on average"
