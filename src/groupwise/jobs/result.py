"""What one or more methods were found to be worth on a table; the input of a report."""

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from groupwise.auto import Estimate
from groupwise.auto.choice import training_luck
from groupwise.auto.scaling import design_effect
from groupwise.files import is_of_type, parse_json, write_text
from groupwise.io import library_versions
from groupwise.jobs.fold_result import FoldResult, Record, wilson_interval
from groupwise.jobs.groupings import supervision_from_dict
from groupwise.jobs.supervision import Supervision
from groupwise.methods import AUTO
from groupwise.metrics import bootstrap_interval
from groupwise.tables import ColumnUse, TableError

__all__ = ["FORMAT", "Result", "RunInfo", "is_result_file"]

_NO_WIDTH = 1e-9
#: Of the JSON; a newer one is refused.
FORMAT = 1


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class RunInfo(Record):
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
    n_sampled : int, default=None
        Groups that methods competed on, where all were too many for the time or for one machine.
    n_fitted : int, default=None
        Groups that every member of the model was fitted to afterwards, where these are more.
    seen : bool, default=False
        Whether the model that was judged had been fitted to this very table.
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
    n_sampled: int | None = None
    n_fitted: int | None = None
    seen: bool = False
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
        parts["supervision"] = supervision_from_dict(parts["supervision"])
        parts["classes"] = tuple(parts["classes"])
        parts["columns"] = tuple(ColumnUse(**use) for use in parts["columns"])
        return cls(**parts)._of_right_types()


def _drawn_interval(
    values: pd.Series, weights: pd.Series | None, whole: pd.Series | None
) -> tuple[float, float, int]:
    """A bootstrap over groups, or over those they belong to, and of how many."""
    if whole is not None:
        counts = pd.Series(1.0, index=values.index) if weights is None else weights
        weights = counts.groupby(whole).sum()
        values = (values * counts).groupby(whole).sum() / weights
    return *bootstrap_interval(values, weight_group=weights), len(values)


