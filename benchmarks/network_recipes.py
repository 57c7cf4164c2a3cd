"""One recipe for networks on bags: chosen on development sets by a rule, then run once on ten sets.

``python -m benchmarks.network_recipes pack --bags FILE`` puts all sets in one file (needs
GROUPWISE_DATA); ``python -m benchmarks.network_recipes run --bags FILE --out FOLDER`` needs torch,
numpy, scipy, scikit-learn and pandas only.

The rule, written down before any of it was run: every recipe is trained with two poolings on halves
(three repeats) of nine development sets of about 200 groups, so that as few groups are learned
from as musk1 and the newsgroups have. A recipe's answer is the mean of both poolings'
probabilities; a pair of recipes with different features is a candidate, too. Taken is the candidate
with the largest mean over the sets of (accuracy + AUC) / 2. It is then trained with five poolings
on the ten sets, features known of the training part alone.
"""

import argparse
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import groupwise.nets.known
import groupwise.nets.training
from benchmarks.networks import SETS, Repeats, load_bags
from groupwise.groups import Groups
from groupwise.losses import get_loss
from groupwise.model_selection import WholeGroupKFold
from groupwise.nets.batches import GroupRows, resident
from groupwise.nets.losses import PooledLoss, torch_loss
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed
from groupwise.nets.passes import standardise
from groupwise.nets.piecewise import PiecewiseLinear
from groupwise.nets.rows import moments
from groupwise.nets.task import Settings, Task

TEXTS = ("sci.space", "rec.autos", "talk.politics.guns")
DEVELOPMENT = (
    "fox", "tiger", "mutagenesis1", "corel_dogs", "corel_african", "birds_winter_wren", *TEXTS
)  # fmt: skip
POOLINGS = ("mean_max", "attention", None, "mean", "max")
#: Features, power of the first layer's rate, groups per step (a share of them).
RECIPES: dict[str, tuple[str, float, float]] = {
    "plain": ("plain", 0.0, 1.0),
    "plain, rate by root": ("plain", 0.5, 1.0),
    "plain, rate by inputs": ("plain", 1.0, 1.0),
    "bins": ("bins", 0.0, 1.0),
    "bins, rate by root": ("bins", 0.5, 1.0),
    "bins, rate by power .75": ("bins", 0.75, 1.0),
    "bins, rate by inputs": ("bins", 1.0, 1.0),
    "both, rate by root": ("both", 0.5, 1.0),
    "both, rate by inputs": ("both", 1.0, 1.0),
    "plain, tenths": ("plain", 0.0, 0.1),
    "plain, rate by inputs, tenths": ("plain", 1.0, 0.1),
    "bins, rate by root, tenths": ("bins", 0.5, 0.1),
}


class Halves(Repeats):
    """Two folds of several repeats."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        for repeat in self.repeats:
            yield from WholeGroupKFold(2, random_state=repeat).split(X, y, groups)


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


def tables(X: Any, kept: list[Any], features: str) -> tuple[Any, Any]:
    """Rows in units of every fold's own, (n_folds, n_rows, width), and which features are rare."""
    rows, rare = [], []
    for mask in kept:
        parts = [] if features == "bins" else [X]
        if features != "plain":
            parts.append(PiecewiseLinear.fit(X[mask], 8).encode(X))
        table = np.hstack(parts)
        known = moments(table, mask)
        rare.append(known.rare(0.9))
        known = known.as_if_seen_once(0.9)
        rows.append(standardise(table, known.mean, known.deviation).astype(np.float32))
    width = max(each.shape[1] for each in rows)  # bins differ in number
    out = np.zeros((len(kept), len(X), width), np.float32)
    is_rare = np.zeros((len(kept), width), bool)
    for fold, (table, flags) in enumerate(zip(rows, rare, strict=True)):
        out[fold, :, : table.shape[1]] = table
        is_rare[fold, : table.shape[1]] = flags
    return out, is_rare


class FoldRows(resident):
    """Rows of every fold that are on the device already."""

    def __init__(self, rows: Any, sizes: Any, device: str):
        self.rows, self.sizes, self.device, self.axis = rows, sizes, device, 1
        self.starts = torch.as_tensor(np.cumsum(sizes) - sizes, device=device)
        self._whole = None


