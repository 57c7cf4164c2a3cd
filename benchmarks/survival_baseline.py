"""The penalty of Cox's model on group means, and the automatic choice for survival times.

    python benchmarks/survival_baseline.py    # results/survival_baseline.md

On made rows as in survival_trees.py (which this imports, with what that needs), by other seeds. The
penalty is the best of six on the first cases; the others, drawn anew, say what the automatic choice
between this model and boosted trees is worth. Judged by expected concordance of 250 held-out
groups; cases with fewer than ten events are left out.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bench_grades_times import draw
from harness import Report
from survival_trees import MADE, expected, made

from groupwise.auto import AutoGroupRegressor
from groupwise.gbdt import GroupBoostRegressor
from groupwise.proportions import GroupMeansCoxRegressor

ALPHAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
EVENTS = {"10 to 50 events": (10, 50), "51 to 150": (51, 150), "more": (151, np.inf)}
Models = dict[str, Callable[[], Any]]
PENALTIES: Models = {
    f"alpha={alpha:g}": lambda alpha=alpha: GroupMeansCoxRegressor(alpha) for alpha in ALPHAS
}
CHOICE: Models = {
    "means-cox": GroupMeansCoxRegressor,
    "group-boost": lambda: GroupBoostRegressor(loss="cox", random_state=0),
    "auto": lambda: AutoGroupRegressor("time", random_state=0),
}


def cases(models: Models, stream: int, n: int) -> Iterator[dict[str, Any]]:
    """Of every model the concordance to expect."""
    for number in range(n):
        rng = np.random.default_rng([stream, number])
        name = MADE[number % len(MADE)]
        X, y = made(name, rng)
        size, power = int(rng.choice([4, 6, 8, 10])), float(rng.choice([2, 4, 6]))
        wanted = int(rng.choice([30, 50, 71, 100, 150, 300, 600]))
        n_train = min(wanted, int(0.6 * (len(X) // size)))
        seed = 10_000 * stream + number
        data = draw(X, y / 4, size, seed, n_groups=n_train + 250, power=power)
        test = np.arange(len(data["test"])) >= n_train
        groups, inside = data["groups"], ~test[data["groups"]]
        n_events = int((data["time"][~test] > 0).sum())
        if n_events < 10:
            continue
        found = {}
        for label, make in models.items():
            model = make().fit(
                data["X"][inside], data["time"][groups][inside], groups=groups[inside]
            )
            risk = model.predict_groups(data["X"][~inside], groups=groups[~inside])
            found[label] = expected(data["log_hazard"][test], risk)
        yield {"table": name, "events": n_events, "found": found}


def add(report: Report, heading: str, base: str, lines: list[dict[str, Any]]) -> None:
    """Means of the first model and differences of the others, by events and by table."""
    parts = {
        part: [line for line in lines if low <= line["events"] <= high]
        for part, (low, high) in EVENTS.items()
    }
    parts |= {name: [line for line in lines if line["table"] == name] for name in MADE}
    parts |= {"all": lines}
    rows = []
    for label in lines[0]["found"]:
        row = {"model": label}
        for part, inside in parts.items():
            values = np.array([line["found"][label] for line in inside])
            less = values - np.array([line["found"][base] for line in inside])
            error = less.std(ddof=1) / np.sqrt(len(less))
            row[part] = f"{values.mean():.4f}" if label == base else f"{less.mean():+.4f}"
            row[part] += "" if label == base or part != "all" else f" ± {error:.4f}"
        rows.append(row)
    rows.append({"model": "cases", **{part: len(inside) for part, inside in parts.items()}})
    report.add(heading, rows, f"Expected concordance of {base}; of the others the difference.")


if __name__ == "__main__":
    report = Report("survival_baseline", "Cox's model on group means, on made tables")
    add(report, "Its penalty", "alpha=0.1", list(cases(PENALTIES, 11, 300)))
    add(report, "The automatic choice", "means-cox", list(cases(CHOICE, 13, 120)))
