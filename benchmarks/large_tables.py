"""The automatic choice on tables of thousands of groups, beside plain LightGBM.

Run ``python benchmarks/large_tables.py`` with ``GROUPWISE_DATA`` set on an idle machine: the limit
is on the clock. Every table is one line of ``results/large_tables.jsonl``; a run that stopped goes
on, and ``table`` writes what is there.

*Curved* are the made-up rows of ``bench_auto.py`` that no line fits, 100 thousand to learn from and
as many new ones; others are adult and the large tables of KEEL (``keel.py``), in sessions and bags
by the rules of ``fresh_tables.py`` or in random groups of ten with known counts, 60 % of the rows
to learn from. The choice is ``AutoGroupClassifier(kind, n_jobs=2, random_state=0)`` with two
minutes, as the command line has them. LightGBM learns groups' classes on rows (the mean of its
probabilities decides), counts on rows of each class with the share as weight, rows of the target or
of both domains, totals on the groups' means; as it is, and with 300 trees of rate .05 that see half
of the columns. The first of its rows is what most people would try.
"""

import sys
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from bench_auto import curved, known_of
from fresh_tables import labelled_groups
from harness import RESULTS, Report, add_lines, read_lines
from keel import rows_of
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.typing import NDArray

from groupwise.auto import AutoGroupClassifier, AutoGroupRegressor
from groupwise.datasets.aggregates import load_adult
from groupwise.groups import Groups
from groupwise.metrics import get_measure

STORED = RESULTS / "large_tables.jsonl"
LIMIT = 120
N_ROWS, N_NEW_GROUPS, ALL = 100_000, 2000, 10**6
TABLES = {
    "majority": ("curved", "adult", "magic", "penbased"),
    "presence": ("curved", "adult", "magic", "letter"),
    "proportions": ("curved", "adult", "magic", "ring"),
    "measure": ("curved",),
    "transfer": ("curved",),
    "total": ("curved",),
}
RECIPES: dict[str, dict[str, Any]] = {
    "LightGBM": {},
    "LightGBM 300 x .05": {"n_estimators": 300, "learning_rate": 0.05, "colsample_bytree": 0.5},
}


@dataclass(frozen=True)
class Table:
    """What there is to learn from and what is asked.

    Attributes
    ----------
    X, known : ndarray
        Rows and what is known of them.
    told : dict of str to ndarray
        Their groups or domains.
    X_new, groups_new : ndarray
    truth : ndarray
        Classes or numbers of new groups (majority, presence, total), else classes of new rows.
    """

    kind: str
    X: NDArray[Any]
    known: NDArray[Any]
    told: dict[str, Any]
    X_new: NDArray[Any]
    groups_new: Groups
    truth: NDArray[Any]


# --- tables ---------------------------------------------------------------------------------------


