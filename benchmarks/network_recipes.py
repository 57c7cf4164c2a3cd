"""Recipes for networks on bags: plain or over bins, all groups a step or a tenth of them.

``python -m benchmarks.network_recipes pack --bags FILE`` puts all sets in one file (needs
GROUPWISE_DATA); the other parts read it and need torch, numpy, scipy, scikit-learn and pandas only:
``development`` trains all recipes on nine development sets, ``ten`` two of them on the ten sets of
``benchmarks.networks``, with the choice between both on inner folds. Both write lines of JSON to
``--out``; ``table`` prints those in ``results/``.

Development: two poolings, halves of nine sets of 84 to 200 groups (three repeats), so that as few
groups are learned from as musk1 and the newsgroups have. A recipe's probability is the mean of the
poolings'; its value the mean over the sets of (accuracy + AUC) / 2.

The choice: in each outer fold the recipe with the larger (accuracy + AUC) / 2 on five folds of the
training part, two poolings; plain where both are equal. No group of an outer test fold is seen.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.networks import (
    COMMON,
    N_FOLDS,
    RESULTS,
    SETS,
    VARIANTS,
    InnerSplits,
    Repeats,
    load_bags,
)
from groupwise.groups import Groups
from groupwise.model_selection import WholeGroupKFold
from groupwise.nets import GroupNetClassifier, fit_folds

TEXTS = ("sci.space", "rec.autos", "talk.politics.guns")
DEVELOPMENT = (
    "fox", "tiger", "mutagenesis1", "corel_dogs", "corel_african", "birds_winter_wren", *TEXTS
)  # fmt: skip
TENTHS = {"batch_groups": 0.1, "epochs": 40}
RECIPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain, tenths": TENTHS,
    "bins": {"n_bins": 8},
    "bins, tenths": {"n_bins": 8, **TENTHS},
    "network-pooled before": {"epochs": 150, "learning_rate": 2e-3},
    "network-pooled": {"epochs": 30, "batch_groups": 0.1},
}
BETWEEN = ("plain, tenths", "bins")
TWO = ("mean and max", "gated attention")
CHOSEN = "chosen on inner folds"
#: Sets that issue 18 asks an accuracy of come first; musk2 over bins takes longest.
ORDER = (
    "musk1", "elephant", "newsgroups1", "newsgroups2", "newsgroups3",
    "fox", "tiger", "mutagenesis2", "mutagenesis1", "musk2",
)  # fmt: skip


class Halves(Repeats):
    """Two folds of several repeats."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        for repeat in self.repeats:
            yield from WholeGroupKFold(2, random_state=repeat).split(X, y, groups)


# --- sets -----------------------------------------------------------------------------------------


def balanced(X: Any, y: Any, groups: Any) -> tuple[Any, Any, Any]:
    """All positive groups and as many of the others."""
    encoded = Groups(groups)
    y_group = encoded.one_per_group(y)
    positive, others = np.flatnonzero(y_group == 1), np.flatnonzero(y_group == 0)
    others = np.random.default_rng(0).permutation(others)[: len(positive)]
    kept = np.isin(encoded.codes, np.concatenate([positive, others]))
    return X[kept], y[kept], groups[kept]


