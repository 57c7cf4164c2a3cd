"""Where Fisher vectors put the threshold: folds of whole groups of the multiple-instance sets.

    python benchmarks/fisher_threshold.py run FILE.jsonl [SET...]   # goes on from what FILE holds
    python benchmarks/fisher_threshold.py table FILE.jsonl...       # results/fisher_threshold.md

A line of the file is a fold: the scores of its groups, scaled and not, so that the same ten
classifiers are judged with and without Platt's scaling.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from harness import Report
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold

from groupwise.datasets import load_mil
from groupwise.datasets.presence import MIL_SETS
from groupwise.presence import FisherVectorClassifier

FOLDS = 5


def run(path: Path, sets: list[str]) -> None:
    done = {(line["set"], line["fold"]) for line in stored([path])}
    for name in sets:
        missing = [fold for fold in range(FOLDS) if (name, fold) not in done]
        if not missing:
            continue
        d = load_mil(name)
        splitter = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
        splits = list(splitter.split(d.X, d.y, d.groups))
        for fold in missing:
            train, test = splits[fold]
            clock = time.process_time()
            model = FisherVectorClassifier(random_state=fold)
            model.fit(d.X[train], d.y[train], groups=d.groups[train])
            _, first = np.unique(d.groups[test], return_index=True)
            proba = model.predict_groups_proba(d.X[test], d.groups[test])[:, 1]
            score = np.log(proba) - np.log1p(-proba)
            slope, intercept = getattr(model, "scaling_", (1.0, 0.0))
            line = {
                "set": name,
                "fold": fold,
                "cpu": round(time.process_time() - clock, 2),
                "share": float(np.mean(group_labels(d, train))),
                "y": (d.y[test][first] == model.classes_[1]).astype(int).tolist(),
                "scaled": score.tolist(),
                "unscaled": ((score - intercept) / slope).tolist(),
                "slope": slope,
                "intercept": intercept,
            }
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")


def group_labels(d: Any, rows: np.ndarray) -> np.ndarray:
    _, first = np.unique(d.groups[rows], return_index=True)
    return d.y[rows][first] == np.unique(d.y)[1]


def stored(paths: list[Path]) -> list[dict[str, Any]]:
    lines = [path.read_text().splitlines() for path in paths if path.exists()]
    return [json.loads(line) for each in lines for line in each]


def judged(lines: list[dict[str, Any]], which: str) -> dict[str, Any]:
    """Accuracy and shares over all folds of a set."""
    y = np.concatenate([line["y"] for line in lines])
    score = np.concatenate([line[which] for line in lines])
    area = [roc_auc_score(x["y"], x[which]) for x in lines if len(set(x["y"])) == 2]
    return {
        "accuracy": float(np.mean((score > 0) == y)),
        "log-loss": float(log_loss(y, 1 / (1 + np.exp(-score)), labels=[0, 1])),
        "AUC": float(np.mean(area)),
        "called positive": float(np.mean(score > 0)),
        "positive": float(np.mean(y)),
    }


def table(paths: list[Path]) -> None:
    lines = stored(paths)
    rows: list[dict[str, Any]] = []
    means: dict[str, list[dict[str, Any]]] = {"unscaled": [], "scaled": []}
    for name in MIL_SETS:
        of_set = [line for line in lines if line["set"] == name]
        if not of_set:
            continue
        row: dict[str, Any] = {"set": name, "folds": len(of_set)}
        for which, found in means.items():
            found.append(judged(of_set, which))
            row |= {f"{key}, {which}": f"{found[-1][key]:.3f}" for key in ("accuracy", "log-loss")}
            row[f"called, {which}"] = f"{found[-1]['called positive']:.3f}"
        row |= {key: f"{means['scaled'][-1][key]:.3f}" for key in ("positive", "AUC")}
        row["CPU s a fold"] = round(float(np.mean([line["cpu"] for line in of_set])), 1)
        rows.append(row)
    mean = {"set": f"mean of {len(rows)}", "folds": len(lines)}
    for which, found in means.items():
        for key in ("accuracy", "log-loss"):
            mean[f"{key}, {which}"] = f"{np.mean([x[key] for x in found]):.3f}"
        apart = [abs(x["called positive"] - x["positive"]) for x in found]
        mean[f"called, {which}"] = f"off by {np.mean(apart):.3f}"
    report = Report("fisher_threshold", "Fisher vectors: the threshold between the classes")
    report.add(
        "Five folds of whole groups, default settings, one seed",
        [*rows, mean],
        "Scaled: the classifier as it is. Unscaled: the same ten classifiers without Platt's "
        "scaling of held-out scores. Called: share of new groups called positive. AUC: mean over "
        "folds.",
    )


if __name__ == "__main__":
    what, first, *more = sys.argv[1:]
    if what == "run":
        run(Path(first), more or list(MIL_SETS))
    else:
        table([Path(first), *map(Path, more)])
