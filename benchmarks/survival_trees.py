"""Which trees survival times of groups want: development tables, none of bench_grades_times.py.

    python benchmarks/survival_trees.py run FILE.jsonl N    # until FILE holds N cases
    python benchmarks/survival_trees.py table FILE.jsonl    # results/survival_trees.md

In an environment that also has lifelines, with ``GROUPWISE_DATA`` set. A case has rows of one of
seven real tables or of six made ones, in up to 600 training groups of 4 to 10 rows; a group's log
hazard is 2, 4 or 6 times the share of a class, or a mean of what made rows have, all by the case's
number. Held-out groups (up to 250) are judged by their true hazards, which is less noisy than one
draw of times: of a pair the one with the higher risk is right with the probability that it comes
first. Cases with fewer than ten events are left out of the tables. These cases were drawn after
the choice, to tell its figures: it was made on some 570 others of the same tables, with the number
of rounds, penalties, leaf sizes, shares of columns and a linear start beside depth and share of
rows.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench_grades_times import cox_on_means, draw
from harness import Report, add_lines, read_lines
from scipy.special import expit
from sklearn.datasets import load_digits, load_wine

from groupwise.boosting import HistTrees
from groupwise.datasets.aggregates import load_bank, load_ionosphere
from groupwise.datasets.loaders import data_folder, load_uci
from groupwise.gbdt import GroupBoostRegressor

Rows = tuple[np.ndarray, np.ndarray]
COX = "Cox on group means (lifelines)"
PENALISED = "the same, ten times the penalty"
TREES = {
    f"depth {depth}{', half of the rows' * (part < 1)}": HistTrees(depth, subsample=part)
    for part in (1.0, 0.5)
    for depth in (1, 2, 3)
}
OTHERS = (PENALISED, *TREES)


def numbers(table: pd.DataFrame) -> np.ndarray:
    """Categories as codes."""
    return np.column_stack([
        column if column.dtype.kind in "if" else column.astype("category").cat.codes
        for _, column in table.items()
    ]).astype(float)  # fmt: skip


def mushroom() -> Rows:
    """Without the two columns that nearly tell the class."""
    table = pd.read_csv(data_folder("uci", "mushroom.csv.gz"), dtype=str, keep_default_na=False)
    left_out = ["class", "odor", "spore_print_color"]
    return numbers(table.drop(columns=left_out)), (table["class"] == "p").to_numpy()


def bank() -> Rows:
    data = load_bank()
    return numbers(data.X), data.y


def ionosphere() -> Rows:
    data = load_ionosphere()
    return data.X, data.y == "g"


def wine() -> Rows:
    X, y = load_wine(return_X_y=True)
    return X, y == 1


def digits() -> Rows:
    X, y = load_digits(return_X_y=True)
    return X, y >= 5


def of_uci(name: str) -> Rows:
    data = load_uci(name)
    return np.asarray(data.X), data.y


REAL: dict[str, Callable[[], Rows]] = {
    "ionosphere": ionosphere, "german": lambda: of_uci("german"), "cmc": lambda: of_uci("cmc"),
    "mushroom": mushroom, "wine": wine, "digits": digits, "bank": bank,
}  # fmt: skip
MADE = ("linear", "dense", "factors", "steps", "bends", "product")


def made(kind: str, rng: np.random.Generator) -> Rows:
    """Rows of 8 or 30 columns; what they have comes of a few columns, of all, of three factors."""
    n_rows, n_features = 8500, int(rng.choice([8, 30]))
    X = rng.normal(size=(n_rows, n_features))
    if kind == "linear":
        return X, X[:, 0] + 0.7 * X[:, 1] - 0.5 * X[:, 2]
    if kind == "dense":
        return X, 1.3 * X @ rng.normal(size=n_features) / np.sqrt(n_features)
    if kind == "factors":
        factors = rng.normal(size=(n_rows, 3))
        return factors @ rng.normal(size=(3, n_features)) + 0.5 * X, 1.3 * factors[:, 0]
    if kind == "steps":
        return X, 1.3 * np.sign(X[:, 0]) + 0.6 * np.sign(X[:, 1] - 0.5)
    if kind == "bends":
        return X, 0.9 * X[:, 0] ** 2 + 0.8 * np.sin(2 * X[:, 1])
    return X, 1.4 * X[:, 0] * X[:, 1]


def case(number: int) -> dict[str, Any]:
    """Of every method the concordance to expect of held-out groups."""
    rng = np.random.default_rng([7, number])
    name = (*REAL, *MADE)[number % (len(REAL) + len(MADE))]
    X, y = REAL[name]() if name in REAL else made(name, rng)
    size, power = int(rng.choice([4, 6, 8, 10])), float(rng.choice([2, 4, 6]))
    n_train = min(int(rng.choice([30, 50, 71, 100, 150, 300, 600])), int(0.6 * (len(X) // size)))
    y = y if name in REAL else y / 4
    data = draw(X, y, size, number, n_groups=n_train + 250, power=power)
    data["test"] = test = np.arange(len(data["test"])) >= n_train
    inside, groups, hazard = ~test[data["groups"]], data["groups"], data["log_hazard"][test]
    found = {
        COX: expected(hazard, cox_on_means(data)),
        PENALISED: expected(hazard, cox_on_means(data, 1.0)),
    }
    for label, trees in TREES.items():
        model = GroupBoostRegressor(loss="cox", trees=trees, random_state=0)
        model.fit(data["X"][inside], data["time"][groups][inside], groups=groups[inside])
        risk = model.predict_groups(data["X"][~inside], groups=groups[~inside])
        found[label] = expected(hazard, risk)
    n_events = int((data["time"][~test] > 0).sum())
    return {"case": number, "table": name, "groups": n_train, "events": n_events, "found": found}


def expected(log_hazard: np.ndarray, risk: np.ndarray) -> float:
    """Concordance over all pairs of groups, if all events were seen."""
    one, other = np.triu_indices(len(risk), 1)
    first = expit(log_hazard[one] - log_hazard[other])
    ahead = np.sign(risk[one] - risk[other])
    return float((0.5 + ahead * (first - 0.5)).mean())


def table(lines: list[dict[str, Any]]) -> None:
    report = Report("survival_trees", "Trees for survival times, on development tables")
    by_events = {"10 to 50 events": (10, 50), "51 to 150": (51, 150), "more": (151, np.inf)}
    for heading, names in (("Rows of seven real tables", REAL), ("Made rows", MADE)):
        inside = [line for line in lines if line["table"] in names and line["events"] >= 10]
        parts = {
            part: [line for line in inside if low <= line["events"] <= high]
            for part, (low, high) in by_events.items()
        } | {"all": inside}
        means = {
            part: f"{np.mean([line['found'][COX] for line in of_part]):.3f}"
            for part, of_part in parts.items()
        }
        rows = [{"method": COX, **means}]
        for method in OTHERS:
            row = {"method": method}
            for part, of_part in parts.items():
                less = differences(of_part, method)
                error = less.std(ddof=1) / np.sqrt(len(less))
                row[part] = f"{less.mean():+.4f} ± {error:.4f}"
            rows.append(row)
        rows.append({"method": "cases", **{part: len(of_part) for part, of_part in parts.items()}})
        note = "Expected concordance; below the first line the difference to it in the same case."
        report.add(heading, rows, note)
        rows = []
        for name in names:
            of_table = [line for line in inside if line["table"] == name]
            less = {method: differences(of_table, method).mean() for method in OTHERS}
            rows.append({"table": name} | {key: f"{value:+.3f}" for key, value in less.items()})
        report.add(f"{heading}, table by table", rows, "Mean difference to Cox.")


def differences(lines: list[dict[str, Any]], method: str) -> np.ndarray:
    return np.array([line["found"][method] - line["found"][COX] for line in lines])


if __name__ == "__main__":
    what, path = sys.argv[1], Path(sys.argv[2])
    if what == "run":
        done = {line["case"] for line in read_lines(path)}
        add_lines(path, (n for n in range(int(sys.argv[3])) if n not in done), case)
    else:
        table(read_lines(path))
