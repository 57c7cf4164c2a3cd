"""The in-context classifier on real sets, beside the other methods at their defaults.

``python benchmarks/incontext.py sessions counts presence curves speed`` (any of them). Each result
is kept in ``results/incontext.jsonl`` as soon as it is there; a second run goes on where the first
one ended. Tables: ``results/incontext.md``. Needs GROUPWISE_DATA.
"""

import argparse
import json
import logging
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import RESULTS, machine
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise.datasets import load_mil, load_uci, make_aggregates, make_sessions
from groupwise.datasets.aggregates import load_ionosphere
from groupwise.gbdt import GroupBoostClassifier
from groupwise.incontext import InContextClassifier
from groupwise.majority import GroupStatisticsClassifier, NaiveGroupClassifier, SBoostClassifier
from groupwise.model_selection import group_train_test_split
from groupwise.presence import (
    DissimilarityClassifier,
    MILESClassifier,
    MISVMClassifier,
    SetKernelClassifier,
)
from groupwise.proportions import (
    KernelCountClassifier,
    KNNAOCClassifier,
    ManifoldAOCClassifierCV,
    MeanMapClassifier,
    decode_counts,
)

OURS = "in context"
FIRST_SEED = 7000
MIL = (
    "musk1", "musk2", "elephant", "fox", "tiger", "mutagenesis1", "mutagenesis2", "corel_dogs",
    "corel_african", "newsgroups1",
)  # fmt: skip
logger = logging.getLogger("incontext")

Make = Callable[[int], Any]
SESSIONS: dict[str, Make] = {
    OURS: lambda seed: InContextClassifier(random_state=seed),
    "SBoost": lambda seed: SBoostClassifier(random_state=seed),
    "group-boost": lambda seed: GroupBoostClassifier(random_state=seed),
    "group-boost-softmax": lambda seed: GroupBoostClassifier("majority_softmax", random_state=seed),
    "naive boosting": lambda seed: NaiveGroupClassifier(),
    "naive logistic": lambda seed: NaiveGroupClassifier(
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    ),
    "statistics": lambda seed: GroupStatisticsClassifier(),
}
COUNTS: dict[str, Make] = {
    OURS: lambda seed: InContextClassifier("proportions", random_state=seed),
    "manifold": lambda seed: ManifoldAOCClassifierCV(random_state=seed),
    "kernel-counts": lambda seed: KernelCountClassifier(),
    "group-boost": lambda seed: GroupBoostClassifier("proportions", random_state=seed),
    "mean-map": lambda seed: MeanMapClassifier(),
    "knn": lambda seed: KNNAOCClassifier(),
}
PRESENCE: dict[str, Make] = {
    OURS: lambda seed: InContextClassifier("presence", random_state=seed),
    "noisy-or-boost": lambda seed: GroupBoostClassifier("presence", random_state=seed),
    "mi-svm": lambda seed: MISVMClassifier(),
    "miles": lambda seed: MILESClassifier(),
    "dissimilarity": lambda seed: DissimilarityClassifier(),
    "set-kernel": lambda seed: SetKernelClassifier(),
    "statistics": lambda seed: GroupStatisticsClassifier(),
}