@dataclass(frozen=True)
class Result:
    """Held-out predictions of each method, fold by fold, and how to repeat them.

    Attributes
    ----------
    about : RunInfo
    methods : dict of str to list of FoldResult
    left_out : dict of str to str
        Methods that were not run, or failed, with the reason.
    estimate : Estimate, default=None
        Of the automatic choice, where it made the model.
    """

    about: RunInfo
    methods: dict[str, list[FoldResult]]
    left_out: dict[str, str] = field(default_factory=dict)
    estimate: Estimate | None = None

    @property
    def fitted(self) -> str | None:
        """The method whose model of all rows is kept; ``None``: it was a comparison."""
        if self.about.params is None:
            return None
        return AUTO if AUTO in self.methods else next(iter(self.methods))

    @property
    def with_luck(self) -> bool:
        """Whether the interval of the model's score includes the luck of its training set.

        That of the automatic choice does, and that of a method that was fitted alone; intervals of
        methods beside each other do not, as they had the same training sets.
        """
        alone = len(self.methods) == 1 and (self.about.n_splits or 0) > 1
        return self.fitted is not None and (self.estimate is not None or alone)

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

    def mean_with_interval(
        self, method: str, values: pd.Series, *, inflation: float = 1.0
    ) -> tuple[float, float, float]:
        """The mean of groups' values as the score counts groups, with its 95 % interval.

        Parameters
        ----------
        method : str
        values : Series
            Of its groups, indexed as in :meth:`unit_scores`; NaN leaves a group out.
        inflation : float, default=1.0
            By what the variance of the mean is multiplied, where values depend on each other.
        """
        counted = values.dropna()
        weights, whole = self._weights(method, counted), self._whole(method, counted)
        mean = float(np.average(counted, weights=weights))
        if counted.isin([0.0, 1.0]).all():  # so many of so many right
            together = 1.0 if whole is None else design_effect(counted.to_numpy(), whole.to_numpy())
            return mean, *wilson_interval(mean, len(counted) / (together * inflation))
        low, high, n = _drawn_interval(counted, weights, whole)
        if high - low < _NO_WIDTH:  # all alike: the next group may be another
            reach = 1.0 - 0.025 ** (1.0 / n)
            low, high = mean - reach, mean + reach
        wider = math.sqrt(inflation)
        low, high = mean - wider * (mean - low), mean + wider * (high - mean)
        if self.about.supervision.kind not in ("mean", "total"):  # R² may be anything below 1
            low = max(low, min(mean, 0.0))
        return mean, low, min(high, max(mean, 1.0))

    def _weights(self, method: str, values: pd.Series) -> pd.Series | None:
        """How much each group counts: its rows, or all alike."""
        if not self.about.supervision.counts_rows:
            return None
        units = [fold.units for fold in self.methods[method]]
        sizes = [size for unit in units for size in unit.size]
        names = [name for unit in units for name in unit.name]
        return pd.Series(sizes, index=names).reindex(values.index)

    def _whole(self, method: str, values: pd.Series) -> pd.Series | None:
        """The coarser id of each group, where folds divide none."""
        units = [fold.units for fold in self.methods[method]]
        if any(unit.whole is None for unit in units):
            return None
        ids = [whole for unit in units for whole in unit.whole or ()]
        names = [name for unit in units for name in unit.name]
        return pd.Series(ids, index=names).reindex(values.index)

    def score_with_interval(self, method: str) -> tuple[float, float, float]:
        """The score of one method with its 95 % interval; of the automatic choice its estimate."""
        if method == AUTO and self.estimate is not None:
            return self.estimate.score, self.estimate.low, self.estimate.high
        luck, n_splits = 1.0, self.about.n_splits
        if self.with_luck and self.estimate is None and n_splits is not None:
            luck = training_luck(n_splits, n_splits)
        return self.mean_with_interval(method, self.unit_scores()[method], inflation=luck)

    def summary(self, method: str) -> dict[str, Any]:
        """Score, interval and worst groups of one method, and the score of a constant answer."""
        values = self.unit_scores()[method].dropna()
        score, low, high = self.score_with_interval(method)
        worst = values.sort_values(kind="stable").head(5)
        simplest = self.baseline()
        return {
            "baseline": None if simplest is None else simplest[0],
            "score": score,
            "low": low,
            "high": high,
            "score_name": self.about.supervision.score_name,
            "besides": self.about.supervision.in_words(
                [fold.units for fold in self.methods[method]]
            ),
            "n_groups": len(values),
            "worst": {str(name): float(value) for name, value in worst.items()},
        }

    def paired_difference(
        self, method: str, values: pd.Series, other: pd.Series
    ) -> tuple[float, float, float]:
        """The mean difference to another method's scores on the same groups, with its interval."""
        difference = (values - other).dropna()
        if (difference == 0).all():  # no pair differs; the next may
            reach = 1.0 - 0.025 ** (1.0 / max(1, len(difference)))
            return 0.0, -reach, reach
        weights, whole = self._weights(method, difference), self._whole(method, difference)
        low, high, _ = _drawn_interval(difference, weights, whole)
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
        if self.estimate is not None and not is_of_type(asdict(self.estimate), dict[str, float]):
            raise ValueError("expected the estimate in numbers")
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
        if self.estimate is not None:
            content["estimate"] = asdict(self.estimate)
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
            result = cls(
                RunInfo.from_dict(content["about"]),
                methods,
                content["left_out"],
                Estimate(**content["estimate"]) if "estimate" in content else None,
            )
            result._check()
            return result
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise TableError(f"{name} is incomplete or was altered ({error!r})") from error


def is_result_file(path: Path) -> bool:
    """Whether a file was written as a result, by how it begins."""
    with path.open("rb") as file:
        return b'"what": "groupwise result"' in file.read(200)
