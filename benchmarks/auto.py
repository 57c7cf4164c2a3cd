"""The automatic choice on sets it has not seen: nested cross-validation over whole groups.

Run ``python benchmarks/auto.py [set ...]`` with ``GROUPWISE_DATA`` set (an hour on one core for all
of them); ``python benchmarks/auto.py table`` writes the tables from what has been finished. Every
finished outer fold is one line of ``results/auto_folds.jsonl``; the same command goes on.

Fixed before it ran: three outer folds (seed 0), groups stratified by label, of WISDM whole users;
``AutoGroupClassifier(random_state=0)`` as it is, without a time limit. Every candidate that ran at
its defaults is fitted to the outer training groups as well and asked about the same test groups:
the best of them in hindsight is what the choice is held against.
"""

import json
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from harness import RESULTS, Report
from sklearn.metrics import roc_auc_score

from groupwise import Groups
from groupwise.auto import AutoGroupClassifier
from groupwise.auto.candidates import Candidate, first_candidates
from groupwise.auto.kinds import Labels, Problem
from groupwise.auto.members import Trainer
from groupwise.datasets import GroupedData, load_mil, load_uci, load_wisdm, make_sessions
from groupwise.model_selection import split_whole_groups

FOLDS = RESULTS / "auto_folds.jsonl"
PRESENCE = (
    "musk1", "elephant", "fox", "tiger", "mutagenesis2", "corel_african", "corel_dogs",
    "birds_winter_wren", "newsgroups1", "newsgroups2", "newsgroups3", "mutagenesis1", "musk2",
)  # fmt: skip
SESSIONS = ("cmc", "german", "spam", "wisdm")
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


def folds_of(data: GroupedData) -> list[tuple[np.ndarray, np.ndarray]]:
    """Outer folds of whole groups, or of what must stay whole."""
    groups = Groups(data.groups)
    whole = data.keep_whole
    return split_whole_groups(
        3, data.X, data.y, groups, keep_whole=whole, stratify=whole is None, random_state=0
    )


def run_fold(name: str, number: int) -> dict[str, Any]:
    """Fit on the outer training groups, judge on the others."""
    kind, data = load(name)
    train, test = folds_of(data)[number]
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
    line |= {"set": name, "kind": kind, "fold": number, **spent}
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
    tiers, _ = first_candidates(kind, n_rows=len(train), n_classes=len(classes), measure=None)
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


def finished() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FOLDS.read_text().splitlines()] if FOLDS.exists() else []


def run(names: list[str]) -> None:
    """Everything that is not there yet, round by round over the sets."""
    for number in range(3):
        for name in names:
            if any(f["set"] == name and f["fold"] == number for f in finished()):
                continue
            line = run_fold(name, number)
            with FOLDS.open("a") as stream:
                stream.write(json.dumps(line) + "\n")
            shown = {k: v for k, v in line.items() if k != "single"}
            print(json.dumps(shown), flush=True)


def mean_of(folds: list[dict[str, Any]], key: str) -> float:
    """Over groups: folds count as often as they have groups."""
    have = [fold for fold in folds if key in fold]
    return float(np.average([f[key] for f in have], weights=[f["groups"] for f in have]))


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
    accuracy, n = mean_of(folds, "accuracy"), sum(f["groups"] for f in folds)
    estimates = [(f["estimate"][0] - f["accuracy"]) for f in folds]
    held = [f["estimate"][1] <= f["accuracy"] <= f["estimate"][2] for f in folds]
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
        "estimate - truth": round(float(np.mean(estimates)), 3),
        "interval right": f"{sum(held)}/{len(held)}",
        "cpu s": round(float(np.mean([f["cpu s"] for f in folds])), 1),
    }


def table() -> None:
    """Write what there is."""
    report = Report("auto", "The automatic choice, nested")
    folds = pd.Series(finished())
    names = list(dict.fromkeys(fold["set"] for fold in folds))
    lines = [line_of(name, [f for f in folds if f["set"] == name]) for name in names]
    report.add("Sets", lines)
    print(pd.DataFrame(lines).to_string())


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["table"]:
        table()
    else:
        run(asked or [*PRESENCE, *SESSIONS])
