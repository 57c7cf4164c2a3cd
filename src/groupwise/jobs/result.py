"""What one or more methods were found to be worth on a table; the input of a report."""

import json
import math
import platform
from collections.abc import Mapping, Sized
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, get_type_hints

import numpy as np
import pandas as pd

from groupwise.files import is_of_type, parse_json, write_text
from groupwise.io import library_versions
from groupwise.jobs.supervision import Supervision, make_supervision
from groupwise.metrics import bootstrap_interval
from groupwise.tables import ColumnUse, TableError

__all__ = [
    "FORMAT",
    "DomainWeights",
    "FoldResult",
    "GroupResults",
    "Importance",
    "Margins",
    "Reliability",
    "Result",
    "RowResults",
    "RunInfo",
]

_NO_WIDTH = 1e-9
#: Of the JSON; a newer one is refused.
FORMAT = 1


class _Record:
    """A dataclass that becomes a dictionary of plain values and back; ``None`` is left out."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        # ignored: every class under this one is a dataclass
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))  # type: ignore[arg-type]
        return {name: _plain(value) for name, value in pairs if value is not None}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_dict` gave; other keys, and values of other types, are an error."""
        return cls(**content)._of_right_types()

    def _of_right_types(self) -> Self:
        for name, kind in get_type_hints(type(self)).items():
            if not is_of_type(getattr(self, name), kind):
                raise TypeError(f"{name} of {type(self).__name__} has the wrong type")
        return self


def _plain(value: object) -> Any:
    if isinstance(value, _Record):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


@dataclass(frozen=True)
class GroupResults(_Record):
    """Held-out groups (or rows, where there are no groups): one entry each in every list.

    Attributes
    ----------
    name : list of str
    size : list of int
        Rows.
    score : list of float or None
        Between 0 and 1; ``None`` for a group that does not count.
    predicted : list of int
        Code of the predicted class.
    proba : list of list of float
        Class probabilities, or predicted shares.
    truth : list of int, default=None
        Code of the label, where a group has one.
    shares : list of list of float, default=None
        Known shares, where that is what is known.
    counts, counts_predicted : list of list of int, default=None
        Rows of each class, known and predicted, where rows are labelled.
    baseline : list of float or None, default=None
        Score of the best constant answer.
    """

    name: list[str]
    size: list[int]
    score: list[float | None]
    predicted: list[int]
    proba: list[list[float]]
    truth: list[int] | None = None
    shares: list[list[float]] | None = None
    counts: list[list[int]] | None = None
    counts_predicted: list[list[int]] | None = None
    baseline: list[float | None] | None = None

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, f.name) or self.name) for f in fields(self)}
        if lengths != {len(self.name)} or not self.name:
            raise ValueError("expected one entry per group in every list")

    @property
    def score_or_nan(self) -> list[float]:
        """The scores with NaN for groups that do not count."""
        return [math.nan if value is None else value for value in self.score]


@dataclass(frozen=True)
class RowResults(_Record):
    """Rows of one held-out group, in order.

    Attributes
    ----------
    at : list of str
        Where in its group a row stands.
    predicted : list of int
    proba : list of float, default=None
        Probability of the predicted class.
    weight : list of float, default=None
        The row's part in its group's label.
    label : list of int, default=None
        Where rows are labelled.
    values : dict of str to list of str, default=None
        Values of the columns that matter most.
    """

    at: list[str]
    predicted: list[int]
    proba: list[float] | None = None
    weight: list[float] | None = None
    label: list[int] | None = None
    values: dict[str, list[str]] | None = None


@dataclass(frozen=True)
class Importance(_Record):
    """Fall of the groups' scores when a column is shuffled: sums over the held-out groups.

    Attributes
    ----------
    column : list of str
    total, squares : list of float
        Sum of the fall, and of its square.
    n : list of int
        Groups.
    """

    column: list[str]
    total: list[float]
    squares: list[float]
    n: list[int]


@dataclass(frozen=True)
class Margins(_Record):
    """Scores towards the true class of some groups' rows, every ``step`` rounds."""

    step: int
    groups: dict[str, list[list[float]]]


