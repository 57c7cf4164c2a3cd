"""Counts as they were reported: what was done to them in words, and the columns that hold them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.jobs.proportions import Proportions
from groupwise.jobs.supervision import Split, named, plain_folds
from groupwise.jobs.targets import Targets, about_columns, amounts_of
from groupwise.losses import Reported, ReportedCountLoss
from groupwise.losses.reported import NOISES
from groupwise.tables import OptionError, TableError
from groupwise.targets import check_reports

__all__ = ["Reports", "parse_reported", "reported_shares", "reports_of"]

_WORDS = {"rounded": "rounding", "below": "suppressed_below", "sample": "sampled"}


@dataclass(frozen=True)
class Reports(Proportions):
    """What was published of the groups' counts: one column, two for a range, or one per class."""

    reported: str = "exact"

    kind: ClassVar[str] = "reported"
    meaning: ClassVar[str] = "what is known is a count of a group, as it was published"
    covered_as: ClassVar[str | None] = None
    not_covered: ClassVar[str] = "needs counts that are exact, not `reported` ones"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.law()

    def law(self) -> Reported:
        """What was done to the counts."""
        return parse_reported(self.reported)

    @property
    def classes(self) -> tuple[str, ...]:
        """The columns' names, where there are more than two; or what is counted and what is not."""
        if len(self.label) > 2:
            return self.label
        counted = self.label[0] if len(self.label) == 1 else "counted"
        return f"not {counted}", counted

    def targets_in(
        self, frame: pd.DataFrame, name: str, classes: tuple[str, ...] | None = None
    ) -> Targets:
        groups = self.groups_in(frame, name)
        told = reports_of(frame, self.label, name, groups)
        law = self.law()
        n_classes = len(self.classes)
        with about_columns(name, *self.label):
            ReportedCountLoss(law).check(told[groups.first_rows], groups, n_classes=n_classes)
        return Targets(reported_shares(told, groups, law), groups, self.classes, told=told)

    def labelled_rows(self, frame: pd.DataFrame, name: str) -> NDArray[np.bool_]:
        """A count that is left out because it is small is known to be small."""
        if self.law().suppressed_below is not None:
            return np.ones(len(frame), dtype=bool)
        return super().labelled_rows(frame, name)

    def splits(self, targets: Targets, n_splits: int, seed: int) -> list[Split]:
        """Folds of whole groups; those with a report judge."""
        rows = self.judged_rows(targets)
        if len(rows) == 0 or np.isnan(targets.known).all():
            raise TableError(
                f"{named(self.label)} no report of any group's classes: there is nothing to judge"
            )
        folds = plain_folds(targets, n_splits, seed)
        cut = [(train, test[np.isin(test, rows)]) for train, test in folds]
        return [(train, test) for train, test in cut if len(test)]

    def constructor(self, targets: Targets | None = None) -> dict[str, Any]:
        return {"loss__reported": self.law()}

    def judged_rows(self, targets: Targets) -> NDArray[np.intp]:
        return np.flatnonzero(~np.isnan(targets.y).any(axis=1))


def parse_reported(words: str) -> Reported:
    """What was done to counts, from words with commas between.

    Parameters
    ----------
    words : str
        ``exact``, or any of ``laplace 2`` (``geometric``, ``gaussian``: noise of that scale),
        ``rounded 5``, ``below 5`` (left out) and ``sample 0.1`` (the share of a group's rows that
        are in the table).

    Examples
    --------
    >>> parse_reported("laplace 2, rounded 5, below 5")
    Reported(noise='laplace', rounding=5.0, scale=2.0, suppressed_below=5.0)
    >>> parse_reported("exact")
    Reported()
    """
    given: dict[str, str | float] = {}
    for part in words.split(","):
        word, *numbers = part.split()[:3] or [""]
        if word == "exact" and not numbers and words.strip() == "exact":
            continue
        name = "scale" if word in NOISES else _WORDS.get(word)
        try:
            (number,) = map(float, numbers)
        except ValueError:
            name = None
        if name is None or name in given:
            raise OptionError(
                f"`reported` must be 'exact', or any of 'laplace 2' (geometric, gaussian), "
                f"'rounded 5', 'below 5' and 'sample 0.1' with commas between; got {words!r}"
            )
        given[name] = number
        if name == "scale":
            given["noise"] = word
    reported = Reported(**given)  # type: ignore[arg-type]  # by name: numbers, and one word
    try:
        reported.check()
    except ValueError as error:
        raise OptionError(f"`reported`: {error}") from error
    return reported


def reports_of(
    frame: pd.DataFrame, columns: tuple[str, ...], name: str, groups: Groups
) -> NDArray[np.float64]:
    """The ends of what is reported, or a number of each of three or more classes, on each row."""
    table = {}
    for column in columns:
        values = amounts_of(frame, column, name)
        if not pd.api.types.is_numeric_dtype(values.dtype):
            raise TableError(f"{name}: column {column!r} must hold reported counts, numbers")
        table[column] = values.to_numpy(dtype=float, na_value=np.nan)
    with about_columns(name, *columns):
        return check_reports(np.column_stack(list(table.values())), groups)


def reported_shares(
    told: NDArray[np.float64], groups: Groups, reported: Reported
) -> NDArray[np.float64]:
    """Shares of the classes on each row, NaN where they are not known.

    Of three or more classes one that is not reported has what the others leave.
    """
    told_group = told[groups.first_rows]
    shares = ReportedCountLoss(reported).shares(told_group, groups)
    unknown = np.isnan(told_group)
    alone = unknown & (unknown.sum(axis=1) == 1)[:, None]
    left = np.clip(1.0 - np.where(unknown, 0.0, shares).sum(axis=1), 0.0, 1.0)
    return groups.spread(np.where(alone, left[:, None], shares))
