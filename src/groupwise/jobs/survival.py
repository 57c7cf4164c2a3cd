"""Survival times of groups, some of which were last seen without the event."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.groups import Groups, show
from groupwise.inputs.totals import group_numbers
from groupwise.jobs.fold_result import GroupResults
from groupwise.jobs.numbers import Numbers
from groupwise.jobs.supervision import Split, plain_folds
from groupwise.jobs.targets import Targets, about_columns, amounts_of, numbers_of
from groupwise.metrics.survival import concordance_parts
from groupwise.model_selection import WholeGroupKFold
from groupwise.tables import OptionError, TableError

__all__ = ["Survival"]


@dataclass(frozen=True)
class Survival(Numbers):
    """The time until an event is known of a group, or until it was last seen without.

    A fold's score is the concordance: the share of its comparable pairs of groups in the right
    order. A group's is what it brings to it (:func:`~groupwise.metrics.survival.concordance_parts`)
    so that intervals are those of the concordance.

    Attributes
    ----------
    event : str, default=None
        Column of 1 (the event was seen) and 0 (it was not); ``None``: a negative time is one
        without the event.
    """

    event: str | None = None

    kind: ClassVar[str] = "survival"
    meaning: ClassVar[str] = "the label is the time until a group's event, or its last sight"
    score_name: ClassVar[str] = "concordance: share of pairs of groups in the right order"
    error_name: ClassVar[str] = "1 - concordance"
    compares_groups: ClassVar[bool] = True
    same_unit: ClassVar[bool] = False
    not_covered: ClassVar[str] = "is for classes, shares, means and totals, not for survival times"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.event in (self.group, *self.label):
            raise OptionError(f"`event` names the group or the label, {self.event!r}")

    def roles(self) -> dict[str, str]:
        return super().roles() | ({} if self.event is None else {self.event: "event"})

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups, column = self.groups_in(frame, name), self.label[0]
        with about_columns(name, column):
            time = group_numbers(numbers_of(frame, column, name, "label"), groups, target="total")
        wrong = time == 0 if self.event is None else time <= 0
        if wrong.any():
            row = int(np.argmax(wrong))
            raise TableError(
                f"{name}: column {column!r} holds {time[row]:g} in group "
                f"{show(groups.names[groups.codes[row]])}; a time is more than 0"
                + (" (less: last seen without the event)" if self.event is None else "")
            )
        if self.event is not None:
            time = np.where(self._seen(frame, name, groups), time, -time)
        n_events = int((time[groups.first_rows] > 0).sum())
        if n_events < 2:
            raise TableError(
                f"{name}: {n_events} of {groups.n_groups} groups had the event; at least two are "
                "needed, to learn from one and be judged on another"
            )
        return Targets(time, groups, ())

    def _seen(self, frame: pd.DataFrame, name: str, groups: Groups) -> NDArray[np.bool_]:
        """Whether the event was seen."""
        assert self.event is not None
        given = amounts_of(frame, self.event, name, "event")
        wrong = given.notna().to_numpy() & ~given.isin((0, 1)).to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            held = given.iloc[row]
            shown = repr(held) if isinstance(held, str) else f"{held:g}"
            raise TableError(
                f"{name}: column {self.event!r} (`event`) must hold 0 and 1; row {row} holds "
                f"{shown} (1: the event was seen)"
            )
        values = numbers_of(frame, self.event, name, "event")
        with about_columns(name, self.event):
            groups.one_per_group(values)
        return values == 1.0

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        """Whole groups, those with the event spread over the folds."""
        seen = targets.y[targets.groups.first_rows] > 0
        n_groups = targets.groups.n_groups
        if n_groups < 4:
            raise TableError(
                f"there are {n_groups} groups with a time, and they are judged in pairs: at least "
                "four are needed"
            )
        n_splits = min(n_splits, int(seen.sum()), n_groups // 2)
        if targets.whole is not None or int((~seen).sum()) < n_splits:
            splits = plain_folds(targets, n_splits, seed)
        else:
            folds = WholeGroupKFold(n_splits, random_state=seed)
            splits = list(folds.split(targets.y, targets.y > 0, targets.groups.codes))
        if not any(_can_be_compared(targets.take(test)) for _, test in splits):
            raise TableError(
                "of the groups that are held out together none had the event before another's "
                "time, so that no order of theirs is right or wrong; more groups are needed"
            )
        return splits

    def label_values(self, targets: Targets) -> dict[str, NDArray[Any]]:
        return {"label": targets.y, "time": np.abs(targets.y), "event": targets.y > 0}

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        return {}

    def judge(self, predictions: Any, targets: Targets) -> NDArray[np.float64]:
        time = targets.y[targets.groups.first_rows]
        return concordance_parts(time, predictions.y_group)

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        end = "less than 0" if self.event is None else f"{self.event!r} is 0"
        return f"times in {self.label[0]!r}, last seen where {end}"

    def in_words(self, units: Sequence[GroupResults]) -> str:
        times = [time for unit in units for time in unit.number or ()]
        return f"{sum(time > 0 for time in times):,} of {len(times):,} groups had the event"

    def row_columns(self, predictions: Any, classes: tuple[str, ...]) -> dict[str, Any]:
        return {"risk": predictions.y_row}

    def group_columns(
        self, predictions: Any, classes: tuple[str, ...], frame: pd.DataFrame, name: str
    ) -> dict[str, Any]:
        return {"risk": predictions.y_group}

    def constants(self, known: Targets) -> list[Any]:
        """The same risk for all."""
        return [0.0]


def _can_be_compared(held_out: Targets) -> bool:
    """Whether the event of one group was seen before the time of another."""
    time = held_out.y[held_out.groups.first_rows]
    return bool(np.isfinite(concordance_parts(time, np.zeros(len(time)))).any())
