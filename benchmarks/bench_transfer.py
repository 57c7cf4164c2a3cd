"""Speed and memory of the transfer room, against the package ``adapt`` and against cold starts.

Run ``python benchmarks/bench_transfer.py`` (some ten minutes) or with ``--quick``. One thread.
``adapt`` needs TensorFlow, so it runs in an environment of its own, in turn with ours: name its
interpreter in the variable ``ADAPT_PYTHON``, or its table is left out.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
from harness import Report, take_turns
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from groupwise import HistTrees
from groupwise.boosting import LinearLearner
from groupwise.transfer import (
    PerfectTargetWarning,
    TrAdaBoostClassifier,
    TransductiveSVC,
)

ROUNDS = 100  # the paper's number, and the default
logger = logging.getLogger("bench_transfer")

# Run by the other interpreter: fits once, prints the seconds of the fit alone and the error.
ADAPT = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from adapt.instance_based import TrAdaBoost
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
d = np.load(sys.argv[1])
base = {
    "tree": DecisionTreeClassifier(max_depth=3),
    "logistic": LogisticRegression(tol=1e-4, max_iter=1000),
    "squared_hinge": LinearSVC(tol=1e-4, max_iter=10000),
}[sys.argv[2]]
model = TrAdaBoost(base, Xt=d["Xt"], yt=d["yt"], n_estimators=int(sys.argv[3]), verbose=0)
cpu, wall = time.process_time(), time.perf_counter()
model.fit(d["Xs"], d["ys"])
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
error = float(np.mean(np.ravel(model.predict(d["X_test"])) != d["y_test"]))
print(json.dumps({"cpu": cpu, "wall": wall, "error": error}))
"""


def table(n_rows: int, seed: int, n_features: int = 20) -> dict[str, np.ndarray]:
    """Source rows with a tenth of the labels by another rule, a fiftieth of target rows."""
    rng = np.random.default_rng(seed)
    n_target = n_rows // 50
    X = rng.standard_normal((n_rows + 20000, n_features))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X)) > 0).astype(int)
    other = rng.uniform(size=n_rows - n_target) < 0.3
    y[: n_rows - n_target][other] = (X[: n_rows - n_target][other, 3] > 0).astype(int)
    n_source = n_rows - n_target
    return {
        "Xs": X[:n_source],
        "ys": y[:n_source],
        "Xt": X[n_source:n_rows],
        "yt": y[n_source:n_rows],
        "X_test": X[n_rows:],
        "y_test": y[n_rows:],
    }


def ours_on_table(
    d: dict[str, np.ndarray], base: str, rounds: int, fading: bool = False
) -> dict[str, float]:
    X, y = np.concatenate([d["Xs"], d["Xt"]]), np.concatenate([d["ys"], d["yt"]])
    domains = np.repeat(["s", "t"], [len(d["Xs"]), len(d["Xt"])])
    learner = HistTrees(3, n_jobs=1) if base == "tree" else LinearLearner(base)
    make = TrAdaBoostClassifier.fading if fading else TrAdaBoostClassifier
    model = make(learner, n_estimators=rounds, target_domain="t")
    cpu, wall = time.process_time(), time.perf_counter()
    model.fit(X, y, domains=domains)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    error = float(np.mean(model.predict(d["X_test"]) != d["y_test"]))
    return {"cpu": cpu, "wall": wall, "error": error}


def against_adapt(n_rows: int, base: str, turns: int, python: str) -> list[dict[str, Any]]:
    names = ("groupwise", "groupwise, fading", "adapt")
    found: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    for turn in range(turns):
        d = table(n_rows, seed=turn)
        found["groupwise"].append(ours_on_table(d, base, ROUNDS))
        found["groupwise, fading"].append(ours_on_table(d, base, ROUNDS, fading=True))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.npz"
            np.savez(path, **d)
            done = subprocess.run(
                [python, "-c", ADAPT, str(path), base, str(ROUNDS)],
                check=True,
                capture_output=True,
                text=True,
                env=environment,
            )
        found["adapt"].append(json.loads(done.stdout.splitlines()[-1]))
    ratio = {
        name: median(
            theirs["cpu"] / ours["cpu"] for ours, theirs in zip(runs, found["adapt"], strict=True)
        )
        for name, runs in found.items()
    }
    return [
        {
            "package": name,
            "base learner": base,
            "rows": n_rows,
            "cpu s": round(median(run["cpu"] for run in runs), 3),
            "wall s": round(median(run["wall"] for run in runs), 3),
            "mean error": round(mean(run["error"] for run in runs), 4),
            "adapt's time over it": round(ratio[name], 1),
            "runs": turns,
        }
        for name, runs in found.items()
    ]


