"""Numbers of groups: means and totals of what their rows have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.base import NumberPredictions
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs.totals import group_means, group_numbers, group_totals
from groupwise.jobs.fold_result import GroupResults
from groupwise.jobs.supervision import Split, Supervision, plain_folds
from groupwise.jobs.targets import Targets, about_columns, numbers_of
from groupwise.tables import OptionError, TableError
from groupwise.targets import check_exposure

__all__ = ["Amounts", "Mean", "Numbers", "Total"]


@dataclass(frozen=True)
class Numbers(Supervision, by_name=False):
    """What is known is a number of each group; what is predicted of rows are numbers, too."""

    right_or_wrong: ClassVar[bool] = False
    explains: ClassVar[bool] = False

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        return plain_folds(targets, n_splits, seed)

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        return f"numbers in {self.label[0]!r}"

    def answer_group(self, predictions: Any, targets: Targets) -> NDArray[Any]:
        return predictions.y_group

    def stored_answers(self, answer_group: NDArray[Any]) -> dict[str, Any]:
        return {"predicted": [], "proba": [], "number_predicted": answer_group.tolist()}

    def stored_truth(self, targets: Targets) -> dict[str, Any]:
        return {"number": targets.y[targets.groups.first_rows].tolist()}

    def stored_rows(self, predictions: Any, rows: NDArray[np.intp]) -> dict[str, Any]:
        return {"predicted": [], "number": predictions.y_row[rows].tolist()}

    def row_columns(self, predictions: Any, classes: tuple[str, ...]) -> dict[str, Any]:
        return {"predicted": predictions.y_row}

    def group_columns(
        self, predictions: Any, classes: tuple[str, ...], frame: pd.DataFrame, name: str
    ) -> dict[str, Any]:
        return {"predicted": predictions.y_group}

    def constant_answer(self, constant: Any, targets: Targets) -> NumberPredictions:
        groups = targets.groups
        return NumberPredictions(
            groups, np.full(groups.n_rows, constant), np.full(groups.n_groups, constant)
        )


@dataclass(frozen=True)
class Amounts(Numbers, by_name=False):
    """Means or totals.

    A group's score is one less its squared error over the variance of the groups' numbers, all of
    the table's: the mean over groups is R², which is what ``score`` of the estimators says of a
    table and what :class:`~groupwise.auto.AutoGroupRegressor` is judged by.
    """

    score_name: ClassVar[str] = "R²: 1 - squared error over the variance of the groups' numbers"
    error_name: ClassVar[str] = "squared error over the variance of the groups' numbers"
    covered_as: ClassVar[str | None] = "number"

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups, column = self.groups_in(frame, name), self.label[0]
        values = numbers_of(frame, column, name, "label")
        with about_columns(name, column):
            y_group = self._of_groups(group_numbers(values, groups, target=self.kind), groups)
        if groups.n_groups < 2:
            raise TableError(f"{name}: there is one group only; at least two are needed")
        variance = float(np.var(y_group))
        if not variance > 0:
            raise TableError(
                f"{name}: column {column!r} holds the same number, {y_group[0]:g}, in all "
                f"{groups.n_groups} groups; there is nothing to learn and nothing to judge"
            )
        return Targets(groups.spread(y_group), groups, (), variance=variance)

    def _of_groups(self, y_row: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
        """The number of each group from what the table has on its rows."""
        raise NotImplementedError  # means and totals each write it

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        return {"target": self.kind}

    def judge(self, predictions: Any, targets: Targets) -> NDArray[np.float64]:
        off = self.answer_group(predictions, targets) - targets.y[targets.groups.first_rows]
        return 1.0 - off**2 / targets.variance

    def in_words(self, units: Sequence[GroupResults]) -> str:
        pairs = [zip(u.number_predicted or (), u.number or (), strict=True) for u in units]
        off = np.array([said - known for each in pairs for said, known in each])
        return (
            f"root mean squared error {np.sqrt(np.mean(off**2)):.4g}, mean absolute error "
            f"{np.mean(np.abs(off)):.4g}"
        )

    def constants(self, known: Targets) -> list[Any]:
        """The mean of the groups' numbers."""
        return [float(known.y[known.groups.first_rows].mean())]


@dataclass(frozen=True)
class Mean(Amounts):
    """The mean over a group's rows is known, or the rows' own numbers, of which it is taken."""

    kind: ClassVar[str] = "mean"
    meaning: ClassVar[str] = "the label is the mean of a number over a group's rows"

    def _of_groups(self, y_row: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
        return group_means(y_row, groups, target="mean")


@dataclass(frozen=True)
class Total(Amounts):
    """The total over a group's rows is known.

    Attributes
    ----------
    exposure : str, default=None
        Column of what a row's rate is multiplied by (people, days), for methods of counts.
    """

    exposure: str | None = None

    kind: ClassVar[str] = "total"
    meaning: ClassVar[str] = "the label is the total of a number over a group's rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.exposure in (self.group, *self.label):
            raise OptionError(f"`exposure` names the group or the label, {self.exposure!r}")

    def check_covered(self) -> str:
        if self.exposure is not None:
            raise OptionError("`coverage` takes no `exposure`")
        return super().check_covered()

    def roles(self) -> dict[str, str]:
        more = {} if self.exposure is None else {self.exposure: "exposure"}
        return super().roles() | more

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        targets = super().targets_in(frame, name, classes)
        return replace(targets, exposure=self._exposure_in(frame, name, targets.groups))

    def _of_groups(self, y_row: NDArray[np.float64], groups: Groups) -> NDArray[np.float64]:
        return group_totals(y_row, groups, target="total")

    def _exposure_in(
        self, frame: pd.DataFrame, name: str, groups: Groups
    ) -> NDArray[np.float64] | None:
        if self.exposure is None:
            return None
        values = numbers_of(frame, self.exposure, name, "exposure")
        try:
            return check_exposure(values, groups)
        except GroupDataError as error:
            said = str(error).removeprefix("exposure ")
            raise TableError(f"{name}: column {self.exposure!r} (`exposure`) {said}") from error

    def classes_in_words(self, classes: tuple[str, ...]) -> str:
        words = super().classes_in_words(classes)
        return words if self.exposure is None else f"{words}, of rates times {self.exposure!r}"

    def ids(self, targets: Targets) -> dict[str, Any]:
        more = {} if targets.exposure is None else {"exposure": targets.exposure}
        return super().ids(targets) | more

    def answer_group(self, predictions: Any, targets: Targets) -> NDArray[Any]:
        return _totals(predictions, targets.exposure)

    def group_columns(
        self, predictions: Any, classes: tuple[str, ...], frame: pd.DataFrame, name: str
    ) -> dict[str, Any]:
        exposure = self._exposure_in(frame, name, predictions.groups)
        return {"predicted": _totals(predictions, exposure)}

    def constants(self, known: Targets) -> list[Any]:
        """The same number on every row, per unit of exposure where there is one."""
        weight = known.groups.n_rows if known.exposure is None else known.exposure.sum()
        return [float(known.y[known.groups.first_rows].sum() / weight)]

    def constant_answer(self, constant: Any, targets: Targets) -> NumberPredictions:
        y_row = np.full(targets.groups.n_rows, constant)
        return NumberPredictions(targets.groups, y_row, targets.groups.sum(y_row))


def _totals(predictions: NumberPredictions, exposure: NDArray[Any] | None) -> NDArray[Any]:
    """Totals of groups: of rows' numbers, or of rates times exposures."""
    if exposure is None:
        return predictions.y_group
    return predictions.groups.sum(predictions.y_row * exposure)
