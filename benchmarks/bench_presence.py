"""DPBoost's relaxations, its search against HiGHS's own, and how the methods of the room scale.

Run ``python benchmarks/bench_presence.py [part ...]`` (some minutes; parts: relaxations, sizes,
exact, sets, rows). The sets are read from the folder that the variable GROUPWISE_DATA names;
without it that table is left out.
"""

import os
import sys
import time
from typing import Any

import highspy
import numpy as np
from harness import Report, take_turns

from groupwise import Groups
from groupwise.datasets import GroupedData, load_mil, make_presence_bags
from groupwise.presence import DPBoostClassifier, MISVMClassifier, Stumps

CLASSIC = ("musk1", "musk2", "elephant", "fox", "tiger")


def fit(data: GroupedData, **settings: Any) -> DPBoostClassifier:
    clf = DPBoostClassifier(Stumps(), random_state=0, **settings)
    return clf.fit(data.X, data.y, groups=data.groups)


def bounds(clf: DPBoostClassifier) -> dict[str, Any]:
    return {
        "lower": round(clf.lower_bound_, 4),
        "upper": round(clf.upper_bound_, 4),
        "gap": f"{clf.gap_:.1%}",
        "hypotheses": clf.n_columns_,
        "reductions": clf.n_reductions_,
        "active": clf.n_active_reductions_,
    }


def relaxations(n_groups: int, cost: float, seed: int) -> list[dict[str, Any]]:
    """Both relaxations to the end, one turn each."""
    data = make_presence_bags(n_groups, positive_single=0.0, random_state=seed)
    every = {"n_reductions": None, "max_disjuncts": None, "max_effort": None, "cut_rounds": 200}
    fitted: dict[str, Any] = {}

    def run(name: str, **settings: Any) -> None:
        fitted[name] = fit(data, C=cost, n_restarts=0, **settings)

    times = take_turns(
        {
            "lifted": lambda: run("lifted", relaxation="lifted", time_limit=120.0),
            "cuts": lambda: run("cuts", **every),
        },
        1,
        warm_up=False,
    )
    base = times["cuts"]
    return [{**timing.row(base), **bounds(fitted[name])} for name, timing in times.items()]


def sizes() -> list[dict[str, Any]]:
    lines = []
    for n_groups, single in ((80, 0.5), (200, 0.5), (80, 0.0), (200, 0.0)):
        data = make_presence_bags(n_groups, positive_single=single, random_state=1)
        limit = 15.0 if n_groups == 80 else 120.0
        before, clock = time.process_time(), time.perf_counter()
        clf = fit(data, C=0.1, cut_rounds=40, n_reductions=30, max_effort=1e8, exact=True,
                  time_limit=limit)  # fmt: skip
        lines.append(
            {
                "groups": n_groups,
                "rows": len(data.X),
                "positive singles": f"{single:.0%}",
                "cpu s": round(time.process_time() - before, 2),
                "wall s": round(time.perf_counter() - clock, 2),
                **bounds(clf),
            }
        )
    return lines


def small_groups(seed: int) -> GroupedData:
    """Twenty ambiguous groups of 3 to 5 rows and as many single negative rows."""
    data = make_presence_bags(200, mean_size=4.0, positive_single=0.0, random_state=seed)
    groups = Groups(data.groups)
    fits = np.flatnonzero((groups.sizes >= 3) & (groups.sizes <= 5))[:20]
    single = np.flatnonzero(groups.sizes == 1)[:20]
    rows = np.isin(data.groups, np.concatenate([fits, single]))
    return data.take(rows)


def big_m(data: GroupedData, cost: float, ceiling: float, limit: float) -> tuple[float, str]:
    """HiGHS's branch and bound on the big-M form, with every stump of the pool."""
    pool = Stumps(16).bind(data.X)
    H = pool.values(np.arange(len(pool.feature)))
    H = np.hstack([H, -H])
    groups = Groups(data.groups)
    y_row = np.where(data.y == 1, 1.0, -1.0)
    highs = highspy.Highs()
    for option, value in (("output_flag", False), ("threads", 1), ("time_limit", limit)):
        highs.setOptionValue(option, value)
    n_h, M = H.shape[1], 1.0 + ceiling
    for c in [*np.ones(n_h), *np.full(groups.n_groups, cost)]:
        highs.addVar(0.0, highspy.kHighsInf)
        highs.changeColCost(highs.getNumCol() - 1, c)
    for _ in range(groups.n_rows):
        highs.addVar(0.0, 1.0)
        highs.changeColIntegrality(highs.getNumCol() - 1, highspy.HighsVarType.kInteger)
    z = n_h + groups.n_groups
    for row in range(groups.n_rows):
        index = [*range(n_h), n_h + groups.codes[row], z + row]
        values = [*(y_row[row] * H[row]), 1.0, -M]
        highs.addRow(1.0 - M, highspy.kHighsInf, len(index), index, values)
    for group in range(groups.n_groups):
        index = z + np.flatnonzero(groups.codes == group)
        highs.addRow(1.0, 1.0, len(index), index, np.ones(len(index)))
    highs.run()
    status = highs.modelStatusToString(highs.getModelStatus())
    return highs.getInfo().objective_function_value, status