def documents(n_rows: int, n_terms: int, per_row: int = 120, seed: int = 0) -> Any:
    """Sparse rows of length 1 whose terms lean to one of two subjects by class and domain."""
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_terms + 1) ** 0.7
    y = rng.integers(0, 2, n_rows)
    is_target = rng.uniform(size=n_rows) < 0.5
    subject = rng.integers(0, 4, n_terms)  # shared by domains for half of the terms
    shared = rng.uniform(size=n_terms) < 0.5
    indices, data = [], []
    for label, target in zip(y, is_target, strict=True):
        lean = np.where(shared, subject == label, subject == label + 2 * int(target))
        weight = popularity * np.where(lean, 3.0, 1.0)
        terms = rng.choice(n_terms, per_row, replace=False, p=weight / weight.sum())
        indices.append(np.sort(terms))
        data.append(rng.uniform(0.5, 1.5, per_row))
    pointers = np.arange(0, (n_rows + 1) * per_row, per_row)
    X = sparse.csr_matrix(
        (np.concatenate(data), np.concatenate(indices), pointers), (n_rows, n_terms)
    )
    X = sparse.diags(1.0 / sparse.linalg.norm(X, axis=1)) @ X
    return X.tocsr(), y, is_target


def warm_starts(X: Any, y: Any, domains: Any, rounds: int, turns: int) -> list[dict[str, Any]]:
    def fit(learner: Any) -> Any:
        return TrAdaBoostClassifier.fading(learner, n_estimators=rounds, target_domain="t").fit(
            X, y, domains=domains
        )

    rows = []
    for loss, cold in (
        ("logistic", LogisticRegression(tol=1e-4, max_iter=1000)),
        ("squared_hinge", LinearSVC(tol=1e-4, max_iter=10000)),
    ):
        names = (f"LinearLearner({loss!r}), warm", f"{type(cold).__name__}, cold")
        timing = take_turns(
            {
                names[0]: lambda loss=loss: fit(LinearLearner(loss)),
                names[1]: lambda cold=cold: fit(cold),
            },
            turns,
        )
        rows += [timing[name].row(timing[names[0]]) for name in names]
    return rows


def transduction(X: Any, y: Any, n_labeled: int, turns: int) -> list[dict[str, Any]]:
    rows = []
    timing = take_turns(
        {
            method: lambda method=method: TransductiveSVC(method=method).fit(
                X[:n_labeled], y[:n_labeled], X_unlabeled=X[n_labeled:]
            )
            for method in ("switching", "annealing")
        },
        turns,
        warm_up=False,
    )
    for method, times in timing.items():
        rows.append(
            {"documents": X.shape[0], "terms": X.shape[1], **times.row(timing["switching"])}
        )
        rows[-1]["method"] = f"TransductiveSVC, {method}"
    return rows


def memory(X: Any, y: Any, domains: Any, rounds: int) -> list[dict[str, Any]]:
    """Largest memory allocated during a fit beyond what there was, over that of the input."""
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    rows = []
    for name, model in (
        ("TrAdaBoost, LinearLearner", TrAdaBoostClassifier(LinearLearner(), n_estimators=rounds)),
        (
            "fading, LinearLearner",
            TrAdaBoostClassifier.fading(LinearLearner(), n_estimators=rounds),
        ),
    ):
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerfectTargetWarning)
            model.set_params(target_domain="t").fit(X, y, domains=domains)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append(
            {
                "method": name,
                "rounds": rounds,
                "input MiB": round(size / 2**20, 1),
                "added at the peak MiB": round(peak / 2**20, 1),
                "input and added over input": round((size + peak) / size, 2),
            }
        )
    return rows


def main(quick: bool) -> None:
    report = Report("transfer", "Transfer: TrAdaBoost, transductive SVM")
    n_rows, turns = (20000, 1) if quick else (100000, 3)
    python = os.environ.get("ADAPT_PYTHON")
    if python:
        rows = [
            row
            for base in ("tree", "logistic", "squared_hinge")
            for row in against_adapt(n_rows, base, turns, python)
        ]
        report.add(
            f"adapt's TrAdaBoost, in turn with ours: {ROUNDS} rounds, 20 features",
            rows,
            "Trees of depth 3 (scikit-learn's; ours on histograms, binning included), and linear "
            "learners (scikit-learn's; ours with warm starts).",
        )
        logger.info("%s", rows)
    else:
        logger.warning("ADAPT_PYTHON is not set: no comparison with adapt")
    X, y, is_target = documents(2000 if quick else 8000, 30000)
    keep = ~is_target | (np.cumsum(is_target) <= 40)
    domains = np.where(is_target, "t", "s")
    for rounds in (30, ROUNDS):
        rows = warm_starts(X[keep], y[keep], domains[keep], rounds, turns)
        heading = (
            f"Linear learners, {int(keep.sum())} documents, {rounds} rounds of the fading variant"
        )
        report.add(heading, rows)
        logger.info("%s", rows)
    target = np.flatnonzero(is_target)
    source = np.flatnonzero(~is_target)
    order = np.concatenate([source, target])
    rows = transduction(X[order], y[order], len(source), turns)
    report.add("Transductive SVM, half of the documents unlabelled", rows)
    logger.info("%s", rows)
    big, y_big, target_big = documents(4000 if quick else 40000, 30000, seed=1)
    rows = memory(big, y_big, np.where(target_big, "t", "s"), 10)
    report.add("Memory of a fit to sparse rows", rows, "As tracemalloc counts it.")
    logger.info("%s", rows)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main("--quick" in sys.argv)
