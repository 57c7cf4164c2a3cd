"""The automatic choice on sets it has not seen: nested cross-validation over whole groups.

Run ``python benchmarks/auto.py [set ...]`` with ``GROUPWISE_DATA`` set (an hour on one core for all
of them); ``python benchmarks/auto.py table`` writes the tables from what has been finished. Every
finished outer fold is one line of ``results/auto_folds.jsonl``; the same command goes on.

Fixed before it ran: three outer folds (seed 0), groups stratified by label, of WISDM whole users;
``AutoGroupClassifier(random_state=0)`` as it is, without a time limit. Every candidate that ran at
its defaults is fitted to the outer training groups as well and asked about the same test groups:
the best of them in hindsight is what the choice is held against. ``python benchmarks/auto.py few``
has 40 groups to learn from, drawn once (seed 0; four of each class at least), and all others to be
judged on. ``python benchmarks/auto.py again`` draws the outer folds of the sets with at most 200
groups twice more (seeds 1 and 2): who was best in hindsight depends on the folds. ``python
benchmarks/auto.py shares`` draws groups of ten rows with known counts twelve times and asks about
the rows of new groups. Measures, transfer and other methods and libraries, all within a minute per
fit, are the arena's.
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import RESULTS, Report, add_lines, read_lines
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from groupwise import Groups
from groupwise.auto import AutoGroupClassifier
from groupwise.auto.candidates import Candidate, first_candidates
from groupwise.auto.kinds import Labels
from groupwise.auto.members import Trainer
from groupwise.auto.problem import Problem
from groupwise.datasets import GroupedData, load_mil, load_uci, load_wisdm, make_sessions
from groupwise.datasets.aggregates import load_ionosphere, make_aggregates
from groupwise.methods import methods_for
from groupwise.model_selection import WholeGroupKFold, split_whole_groups

FOLDS = RESULTS / "auto_folds.jsonl"
FEW = RESULTS / "auto_few.jsonl"
AGAIN = RESULTS / "auto_again.jsonl"
SHARES = RESULTS / "auto_shares.jsonl"
SHARE_SETS = ("breast cancer", "ionosphere")
SINGLE_SHARES = ("manifold", "kernel-counts", "linear-counts")
N_DRAWS = 12
N_FEW = 40
PRESENCE = (
    "musk1", "elephant", "fox", "tiger", "mutagenesis2", "corel_african", "corel_dogs",
    "birds_winter_wren", "newsgroups1", "newsgroups2", "newsgroups3", "mutagenesis1", "musk2",
)  # fmt: skip
SESSIONS = ("cmc", "german", "spam", "wisdm")
SMALL = (
    "german", "mutagenesis2", "mutagenesis1", "fox", "newsgroups3", "musk1", "cmc", "elephant",
    "tiger", "newsgroups2", "newsgroups1", "musk2",
)  # fmt: skip
BASELINES = (
    "naive-boosting(rule=mean)",
    "naive-boosting(rule=score)",
    "means-logistic",
    "statistics",
)


def load(name: str) -> tuple[str, GroupedData]:
    """A set and its kind."""
    if name in PRESENCE:
        return "presence", load_mil(name)
    if name == "wisdm":
        return "majority", load_wisdm()
    rows = load_uci(name)
    return "majority", make_sessions(rows.X, rows.y, random_state=0)


def judged(proba: np.ndarray, code: np.ndarray) -> dict[str, float]:
    """Accuracy, log-loss and area of group probabilities."""
    likely = np.maximum(proba[np.arange(len(code)), code], 1e-6)
    found = {
        "accuracy": float(np.mean(proba.argmax(axis=1) == code)),
        "log-loss": float(-np.log(likely).mean()),
        "groups": len(code),
    }
    if proba.shape[1] == 2 and len(np.unique(code)) == 2:
        found["AUC"] = float(roc_auc_score(code, proba[:, 1]))
    return found


def folds_of(data: GroupedData, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outer folds of whole groups, or of what must stay whole."""
    groups = Groups(data.groups)
    whole = data.keep_whole
    return split_whole_groups(
        3, data.X, data.y, groups, keep_whole=whole, stratify=whole is None, random_state=seed
    )


