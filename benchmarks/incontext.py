"""The in-context classifier on real sets, beside the other methods at their defaults.

``python benchmarks/incontext.py sessions counts presence curves speed`` (any of them; ``--methods``
runs some of the methods only). Each result is kept in ``results/incontext.jsonl`` as soon as it is
there; a second run goes on where the first one ended, and runs ours again if the weights are
others. Tables: ``results/incontext.md``; picture: ``docs/incontext_curves.svg``. Needs
GROUPWISE_DATA.

Development sets (the prototype was measured on them): sessions of german, spam and cmc, ionosphere
with counts. All others were looked at after the weights were made.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from harness import RESULTS, machine, peak_memory
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from groupwise.datasets import load_mil, load_uci, make_aggregates, make_sessions
from groupwise.datasets.aggregates import load_adult, load_ionosphere
from groupwise.incontext import InContextClassifier
from groupwise.incontext.network import load_network
from groupwise.methods import AUTO, methods_for
from groupwise.model_selection import group_train_test_split
from groupwise.proportions import decode_counts

OURS = "in-context"
FIRST_SEED = 7000
#: Sets whose draws have 30 and 63 test sessions: too few to tell methods apart in 20 draws.
FEW_SESSIONS = ("german", "cmc")
MORE = 5
PICTURE = Path(__file__).parents[1] / "docs" / "incontext_curves.svg"
KINDS = ("majority", "proportions", "presence")
#: The five that did best on the tables above, for the curves.
BEST = {
    "majority": ("group-boost", "sboost", "group-boost-softmax", "naive-logistic", "statistics"),
    "proportions": ("kernel-counts", "manifold", "group-boost-squared", "group-boost", "mean-map"),
    "presence": ("dissimilarity", "set-kernel", "statistics", "miles", "noisy-or-boost"),
}
MIL = (
    "musk1", "musk2", "elephant", "fox", "tiger", "mutagenesis1", "mutagenesis2", "corel_dogs",
    "corel_african", "newsgroups1",
)  # fmt: skip
logger = logging.getLogger("incontext")

Measure = Callable[[Any, Any, int], dict[str, Any]]


class Store:
    """Results as lines of JSON, each under its key; ours only of the present weights."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.weights = load_network().digest
        lines = path.read_text().splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines]
        self.rows = [row for row in rows if row.get("weights", self.weights) == self.weights]
        self.keys = {self._key(row) for row in self.rows}
        if len(self.rows) < len(rows):
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))

    @staticmethod
    def _key(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in ("section", "case", "method", "draw"))

    def missing(self, section: str, case: str, method: str, draw: int) -> bool:
        return (section, case, method, draw) not in self.keys

    def add(self, section: str, case: str, method: str, draw: int, **values: Any) -> None:
        row = {"section": section, "case": case, "method": method, "draw": draw, **values}
        if method == OURS:
            row["weights"] = self.weights
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
    kind: str,
    cases: dict[str, Any],
    names: list[str],
    draws: int,
    measure: Measure,
) -> None:
    """Every method on every draw of every case; draw by draw, so that what there is is paired."""
    methods = [m for m in methods_for(kind) if m.name in names]
    for draw in range(draws):
        for case, data in cases.items():
            for method in methods:
                if store.missing(section, case, method.name, draw):
                    seed = FIRST_SEED + draw
                    model = method.build({}, {}, seed)
                    began = time.process_time()
                    found = measure(model, data, seed)
                    cpu = time.process_time() - began
                    store.add(section, case, method.name, draw, **found, cpu=cpu)


def surplus(proba: Any, right: Any) -> list[float]:
    """Right answers less confidence of the most probable class, summed in 15 bins of confidence.

    The last entry is the number of answers. Sums of draws are pooled before their absolute values
    are taken: of the 30 groups of one draw these would be mostly chance.
    """
    sure = proba.max(axis=1)
    place = np.minimum((sure * 15).astype(int), 14)
    sums = np.bincount(place, right - sure, 15)
    return [*sums.round(4).tolist(), len(sure)]


def ece(parts: Any) -> float:
    """Expected calibration error of pooled draws."""
    total = np.sum(parts.tolist(), axis=0)
    return float(np.abs(total[:-1]).sum() / total[-1])


