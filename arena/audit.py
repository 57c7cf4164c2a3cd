"""What choosing the epoch and the threshold on the test fold is worth, on the same networks.

The network says what it thinks of the test groups after every epoch; it never gets their labels.
The rules below get them, as the published loops do: that is the leak.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from arena.folds import FoldFile
from arena.judge import area
from arena.problem import task_of
from arena.processes import ENVIRONMENTS, Worker
from arena.sets import get_set

__all__ = ["AUDITED", "N_FOLDS", "audit_table", "rules", "run_audit"]

#: As many as the published figures have.
N_FOLDS = 10
SECONDS = 300
SETS = ("musk1", "fox", "tiger", "elephant", "newsgroups2")


@dataclass(frozen=True)
class Audited:
    """A network whose epochs are looked at."""

    name: str
    environment: str
    function: str


AUDITED = (
    Audited("groupwise attention", "groupwise", "attention, every epoch"),
    Audited("torchmil ABMIL", "torchmil", "ABMIL, every epoch"),
    Audited("torchmil DSMIL", "torchmil", "DSMIL, every epoch"),
)
#: Two sets with all networks, then the cheapest network on all sets, then the rest.
PLAN = sorted(
    product(SETS, AUDITED),
    key=lambda pair: (pair[0] not in SETS[:2], pair[1].name != "torchmil ABMIL"),
)


def _best_threshold(y: NDArray[Any], score: NDArray[Any]) -> float:
    """The threshold with the largest true less false positive rate, on the labels it is judged by.

    Groups at the threshold are positive.
    """
    thresholds = np.unique(score)
    above = score[None, :] >= thresholds[:, None]
    gain = above[:, y == 1].mean(axis=1) - above[:, y == 0].mean(axis=1)
    return float(thresholds[gain.argmax()])


def rules(y: NDArray[Any], scores: NDArray[Any]) -> dict[str, float]:
    """Accuracy and area of a fold under each way of choosing.

    Parameters
    ----------
    y : ndarray of shape (n_groups,)
    scores : ndarray of shape (n_epochs, n_groups)
        Probabilities after each epoch.
    """
    plain = ((scores > 0.5) == y).mean(axis=1)
    tuned = [float(((score >= _best_threshold(y, score)) == y).mean()) for score in scores]
    areas = [area(y, score)[0] for score in scores]
    return {
        "last epoch": float(plain[-1]),
        "best epoch": float(plain.max()),
        "best epoch and threshold": max(tuned),
        "AUC of the last": areas[-1],
        "AUC of the best": max(areas),
    }


def run_audit(
    folder: Path, *, out_of_time: Callable[[], bool], tell: Callable[[dict[str, Any]], Any]
) -> None:
    """Run the folds that are not there yet, set by set; each is kept at once."""
    path, fold_file = folder / "audit.jsonl", FoldFile(folder / "folds.json")
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(row["set"], row["method"], row["fold"]) for row in map(json.loads, lines)}
    workers: dict[str, Worker] = {}
    versions: dict[str, dict[str, str]] = {}
    for name, audited in PLAN:
        problem = get_set("presence", name).load()
        splits = fold_file.splits(f"audit/{name}", problem, N_FOLDS)
        where = audited.environment
        for fold, split in enumerate(splits):
            if (name, audited.name, fold) in done or out_of_time():
                continue
            if where not in workers:
                workers[where] = Worker(ENVIRONMENTS[where])
                versions[where] = ENVIRONMENTS[where].versions()
            task = task_of(problem, split, "presence", seed=0)
            reply = workers[where].ask(audited.function, task, SECONDS)
            if "error" in reply:
                raise RuntimeError(f"{audited.name} on {name}: {reply['error']}")
            row = {"set": name, "method": audited.name, "fold": fold, "seed": 0}
            row |= {"cpu s": reply["cpu"], "versions": versions[where]}
            groups = problem.groups[split.test]
            y = problem.truth[split.test][np.unique(groups, return_index=True)[1]]
            row |= {"n": len(y), **rules(y, reply["answer"]["scores"])}
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
            tell(row)
    for worker in workers.values():
        worker.close()


def audit_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Means over folds and what the leak adds, with 95 % intervals over folds.

    A network on a set counts when all its folds are there; the last lines are means over its sets.
    """
    table = pd.DataFrame(rows, columns=None if rows else ["method", "set"])
    lines = []
    for method, own in table.groupby("method", sort=False):
        whole = [part for _, part in own.groupby("set", sort=False) if len(part) == N_FOLDS]
        lines += [_line(str(method), part["set"].iloc[0], [part]) for part in whole]
        if len(whole) > 1:
            lines.append(_line(str(method), f"mean of {len(whole)}", whole))
    return pd.DataFrame(lines)


def _line(method: str, name: str, parts: list[pd.DataFrame]) -> dict[str, Any]:
    line: dict[str, Any] = {"network": method, "set": name}
    for key in ("last epoch", "best epoch", "best epoch and threshold"):
        line[key] = float(np.mean([part[key].mean() for part in parts]))
    for key, title in (("best epoch", "epoch adds"), ("best epoch and threshold", "both add")):
        line[title] = _mean_and_half([part[key] - part["last epoch"] for part in parts])
    line["to AUC"] = _mean_and_half([p["AUC of the best"] - p["AUC of the last"] for p in parts])
    return line


def _mean_and_half(differences: list[Any]) -> tuple[float, float]:
    """The mean of the sets' means, and half the width of its 95 % interval."""
    n = sum(map(len, differences))
    se = np.sqrt(sum(d.var(ddof=1) / len(d) for d in differences)) / len(differences)
    half = float(stats.t.ppf(0.975, n - len(differences)) * se)
    return float(np.mean([d.mean() for d in differences])), half