class Store:
    """Results as lines of JSON, each under its key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.rows = [json.loads(line) for line in lines]
        self.keys = {self._key(row) for row in self.rows}

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("section", "case", "method", "draw"))

    def missing(self, section: str, case: str, method: str, draw: int) -> bool:
        return (section, case, method, draw) not in self.keys

    def add(self, section: str, case: str, method: str, draw: int, **values: float) -> None:
        row = {"section": section, "case": case, "method": method, "draw": draw, **values}
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        self.rows.append(row)
        self.keys.add(self._key(row))
        logger.info("%s", row)

    def table(self, section: str) -> pd.DataFrame:
        return pd.DataFrame([row for row in self.rows if row["section"] == section])


def run_all(
    store: Store,
    section: str,
    cases: dict[str, Any],
    methods: dict[str, Make],
    draws: int,
    measure: Callable[[Any, Any, int], dict[str, float]],
) -> None:
    """Every method on every draw of every case; draw by draw, so that what there is is paired."""
    for draw in range(draws):
        for case, data in cases.items():
            for name, make in methods.items():
                if store.missing(section, case, name, draw):
                    seed = FIRST_SEED + draw
                    began = time.process_time()
                    found = measure(make(seed), data, seed)
                    store.add(section, case, name, draw, **found, cpu=time.process_time() - began)


def halves(X: Any, y: Any, groups: Any, seed: int, test_size: Any = 0.5) -> Any:
    return group_train_test_split(X, y, groups=groups, y=y, test_size=test_size, random_state=seed)


def ece(proba: Any, right: Any) -> float:
    """Expected calibration error of the most probable class, 15 bins."""
    sure = proba.max(axis=1)
    place = np.minimum((sure * 15).astype(int), 14)
    return float(np.abs(np.bincount(place, right - sure, 15)).sum() / len(sure))


def one_session(model: Any, rows: Any, seed: int, n_train: int | None = None) -> dict[str, float]:
    data = make_sessions(rows.X, rows.y, random_state=seed)
    train = np.isin(data.groups, _training_half(data, seed))
    if n_train is not None:
        kept = np.random.RandomState(seed).permutation(np.unique(data.groups[train]))[:n_train]
        train_rows = np.isin(data.groups, kept)
    else:
        train_rows = train
    model.fit(data.X[train_rows], data.y[train_rows], groups=data.groups[train_rows])
    test = ~train
    found = model.predictions(data.X[test], data.groups[test])
    y_group = found.groups.one_per_group(data.y[test])
    wrong = found.y_group != y_group
    return {
        "error": float(wrong.mean()),
        "row_error": float((found.y_row != data.y_row[test]).mean()),
        "ece_group": ece(found.proba_group, ~wrong),
        "ece_row": ece(found.proba_row, found.y_row == data.y_row[test]),
    }


def _training_half(data: Any, seed: int) -> Any:
    return np.unique(halves(data.groups, data.y, data.groups, seed)[0])


def sessions(store: Store, draws: int) -> None:
    cases = {name: load_uci(name) for name in ("german", "spam", "cmc")}
    run_all(store, "sessions", cases, SESSIONS, draws, one_session)


def curves(store: Store, draws: int) -> None:
    rows = {name: load_uci(name) for name in ("german", "spam", "cmc")}
    cases = {f"{name}, {n}": (name, n) for n in (10, 20, 40) for name in rows}

    def measure(model: Any, case: Any, seed: int) -> dict[str, float]:
        return one_session(model, rows[case[0]], seed, case[1])

    run_all(store, "curves", cases, SESSIONS, draws, measure)


def counts(store: Store, draws: int) -> None:
    cancer = load_breast_cancer()
    german, spam, ionosphere = load_uci("german"), load_uci("spam"), load_ionosphere()
    tables = {
        "ionosphere": (ionosphere.X, ionosphere.y),
        "breast cancer": (cancer.data, cancer.target),
        "german": (german.X, german.y),
        "spam": (spam.X, spam.y),
    }
    cases = {f"{name}, {size}": (*tables[name], size) for name in tables for size in (5, 10, 20)}

    def measure(model: Any, case: Any, seed: int) -> dict[str, float]:
        X, y, size = case
        rng = np.random.RandomState(seed)
        order = rng.permutation(len(X))
        n_train = min(60 * size, len(X) // 2)
        train, test = order[:n_train], order[n_train : n_train + 500]
        data = make_aggregates(X[train], y[train], size=size, random_state=rng)
        scale = StandardScaler().fit(X[train])
        model.fit(scale.transform(data.X), data.y, groups=data.groups)
        if isinstance(model, InContextClassifier):
            known = model.transductive_predictions()
            counts = data.y.to_numpy()[known.groups.first_rows]
            score = np.log(np.maximum(known.proba_row, 1e-300))
            transduced = model.classes_[decode_counts(score, counts, known.groups)]
            free = float((known.y_row != data.y_row).mean())
        elif hasattr(model, "predict_transductive"):
            transduced, free = model.predict_transductive(), np.nan
        else:
            transduced, free = model.predict(scale.transform(data.X)), np.nan
        # New rows come without groups that anybody knows the shares of: each is one.
        asked = scale.transform(X[test])
        said = model.predict(asked, np.arange(len(asked)))
        return {
            "transduction": float((transduced != data.y_row).mean()),
            "induction": float((said != y[test]).mean()),
            "transduction, counts not forced": free,
        }

    run_all(store, "counts", cases, COUNTS, draws, measure)


def presence(store: Store, draws: int) -> None:
    cases = {name: load_mil(name) for name in MIL}

    def measure(model: Any, bags: Any, seed: int) -> dict[str, float]:
        names, first = np.unique(bags.groups, return_index=True)
        rng = np.random.RandomState(seed)
        train = np.concatenate(
            [rng.permutation(names[bags.y[first] == label])[:10] for label in (0, 1)]
        )
        inside = np.isin(bags.groups, train)
        scale = StandardScaler().fit(bags.X[inside])
        X = scale.transform(bags.X)
        model.fit(X[inside], bags.y[inside], groups=bags.groups[inside])
        proba = model.predict_groups_proba(X[~inside], bags.groups[~inside])[:, 1]
        y_group = bags.y[first][~np.isin(names, train)]
        return {"auc": float(roc_auc_score(y_group, proba))}

    run_all(store, "presence", cases, PRESENCE, draws, measure)


def speed(store: Store, draws: int) -> None:
    """1,000 rows, 30 features, 8 members: half of the rows context, all of them asked about."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1000, 30))
    groups = np.arange(1000) // 10
    y = (X[:, :3].reshape(100, 10, 3).mean(axis=(1, 2)) > 0).astype(int)[groups]
    half = groups < 50
    for draw in range(draws):
        for name, jobs in (("one thread", 1), ("all threads", None)):
            if not store.missing("speed", "1,000 rows", name, draw):
                continue
            cpu, wall = time.process_time(), time.perf_counter()
            model = InContextClassifier(n_jobs=jobs, random_state=0)
            model.fit(X[half], y[half], groups=groups[half])
            model.predictions(X[~half], groups[~half])
            store.add(
                "speed",
                "1,000 rows",
                name,
                draw,
                cpu=time.process_time() - cpu,
                wall=time.perf_counter() - wall,
                peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            )