@dataclass(frozen=True)
class Reliability(_Record):
    """Rows in bins of the predicted class's probability: number, sum of probability, number right.

    Attributes
    ----------
    n, sure, right : list of float
    """

    n: list[float]
    sure: list[float]
    right: list[float]


@dataclass(frozen=True)
class DomainWeights(_Record):
    """Share of the weight that each domain keeps, round by round."""

    names: list[str]
    mass: list[list[float]]


@dataclass(frozen=True)
class FoldResult(_Record):
    """One method, fitted on one part of the groups and judged on the other.

    Attributes
    ----------
    units : GroupResults
        What counts once in the score: the held-out groups.
    rows : dict of str to RowResults
        Of some groups, by name.
    rows_seen : bool, default=False
        Whether those rows are as the model of all rows sees them, not as one that they were held
        out from.
    curve : list of float, default=None
        Error after each round.
    margins : Margins, default=None
    reliability : Reliability, default=None
    weights : DomainWeights, default=None
    confusion : list of list of int, default=None
        Known class by predicted class: groups, or rows where rows are labelled.
    importance : Importance, default=None
    params : dict
        Parameters that were given or found by the search.
    seconds_search, seconds_fit, seconds_predict : float
    memory_mib : float
    n_train : int
        Rows that were learned from; 0 where nothing was.
    """

    units: GroupResults
    rows: dict[str, RowResults]
    curve: list[float] | None = None
    margins: Margins | None = None
    reliability: Reliability | None = None
    weights: DomainWeights | None = None
    confusion: list[list[int]] | None = None
    importance: Importance | None = None
    rows_seen: bool = False
    params: dict[str, Any] = field(default_factory=dict)
    seconds_search: float = 0.0
    seconds_fit: float = 0.0
    seconds_predict: float = 0.0
    memory_mib: float = 0.0
    n_train: int = 0

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        parts = dict(content)
        kinds: dict[str, type[_Record]] = {
            "margins": Margins,
            "reliability": Reliability,
            "weights": DomainWeights,
            "importance": Importance,
        }
        parts |= {k: kind.from_dict(parts[k]) for k, kind in kinds.items() if k in parts}
        parts["units"] = GroupResults.from_dict(parts["units"])
        parts["rows"] = {name: RowResults.from_dict(r) for name, r in parts["rows"].items()}
        return cls(**parts)._of_right_types()

    def check(self, n_classes: int) -> None:
        """Refuse codes of no class and lists that do not fit together."""
        units = self.units
        lines: list[Sized] = [*units.proba, *(units.shares or ())]
        lines += [*(units.counts or ()), *(units.counts_predicted or ())]
        if self.confusion is not None:
            lines += [self.confusion, *self.confusion]
        codes = [*units.predicted, *(units.truth or ())]
        for rows in self.rows.values():
            codes += [*rows.predicted, *(rows.label or ())]
            _check_lengths(rows.at, rows.predicted, rows.proba, rows.weight, rows.label)
            _check_lengths(rows.at, *(rows.values or {}).values())
        if not all(0 <= code < n_classes for code in codes):
            raise ValueError(f"expected codes of {n_classes} classes")
        if any(len(line) != n_classes for line in lines):
            raise ValueError(f"expected one entry for each of {n_classes} classes")
        if self.reliability is not None:
            _check_lengths(self.reliability.n, self.reliability.sure, self.reliability.right)
        if self.importance is not None:
            found = self.importance
            _check_lengths(found.column, found.total, found.squares, found.n)
            if not all(found.n):
                raise ValueError("expected at least one group behind every importance")
        if self.weights is not None:
            for mass in self.weights.mass:
                _check_lengths(self.weights.names, mass)
        if self.margins is not None:
            for margins in self.margins.groups.values():
                _check_lengths(*margins)


