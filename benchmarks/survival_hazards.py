"""The automatic choice for survival times, by where a group's risk comes from.

    python benchmarks/survival_hazards.py run FILE.jsonl N    # until FILE holds N cases
    python benchmarks/survival_hazards.py table FILE.jsonl    # results/survival_hazards.md

Rows of the tables of survival_trees.py (which this imports, with what that needs). A row's number
is a line, or a line with a bend, in two to five of its columns; a group's log hazard is the mean of
these, the share of a class, the largest, the mean of the two largest or their spread, over 3 to 20
rows. Judged by expected concordance of up to 250 held-out groups, of cases with ten events or more.
*One method* is what the choice took before: the better of Cox on means and of boosting, alone, by
held-out concordance. Networks take no part. The rule (members, weights, penalty) was chosen on
other draws of the same tables (stream 34); those in the table were drawn after it (stream 35).
"""

import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import Report, add_lines, read_lines
from survival_trees import MADE, REAL, expected, made

from groupwise.auto import AutoGroupRegressor, candidates
from groupwise.groups import Groups
from groupwise.methods import get_method

STREAM = 35
METHODS = ("means-cox", "statistics", "group-boost", "group-boost-worst")
BEFORE = ("means-cox", "group-boost")
HAZARDS = ("mean", "share", "largest", "two largest", "spread")
WITHOUT = candidates._LEFT_OUT | {"survival": {"network": "left out here"}}


def of_rows(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A number of each row from a few of its columns, with mean 0 and variance 1."""
    spread = X.std(axis=0)
    telling = np.flatnonzero(spread > 1e-12)
    columns = rng.choice(telling, size=min(int(rng.choice([2, 3, 5])), len(telling)), replace=False)
    Z = (X[:, columns] - X[:, columns].mean(axis=0)) / spread[columns]
    number = Z @ rng.normal(size=len(columns))
    if rng.random() < 0.4:
        number = number + 0.8 * rng.choice([-1, 1]) * np.abs(Z[:, 0])
    return (number - number.mean()) / number.std()


def of_groups(hazard: str, number: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Log hazards of groups from their rows' numbers, one group per line."""
    if hazard == "mean":
        return number.mean(axis=1)
    if hazard == "share":
        return share.mean(axis=1)
    if hazard == "largest":
        return number.max(axis=1)
    if hazard == "two largest":
        return np.sort(number, axis=1)[:, -2:].mean(axis=1)
    return number.std(axis=1)


def case(number: int) -> dict[str, Any]:
    """Of every method the concordance to expect of held-out groups."""
    rng = np.random.default_rng([STREAM, number])
    name = (*REAL, *MADE)[number % (len(REAL) + len(MADE))]
    X, y = REAL[name]() if name in REAL else made(name, rng)
    X, hazard = np.asarray(X, float), HAZARDS[number % len(HAZARDS)]
    number_row = of_rows(X, rng)
    size, wanted = int(rng.choice([3, 6, 10, 20])), int(rng.choice([40, 71, 100, 150, 300]))
    n_groups = min(wanted + 250, len(X) // size)
    n_train = min(wanted, int(0.6 * n_groups))
    order = rng.permutation(len(X))[: n_groups * size]
    groups = Groups(np.repeat(np.arange(n_groups), size)).codes
    parts = (values[order].reshape(n_groups, size).astype(float) for values in (number_row, y))
    log_hazard = of_groups(hazard, *parts)
    log_hazard = (log_hazard - log_hazard.mean()) / log_hazard.std() * rng.choice([0.5, 1, 1.5])
    time = rng.exponential(np.exp(-log_hazard))
    seen = rng.exponential(2 * np.median(time) / np.log(2), n_groups)
    signed = np.where(time <= seen, time, -seen)
    n_events = int((signed[:n_train] > 0).sum())
    line = {"case": number, "table": name, "hazard": hazard, "groups": n_train, "events": n_events}
    if n_events < 10:
        return line
    inside = groups < n_train
    learn = {"X": X[order][inside], "y": signed[groups][inside], "groups": groups[inside]}
    ask = {"X": X[order][~inside], "groups": groups[~inside]}
    with patch.object(candidates, "_LEFT_OUT", WITHOUT):
        auto = AutoGroupRegressor("time", random_state=0).fit(**learn)
    board = auto.leaderboard_
    first = board[board["method"].isin(BEFORE)].iloc[0]
    asked = {method: (method, {}) for method in METHODS}
    asked["one method"] = (first["method"], first["params"])
    found = {"auto": expected(log_hazard[n_train:], auto.predict_groups(**ask))}
    for label, (method, params) in asked.items():
        model = get_method("survival", method, n_rows=0, n_classes=0).build({}, params, 0)
        risk = model.fit(**learn).predict_groups(**ask)
        found[label] = expected(log_hazard[n_train:], risk)
    return line | {"found": found}


def table(lines: list[dict[str, Any]]) -> None:
    report = Report("survival_hazards", "Survival times, by where a group's risk comes from")
    told = [line for line in lines if "found" in line]
    parts = {hazard: [line for line in told if line["hazard"] == hazard] for hazard in HAZARDS}
    parts["up to 50 events"] = [line for line in told if line["events"] <= 50]
    parts["more"] = [line for line in told if line["events"] > 50]
    parts["all"] = told
    rows = []
    for label in ("one method", *METHODS, "auto"):
        row = {"model": label}
        for part, inside in parts.items():
            values = np.array([line["found"][label] for line in inside])
            less = values - np.array([line["found"]["one method"] for line in inside])
            error = less.std(ddof=1) / np.sqrt(len(less))
            row[part] = f"{less.mean():+.4f} ± {error:.4f}"
            if label == "one method":
                row[part] = f"{values.mean():.4f}"
        rows.append(row)
    rows.append({"model": "cases", **{part: len(inside) for part, inside in parts.items()}})
    note = "Expected concordance; below the first line the difference to it in the same case."
    report.add("Held-out groups", rows, note)


if __name__ == "__main__":
    what, path = sys.argv[1], Path(sys.argv[2])
    if what == "run":
        done = {line["case"] for line in read_lines(path)}
        add_lines(path, (n for n in range(int(sys.argv[3])) if n not in done), case)
    else:
        table(read_lines(path))