def text_bags(target: str, n_words: int = 200) -> tuple[Any, Any, Any]:
    """100 bags of posts that look as newsgroups1-3 do, with another positive category.

    Values are counts over the number of posts with the word (those of newsgroups1-3 are); half of
    the words are in one post only.
    """
    import scipy.sparse as sp

    from groupwise.datasets import data_folder

    with np.load(data_folder("20newsgroups", "20news_bydate_counts.npz")) as file:
        parts = (file["data"].astype(float), file["indices"].astype("int32"), file["indptr"])
        counts = sp.csr_matrix(parts, shape=file["shape"])
        of_target = file["target"] == list(file["target_names"]).index(target)
    rng = np.random.default_rng(0)
    mine = rng.permutation(np.flatnonzero(of_target)).tolist()
    others = rng.permutation(np.flatnonzero(~of_target)).tolist()
    posts, groups, y = [], [], []
    for group in range(100):
        size, is_positive = int(rng.integers(25, 50)), group % 2
        n_mine = max(1, round(0.03 * size)) if is_positive else 0
        posts += [mine.pop() for _ in range(n_mine)] + [others.pop() for _ in range(size - n_mine)]
        groups += [group] * size
        y += [is_positive] * size
    rows = counts[posts]
    frequency = np.asarray((rows != 0).sum(0)).ravel()
    said = np.asarray(rows[of_target[posts]].sum(0)).ravel()  # by posts of the category
    once = np.flatnonzero((said > 0) & (frequency == 1))
    once = once[np.argsort(-said[once], kind="stable")][: n_words // 2]
    more = np.flatnonzero((said > 0) & (frequency > 1))
    p = said[more] / said[more].sum()
    more = rng.choice(more, n_words - len(once), replace=False, p=p)
    words = np.concatenate([once, more])
    X = rows[:, words].toarray() / frequency[words]
    kept = (X != 0).any(axis=1)
    return X[kept], np.array(y)[kept], np.array(groups)[kept]


def pack(path: Path) -> None:
    """All sets in one file."""
    arrays = {}
    for name in dict.fromkeys((*SETS, *DEVELOPMENT)):
        X, y, groups = text_bags(name) if name in TEXTS else load_bags(name, None)
        if name.startswith(("corel", "birds")):
            X, y, groups = balanced(X, y, groups)
        arrays |= {f"{name}_X": X.astype(np.float32), f"{name}_y": y, f"{name}_groups": groups}
    np.savez_compressed(path, **arrays)


# --- training -------------------------------------------------------------------------------------


def out_of_fold(
    bags: tuple[Any, Any, Any], cv: Any, recipe: str, poolings: tuple[str, ...], **more: Any
) -> dict[str, list[Any]]:
    """What every fold says of its test groups, by pooling: (truth, probability) per fold."""
    X, y, groups = bags
    found = {}
    for pooling in poolings:
        settings = {**COMMON, "random_state": 0, **VARIANTS[pooling], **RECIPES[recipe], **more}
        folds = fit_folds(GroupNetClassifier("presence", **settings), X, y, groups=groups, cv=cv)
        found[pooling] = [
            (
                Groups(groups[fold.test]).one_per_group(y[fold.test]),
                fold.model.predict_groups_proba(X[fold.test], groups[fold.test])[:, 1],
            )
            for fold in folds
        ]
    return found


def averaged(by_pooling: dict[str, list[Any]]) -> list[Any]:
    """The mean of the poolings' probabilities, fold by fold."""
    return [
        (same[0][0], np.mean([proba for _, proba in same], axis=0))
        for same in zip(*by_pooling.values(), strict=True)
    ]


def judged(folds: list[Any], at_once: int) -> list[tuple[float, float]]:
    """Accuracy and AUC over every so many folds together."""
    out = []
    for at in range(0, len(folds), at_once):
        y, proba = (np.concatenate(each) for each in zip(*folds[at : at + at_once], strict=True))
        out.append((float(((proba > 0.5) == y).mean()), float(roc_auc_score(y, proba))))
    return out


def development(bags: Path, out: Path, **more: Any) -> None:
    """Every recipe on every development set, three members."""
    with (out / "networks_development.jsonl").open("w") as file:
        for name in DEVELOPMENT:
            for recipe in RECIPES:
                found = out_of_fold(load_bags(name, bags), Halves((0, 1, 2)), recipe, TWO, **more)
                score = np.mean(judged(averaged(found), 2), axis=0).round(4).tolist()
                line = {"set": name, "recipe": recipe, "score": score}
                file.write(json.dumps(line) + "\n")
                print(json.dumps(line), flush=True)


def ten(bags: Path, out: Path, seconds: float, repeats: tuple[int, ...], **more: Any) -> None:
    """Both recipes with five poolings on the folds of a set, and what inner folds choose.

    Sets that are in the file already are left as they are.
    """
    until, path = time.perf_counter() + seconds, out / "networks_recipes.jsonl"
    done = {row["set"] for row in _read(path)} if path.exists() else set()
    with path.open("a") as file:
        for name in (name for name in ORDER if name not in done):
            if time.perf_counter() > until:
                print("no time left", flush=True)
                return
            began = time.perf_counter()
            data = load_bags(name, bags)
            outer, inner = {}, {}
            for recipe in BETWEEN:
                found = out_of_fold(data, Repeats(repeats), recipe, tuple(VARIANTS), **more)
                outer[recipe] = averaged(found)
                one = {**more, "n_members": 1}
                found = out_of_fold(data, InnerSplits(repeats), recipe, TWO, **one)
                inner[recipe] = judged(averaged(found), InnerSplits.n_inner)
            rows = list(_rows(name, repeats, outer, inner))
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            for method in (*BETWEEN, CHOSEN):
                folds = [(row["y"], row["score"]) for row in rows if row["method"] == method]
                score = np.mean(judged(folds, N_FOLDS), axis=0).round(4).tolist()
                print(name, method, score, round(time.perf_counter() - began), flush=True)


def _rows(
    name: str, repeats: tuple[int, ...], outer: dict[str, Any], inner: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Lines as ``benchmarks.networks`` has them; what was chosen is a method of its own."""
    for at in range(N_FOLDS * len(repeats)):
        values = {recipe: np.mean(inner[recipe][at]) for recipe in BETWEEN}
        chosen = max(BETWEEN, key=lambda recipe: values[recipe])
        for method, recipe in ((BETWEEN[0],) * 2, (BETWEEN[1],) * 2, (CHOSEN, chosen)):
            y, proba = outer[recipe][at]
            yield {
                "set": name,
                "method": method,
                "repeat": repeats[at // N_FOLDS],
                "fold": at % N_FOLDS,
                "y": y.tolist(),
                "score": proba.round(4).tolist(),
                "inner": {recipe: round(float(value), 4) for recipe, value in values.items()},
            }


# --- tables ---------------------------------------------------------------------------------------


def table(folder: Path) -> str:
    """Development sets, then the ten sets, as Markdown."""
    lines = _read(folder / "networks_development.jsonl")
    cells = {(row["recipe"], row["set"]): row["score"] for row in lines}
    out = _table(dict.fromkeys(row["recipe"] for row in lines), DEVELOPMENT, cells)
    by_method: dict[Any, list[Any]] = {}
    for row in _read(folder / "networks_recipes.jsonl"):
        by_method.setdefault((row["method"], row["set"]), []).append((row["y"], row["score"]))
    cells = {key: np.mean(judged(rows, N_FOLDS), axis=0) for key, rows in by_method.items()}
    names = [name for name in SETS if any(key[1] == name for key in cells)]
    return out + "\n\n" + _table(dict.fromkeys(key[0] for key in cells), names, cells)


def _table(methods: Any, names: Any, cells: dict[Any, Any]) -> str:
    lines = ["| | " + " | ".join(names) + " | mean |", "| --- " * (len(names) + 2) + "|"]
    for method in methods:
        mine = [cells[method, name] for name in names if (method, name) in cells]
        text = [
            "{:.3f}/{:.3f}".format(*cells[method, name]) if (method, name) in cells else ""
            for name in names
        ]
        mean = "{:.3f}/{:.3f}".format(*np.mean(mine, axis=0)) if len(mine) == len(names) else ""
        lines.append(f"| {method} | " + " | ".join(text) + f" | {mean} |")
    return "\n".join(lines)


def _read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("pack", "development", "ten", "table"))
    parser.add_argument("--bags", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=380.0)
    parser.add_argument("--small", action="store_true", help="two epochs, one repeat: a trial")
    chosen = parser.parse_args()
    more: dict[str, Any] = {"device": chosen.device}
    if chosen.small:
        more |= {"epochs": 2, "n_members": 1}
    if chosen.part == "pack":
        pack(chosen.bags)
    elif chosen.part == "development":
        development(chosen.bags, chosen.out, **{"n_members": 3, **more})
    elif chosen.part == "ten":
        repeats = (0,) if chosen.small else (0, 1, 2, 3, 4)
        ten(chosen.bags, chosen.out, chosen.seconds, repeats, **more)
    else:
        print(table(chosen.out))


if __name__ == "__main__":
    main()