def wilson_interval(share: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """Interval of a share of ``n`` (Wilson 1927), of some width even where all are right.

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(1.0, 60)]
    [0.94, 1.0]
    """
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _check_lengths(*lists: Sized | None) -> None:
    if len({len(each) for each in lists if each is not None}) > 1:
        raise ValueError("expected lists of equal length")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class RunInfo(_Record):
    """Everything it takes to repeat a run.

    Attributes
    ----------
    table, fingerprint : str
    n_rows, n_groups : int
    supervision : Supervision
    classes : tuple of str
    columns : tuple of ColumnUse
    command : str
    seed, n_splits : int, default=None
        ``None`` where nothing was fitted.
    keep_whole : str, default=None
        Column of coarser ids that no fold divided.
    n_unlabelled : int, default=None
        Rows without a label, which ``n_rows`` does not count.
    search : bool, default=None
        Whether each method's small search ran; ``None`` outside a comparison.
    params : dict of str to str, default=None
        Of the model of all rows, where there is one.
    versions : dict of str to str
    platform, written : str
    """

    table: str
    fingerprint: str
    n_rows: int
    n_groups: int
    supervision: Supervision
    classes: tuple[str, ...]
    columns: tuple[ColumnUse, ...]
    command: str = ""
    seed: int | None = None
    n_splits: int | None = None
    keep_whole: str | None = None
    n_unlabelled: int | None = None
    search: bool | None = None
    params: dict[str, str] | None = None
    versions: dict[str, str] = field(default_factory=library_versions)
    platform: str = field(default_factory=platform.platform)
    written: str = field(default_factory=_now)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {
            "supervision": self.supervision.to_dict(),
            "score": self.supervision.score_name,
            "classes": list(self.classes),
            "columns": [asdict(use) for use in self.columns],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        parts = {name: value for name, value in content.items() if name != "score"}
        parts["supervision"] = make_supervision(**parts["supervision"])
        parts["classes"] = tuple(parts["classes"])
        parts["columns"] = tuple(ColumnUse(**use) for use in parts["columns"])
        return cls(**parts)._of_right_types()


@dataclass(frozen=True)
class Result:
    """Held-out predictions of each method, fold by fold, and how to repeat them.

    Attributes
    ----------
    about : RunInfo
    methods : dict of str to list of FoldResult
    left_out : dict of str to str
        Methods that were not run, or failed, with the reason.
    """

    about: RunInfo
    methods: dict[str, list[FoldResult]]
    left_out: dict[str, str] = field(default_factory=dict)

    def unit_scores(self) -> dict[str, pd.Series]:
        """The score of each group under each method, indexed by the group's name."""
        scores = {}
        for name, folds in self.methods.items():
            units = [unit for fold in folds for unit in fold.units.name]
            values = [value for fold in folds for value in fold.units.score_or_nan]
            scores[name] = pd.Series(values, index=units, dtype=float)
        return scores

    def baseline(self) -> tuple[float, float, float] | None:
        """The score of the best constant answer, with its 95 % interval."""
        name, folds = next(iter(self.methods.items()))
        if any(fold.units.baseline is None for fold in folds):
            return None
        values = [value for fold in folds for value in fold.units.baseline or ()]
        names = [unit for fold in folds for unit in fold.units.name]
        scores = pd.Series([math.nan if v is None else v for v in values], names, dtype=float)
        return None if scores.isna().all() else self.mean_with_interval(name, scores)

    def mean_with_interval(self, method: str, values: pd.Series) -> tuple[float, float, float]:
        """The mean of groups' values as the score counts groups, with its 95 % interval.

        Parameters
        ----------
        method : str
        values : Series
            Of its groups, indexed as in :meth:`unit_scores`; NaN leaves a group out.
        """
        counted = values.dropna()
        units = [fold.units for fold in self.methods[method]]
        weights = None
        if self.about.supervision.counts_rows:
            sizes = [size for unit in units for size in unit.size]
            names = [name for unit in units for name in unit.name]
            weights = pd.Series(sizes, index=names).reindex(counted.index)
        mean = float(np.average(counted, weights=weights))
        if counted.isin([0.0, 1.0]).all():  # so many of so many right
            return mean, *wilson_interval(mean, len(counted))
        low, high = bootstrap_interval(counted, weight_group=weights)
        if high - low < _NO_WIDTH:  # all alike: the next group may be another
            reach = 1.0 - 0.025 ** (1.0 / len(counted))
            low, high = mean - reach, mean + reach
        return mean, low, high

    def paired_difference(
        self, method: str, values: pd.Series, other: pd.Series
    ) -> tuple[float, float, float]:
        """The mean difference to another method's scores on the same groups, with its interval."""
        difference = (values - other).dropna()
        if (difference == 0).all():  # no pair differs; the next may
            reach = 1.0 - 0.025 ** (1.0 / max(1, len(difference)))
            return 0.0, -reach, reach
        units = [fold.units for fold in self.methods[method]]
        weights = None
        if self.about.supervision.counts_rows:
            sizes = [size for unit in units for size in unit.size]
            names = [name for unit in units for name in unit.name]
            weights = pd.Series(sizes, index=names).reindex(difference.index)
        low, high = bootstrap_interval(difference, weight_group=weights)
        return float(np.average(difference, weights=weights)), low, high

    def importance(self, method: str) -> pd.DataFrame | None:
        """Columns by how much a method's score falls when they are shuffled, most first.

        Returns
        -------
        table : DataFrame or None
            ``fall`` with ``low`` and ``high`` of its 95 % interval, by column.
        """
        found = [fold.importance for fold in self.methods[method] if fold.importance is not None]
        if not found:
            return None
        lines = pd.concat(
            [
                pd.DataFrame({"total": f.total, "squares": f.squares, "n": f.n}, index=f.column)
                for f in found
            ]
        )
        sums = lines.groupby(level=0, sort=False).sum()
        mean = sums["total"] / sums["n"]
        spread = np.sqrt((sums["squares"] / sums["n"] - mean**2).clip(lower=0) / sums["n"])
        reach = np.where(spread > 0, 1.96 * spread, 1.0 / sums["n"])  # never of no width
        table = pd.DataFrame({"fall": mean, "low": mean - reach, "high": mean + reach})
        return table.sort_values("fall", ascending=False, kind="stable")

    def _check(self) -> None:
        """Refuse what a file may say and no run does: codes of no class, lines too short."""
        if not self.methods or not is_of_type(self.left_out, dict[str, str]):
            raise ValueError("expected at least one method")
        for folds in self.methods.values():
            if not folds:
                raise ValueError("expected at least one fold of each method")
            names = [name for fold in folds for name in fold.units.name]
            if len(set(names)) != len(names):
                raise ValueError("expected every group in one fold")
            for fold in folds:
                fold.check(len(self.about.classes))

    def to_json(self) -> str:
        """One line of JSON."""
        content = {
            "format": FORMAT,
            "what": "groupwise result",
            "about": self.about.to_dict(),
            "methods": {k: [fold.to_dict() for fold in v] for k, v in self.methods.items()},
            "left_out": self.left_out,
        }
        return json.dumps(content, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the JSON, whole or not at all."""
        return write_text(path, self.to_json())

    @classmethod
    def from_json(cls, text: str, name: str) -> "Result":
        """Read the JSON; ``name`` is for messages.

        Raises
        ------
        TableError
            If this is something else, was written by a newer groupwise, or was altered.
        """
        try:
            content = parse_json(text)
            is_result, newest = content["what"] == "groupwise result", content["format"] <= FORMAT
        except (ValueError, LookupError, TypeError) as error:
            raise TableError(f"{name} is no result of groupwise") from error
        if not is_result:
            raise TableError(f"{name} is no result of groupwise")
        if not newest:
            raise TableError(
                f"{name} was written by a newer groupwise (format {content['format']})"
            )
        try:
            methods = {
                method: [FoldResult.from_dict(fold) for fold in folds]
                for method, folds in content["methods"].items()
            }
            result = cls(RunInfo.from_dict(content["about"]), methods, content["left_out"])
            result._check()
            return result
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise TableError(f"{name} is incomplete or was altered ({error!r})") from error
