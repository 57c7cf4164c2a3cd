"""From stored cells to scores, ranks and who cannot be told apart."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from arena.judge import LOWER_IS_BETTER, PRIMARY

__all__ = ["Board", "Score", "board_of", "critical_difference"]


@dataclass(frozen=True)
class Score:
    """What a method reached on a set.

    Attributes
    ----------
    value : float or None
        Mean over the folds, weighted by groups; ``None``: it has no score.
    se : float
        Standard error over groups.
    reason : str
        Why there is none.
    """

    value: float | None
    se: float = np.nan
    reason: str = ""


@dataclass(frozen=True)
class Board:
    """A room's results.

    Attributes
    ----------
    room, measure : str
    lower : bool
        Whether small values are good.
    makers : dict of str to str
        Of each method.
    scores : dict of (set, method) to Score
        Of the sets that all methods have finished.
    folds : dict of str to int
        How many outer folds all methods have finished, by set.
    ranks : DataFrame
        One line per set, one column per method; 1 is best.
    cpu : dict of str to float
        Mean CPU seconds per fold, by method.
    """

    room: str
    measure: str
    lower: bool
    makers: dict[str, str]
    scores: dict[tuple[str, str], Score]
    folds: dict[str, int]
    ranks: pd.DataFrame
    cpu: dict[str, float]

    @property
    def sets(self) -> list[str]:
        """Those that count."""
        return list(self.ranks.index)

    @property
    def mean_ranks(self) -> dict[str, float]:
        """Best first."""
        return dict(self.ranks.mean().sort_values(kind="stable"))

    def best(self, name: str) -> Score:
        """The best score on a set."""
        found = [self.scores[name, method] for method in self.makers]
        place = _ranks([score.value for score in found], self.lower).argmin()
        return found[int(place)]

    def near_best(self, method: str) -> int:
        """On how many sets it is first, or within one standard error of the first."""
        count = 0
        for name in self.sets:
            best, mine = self.best(name), self.scores[name, method]
            if mine.value is not None and best.value is not None:
                count += abs(mine.value - best.value) <= best.se
        return count

    def n_scored(self, method: str) -> int:
        """On how many sets it has a score."""
        return sum(self.scores[name, method].value is not None for name in self.sets)


def board_of(room: str, cells: list[dict[str, Any]]) -> Board:
    """The results of a room.

    A set counts on the folds that all methods have run, and only if there is one. A method without
    a score there (it cannot do the set, it failed, it ran out of time) shares the last rank.
    """
    mine = [cell for cell in cells if cell["room"] == room]
    measure = PRIMARY[room]
    lower = measure in LOWER_IS_BETTER
    makers = {cell["method"]: cell["maker"] for cell in mine}
    by_key = {(cell["set"], cell["method"], cell["fold"]): cell for cell in mine}
    scores, folds, ranks = {}, {}, {}
    for name in dict.fromkeys(cell["set"] for cell in mine):
        numbers = sorted({cell["fold"] for cell in mine if cell["set"] == name})
        common = [k for k in numbers if all((name, m, k) in by_key for m in makers)]
        if not common:
            continue
        folds[name] = len(common)
        for method in makers:
            found = [by_key[name, method, fold] for fold in common]
            scores[name, method] = _combined(found, measure)
        ranks[name] = _ranks([scores[name, method].value for method in makers], lower)
    cpu = {m: _mean_cpu([c for c in mine if c["method"] == m]) for m in makers}
    table = pd.DataFrame.from_dict(ranks, orient="index", columns=list(makers), dtype=float)
    return Board(room, measure, lower, makers, scores, folds, table, cpu)


def _combined(cells: list[dict[str, Any]], measure: str) -> Score:
    for cell in cells:
        if "scores" not in cell:
            return Score(None, reason=cell.get("error") or cell["not for it"])
    n = [cell["n"] for cell in cells]
    # A sum without error of its own: the same bits on every processor, so that the ninth digit
    # (equal scores are to be equal) is the same too where it ends in a five.
    total = math.fsum(k * cell["scores"][measure] for k, cell in zip(n, cells, strict=True))
    value = round(total / sum(n), 9)
    se = math.hypot(*(k * cell["se"] for k, cell in zip(n, cells, strict=True))) / sum(n)
    return Score(value, se)


def _ranks(values: list[float | None], lower: bool) -> Any:
    worst = np.inf
    signed = [worst if v is None else (v if lower else -v) for v in values]
    return stats.rankdata(signed)


def _mean_cpu(cells: list[dict[str, Any]]) -> float:
    spent = [cell["cpu s"] for cell in cells if "cpu s" in cell]
    return math.fsum(spent) / len(spent) if spent else np.nan  # the same on every processor


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Nemenyi's: mean ranks further apart differ at the 5 % level (Demsar 2006)."""
    q = stats.studentized_range.ppf(0.95, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_sets)))