def compared(table: pd.DataFrame, value: str, lower: bool = True) -> Iterator[str]:
    """Means per case and method, and the paired difference of ours to the best other."""
    wide = table.pivot_table(index=["case", "draw"], columns="method", values=value).dropna()
    cases = list(dict.fromkeys(table["case"]))
    methods = list(dict.fromkeys(table["method"]))
    yield f"| {value} | draws | " + " | ".join(methods) + " | ours less the best other (s.e.) |"
    yield "|" + " --- |" * (len(methods) + 3)
    for case in cases:
        if case not in wide.index.get_level_values(0):
            continue
        here = wide.loc[case]
        mean = here.mean()
        others = mean.drop(OURS)
        best = others.idxmin() if lower else others.idxmax()
        difference = here[OURS] - here[best]
        cells = " | ".join(f"{mean[m]:.3f} ({here[m].sem():.3f})" for m in methods)
        yield (
            f"| {case} | {len(here)} | {cells} | {difference.mean():+.3f} "
            f"({difference.sem():.3f}), {best} |"
        )
    yield ""


def write(store: Store) -> None:
    lines = [
        "# The in-context classifier beside the other methods at their defaults",
        "",
        ", ".join(f"{k} {v}" for k, v in machine().items()),
        "",
        "Made by `python benchmarks/incontext.py`. Means over draws, standard errors in brackets.",
        "",
    ]
    heads = {
        "sessions": "Sessions of the first paper, half for training: error of sessions",
        "curves": "Sessions by number of training sessions: error of the same test half",
        "counts": "Counts known, at most 60 random groups: error of rows",
        "presence": "Presence, 20 labelled groups: area under the ROC curve of the others",
    }
    values = {
        "sessions": ["error", "row_error"],
        "curves": ["error"],
        "counts": ["transduction", "induction"],
        "presence": ["auc"],
    }
    for section, heading in heads.items():
        table = store.table(section)
        if len(table) == 0:
            continue
        lines += [f"## {heading}", ""]
        for value in values[section]:
            lines += compared(table, value, lower=section != "presence")
        if section == "sessions":
            lines += ["Calibration (expected calibration error per draw, mean over draws):", ""]
            lines += compared(table, "ece_group")
            lines += compared(table, "ece_row")
        if section == "presence":
            mean = table.groupby("method")["auc"].mean()
            lines += ["Mean over all draws: " + ", ".join(f"{m} {v:.3f}" for m, v in mean.items())]
        cpu = table.groupby("method")["cpu"].median()
        lines += ["Median CPU seconds: " + ", ".join(f"{m} {v:.1f}" for m, v in cpu.items()), ""]
    table = store.table("speed")
    if len(table):
        lines += [
            "## Time",
            "",
            "500 rows of context, 500 asked, 30 features, 8 members.",
            "",
        ]
        lines += ["| | CPU s | wall s | peak MiB |", "| --- | --- | --- | --- |"]
        for name, part in table.groupby("method"):
            mid = part[["cpu", "wall", "peak_mib"]].median()
            lines.append(f"| {name} | {mid.cpu:.2f} | {mid.wall:.2f} | {mid.peak_mib:.0f} |")
    (RESULTS / "incontext.md").write_text("\n".join(lines).rstrip() + "\n")


SECTIONS = {
    "sessions": (sessions, 20),
    "speed": (speed, 5),
    "counts": (counts, 10),
    "presence": (presence, 5),
    "curves": (curves, 10),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--draws", type=int)
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    warnings.simplefilter("ignore")
    store = Store(RESULTS / "incontext.jsonl")
    for name in options.sections:
        section, draws = SECTIONS[name]
        section(store, options.draws or draws)
        write(store)
    write(store)


if __name__ == "__main__":
    main()