def scaled(X: Any, train: Any, test: Any) -> tuple[Any, Any]:
    """Training and test rows in standard scores of the training rows."""
    scale = StandardScaler().fit(X[train])
    return scale.transform(X[train]), scale.transform(X[test])


def judged(model: Any, X: Any, y: Any, groups: Any, y_row: Any = None) -> dict[str, Any]:
    """Errors of groups (and rows) that are asked about, and how far probabilities are off."""
    found = model.predictions(X, groups)
    right = found.y_group == found.groups.one_per_group(y)
    result = {"error": float(1 - right.mean()), "bins_group": surplus(found.proba_group, right)}
    if len(found.classes) == 2:
        result["auc"] = float(roc_auc_score(found.groups.one_per_group(y), found.proba_group[:, 1]))
    mean_row = found.groups.mean(found.proba_row).argmax(axis=1)
    result["error, mean of rows"] = float(
        (found.classes[mean_row] != found.groups.one_per_group(y)).mean()
    )
    if y_row is not None:
        right = found.y_row == y_row
        bins = surplus(found.proba_row, right)
        result |= {"row_error": float(1 - right.mean()), "bins_row": bins}
    return result


def one_session(model: Any, case: Any, seed: int) -> dict[str, Any]:
    rows, n_train = case
    data = make_sessions(rows.X, rows.y, random_state=seed)
    names = group_train_test_split(
        data.groups, groups=data.groups, y=data.y, test_size=0.5, random_state=seed
    )[0]
    test = ~np.isin(data.groups, names)
    kept = np.random.RandomState(seed).permutation(np.unique(names))[:n_train]
    train = np.isin(data.groups, kept)
    X_train, X_test = scaled(data.X, train, test)
    model.fit(X_train, data.y[train], groups=data.groups[train])
    return judged(model, X_test, data.y[test], data.groups[test], data.y_row[test])


def sessions(store: Store, names: list[str], draws: int) -> None:
    """Draws of all three sets, then as many again and again of those with few test sessions."""
    cases = {
        "german": (load_uci("german"), None),
        "spam, 60": (load_uci("spam"), 60),
        "cmc": (load_uci("cmc"), None),
    }
    run_all(store, "sessions", "majority", cases, names, draws, one_session)
    few = {name: cases[name] for name in FEW_SESSIONS}
    run_all(store, "sessions", "majority", few, names, MORE * draws, one_session)


