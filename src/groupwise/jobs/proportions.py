"""How many rows of each class groups have."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.base import Predictions
from groupwise.groups import Groups
from groupwise.inputs import class_shares
from groupwise.jobs.supervision import Split, Supervision, plain_folds
from groupwise.jobs.targets import (
    Targets,
    amounts_of,
    are_percent,
    class_codes,
    labels_of,
    shares_of,
)
from groupwise.tables import OptionError

__all__ = ["Proportions"]


@dataclass(frozen=True)
class Proportions(Supervision):
    """How many rows of each class a group has: one column per class, or labels to be counted."""

    kind: ClassVar[str] = "proportions"
    meaning: ClassVar[str] = "what is known is how many rows of each class a group has"
    score_name: ClassVar[str] = "1 - mean error of the groups' shares"
    error_name: ClassVar[str] = "mean error of the groups' shares"
    right_or_wrong: ClassVar[bool] = False
    mark: ClassVar[str] = "share"
    covered_as: ClassVar[str | None] = "proportions"

    def __post_init__(self) -> None:
        if self.group is None:
            raise OptionError("`kind` proportions needs `group`: the column that names the group")
        if len(set(self.label)) != len(self.label):
            raise OptionError(f"`label` names a column twice: {', '.join(self.label)}")

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups = self.groups_in(frame, name)
        if len(self.label) > 1:
            shares = shares_of(frame, self.label, name, groups)
            return Targets(shares, groups, self.label, notes=self._notes(frame, name, groups))
        labels = labels_of(frame, self.label[0], name, groups)
        codes, classes = class_codes(labels, classes, groups, name, self.label[0])
        shares_group = class_shares(codes, groups, classes=np.arange(len(classes)))[0]
        return Targets(groups.spread(shares_group), groups, classes)

    def _notes(self, frame: pd.DataFrame, name: str, groups: Groups) -> tuple[str, ...]:
        table = pd.DataFrame({column: amounts_of(frame, column, name) for column in self.label})
        if not are_percent(table, groups):
            return ()
        return (
            f"{', '.join(self.label)} add up to about 100 in every group and are read as percent",
        )

    def label_values(self, targets: Targets) -> dict[str, NDArray[Any]]:
        shares = dict(zip(targets.classes, targets.y.T, strict=True))
        return {f"share of {name!r}": share for name, share in shares.items()}

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        return plain_folds(targets, n_splits, seed)

    def judge(self, predictions: Predictions, targets: Targets) -> NDArray[np.float64]:
        truth = targets.y[targets.groups.first_rows]
        return 1.0 - 0.5 * np.abs(predictions.proba_group - truth).sum(axis=1)
