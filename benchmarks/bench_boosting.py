"""Speed and memory of boosting on groups, against plain LightGBM and scikit-learn's AdaBoost.

Run ``python benchmarks/bench_boosting.py`` (about a quarter of an hour on an idle machine), or name
sections of it: ``plain adaboost memory curves wide``.
One thread, trees of depth 3, 30 features, groups of ten rows, 30 rounds unless a table says
otherwise. CPU seconds; binning is part of every fit.
"""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import lightgbm as lgb
import numpy as np
from harness import Report, exponent, peak_memory, take_turns
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from groupwise import HistTrees, SBoostClassifier
from groupwise.gbdt import GroupBoostClassifier, objective

ROUNDS = 30
PLAIN = {
    "objective": "binary",
    "max_depth": 3,
    "num_leaves": 8,
    "learning_rate": 0.1,
    "lambda_l2": 1.0,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 1.0,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}
logger = logging.getLogger("bench_boosting")


def data(n_rows: int, n_features: int = 30, size: int = 10, shuffled: bool = False) -> Any:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    groups = np.repeat(np.arange(n_rows // size), size)
    signal = X[:, :3].sum(axis=1).reshape(-1, size).mean(axis=1) * np.sqrt(size)
    y_group = signal + rng.normal(size=len(signal)) > 0
    y = y_group.astype(int)[groups]
    if shuffled:
        order = rng.permutation(n_rows)
        groups, y = groups[order], y[order]
    return X, y, groups


def plain(X: Any, y: Any, groups: Any, rounds: int = ROUNDS) -> Any:
    return lgb.train(PLAIN, lgb.Dataset(X, y), rounds)


def gradient(X: Any, y: Any, groups: Any, rounds: int = ROUNDS) -> Any:
    return GroupBoostClassifier(n_estimators=rounds, trees=HistTrees(n_jobs=1)).fit(
        X, y, groups=groups
    )


class SameTrees:
    """LightGBM on its own, handed the gradients of our fit: the same trees, without our rounds.

    Trees on a group's labels divide rows more evenly than trees on rows' labels, and even parts
    cost LightGBM more: this is what of a ratio to plain LightGBM is not ours.
    """

    def __init__(self, X: Any, y: Any, groups: Any):
        self.X = X
        self.seen: list[Any] = []
        ours = objective("majority", groups, y)

        def record(scores: Any, data: Any) -> Any:
            self.seen.append(ours(scores, data))
            return self.seen[-1]

        self._grow([record] * ROUNDS, float(ours.loss.init_score()[0]))

    def _grow(self, objectives: list[Callable[..., Any]], start: float = 0.0) -> lgb.Booster:
        n_rows = len(self.X)
        data = lgb.Dataset(self.X, np.zeros(n_rows), init_score=np.full(n_rows, start))
        booster = lgb.Booster({**PLAIN, "objective": "none"}, data)
        for one in objectives:
            booster.update(fobj=one)
        return booster

    def __call__(self) -> lgb.Booster:
        return self._grow([lambda scores, data, one=one: one for one in self.seen])


def exact(X: Any, y: Any, groups: Any, rounds: int = ROUNDS) -> Any:
    trees = HistTrees(max_depth=3, n_jobs=1)
    return SBoostClassifier(trees, n_estimators=rounds).fit(X, y, groups=groups)


def adaboost(X: Any, y: Any, groups: Any, rounds: int = ROUNDS) -> Any:
    tree = DecisionTreeClassifier(max_depth=3)
    return AdaBoostClassifier(tree, n_estimators=rounds, random_state=0).fit(X, y)


def nothing(X: Any, y: Any, groups: Any) -> None:
    """What memory the data and the imports take."""


METHODS: dict[str, Callable[..., Any]] = {
    "plain LightGBM": plain,
    "gradient form": gradient,
    "exact SBoost": exact,
}


def fit_once(method: str, n_rows: int, n_features: int) -> None:
    """For a process of its own."""
    run = nothing if method == "nothing" else METHODS[method]
    run(*data(n_rows, n_features))


def against_plain(report: Report, n_rows: int, repeats: int, shuffled: bool = False) -> None:
    rows = data(n_rows, shuffled=shuffled)
    runs = {name: partial(run, *rows) for name, run in METHODS.items()}
    runs["LightGBM, trees of the gradient form"] = SameTrees(*rows)
    times = take_turns(runs, repeats, warm_up=n_rows < 1_000_000)
    base = times["plain LightGBM"]
    order = ", rows of a group scattered" if shuffled else ""
    report.add(
        f"{n_rows:,} rows{order}",
        [timing.row(base) for timing in times.values()],
        "Ratio: median over turns of the time over plain LightGBM's in the same turn.",
    )


def against_adaboost(report: Report, n_rows: int, rounds: int) -> None:
    """Per round, and with binning; AdaBoost's cost is the same in every round."""
    rows = data(n_rows)
    runs = {
        "exact SBoost": lambda: exact(*rows),
        "binning alone": lambda: HistTrees(max_depth=3, n_jobs=1).bind(rows[0]),
    }
    times = take_turns(runs, 3)
    slow = take_turns({"AdaBoost": lambda: adaboost(*rows, rounds=rounds)}, 1, warm_up=False)
    ada = slow["AdaBoost"].seconds / rounds
    whole, binning = times["exact SBoost"].seconds, times["binning alone"].seconds
    table = [
        {
            "rows": f"{n_rows:,}",
            "AdaBoost s/round": round(ada, 3),
            "AdaBoost rounds run": rounds,
            "SBoost s/round": round((whole - binning) / ROUNDS, 4),
            "SBoost s, 30 rounds with binning": round(whole, 3),
            "times quicker per round": round(ada / ((whole - binning) / ROUNDS)),
            "times quicker, binning included": round(ada * ROUNDS / whole),
        }
    ]
    report.add(f"scikit-learn's AdaBoost, {n_rows:,} rows", table)


def memory(report: Report, n_rows: int, n_features: int) -> None:
    peak = {
        name: peak_memory(__file__, "fit_once", name, n_rows, n_features)
        for name in ("nothing", *METHODS)
    }
    base = peak["plain LightGBM"]
    table = [
        {"method": name, "peak MiB": round(value), "ratio": round(value / base, 3)}
        for name, value in peak.items()
    ]
    report.add(
        f"Peak memory, {n_rows:,} rows, {n_features} features",
        table,
        "Each in a process of its own; 'nothing' makes the data and imports, and no more.",
    )


def curves(report: Report, sizes: list[int], n_features: int, rounds: int) -> None:
    table, seconds = [], {}
    for n_rows in sizes:
        large = n_rows * n_features > 10_000_000
        for size in (10, 1000):
            rows = data(n_rows, n_features, size)
            names = list(METHODS) if size == 10 else list(METHODS)[1:]
            if n_rows * n_features > 100_000_000 and size == 1000:
                names = names[:1]
            runs = {name: partial(METHODS[name], *rows, rounds=rounds) for name in names}
            for name, timing in take_turns(runs, 1 if large else 3, warm_up=not large).items():
                seconds[name, size, n_rows] = timing.seconds
    for name, size in dict.fromkeys(key[:2] for key in seconds):
        known = [n_rows for n_rows in sizes if (name, size, n_rows) in seconds]
        values = [seconds[name, size, n_rows] for n_rows in known]
        line: dict[str, Any] = {"method": name, "rows a group": size}
        line |= {f"{n:,}": round(v, 3) for n, v in zip(known, values, strict=True)}
        line["exponent"] = round(exponent(known, values), 3)
        line["exponent, last step"] = round(exponent(known[-2:], values[-2:]), 3)
        table.append(line)
    report.add(
        f"Cost over rows, {n_features} features, {rounds} rounds (CPU seconds)",
        table,
        "Exponent: slope of log time over log rows.",
    )


def main(sections: list[str]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    name = "_".join(["boosting", *([] if sections == SECTIONS else sections)])
    report = Report(name, "Boosting on groups: speed and memory")
    sizes = [10_000, 100_000, 1_000_000]
    if "plain" in sections:
        for n_rows in sizes:
            logger.info("against plain LightGBM, %d rows", n_rows)
            against_plain(report, n_rows, repeats={10_000: 25, 100_000: 31, 1_000_000: 5}[n_rows])
        against_plain(report, 100_000, repeats=9, shuffled=True)
    if "adaboost" in sections:
        for n_rows, rounds in {10_000: 10, 100_000: 3, 1_000_000: 1}.items():
            logger.info("against AdaBoost, %d rows", n_rows)
            against_adaboost(report, n_rows, rounds)
    if "memory" in sections:
        logger.info("memory")
        memory(report, sizes[-1], 30)
    for section, n_features, rounds in (("curves", 30, 30), ("wide", 300, 10)):
        if section in sections:
            logger.info("cost curves, %d features", n_features)
            curves(report, sizes, n_features, rounds)
    logger.info("done")


SECTIONS = ["plain", "adaboost", "memory", "curves", "wide"]

if __name__ == "__main__":
    main(sys.argv[1:] or SECTIONS)