def counts(store: Store, names: list[str], draws: int) -> None:
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
        n_train = min(60 * size, int(0.8 * len(X)) // size * size)
        train, test = order[:n_train], order[n_train : n_train + 500]
        X_train, X_test = scaled(X, train, test)
        data = make_aggregates(X_train, y[train], size=size, random_state=rng)
        model.fit(data.X, data.y, groups=data.groups)
        found = model.predict(X_test, np.arange(len(test)))  # nobody knows groups of new rows
        return {
            "transduction": float((transduced(model, data) != data.y_row).mean()),
            "induction": float((found != y[test]).mean()),
        }

    run_all(store, "counts", "proportions", cases, names, draws, measure)


def transduced(model: Any, data: Any) -> Any:
    """Labels of the training rows that keep the known counts."""
    if not isinstance(model, InContextClassifier):
        if hasattr(model, "predict_transductive"):
            return model.predict_transductive()
        found = model.predictions(data.X, data.groups)
    else:
        found = model.transductive_predictions()
    known = data.y.to_numpy()[found.groups.first_rows]
    score = np.log(np.maximum(found.proba_row, 1e-300))
    return model.classes_[decode_counts(score, known, found.groups)]


def presence(store: Store, names: list[str], draws: int) -> None:
    cases = {name: load_mil(name) for name in MIL}

    def measure(model: Any, bags: Any, seed: int) -> dict[str, float]:
        ids, first = np.unique(bags.groups, return_index=True)
        ids = np.random.RandomState(seed).permutation(np.arange(len(ids)))
        y_group = bags.y[first]
        train = np.concatenate([ids[y_group[ids] == label][:10] for label in (0, 1)])
        test = np.concatenate([ids[y_group[ids] == label][10:60] for label in (0, 1)])
        codes = np.unique(bags.groups, return_inverse=True)[1]
        in_train, in_test = np.isin(codes, train), np.isin(codes, test)
        X_train, X_test = scaled(bags.X, in_train, in_test)
        model.fit(X_train, bags.y[in_train], groups=codes[in_train])
        return judged(model, X_test, bags.y[in_test], codes[in_test])

    run_all(store, "presence", "presence", cases, names, draws, measure)


def adult_rows() -> tuple[Any, Any]:
    """Census rows with a column per category; no development set."""
    data = load_adult()
    table = data.X.drop(columns="native-country", errors="ignore")
    return pd.get_dummies(table, dtype=float).to_numpy(), data.y


def presence_groups(y: Any, n_groups: int, seed: int, size: int = 10) -> tuple[Any, Any, Any]:
    """Rows, groups, labels: half of the groups hold one to three rows of class 1."""
    rng = np.random.RandomState(seed)
    pools = [iter(rng.permutation(np.flatnonzero(y == label))) for label in (0, 1)]
    rows = []
    for group in range(n_groups):
        n_positive = rng.randint(1, 4) * (group % 2)
        rows += [next(pools[int(place < n_positive)]) for place in range(size)]
    groups = np.repeat(np.arange(n_groups), size)
    return np.array(rows), groups, groups % 2


def curves(store: Store, names: list[str], draws: int) -> None:
    """The first 10 to 300 of 400 groups of ten for training, the last 100 for test."""
    X, y = adult_rows()

    def groups_of(kind: str, seed: int) -> tuple[Any, Any, Any]:
        if kind == "presence":
            return presence_groups(y, 400, seed)
        if kind == "majority":
            data = make_sessions(np.arange(len(y))[:, None], y, n_sessions=400, random_state=seed)
            return data.X[:, 0], data.groups, data.y
        rows = np.random.RandomState(seed).permutation(len(y))[:4000]
        return rows, np.repeat(np.arange(400), 10), y[rows]

    for kind in KINDS:

        def measure(model: Any, n_train: int, seed: int, kind: str = kind) -> dict[str, float]:
            rows, groups, label = groups_of(kind, seed)
            order = np.random.RandomState(seed).permutation(400)
            train, test = np.isin(groups, order[:n_train]), np.isin(groups, order[300:])
            X_train, X_test = scaled(X[rows], train, test)
            model.fit(X_train, label[train], groups=groups[train])
            if kind != "proportions":
                return judged(model, X_test, label[test], groups[test], y[rows][test])
            said = model.predict(X_test, np.arange(test.sum()))
            return {"row_error": float((said != y[rows][test]).mean())}

        for n_train in (10, 20, 40, 80, 160, 300):
            able = [
                m.name
                for m in methods_for(kind)
                if m.reason_against(10 * n_train, 2) is None and m.name in (OURS, *BEST[kind])
            ]
            cases = {f"{kind}, {n_train}": n_train}
            run_all(store, "curves", kind, cases, [n for n in able if n in names], draws, measure)


def thousand_rows(n_jobs: int | None = 1) -> None:
    """1,000 rows, 30 features, 8 members: half of the rows context, the others asked about."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1000, 30))
    groups = np.arange(1000) // 10
    y = (X[:, :3].reshape(100, 10, 3).mean(axis=(1, 2)) > 0).astype(int)[groups]
    half = groups < 50
    model = InContextClassifier(n_jobs=n_jobs, random_state=0)
    model.fit(X[half], y[half], groups=groups[half])
    model.predictions(X[~half], groups[~half])


def speed(store: Store, names: list[str], draws: int) -> None:
    thousand_rows()  # reads the weights
    for draw in range(draws):
        if store.missing("speed", "1,000 rows", OURS, draw):
            cpu, wall = time.process_time(), time.perf_counter()
            thousand_rows()
            store.add(
                "speed",
                "1,000 rows",
                OURS,
                draw,
                cpu=time.process_time() - cpu,
                wall=time.perf_counter() - wall,
                peak_mib=peak_memory(__file__, "thousand_rows"),
            )


def compared(table: pd.DataFrame, value: str, lower: bool = True) -> Iterator[str]:
    """Means per case and method, and the paired difference of ours to the best other."""
    cases = list(dict.fromkeys(table["case"]))
    methods = [OURS, *sorted(set(table["method"]) - {OURS})]
    yield f"| {value} | " + " | ".join(methods) + " | draws | ours less the best other (s.e.) |"
    yield "|" + " --- |" * (len(methods) + 3)
    for case in cases:
        here = table[table["case"] == case].pivot(index="draw", columns="method", values=value)
        if OURS not in here:
            continue
        paired = here.dropna(subset=OURS)
        paired = paired.dropna(axis=1, thresh=(len(paired) + 1) // 2)
        mean = paired.mean()
        others = mean.drop(OURS)
        best = others.idxmin() if lower else others.idxmax()
        difference = (paired[OURS] - paired[best]).dropna()
        cells = " | ".join(
            f"{mean[m]:.3f} ({paired[m].sem():.3f})" if m in mean else "" for m in methods
        )
        draws = str(len(paired))
        if len(difference) < len(paired):  # the means are then of different draws
            draws += f", {len(difference)} of both"
        yield (
            f"| {case} | {cells} | {draws} | {difference.mean():+.3f} "
            f"({difference.sem():.3f}), {best} |"
        )
    yield ""


def shown_draws(section: str, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All draws of a section; of sessions first those of all sets, then all there are."""
    if section != "sessions":
        return {"": table}
    draws = SECTIONS["sessions"][2]
    few = table[table["case"].isin(FEW_SESSIONS)]
    return {
        f"The first {draws} draws:": table[table["draw"] < draws],
        f"All {few['draw'].max() + 1} draws of {' and '.join(FEW_SESSIONS)}, the first {draws} "
        "among them:": few,
    }


def against_each(table: pd.DataFrame, value: str) -> Iterator[str]:
    """Ours less each other method, paired, with standard errors: nobody is chosen in hindsight."""
    cases = list(dict.fromkeys(table["case"]))
    yield f"Ours less each other, {value} (s.e.):"
    yield ""
    yield "| | " + " | ".join(cases) + " |"
    yield "|" + " --- |" * (len(cases) + 1)
    wide = table.pivot(index=["case", "draw"], columns="method", values=value)
    for method in wide.columns.drop(OURS):
        difference = (wide[OURS] - wide[method]).dropna().groupby("case")
        mean, error = difference.mean(), difference.sem()
        cells = [f"{mean[c]:+.3f} ({error[c]:.3f})" if c in mean else "" for c in cases]
        yield f"| {method} | " + " | ".join(cells) + " |"


HEADS = {
    "sessions": (
        "Sessions of the first paper, half for training (spam: 60): error of sessions",
        ("error", "error, mean of rows", "row_error"),
    ),
    "counts": (
        "Counts known, at most 60 random groups: error of rows",
        ("transduction", "induction"),
    ),
    "presence": (
        "Presence, 20 labelled groups, up to 50 others per class: area under the ROC curve",
        ("auc",),
    ),
    "curves": (
        "Adult census, groups of ten, by number of training groups: test on 100 groups",
        ("error", "auc", "row_error"),
    ),
}


def write(store: Store) -> None:
    lines = [
        "# The in-context classifier beside the other methods at their defaults",
        "",
        ", ".join(f"{k} {v}" for k, v in machine().items()) + f", weights {store.weights}",
        "",
        "Made by `python benchmarks/incontext.py`. Means over draws, standard errors in brackets;",
        "a method without a figure was not run there (too slow, or too many rows for it).",
        "",
    ]
    for section, (heading, values) in HEADS.items():
        table = store.table(section)
        if len(table) == 0:
            continue
        lines += [f"## {heading}", ""]
        for title, part in shown_draws(section, table).items():
            lines += [title, ""] if title else []
            for value in values:
                if value in part:
                    lines += compared(part.dropna(subset=value), value, lower=value != "auc")
            if section == "sessions":
                lines += [*against_each(part, "error"), ""]
        if section == "presence":
            lines += [*mean_auc(table), ""]
        lines += calibration(table)
        cpu = table.groupby("method")["cpu"].median()
        lines += ["Median CPU seconds: " + ", ".join(f"{m} {v:.1f}" for m, v in cpu.items()), ""]
    table = store.table("speed")
    if len(table):
        mid = table[["cpu", "wall", "peak_mib"]].median()
        lines += [
            "## Time",
            "",
            "500 rows of context, 500 asked, 30 features, 8 members, one thread, median of "
            f"{len(table)}: {mid.cpu:.2f} s CPU (least {table.cpu.min():.2f}), {mid.wall:.2f} s "
            f"wall, {mid.peak_mib:.0f} MiB peak of the process.",
        ]
    (RESULTS / "incontext.md").write_text("\n".join(lines).rstrip() + "\n")


def calibration(table: pd.DataFrame) -> Iterator[str]:
    """Expected calibration errors of ours, over all draws of a case."""
    for level in ("group", "row"):
        name = f"bins_{level}"
        if name in table:
            part = table[table["method"] == OURS].dropna(subset=name)
            found = part.groupby("case", sort=False)[name].agg(ece)
            said = "; ".join(f"{case} {value:.3f}" for case, value in found.items())
            yield f"Expected calibration error of {level}s, {OURS}, draws pooled: {said}"
            yield ""


def mean_auc(table: pd.DataFrame) -> Iterator[str]:
    """Mean over the sets of draws that every method has."""
    wide = table.pivot(index=["case", "draw"], columns="method", values="auc").dropna()
    if OURS not in wide:
        return
    by_draw = wide.groupby("draw").mean()
    yield f"Mean area over the ten sets, {len(by_draw)} draws, and ours less it (s.e. over draws):"
    yield ""
    for name, value in by_draw.mean().sort_values(ascending=False).items():
        difference = by_draw[OURS] - by_draw[name]
        yield f"- {name}: {value:.3f}, {difference.mean():+.3f} ({difference.sem():.3f})"


def picture(store: Store) -> None:
    """Learning curves of the three kinds."""
    table = store.table("curves")
    fig, axes = plt.subplots(1, 3, figsize=(11, 4.0), layout="constrained")
    for ax, kind in zip(axes, KINDS, strict=True):
        value = "row_error" if kind == "proportions" else "error"
        for name in (OURS, *BEST[kind]):
            line = table[(table["method"] == name) & table["case"].str.startswith(kind)]
            if line.empty:
                continue
            by = line.groupby(line["case"].str.split(", ").str[1].astype(int))[value]
            mean, error = by.mean(), by.sem()
            style = {"lw": 2.5, "color": "black", "zorder": 3} if name == OURS else {"lw": 1.2}
            ax.errorbar(mean.index, mean, error, label=name, capsize=2, **style)
        ax.set_xscale("log")
        ax.set_xticks([10, 20, 40, 80, 160, 300], ["10", "20", "40", "80", "160", "300"])
        ax.minorticks_off()
        ax.set_xlabel("training groups of ten rows")
        ax.set_ylabel("error of rows" if kind == "proportions" else "error of groups")
        ax.set_title(kind)
        ax.legend(fontsize=7, ncol=3, loc="upper center", bbox_to_anchor=(0.5, -0.18))
    fig.savefig(PICTURE, metadata={"Date": None})


SECTIONS = {
    "sessions": (sessions, "majority", 20),
    "speed": (speed, "majority", 5),
    "counts": (counts, "proportions", 6),
    "presence": (presence, "presence", 5),
    "curves": (curves, None, 4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], default=[])
    parser.add_argument("--draws", type=int)
    parser.add_argument("--methods", nargs="*", help="default: all")
    parser.add_argument("--without", nargs="*", default=[], help="methods to leave out")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    warnings.simplefilter("ignore")
    store = Store(RESULTS / "incontext.jsonl")
    for name in options.sections:
        section, kind, draws = SECTIONS[name]
        all_names = [m.name for k in KINDS for m in methods_for(k) if kind in (None, k)]
        names = [n for n in options.methods or all_names if n not in (AUTO, *options.without)]
        section(store, names, options.draws or draws)
        write(store)
    write(store)
    if len(store.table("curves")):
        picture(store)


if __name__ == "__main__":
    main()
