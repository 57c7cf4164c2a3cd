"""Group measures, a round of AdaBoost.Group and SVMperf, against loops over groups.

Run ``python benchmarks/bench_measures.py`` (some minutes). The protein rows of the last table are
read from the folder that the variable GROUPWISE_DATA names; without it that table is left out.
"""

import os
from typing import Any

import numpy as np
from harness import Report, take_turns
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from groupwise import Groups, HistTrees
from groupwise.datasets.users import load_protein
from groupwise.measures import GroupAdaBoostClassifier, SVMPerfClassifier
from groupwise.measures.decision import best_f_cuts
from groupwise.metrics import FBeta, get_measure

NAMES = (
    "accuracy", "balanced_accuracy", "f1", "matthews",
    "precision_at_k", "average_precision", "ndcg", "roc_area",
)  # fmt: skip


def rows(n_rows: int, n_groups: int, n_features: int = 20) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_features))
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=n_rows) > 2.0).astype(int)
    return X, y, rng.integers(n_groups, size=n_rows)


def loop_f1(y: Any, score: Any, parts: list[Any]) -> Any:
    """What a user would write: scikit-learn's function, group by group."""
    return np.array([f1_score(y[p], score[p] > 0, zero_division=1.0) for p in parts])


def loop_rounds(X: Any, y: Any, ids: Any, n_rounds: int) -> None:
    """Figure 1 on scikit-learn's trees, with a loop over groups."""
    groups = Groups(ids)
    parts = [groups.order[a:b] for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    D, f = np.full(len(groups), 1 / len(groups)), np.zeros(len(y))
    for _ in range(n_rounds):
        weight = (D / groups.sizes)[groups.codes] * len(y)
        tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y, sample_weight=weight)
        h = 2.0 * tree.predict(X) - 1.0
        phi = D @ loop_f1(y, h, parts)
        f += 0.5 * np.log((1 + phi) / (1 - phi)) * h
        D = np.exp(-loop_f1(y, f, parts))
        D /= D.sum()


def measures() -> list[dict[str, Any]]:
    _, y, ids = rows(1_000_000, 100_000, 2)
    groups, score = Groups(ids), np.random.default_rng(1).normal(size=len(y))
    chance = 1 / (1 + np.exp(-score))
    competitors: dict[str, Any] = {
        name: lambda name=name: get_measure(name)(y, score, groups) for name in NAMES
    }
    competitors["best_f_cuts (expected F1 decision)"] = lambda: best_f_cuts(chance, groups)
    times = take_turns(competitors, 3)
    return [timing.row(times["f1"]) for timing in times.values()]


def one_measure() -> list[dict[str, Any]]:
    _, y, ids = rows(100_000, 1000, 2)
    groups, score = Groups(ids), np.random.default_rng(1).normal(size=len(y))
    parts = [groups.order[a:b] for a, b in zip(groups.offsets, groups.offsets[1:], strict=False)]
    times = take_turns(
        {
            "loop over groups, scikit-learn": lambda: loop_f1(y, score, parts),
            "FBeta": lambda: FBeta()(y, score, groups),
        },
        3,
    )
    base = times["loop over groups, scikit-learn"]
    return [timing.row(base) for timing in times.values()]


def a_round(n_groups: int) -> list[dict[str, Any]]:
    """Differences of long and short runs, so that binning and set-up do not count."""
    X, y, ids = rows(100_000, n_groups)

    def ours(n_rounds: int) -> Any:
        clf = GroupAdaBoostClassifier(HistTrees(3, n_jobs=1), measure="f1", n_estimators=n_rounds)
        return clf.fit(X, y, groups=ids)

    times = take_turns(
        {
            "scikit-learn trees, loop": lambda: loop_rounds(X, y, ids, 2),
            "ours, 2 rounds": lambda: ours(2),
            "ours, 42 rounds": lambda: ours(42),
        },
        3,
    )
    slow = times["scikit-learn trees, loop"].seconds / 2
    quick = (times["ours, 42 rounds"].seconds - times["ours, 2 rounds"].seconds) / 40
    return [
        {"method": "scikit-learn trees, loop over groups", "cpu ms a round": round(1e3 * slow, 1)},
        {
            "method": "GroupAdaBoostClassifier",
            "cpu ms a round": round(1e3 * quick, 2),
            "times cheaper": round(slow / quick, 1),
        },
    ]


def svm_perf() -> list[dict[str, Any]]:
    protein = load_protein()
    y, block = protein.y, protein.groups
    X = ((protein.X - protein.X.mean(axis=0)) / protein.X.std(axis=0)).astype(float)
    lines = []
    for measure in ("f1", "group_f1"):
        fitted: dict[str, Any] = {}

        def fit(measure: str = measure, fitted: dict[str, Any] = fitted) -> None:
            fitted["clf"] = SVMPerfClassifier(measure, tol=1e-3).fit(X, y, groups=block)

        timing = take_turns({measure: fit}, 2, warm_up=False)[measure]
        clf = fitted["clf"]
        lines.append({**timing.row(timing), "cuts": clf.n_iter_, "gap": f"{clf.gap_:.2%}"})
    return lines


def main() -> None:
    report = Report("measures", "Measures of groups")
    report.add("A million rows in 100 thousand groups", measures(), "Interleaved; base: f1.")
    report.add("F1 of 1,000 groups, 100 thousand rows", one_measure())
    for n_groups in (250, 1000):
        heading = f"A round of AdaBoost.Group (F1), 100 thousand rows, {n_groups} groups, depth 3"
        report.add(heading, a_round(n_groups), "One thread.")
    if os.environ.get("GROUPWISE_DATA"):
        note = "145,751 standardised protein rows, C = 0.1, to a duality gap of 0.1 %."
        report.add("SVMperf", svm_perf(), note)


if __name__ == "__main__":
    main()