def few_of(data: GroupedData) -> tuple[np.ndarray, np.ndarray]:
    """Rows of 40 groups (or two thirds), with classes as often as in all; and the others.

    Of a rare class there are four.
    """
    groups = Groups(data.groups)
    y = groups.one_per_group(np.asarray(data.y))
    n = min(N_FEW, 2 * len(y) // 3)
    rng = np.random.RandomState(0)
    order = rng.permutation(len(y))
    counts = np.bincount(np.searchsorted(np.unique(y), y))
    n_each = np.maximum(4, np.round(n * counts / len(y))).astype(int)
    n_each[n_each.argmax()] = n - (n_each.sum() - n_each.max())
    taken = [order[y[order] == c][:k] for c, k in zip(np.unique(y), n_each, strict=True)]
    inside = np.isin(groups.codes, np.concatenate(taken))
    return np.flatnonzero(inside), np.flatnonzero(~inside)


def run_fold(name: str, number: int | None, seed: int = 0) -> dict[str, Any]:
    """Fit on the outer training groups, judge on the others; ``None``: on 40 groups."""
    kind, data = load(name)
    train, test = few_of(data) if number is None else folds_of(data, seed)[number]
    X, y, ids = data.X, np.asarray(data.y), np.asarray(data.groups)
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    whole = None if data.keep_whole is None else np.asarray(data.keep_whole)[train]
    clock, cpu = time.perf_counter(), time.process_time()
    model = AutoGroupClassifier(kind, random_state=0)
    model.fit(rows[train], y[train], groups=ids[train], keep_whole=whole)
    spent = {"wall s": time.perf_counter() - clock, "cpu s": time.process_time() - cpu}
    outside = Groups(ids[test])
    code = np.searchsorted(model.classes_, y[test][outside.first_rows])
    line = judged(model.predict_groups_proba(rows[test], ids[test]), code)
    line |= {"set": name, "kind": kind, "fold": number, "seed": seed, **spent}
    line["estimate"] = [model.estimate_.score, model.estimate_.low, model.estimate_.high]
    line["chosen"] = [member.name for member in model.members_]
    line["single"] = singles(model, kind, rows, y, ids, train, test, code)
    return line


def singles(
    model: AutoGroupClassifier,
    kind: str,
    rows: Any,
    y: np.ndarray,
    ids: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    code: np.ndarray,
) -> dict[str, dict[str, float]]:
    """Each candidate at its defaults, alone."""
    known = Groups(ids[train])
    classes = model.classes_
    problem = Problem(
        np.asarray(rows[train], float), np.searchsorted(classes, y[train]), known, len(classes)
    )
    tiers, _ = first_candidates(
        kind,
        n_rows=len(train),
        n_features=problem.X.shape[1],
        n_classes=len(classes),
        measure=None,
    )
    trainer = Trainer(Labels(kind), problem, 0)
    asked, outside = np.asarray(rows[test], float), Groups(ids[test])

    def each() -> Iterator[tuple[str, dict[str, float]]]:
        for candidate in (c for tier in tiers for c in tier):
            if failed(candidate):
                continue
            member = trainer.fit(candidate)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                said = member.predictions(asked, outside).proba_group
            yield candidate.name, judged(said, code)

    board = model.leaderboard_
    broken = set(board.loc[board["state"] == "failed", "method"])

    def failed(candidate: Candidate) -> bool:
        return candidate.method.name in broken

    return dict(each())


def shares_of(draw: int, name: str) -> dict[str, Any]:
    """Two thirds of the groups of ten rows to learn from; errors of the others' rows."""
    rows = load_breast_cancer() if name == "breast cancer" else load_ionosphere()
    X, y_row = (rows.data, rows.target) if name == "breast cancer" else (rows.X, rows.y)
    data = make_aggregates(X, y_row, size=10, random_state=draw)
    groups = np.asarray(data.groups)
    folds = WholeGroupKFold(3, stratify=False, random_state=draw).split(groups, None, groups)
    train, test = list(folds)[draw % 3]
    X = StandardScaler().fit(data.X[train]).transform(data.X)
    models: dict[str, Any] = {"auto": AutoGroupClassifier("proportions", random_state=0)}
    for method in methods_for("proportions"):
        if method.name in SINGLE_SHARES:
            models[method.name] = method.build({}, {}, 0)
    line: dict[str, Any] = {"set": name, "draw": draw}
    for label, model in models.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X[train], data.y.iloc[train], groups=groups[train])
            said = model.predict(X[test], groups[test])
        line[label] = float(np.mean(said != np.asarray(data.y_row)[test]))
    return line


def shares() -> None:
    """Write each draw's line as it comes."""
    done = {(line["set"], line["draw"]) for line in read_lines(SHARES)}
    todo = [case for case in product(range(N_DRAWS), SHARE_SETS) if case[::-1] not in done]
    add_lines(SHARES, todo, lambda case: shares_of(*case))