def out_of_fold(
    X: Any, y: Any, groups: Any, cv: Any, recipe: str, poolings: Any, members: int, device: str
) -> dict[str, Any]:
    """What every fold says of its test groups, by pooling: (truth, probability) per fold."""
    features, power, at_once = RECIPES[recipe]
    encoded = Groups(groups)
    order = encoded.order
    y_group = encoded.one_per_group(y).astype(np.int64)
    splits = list(cv.split(X, y, groups))
    train = np.zeros((len(splits), encoded.n_groups))
    for line, (rows, _) in zip(train, splits, strict=True):
        line[encoded.codes[rows]] = 1.0
    sorted_codes = encoded.codes[order]
    masks = [line[sorted_codes] > 0 for line in train]
    table, rare = tables(np.asarray(X, float)[order], masks, features)
    rows = torch.as_tensor(table, device=device)
    source = FoldRows(rows, encoded.sizes, device)
    of_member = np.repeat(np.arange(len(splits)), members)
    groupwise.nets.training.FIRST = (16.0, power)
    groupwise.nets.known.open_rows = lambda *_, **__: source
    found = {}
    for pooling in poolings:
        network = GroupNet(
            table.shape[2], 1, encoder=(64, 64), pooling=pooling, n_members=len(of_member),
            dropout=0.25, rare=rare[of_member] if rare.any() else None,
            seed=list(range(len(of_member))),
        )  # fmt: skip
        share = (train @ y_group) / train.sum(1)
        loss = torch_loss(get_loss("presence")) if pooling is None else PooledLoss("label")
        start = np.log(share / (1 - share))
        if pooling is None:  # as GroupNetClassifier: the best constant score of rows
            size = encoded.n_rows / encoded.n_groups
            start = np.log(np.expm1(-np.log1p(-share) / size))
        with torch.no_grad():
            bias = torch.as_tensor(start[of_member], dtype=torch.float32)
            network.weights["head_bias"].copy_(bias[:, None, None])
        task = Task(
            GroupRows(np.asarray(X, float), encoded), y_group, loss, pooling is not None,
            train[of_member],
        )  # fmt: skip
        n_batches = round(1 / at_once)
        settings = Settings(
            epochs=200 if n_batches == 1 else 400 // n_batches,
            batch_groups=-(-encoded.n_groups // n_batches),
            learning_rate=5e-3, alpha=1e-2, max_norm=None, n_iter_no_change=None,
            half_precision=False, device=device, seed=1, checkpoint=None, verbose=0,
        )  # fmt: skip
        groupwise.nets.training.train(network, task, settings)
        packed = Packed(encoded.sizes, device)
        with torch.inference_mode():
            score = network(rows, packed)[..., 0]
            score = score.reshape(len(splits), members, -1).mean(1).double().cpu().numpy()
        if pooling is None:  # noisy-or of rows
            cuts = np.cumsum(encoded.sizes) - encoded.sizes
            score = 1 - np.exp(np.add.reduceat(-np.logaddexp(0, score), cuts, axis=1))
        else:
            score = expit(score)
        found[str(pooling)] = [
            (y_group[line == 0].tolist(), p[line == 0].round(6).tolist())
            for line, p in zip(train, score, strict=True)
        ]
    return found


def judged(folds: list[Any], per_repeat: int) -> tuple[float, float]:
    """Accuracy and AUC of repeats, averaged; a fold is (truth, probability)."""
    out = []
    for at in range(0, len(folds), per_repeat):
        y, p = (np.concatenate(each) for each in zip(*folds[at : at + per_repeat], strict=True))
        out.append((((p > 0.5) == y).mean(), roc_auc_score(y, p)))
    return tuple(np.mean(out, axis=0))


def averaged(answers: list[list[Any]]) -> list[Any]:
    """The mean of probabilities, fold by fold."""
    return [
        (same[0][0], np.mean([fold[1] for fold in same], axis=0).tolist())
        for same in zip(*answers, strict=True)
    ]


def run(bags: Path, out: Path, device: str, seconds: float, small: bool) -> None:
    """Development sets, the choice, and the ten sets."""
    began = time.perf_counter()
    development, members = (DEVELOPMENT[:2], 1) if small else (DEVELOPMENT, 3)
    poolings, repeats = ("mean_max", "attention"), (0, 1, 2)
    kept: dict[str, dict[str, Any]] = {}
    with (out / "recipes_development.jsonl").open("w") as file:
        for recipe, name in itertools.product(RECIPES, development):
            X, y, groups = load_bags(name, bags)
            found = out_of_fold(X, y, groups, Halves(repeats), recipe, poolings, members, device)
            kept.setdefault(recipe, {})[name] = list(found.values())
            scores = [judged(averaged(list(found.values())), 2)]
            scores += [judged(each, 2) for each in found.values()]
            line = {"recipe": recipe, "set": name, "scores": np.round(scores, 4).tolist()}
            file.write(json.dumps({**line, "folds": found}) + "\n")
            print(json.dumps(line), round(time.perf_counter() - began, 1), flush=True)
    pairs = [
        (one, two) for one, two in itertools.combinations(RECIPES, 2)
        if RECIPES[one][0] != RECIPES[two][0]
    ]  # fmt: skip
    value = {}
    for names in [(one,) for one in RECIPES] + pairs:
        answers = [
            averaged([each for one in names for each in kept[one][name]]) for name in development
        ]
        value[names] = float(np.mean([judged(each, 2) for each in answers]))
    ranked = sorted(value, key=lambda names: -value[names])
    chosen = ranked[0]
    listed = [[" + ".join(names), round(value[names], 4)] for names in ranked]
    (out / "recipes_choice.json").write_text(json.dumps(listed, indent=1))
    print("chosen:", listed[:12], flush=True)
    final(bags, out, device, began + seconds, chosen, small)


def final(
    bags: Path, out: Path, device: str, until: float, chosen: tuple[str, ...], small: bool
) -> None:
    """The chosen recipe on the ten sets; those with a bar first."""
    first = ("musk1", "elephant", "newsgroups1", "newsgroups2", "newsgroups3")
    order = (*first, *(name for name in SETS if name not in first))
    with (out / "recipes_ten.jsonl").open("w") as file:
        for name in ("tiger",) if small else order:
            X, y, groups = load_bags(name, bags)
            for recipe in chosen:
                if time.perf_counter() > until:
                    print("no time left", flush=True)
                    return
                cv = Repeats((0,) if small else (0, 1, 2, 3, 4))
                found = out_of_fold(
                    X, y, groups, cv, recipe, POOLINGS, 1 if small else 5, device
                )  # fmt: skip
                file.write(json.dumps({"set": name, "recipe": recipe, "folds": found}) + "\n")
                file.flush()
                print(name, recipe, judged(averaged(list(found.values())), 10), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("pack", "run"))
    parser.add_argument("--bags", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args()
    if chosen.part == "pack":
        pack(chosen.bags)
    else:
        run(chosen.bags, chosen.out, chosen.device, chosen.seconds, chosen.small)


if __name__ == "__main__":
    main()