def made_up(kind: str) -> Table:
    """The rows of ``bench_auto.py``."""
    X, known, told = known_of(kind, N_ROWS, 0)
    X_new, truth, told_new = known_of(kind, N_ROWS, 1)
    groups = Groups(np.arange(N_ROWS) // 10)
    if kind == "transfer":
        target = told_new["domains"] == "new"
        X_new, truth = X_new[target], truth[target]
        groups = Groups(groups.codes[target])
    elif kind == "proportions":
        _, score, noise, _ = curved(N_ROWS, 1)
        truth = (score + noise > 0).astype(int)
    elif kind != "measure":
        truth = truth[groups.first_rows]
    return Table(kind, X, known, told, X_new, groups, truth)


def real(kind: str, name: str) -> Table:
    """Sessions, bags or counted groups of a table's rows."""
    if name == "adult":
        data = load_adult()
        X, y = pd.get_dummies(data.X).to_numpy(float), np.asarray(data.y)
    else:
        X, y = rows_of(name, ALL)
    if kind == "proportions":
        order = np.random.RandomState(0).permutation(len(y))
        old, new = np.split(order, [len(y) * 6 // 100 * 10])
        groups = Groups(np.arange(len(old)) // 10)
        known = groups.mean(np.eye(int(y.max()) + 1)[y[old]])[groups.codes]
        asked = (X[new], Groups(np.arange(len(new))), y[new])
        return Table(kind, X[old], known, {"groups": groups.codes}, *asked)
    case = labelled_groups(kind, X, y, ALL, N_NEW_GROUPS)
    if case is None:
        raise ValueError(f"{name} has too few rows or too many classes")
    told = {"groups": case.problem.groups.codes}
    return Table(kind, case.problem.X, case.problem.y, told, case.X_new, case.new, case.y_new)


# --- answers --------------------------------------------------------------------------------------


def chosen(table: Table) -> tuple[Any, NDArray[Any]]:
    """The automatic choice, and its answers."""
    effort: dict[str, Any] = {"time_limit": LIMIT, "n_jobs": 2, "random_state": 0}
    if table.kind == "total":
        total = AutoGroupRegressor("total", **effort).fit(table.X, table.known, **table.told)
        return total, total.predict_groups(table.X_new, table.groups_new.codes)
    told = {"target_domain": "new"} if table.kind == "transfer" else {}
    model = AutoGroupClassifier(table.kind, **told, **effort)
    model.fit(table.X, table.known, **table.told)
    if table.kind in ("majority", "presence"):
        return model, model.predict_groups(table.X_new, table.groups_new.codes)
    groups = None if table.kind == "transfer" else table.groups_new.codes
    return model, model.predict(table.X_new, groups)


def boosted(table: Table, params: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Answers of LightGBM, of each way to use it."""
    learner = LGBMClassifier(**params, random_state=0, n_jobs=2, verbose=-1)
    X, known, new = table.X, table.known, table.groups_new
    if table.kind in ("majority", "presence"):
        proba = learner.fit(X, known).predict_proba(table.X_new)
        return {"mean": new.mean(proba).argmax(axis=1)}
    if table.kind == "proportions":
        n_classes = known.shape[1]
        code = np.repeat(np.arange(n_classes), len(X))
        learner.fit(np.tile(X, (n_classes, 1)), code, sample_weight=known.T.ravel())
        return {"rows": learner.predict(table.X_new)}
    if table.kind == "measure":
        return {"rows": learner.fit(X, known).predict(table.X_new)}
    if table.kind == "transfer":
        target = table.told["domains"] == "new"
        share = np.where(target, 1.0, target.sum() / (~target).sum())
        return {
            "target": learner.fit(X[target], known[target]).predict(table.X_new),
            "union": learner.fit(X, known).predict(table.X_new),
            "equal mass": learner.fit(X, known, sample_weight=share).predict(table.X_new),
        }
    groups = Groups(table.told["groups"])
    regressor = LGBMRegressor(**params, random_state=0, n_jobs=2, verbose=-1)
    regressor.fit(groups.mean(X), known[groups.first_rows])
    return {"means": regressor.predict(new.mean(table.X_new))}


def scores(table: Table, answer: NDArray[Any]) -> NDArray[Any]:
    """Of each new group or row: right or not, F1 (measure), part of R2 (total)."""
    if table.kind == "total":
        return 1.0 - (answer - table.truth) ** 2 / table.truth.var()
    if table.kind == "measure":
        return get_measure("f1").of(table.truth, np.where(answer == 1, 1.0, -1.0), table.groups_new)
    return (answer == table.truth).astype(float)


# --- lines ----------------------------------------------------------------------------------------


def line_of(kind: str, name: str) -> dict[str, Any]:
    """Scores of the choice and of each way to use LightGBM, with seconds."""
    table = made_up(kind) if name == "curved" else real(kind, name)
    started = time.monotonic()
    model, answer = chosen(table)
    line: dict[str, Any] = {
        "kind": kind,
        "table": name,
        "rows": len(table.X),
        "seconds": time.monotonic() - started,
        "estimate": [model.estimate_.score, model.estimate_.low, model.estimate_.high],
        "members": [member.name for member in model.members_],
    }
    own = scores(table, answer)
    plain: dict[str, dict[str, Any]] = {}
    for recipe, params in RECIPES.items():
        for way, said in boosted(table, params).items():
            ahead = own - scores(table, said)
            plain[f"{recipe}, {way}"] = {
                "score": float(scores(table, said).mean()),
                "ahead": [float(ahead.mean()), float(ahead.std(ddof=1) / len(ahead) ** 0.5)],
            }
    line |= {"auto": float(own.mean()), "plain": plain}
    print(line, flush=True)
    return line


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """One table."""
    plain = line["plain"]
    first = max((n for n in plain if n.startswith("LightGBM,")), key=lambda n: plain[n]["score"])
    best = max(plain, key=lambda name: plain[name]["score"])
    ahead, error = plain[best]["ahead"]
    score, low, high = line["estimate"]
    return {
        "kind": line["kind"],
        "table": line["table"],
        "rows": f"{line['rows']:,}",
        "automatic": f"{line['auto']:.4f}",
        "as it is": f"{plain[first]['score']:.4f}",
        "best of LightGBM": f"{best} {plain[best]['score']:.4f}",
        "ahead of it (s.e.)": f"{ahead:+.4f} ({error:.4f})",
        "estimate": f"{score:.3f} ({low:.3f}, {high:.3f})",
        "seconds": round(line["seconds"]),
        "members": ", ".join(line["members"]),
    }


def write(lines: list[dict[str, Any]]) -> None:
    """The tables."""
    report = Report("large_tables", "The automatic choice on tables of thousands of groups")
    note = (
        "Share of new groups predicted right (majority, presence), of new rows (proportions, "
        "transfer), mean F1 of new groups (measure), R2 (total). The best use of LightGBM is the "
        "best in hindsight; the standard error is over what was asked. The estimate is the one the "
        "choice prints: of proportions how near groups' shares are, not of rows."
    )
    report.add(f"{LIMIT} seconds, two processes", [row_of(line) for line in lines], note)


def main() -> None:
    done = {(line["kind"], line["table"]) for line in read_lines(STORED)}
    todo = [(kind, name) for kind, names in TABLES.items() for name in names]
    if sys.argv[1:] != ["table"]:
        add_lines(STORED, [case for case in todo if case not in done], lambda case: line_of(*case))
    write(sorted(read_lines(STORED), key=lambda line: todo.index((line["kind"], line["table"]))))


if __name__ == "__main__":
    main()