def share_lines(lines: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Mean errors with their standard errors over draws."""
    for name in SHARE_SETS:
        found = [line for line in lines if line["set"] == name]
        row: dict[str, Any] = {"set": name, "draws": len(found)}
        for label in ("auto", *SINGLE_SHARES):
            error = np.array([line[label] for line in found])
            row[label] = f"{error.mean():.4f} ({error.std(ddof=1) / len(error) ** 0.5:.4f})"
        yield row


def finished(path: Path = FOLDS) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def run(names: list[str]) -> None:
    """Everything that is not there yet, round by round over the sets."""
    for number in range(3):
        for name in names:
            keep(FOLDS, name, number)


def keep(path: Path, name: str, number: int | None, seed: int = 0) -> None:
    """Run a fold, unless it is there."""
    done = {(f["set"], f["fold"], f.get("seed", 0)) for f in finished(path)}
    if (name, number, seed) in done:
        return
    line = run_fold(name, number, seed)
    with path.open("a") as stream:
        stream.write(json.dumps(line) + "\n")
    shown = {k: v for k, v in line.items() if k != "single"}
    print(json.dumps(shown), flush=True)


def mean_of(folds: list[dict[str, Any]], key: str) -> float:
    """Over groups: folds count as often as they have groups."""
    have = [fold for fold in folds if key in fold]
    return float(np.average([f[key] for f in have], weights=[f["groups"] for f in have]))


def as_estimated(fold: dict[str, Any]) -> bool:
    """Whether estimate and truth are as near as their 95 % errors let expect.

    The truth is the accuracy on the few groups of a test fold, and errs as well.
    """
    score, low, high = fold["estimate"]
    share, n = fold["accuracy"], fold["groups"]
    of_truth = max(share * (1 - share), 0.25 / n) / n
    return abs(score - share) <= 1.96 * np.sqrt(((high - low) / 3.92) ** 2 + of_truth)


def line_of(name: str, folds: list[dict[str, Any]]) -> dict[str, Any]:
    """One set: the choice, the best single method in hindsight, the best baseline."""
    single = {
        method: {
            key: mean_of([f["single"][method] for f in folds], key)
            for key in ("accuracy", "log-loss")
        }
        for method in folds[0]["single"]
        if all(method in f["single"] for f in folds)
    }
    best = max(single, key=lambda method: single[method]["accuracy"])
    plain = max(
        (m for m in single if m in BASELINES), key=lambda method: single[method]["accuracy"]
    )
    default = "noisy-or-boost" if folds[0]["kind"] == "presence" else "group-boost"
    accuracy = mean_of(folds, "accuracy")
    n = sum(f["groups"] for f in folds if f.get("seed", 0) == 0)
    estimates = [(f["estimate"][0] - f["accuracy"]) for f in folds]
    _, low, high = np.mean([f["estimate"] for f in folds], axis=0)
    return {
        "set": name,
        "groups": n,
        "accuracy": round(accuracy, 3),
        "log-loss": round(mean_of(folds, "log-loss"), 3),
        "AUC": round(mean_of(folds, "AUC"), 3) if "AUC" in folds[0] else None,
        "best single": best,
        "its accuracy": round(single[best]["accuracy"], 3),
        "least log-loss": round(min(s["log-loss"] for s in single.values()), 3),
        "best baseline": plain,
        "baseline's accuracy": round(single[plain]["accuracy"], 3),
        "default's accuracy": round(single[default]["accuracy"], 3),
        "default's log-loss": round(single[default]["log-loss"], 3),
        "estimate - truth": round(float(np.mean(estimates)), 3),
        "interval holds it": f"{'yes' if low <= accuracy <= high else 'no'}",
        "folds as far as both err": f"{sum(map(as_estimated, folds))}/{len(folds)}",
        "outer folds": len(folds),
        "cpu s": round(float(np.mean([f["cpu s"] for f in folds])), 1),
    }


def mean_line(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The mean over sets of what can be averaged."""
    words = ("set", "groups", "best single", "best baseline", "interval holds it",
             "folds as far as both err", "outer folds")  # fmt: skip
    numbers = [key for key in lines[0] if key not in words]
    found = {key: [line[key] for line in lines if line[key] is not None] for key in numbers}
    means = {key: round(float(np.mean(values)), 3) for key, values in found.items()}
    return {"set": "mean", **means}


def table() -> None:
    """Write what there is."""
    report = Report("auto", "The automatic choice, nested")
    folds = pd.Series(finished())
    names = list(dict.fromkeys(fold["set"] for fold in folds))
    lines = [line_of(name, [f for f in folds if f["set"] == name]) for name in names]
    note = (
        "Means over the groups of the outer folds that were finished. The interval is the mean of "
        "those the folds print, and is to hold the accuracy on all groups; on a single test fold "
        "estimate and accuracy differ by the errors of both. "
        "Single methods are those of the table at their defaults, not calibrated."
    )
    report.add("Majority and presence, groups", [*lines, mean_line(lines)], note)
    again = finished(AGAIN)
    more = [[f for f in [*folds, *again] if f["set"] == name] for name in SMALL]
    lines_again = [line_of(each[0]["set"], each) for each in more if len(each) > 3]
    if lines_again:
        note = "Figures are means over all outer folds of a set, three per draw."
        rows = [*lines_again, mean_line(lines_again)]
        report.add("The same, outer folds drawn again", rows, note)
    few = [line_of(fold["set"], [fold]) for fold in finished(FEW)]
    if few:
        report.add("The same with 40 groups to learn from", [*few, mean_line(few)], "")
    drawn = read_lines(SHARES)
    if drawn:
        note = "Share of new rows predicted wrong, with its standard error over draws."
        report.add("Shares: groups of ten rows", list(share_lines(drawn)), note)
    print(pd.DataFrame(lines).to_string())


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["table"]:
        table()
    elif asked == ["shares"]:
        shares()
    elif asked[:1] == ["again"]:
        for drawn, each, fold in product((1, 2), asked[1:] or SMALL, range(3)):
            keep(AGAIN, each, fold, drawn)
    elif asked == ["few"]:
        for each in (*PRESENCE[:12], *SESSIONS[:3]):
            keep(FEW, each, None)
    else:
        run(asked or [*PRESENCE, *SESSIONS])