def exact(seed: int, limit: float = 60.0) -> dict[str, Any]:
    data = small_groups(seed)
    found: dict[str, Any] = {}

    def ours() -> None:
        clf = DPBoostClassifier(
            Stumps(16), C=0.2, exact=True, n_reductions=None, max_effort=None, random_state=0
        )
        found["clf"] = clf.fit(data.X, data.y, groups=data.groups)

    def theirs() -> None:
        found["mip"], found["status"] = big_m(data, 0.2, found["clf"].upper_bound_, limit)

    times = take_turns({"ours": ours, "HiGHS big-M": theirs}, 1, warm_up=False)
    clf = found["clf"]
    return {
        "seed": seed,
        "optimum": round(clf.upper_bound_, 4),
        "gap": f"{clf.gap_:.1e}",
        "nodes": clf.n_nodes_,
        "cpu s": round(times["ours"].seconds, 2),
        "HiGHS cpu s": round(times["HiGHS big-M"].seconds, 2),
        "HiGHS found": round(found["mip"], 4),
        "HiGHS ended": found["status"],
        "times quicker": round(times["HiGHS big-M"].seconds / times["ours"].seconds, 1),
    }


def sets() -> list[dict[str, Any]]:
    lines = []
    for name, effort in (*((name, 5e7) for name in CLASSIC), ("musk1", 2e8)):
        bags = load_mil(name)
        before = time.process_time()
        clf = DPBoostClassifier(nu=0.02, max_effort=effort, cut_rounds=20, random_state=0)
        clf.fit(bags.X, bags.y, groups=bags.groups)
        lines.append(
            {
                "set": name,
                "max_effort": f"{effort:.0e}",
                "rows": len(bags.y),
                "groups": clf.n_groups_,
                "cpu s": round(time.process_time() - before, 1),
                **bounds(clf),
            }
        )
    return lines


def rows() -> list[dict[str, Any]]:
    lines = []
    for n_rows, settings in (
        (2_000, {"kernel": "rbf"}),
        (2_000, {"kernel": "linear"}),
        (20_000, {"kernel": "linear"}),
        (20_000, {"kernel": "rbf", "n_components": 200}),
    ):
        rng = np.random.RandomState(0)
        groups = np.arange(n_rows) // 10
        y = groups % 2
        X = rng.normal(size=(n_rows, 20))
        X[np.arange(n_rows) % 10 == 0] += 0.8 * y[::10, None]
        before = time.process_time()
        clf = MISVMClassifier(random_state=0, **settings).fit(X, y, groups=groups)
        lines.append(
            {
                "rows": n_rows,
                "groups": n_rows // 10,
                "machine": " ".join(str(v) for v in settings.values()),
                "cpu s": round(time.process_time() - before, 2),
                "rounds": clf.n_iter_,
            }
        )
    return lines


def tiny() -> list[dict[str, Any]]:
    """Ten thousand groups of two rows."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(10_000), 2)
    y = groups % 2
    X = rng.normal(size=(20_000, 5))
    X[::2, :2] += 1.5 * y[::2, None]
    before = time.process_time()
    clf = DPBoostClassifier(nu=0.2, n_restarts=0, random_state=0).fit(X, y, groups=groups)
    return [
        {
            "groups": 10_000,
            "rows": 20_000,
            "cpu s": round(time.process_time() - before, 1),
            "training accuracy": round(clf.score(X, y, groups=groups), 3),
            **bounds(clf),
        }
    ]


def main(parts: list[str]) -> None:
    report = Report("presence", "Presence: DPBoost and its partners")
    synthetic = "make_presence_bags, all stumps; singles are negative"
    if not parts or "relaxations" in parts:
        note = f"{synthetic}, C = 0.2, to the end or 120 s; base: cuts."
        for seed in (1, 2):
            lines = relaxations(40, 0.2, seed)
            report.add(f"Relaxations, 40 groups, Poisson 3, seed {seed}", lines, note)
    if not parts or "sizes" in parts:
        note = "All stumps, C = 0.1, cuts then search, 15 s for 80 groups and 120 s for 200."
        report.add("Bounds at 80 and 200 groups, Poisson 3", sizes(), note)
    if not parts or "exact" in parts:
        note = "33 stumps and their opposites, C = 0.2, HiGHS stopped after 60 s."
        report.add("Exact, 20 groups of 3 to 5 rows", [exact(seed) for seed in range(4)], note)
    if (not parts or "sets" in parts) and os.environ.get("GROUPWISE_DATA"):
        note = "Stumps at 32 thresholds a feature, nu = 0.02, whole set."
        report.add("DPBoost on the multiple-instance sets", sets(), note)
    if not parts or "rows" in parts:
        report.add("mi-SVM, groups of ten, 20 features", rows())
        report.add("Ten thousand groups of two rows", tiny())


if __name__ == "__main__":
    main(sys.argv[1:])
