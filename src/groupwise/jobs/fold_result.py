"""What one method said of the groups of one fold, as it is stored."""

import math
from collections.abc import Mapping, Sized
from dataclasses import dataclass, field, fields
from typing import Any, Self, get_type_hints

from groupwise.files import is_of_type

__all__ = [
    "DomainWeights",
    "FoldResult",
    "GroupResults",
    "Importance",
    "Margins",
    "Record",
    "Reliability",
    "RowResults",
    "wilson_interval",
]


class Record:
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
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return value


@dataclass(frozen=True)
class GroupResults(Record):
    """Held-out groups (or rows, where there are no groups): one entry each in every list.

    Attributes
    ----------
    name : list of str
    size : list of int
        Rows.
    score : list of float or None
        Between 0 and 1 where classes are known, 1 at most of means and totals; ``None`` for a group
        that does not count.
    predicted : list of int
        Code of the predicted class; empty where numbers are known.
    proba : list of list of float
        Class probabilities, or predicted shares; empty where numbers are known.
    truth : list of int, default=None
        Code of the label, where a group has one.
    shares : list of list of float, default=None
        Known shares, where that is what is known.
    counts, counts_predicted : list of list of int, default=None
        Rows of each class, known and predicted, where rows are labelled.
    number, number_predicted : list of float, default=None
        Where numbers are known; of survival times signed times (negative: last seen without the
        event) and risks.
    baseline : list of float or None, default=None
        Score of the best constant answer.
    whole : list of str, default=None
        The coarser id that no fold divides, where there are such.
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
    number: list[float] | None = None
    number_predicted: list[float] | None = None
    baseline: list[float | None] | None = None
    whole: list[str] | None = None

    def __post_init__(self) -> None:
        lengths = {len(getattr(self, f.name) or self.name) for f in fields(self)}
        if lengths != {len(self.name)} or not self.name:
            raise ValueError("expected one entry per group in every list")

    @property
    def score_or_nan(self) -> list[float]:
        """The scores with NaN for groups that do not count."""
        return [math.nan if value is None else value for value in self.score]


@dataclass(frozen=True)
class RowResults(Record):
    """Rows of one held-out group, in order.

    Attributes
    ----------
    at : list of str
        Where in its group a row stands.
    predicted : list of int
        Code of the predicted class; empty where numbers are known.
    number : list of float, default=None
        The predicted number, where numbers are known.
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
    number: list[float] | None = None


@dataclass(frozen=True)
class Importance(Record):
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
class Margins(Record):
    """Scores towards the true class of some groups' rows, every ``step`` rounds."""

    step: int
    groups: dict[str, list[list[float]]]


@dataclass(frozen=True)
class Reliability(Record):
    """Rows in bins of the predicted class's probability: number, sum of probability, number right.

    Attributes
    ----------
    n, sure, right : list of float
    """

    n: list[float]
    sure: list[float]
    right: list[float]


@dataclass(frozen=True)
class DomainWeights(Record):
    """Share of the weight that each domain keeps, round by round."""

    names: list[str]
    mass: list[list[float]]


@dataclass(frozen=True)
class FoldResult(Record):
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
        kinds: dict[str, type[Record]] = {
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
        if {units.number is None, units.number_predicted is None} != {n_classes > 0}:
            raise ValueError("expected classes, or numbers known and predicted")
        codes = [*units.predicted, *(units.truth or ())]
        for rows in self.rows.values():
            codes += [*rows.predicted, *(rows.label or ())]
            _check_lengths(rows.at, rows.predicted if n_classes else rows.number)
            _check_lengths(rows.at, rows.proba, rows.weight, rows.label)
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


def wilson_interval(share: float, n: float, z: float = 1.96) -> tuple[float, float]:
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
