"""Networks on group losses: what they are worth on bags, and what they cost.

``python -m benchmarks.networks mil`` trains all folds of the ten multiple-instance sets (the folds
of ``reproductions/mil_sets.py``; needs GROUPWISE_DATA), kept in ``results/networks.jsonl``;
``python -m benchmarks.networks gpu --out FOLDER`` measures a GPU and needs torch, numpy, scipy,
scikit-learn and pandas only; ``python -m benchmarks.networks cpu`` the price of ensembles.

What was chosen where is said in ``results/networks.md``; torchmil's models on the same folds are
measured by ``benchmarks/torchmil_bags.py``.
"""

import argparse
import json
import os
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

from groupwise import losses as numpy_losses
from groupwise.groups import Groups
from groupwise.model_selection import WholeGroupKFold
from groupwise.nets import GroupNetClassifier, fit_folds
from groupwise.nets.batches import GroupRows, StreamedRows
from groupwise.nets.losses import PooledLoss, torch_loss
from groupwise.nets.mean_outputs import group_batches, initial_layers, train_mean_outputs
from groupwise.nets.network import GroupNet
from groupwise.nets.packed import Packed, to_device
from groupwise.nets.steps import train_step

SETS = (
    "musk1", "elephant", "fox", "tiger", "musk2",
    "newsgroups1", "newsgroups2", "newsgroups3", "mutagenesis1", "mutagenesis2",
)  # fmt: skip
N_FOLDS = 10
#: The same settings for all; chosen on other sets, see results/networks.md.
VARIANTS: dict[str, dict[str, Any]] = {
    "mean and max": {"pooling": "mean_max"},
    "gated attention": {"pooling": "attention"},
    "noisy-or of rows": {"pooling": None},
    "mean": {"pooling": "mean"},
    "maximum": {"pooling": "max"},
}
COMMON = {"learning_rate": 5e-3}
#: Added to a variant's name: features are standardised by the test rows, too, without labels.
KNOWN = ", test rows known"
#: Likewise: features over eight bins (GroupNetClassifier's n_bins).
BINS = ", 8 bins"
#: What may stand behind a variant's name.
ENDS = ("", KNOWN, BINS + KNOWN)
AVERAGE, CHOSEN = "mean of the five", "chosen on inner folds"
BOTH = "mean of the ten, with bins and without" + KNOWN
SCALED = "mean of the five, scaled on inner folds"
_BESIDE = ("_choice.jsonl", "_torchmil.jsonl")  # files beside that of the folds
RESULTS = Path(__file__).parent / "results"


class Report:
    """Lines of JSON, printed and kept as they come."""

    def __init__(self, path: Path | None, budget: float = np.inf):
        self.path, self.began, self.budget = path, time.perf_counter(), budget

    def __call__(self, part: str, **values: Any) -> None:
        line = {"part": part, **values, "at_s": round(time.perf_counter() - self.began, 1)}
        print(json.dumps(line), flush=True)
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    def has_time(self, seconds: float) -> bool:
        return time.perf_counter() - self.began + seconds < self.budget


# --- bags -----------------------------------------------------------------------------------------


def load_bags(name: str, packed: Path | None) -> tuple[Any, Any, Any]:
    """Rows, labels and groups, from the shared data or from one file of all sets."""
    if packed is not None:
        with np.load(packed) as file:
            return (
                file[f"{name}_X"].astype(float), file[f"{name}_y"], file[f"{name}_groups"]
            )  # fmt: skip
    from groupwise.datasets import load_mil

    bags = load_mil(name)
    return bags.X, bags.y, bags.groups


def pack_bags(path: Path) -> None:
    """All sets in one file, for a machine without the shared data."""
    arrays = {}
    for name in SETS:
        X, y, groups = load_bags(name, None)
        arrays |= {f"{name}_X": X.astype(np.float32), f"{name}_y": y, f"{name}_groups": groups}
    np.savez_compressed(path, **arrays)


class Repeats:
    """The ten folds of several repeats, each with the seed of its number."""

    def __init__(self, repeats: tuple[int, ...]):
        self.repeats = repeats

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return N_FOLDS * len(self.repeats)

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        for repeat in self.repeats:
            yield from WholeGroupKFold(N_FOLDS, random_state=repeat).split(X, y, groups)

    def get_metadata_routing(self) -> Any:
        return WholeGroupKFold(N_FOLDS).get_metadata_routing()


def bag_folds(
    name: str,
    variant: str,
    repeats: tuple[int, ...],
    *,
    packed: Path | None,
    device: str,
    **more: Any,
) -> list[dict[str, Any]]:
    """The folds of all repeats, trained at once; what every fold said of its groups."""
    X, y, groups = load_bags(name, packed)
    own = dict(VARIANTS[variant.removesuffix(KNOWN).removesuffix(BINS)])
    if BINS in variant:
        own["n_bins"] = 8
    settings = {"random_state": repeats[0], "device": device, **COMMON, **own}
    model = GroupNetClassifier("presence", **settings | more)
    began, cpu = time.perf_counter(), time.process_time()
    known = variant.endswith(KNOWN)
    fitted = fit_folds(model, X, y, groups=groups, cv=Repeats(repeats), test_rows_known=known)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    rows = []
    for number, fold in enumerate(fitted):
        proba = fold.model.predict_groups_proba(X[fold.test], groups[fold.test])[:, 1]
        row = {
            "set": name,
            "method": variant,
            "repeat": repeats[number // N_FOLDS],
            "fold": number % N_FOLDS,
            "y": Groups(groups[fold.test]).one_per_group(y[fold.test]).tolist(),
            "score": proba.round(6).tolist(),
            "seconds": round(seconds / len(fitted), 3),
            "cpu": round(cpu / len(fitted), 3),
        }
        rows.append(row)
    return rows


class InnerSplits:
    """Five folds of the training part of every fold of every repeat."""

    n_inner = 5

    def __init__(self, repeats: tuple[int, ...]):
        self.outer = Repeats(repeats)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        return self.n_inner * self.outer.get_n_splits()

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        for train, _ in self.outer.split(X, y, groups):
            inner = WholeGroupKFold(self.n_inner, random_state=0)
            for part, held in inner.split(X[train], y[train], groups[train]):
                yield train[part], train[held]

    def get_metadata_routing(self) -> Any:
        return self.outer.get_metadata_routing()


def choices(
    name: str, repeats: tuple[int, ...], *, packed: Path | None, device: str, **more: Any
) -> list[dict[str, Any]]:  # fmt: skip
    """For every outer fold, how many inner groups each variant and their average have right.

    Chosen is what has most, the first of equals; the average comes first. What it says of the
    inner groups is kept for scaling.
    """
    X, y, groups = load_bags(name, packed)
    scores: dict[str, list[Any]] = {}
    truth: list[Any] = []
    for variant, own in VARIANTS.items():
        settings = {"random_state": repeats[0], "device": device, "n_members": 2, **COMMON, **own}
        model = GroupNetClassifier("presence", **settings | more)
        folds = fit_folds(model, X, y, groups=groups, cv=InnerSplits(repeats))
        tests = [fold.test for fold in folds]
        truth = [Groups(groups[test]).one_per_group(y[test]) for test in tests]
        scores[variant] = [
            fold.model.predict_groups_proba(X[test], groups[test])[:, 1]
            for fold, test in zip(folds, tests, strict=True)
        ]
    everything = {AVERAGE: [np.mean(each, axis=0) for each in zip(*scores.values(), strict=True)]}
    everything |= scores
    out = []
    for at in range(N_FOLDS * len(repeats)):
        mine = slice(at * InnerSplits.n_inner, (at + 1) * InnerSplits.n_inner)
        known = np.concatenate(truth[mine])
        right = {
            method: int(((np.concatenate(score[mine]) > 0.5) == known).sum())
            for method, score in everything.items()
        }
        row = {
            "set": name,
            "repeat": repeats[at // N_FOLDS],
            "fold": at % N_FOLDS,
            "right": right,
            "chosen": max(right, key=lambda method: right[method]),
            "y": known.tolist(),
            "score": np.concatenate(everything[AVERAGE][mine]).round(4).tolist(),
        }
        out.append(row)
    return out


def measure_choices(
    report: Report, path: Path, *, sets: tuple[str, ...], repeats: tuple[int, ...], **more: Any
) -> None:
    """What the inner folds choose, set by set."""
    for name in sets:
        if not report.has_time(45.0):
            report("choice", stopped="no time left")
            return
        began = time.perf_counter()
        rows = choices(name, repeats, **more)
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        count = {one: sum(row["chosen"] == one for row in rows) for one in (AVERAGE, *VARIANTS)}
        report("choice", set=name, chosen=count, seconds=round(time.perf_counter() - began, 1))


def judged(folds: list[dict[str, Any]]) -> dict[str, float]:
    """Accuracy over all groups, and the area under the curve of the pooled folds."""
    y = np.concatenate([fold["y"] for fold in folds])
    score = np.concatenate([fold["score"] for fold in folds])
    return {
        "accuracy": round(float(((score > 0.5) == y).mean()), 4),
        "auc": round(float(roc_auc_score(y, score)), 4),
    }


def measure_bags(
    report: Report,
    path: Path,
    *,
    sets: tuple[str, ...],
    variants: tuple[str, ...],
    repeats: list[tuple[int, ...]],
    device: str,
    packed: Path | None = None,
    **more: Any,
) -> None:
    """Repeats that are trained together; what is in the file already is not measured again."""
    lines = path.read_text().splitlines() if path.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {(row["set"], row["method"], row["repeat"]) for row in kept}
    for together in repeats:
        for variant in variants:
            for name in sets:
                if (name, variant, together[0]) in done:
                    continue
                if not report.has_time(20.0):
                    report("bags", stopped="no time left")
                    return
                rows = bag_folds(name, variant, together, packed=packed, device=device, **more)
                with path.open("a") as file:
                    file.writelines(json.dumps(row) + "\n" for row in rows)
                by_repeat = [
                    judged([row for row in rows if row["repeat"] == one]) for one in together
                ]
                report(
                    "bags", set=name, method=variant, repeats=together,
                    accuracy=round(float(np.mean([each["accuracy"] for each in by_repeat])), 4),
                    auc=round(float(np.mean([each["auc"] for each in by_repeat])), 4),
                    seconds=round(sum(row["seconds"] for row in rows), 2),
                )  # fmt: skip


def add_chosen(rows: list[dict[str, Any]], choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The average of the variants, what inner folds chose, and the average scaled by them.

    Scaling is that of :class:`groupwise.uncertainty.CalibratedGroupClassifier`.
    """
    from groupwise.auto.scaling import Scaling  # not where GPUs are measured

    at = {(row["set"], row["repeat"], row["fold"], row["method"]): row for row in rows}
    for row in rows:
        key = row["set"], row["repeat"], row["fold"]
        averages = {AVERAGE + end: [one + end for one in VARIANTS] for end in ENDS}
        averages[BOTH] = [one + end for end in (KNOWN, BINS + KNOWN) for one in VARIANTS]
        for method, names in averages.items():
            parts = [at.get((*key, one)) for one in names]
            if row is parts[0] and None not in parts:
                score = np.mean([one["score"] for one in parts], axis=0)
                at[*key, method] = {**row, "method": method, "score": score.tolist()}
    for row in choices:
        key = row["set"], row["repeat"], row["fold"]
        if (*key, row["chosen"]) in at:
            at[*key, CHOSEN] = {**at[*key, row["chosen"]], "method": CHOSEN}
            mine = at[*key, AVERAGE]
            scaling = Scaling.fit(_both(row["score"]), np.eye(2)[row["y"]], penalty=1.0)
            score = scaling.apply(_both(mine["score"]))[:, 1]
            at[*key, SCALED] = {**mine, "method": SCALED, "score": score.tolist()}
    return list(at.values())


def _both(score: list[float]) -> Any:
    """Probabilities of both classes."""
    return np.column_stack([1.0 - np.array(score), score])


def bag_table(path: Path) -> str:
    """Accuracy and AUC of every variant on every set, averaged over repeats, as Markdown."""
    rows, chosen, others = (
        [json.loads(line) for line in file.read_text().splitlines()]
        for file in (path, *(path.with_name(path.stem + end) for end in _BESIDE))
    )
    rows = add_chosen(rows, chosen) + others
    names = [name for name in SETS if any(row["set"] == name for row in rows)]
    lines = ["| | " + " | ".join(names) + " | mean AUC |", "| --- " * (len(names) + 2) + "|"]
    for method in dict.fromkeys(row["method"] for row in rows):
        text, areas = [], []
        for name in names:
            mine = [row for row in rows if (row["set"], row["method"]) == (name, method)]
            by_repeat = [
                judged([row for row in mine if row["repeat"] == repeat])
                for repeat in sorted({row["repeat"] for row in mine})
            ]
            if not by_repeat:
                text.append("")
                continue
            accuracy, auc = (
                np.mean([one[key] for one in by_repeat]) for key in ("accuracy", "auc")
            )
            areas.append(auc)
            text.append(f"{accuracy:.3f}/{auc:.3f}")
        mean = f"{np.mean(areas):.3f}" if len(areas) == len(names) else ""
        lines.append(f"| {method} | " + " | ".join(text) + f" | {mean} |")
    return "\n".join(lines)


# --- the price ------------------------------------------------------------------------------------


def musk_like(n_features: int = 166) -> tuple[Any, Any, Any]:
    """92 bags of 476 rows in all, as musk1; the seed is fixed."""
    rng = np.random.default_rng(0)
    sizes = rng.multinomial(476 - 92, np.ones(92) / 92) + 1
    groups = np.repeat(np.arange(92), sizes)
    y_group = np.arange(92) % 2
    X = rng.normal(size=(476, n_features)) + 0.3 * y_group[groups][:, None]
    return X, y_group[groups], groups


def ensembles(report: Report, device: str, sizes: tuple[int, ...], epochs: int) -> None:
    """Seconds of an ensemble by its members; five takes each, the least."""
    X, y, groups = musk_like()
    for pooling in ("mean_max", "attention", None):
        for n_members in sizes:
            model = GroupNetClassifier(
                "presence", pooling=pooling, n_members=n_members, epochs=epochs, random_state=0,
                device=device,
            )  # fmt: skip
            takes = []
            for _ in range(5):
                wall, cpu = time.perf_counter(), time.process_time()
                model.fit(X, y, groups=groups)
                takes.append((time.perf_counter() - wall, time.process_time() - cpu))
            report(
                "ensemble", device=device, pooling=pooling, n_members=n_members, epochs=epochs,
                seconds=round(min(take[0] for take in takes), 3),
                cpu=round(min(take[1] for take in takes), 3),
            )  # fmt: skip


def many_networks(report: Report, device: str, repeats: int, epochs: int) -> None:
    """Ten folds x repeats x five members on a table like musk1, in one batch."""
    X, y, groups = musk_like()
    folds = WholeGroupKFold(N_FOLDS, n_repeats=repeats, random_state=0)
    for pooling in ("mean_max", "attention", None):
        model = GroupNetClassifier(
            "presence", pooling=pooling, epochs=epochs, random_state=0, device=device
        )
        for take in range(2):
            began = time.perf_counter()
            fit_folds(model, X, y, groups=groups, cv=folds, networks_at_once=250)
            _wait(device)
            report(
                "many networks", pooling=pooling, n_networks=50 * repeats, epochs=epochs, take=take,
                seconds=round(time.perf_counter() - began, 3),
            )  # fmt: skip


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


# --- the same answers on the device ---------------------------------------------------------------


def check_core(report: Report, device: str) -> None:
    """Losses against numpy, poolings and answers against the CPU, the same seed twice."""
    rng = np.random.default_rng(0)
    sizes = np.array([3, 1, 5, 2, 7, 140])
    groups = Groups.of_sizes(sizes)
    worst = 0.0
    for loss, n_classes in (
        (numpy_losses.MajorityLoss(), 2), (numpy_losses.MajorityLoss(), 3),
        (numpy_losses.SessionSoftmaxLoss(), 3), (numpy_losses.NoisyOrLoss(), 2),
        (numpy_losses.SmoothMaxLoss(), 2), (numpy_losses.ShareLoss(), 3),
        (numpy_losses.CountLikelihoodLoss(), 2), (numpy_losses.CountLikelihoodLoss(), 3),
        (numpy_losses.GroupMeanLoss(), 0),
    ):  # fmt: skip
        score = rng.normal(size=(sizes.sum(), n_classes if n_classes > 2 else 1))
        target: Any = rng.integers(max(n_classes, 2), size=len(sizes))
        if loss.target_kind == "number":
            target = rng.normal(size=len(sizes))
        if loss.target_kind == "share":
            even = np.ones(n_classes) / n_classes
            target = np.stack([rng.multinomial(m, even) / m for m in sizes])
        bound = loss.bind(target, groups, n_classes=max(n_classes, 2))
        flat = score if n_classes > 2 else score[:, 0]
        tensor = torch.tensor(score, device=device, requires_grad=True)
        known = torch.as_tensor(target, device=device)
        value = torch_loss(loss)(tensor, known, Packed(sizes, device))
        value.backward()
        off = np.abs(tensor.grad.cpu().numpy() - bound.gradient(flat).reshape(score.shape)).max()
        error = max(float(off), abs(value.item() - bound.value(flat)) / abs(bound.value(flat)))
        worst = max(worst, error)
        report("loss", loss=repr(loss), n_classes=n_classes, error=error)
    report("losses", worst=worst, ok=bool(worst < 1e-9))
    X, y, bags = musk_like(20)
    for pooling in (None, "mean", "max", "mean_max", "attention", "set_transformer"):

        def fit(where: str, **more: Any) -> Any:
            return GroupNetClassifier(
                "presence", pooling=pooling, encoder=(16,), n_members=2, epochs=20,  # noqa: B023
                random_state=0, device=where, **more,
            ).fit(X, y, groups=bags)  # fmt: skip

        first, again, half = fit(device), fit(device), fit(device, half_precision=True)
        weights = [each.ensemble_.weights for each in (first, again)]
        same = all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])
        said = first.predictions(X, bags)
        first.device_ = "cpu"
        wanted = first.predictions(X, bags)
        report(
            "fit", pooling=pooling, same_seed_same_model=same,
            answers_off=float(np.abs(said.score_row - wanted.score_row).max()),
            groups_off=float(np.abs(said.proba_group - wanted.proba_group).max()),
            score=first.score(X, y, bags), score_half_precision=half.score(X, y, bags),
        )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        whole = _continued(X, y, bags, device, None)
        part = _continued(X, y, bags, device, str(Path(folder) / "state.npz"))
        same = all(np.array_equal(whole[name], part[name]) for name in whole)
        report("continued", same_model=same)


def _continued(X: Any, y: Any, bags: Any, device: str, checkpoint: str | None) -> Any:
    """Weights after 20 epochs, stopped at 10 and continued where there is a file to do so."""
    model = GroupNetClassifier(
        "presence", pooling="attention", encoder=(16,), n_members=2, epochs=20, batch_groups=10,
        random_state=0, device=device, checkpoint=checkpoint,
    )  # fmt: skip
    if checkpoint is not None:
        model.fit(X, y, groups=bags, callbacks=[lambda progress: progress.epoch == 10])
    return model.fit(X, y, groups=bags).ensemble_.weights


# --- slides ---------------------------------------------------------------------------------------


class OneBag(nn.Module):
    """Gated attention as most scripts have it: one bag per call."""

    def __init__(self, n_features: int, width: int):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_features, width), nn.ReLU())
        self.tanh, self.gate = nn.Linear(width, width // 2), nn.Linear(width, width // 2)
        self.out, self.head = nn.Linear(width // 2, 1), nn.Linear(width, 1)

    def forward(self, rows: Any) -> Any:
        hidden = self.encoder(rows)
        logits = self.out(torch.tanh(self.tanh(hidden)) * torch.sigmoid(self.gate(hidden)))
        return self.head((torch.softmax(logits, 0) * hidden).sum(0))


def slide_sizes(n_slides: int, typical: int) -> Any:
    return np.random.default_rng(0).lognormal(np.log(typical), 0.6, n_slides).astype(int) + 1


def slides(report: Report, device: str, n_slides: int, typical: int, n_features: int) -> None:
    """Rows a second of training, one bag a step and packed."""
    sizes = slide_sizes(n_slides, typical)
    half = torch.bfloat16
    torch.manual_seed(0)
    rows = torch.empty(int(sizes.sum()), n_features, dtype=half, device=device).normal_()
    starts = np.cumsum(sizes) - sizes
    labels = torch.as_tensor(np.arange(n_slides) % 2, device=device)
    width = n_features // 2

    def measured(name: str, passes: Callable[[], int], takes: int = 2, **more: Any) -> float:
        """Rows a second of the best take, after one that warms up."""
        if device.startswith("cuda"):
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.empty_cache()
        warm = time.perf_counter()
        passes()
        _wait(device)
        warm = time.perf_counter() - warm
        rates = []
        for _ in range(takes):
            began = time.perf_counter()
            n_rows = passes()
            _wait(device)
            rates.append(n_rows / (time.perf_counter() - began))
        memory = torch.cuda.max_memory_allocated() / 2**30 if device.startswith("cuda") else 0.0
        report(
            "slides", how=name, million_rows_per_s=round(max(rates) / 1e6, 2),
            gib=round(memory, 2), first_pass_s=round(warm, 2), **more,
        )  # fmt: skip
        return max(rates)

    def one_bag(precision: Any, n_bags: int) -> Callable[[], int]:
        net = OneBag(n_features, width).to(device)
        optimiser = torch.optim.Adam(net.parameters(), 1e-4, fused=device.startswith("cuda"))
        loss = nn.BCEWithLogitsLoss()
        kind = device.split(":")[0]

        def passes() -> int:
            for at in range(n_bags):
                part = rows[starts[at] : starts[at] + sizes[at]]
                optimiser.zero_grad(set_to_none=True)
                with torch.autocast(kind, half, enabled=precision is half):
                    score = net(part if precision is half else part.float())
                loss(score.float(), labels[at : at + 1].float()).backward()
                optimiser.step()
            return int(sizes[:n_bags].sum())

        return passes

    n_bags = min(n_slides, 100)
    slow = measured("one bag a step, fp32", one_bag(torch.float32, n_bags))
    measured("one bag a step, bf16", one_bag(half, n_bags))

    def packed_net(at_once: int, fuse: bool) -> Callable[[], int]:
        net = GroupNet(n_features, encoder=(width,), pooling="attention").to(device)
        if fuse:
            net.fuse()
        optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=device.startswith("cuda"))
        loss = PooledLoss("label")
        rng = np.random.default_rng(0)
        first = torch.as_tensor(starts, device=device)

        def passes() -> int:
            # as groupwise.nets.batches.ResidentRows does it: random groups, gathered on the device
            for part in np.array_split(rng.permutation(n_slides), max(1, n_slides // at_once)):
                packed = Packed(sizes[part], device)
                codes = to_device(part, device)
                batch = rows.index_select(0, packed.within + first[codes][packed.codes])
                with torch.autocast(device.split(":")[0], half):
                    train_step(net, loss, optimiser, batch, packed, labels[codes])
            return int(sizes.sum())

        return passes

    best = 0.0
    for at_once in (16, 64, 128):
        if at_once <= n_slides:
            rate = measured(f"packed, {at_once} bags a step", packed_net(at_once, False))
            best = max(best, rate)
    for at_once in (64, 128):
        if at_once <= n_slides and report.has_time(90.0):
            name = f"packed, {at_once} bags a step, rows compiled"
            best = max(best, attempt(report, name, measured, name, packed_net(at_once, True)) or 0)
    report("slides", how="best packed over one bag fp32", ratio=round(best / slow, 2))
    pooling_alone(report, device, rows, sizes, width)


def pooling_alone(report: Report, device: str, rows: Any, sizes: Any, width: int) -> None:
    """What softmax and weighted sum cost, of the time of a step: what a fused kernel could save."""
    part = sizes[:64]
    packed = Packed(part, device)
    hidden = rows[: packed.n_rows, :width].clone().requires_grad_()
    logits = rows[: packed.n_rows, :1].float().requires_grad_()

    def once() -> None:
        packed.weighted_sum(packed.softmax(logits), hidden).float().sum().backward()

    for _ in range(3):
        once()
    _wait(device)
    began = time.perf_counter()
    for _ in range(10):
        once()
    _wait(device)
    rate = 10 * packed.n_rows / (time.perf_counter() - began)
    report("pooling alone", million_rows_per_s=round(rate / 1e6, 1), bags=len(part))


def streaming(
    report: Report, device: str, *, gib_allowed: float, typical: int, n_features: int
) -> None:
    """Training on host rows of three times the device memory that is allowed.

    Once with a part of that memory for rows that stay, once with all of it, the rest beside.
    """
    n_rows = int(3 * gib_allowed * 2**30 / (2 * n_features))
    n_slides = max(8, n_rows // int(typical * 1.2))
    sizes = slide_sizes(n_slides, typical)
    sizes = (sizes * (n_rows / sizes.sum())).astype(int) + 1
    host = torch.empty(int(sizes.sum()), n_features, dtype=torch.float16)
    block = torch.randn(min(len(host), 200_000), n_features).half()
    for start in range(0, len(host), len(block)):
        held = min(len(block), len(host) - start)
        host[start : start + held].copy_(block[:held])
    groups = Groups.of_sizes(sizes)
    gib = 2**30
    # rows that stay, memory allowed in all, array page-locked in place, groups a step
    cases: list[tuple[float, float, bool, int]] = [
        (0.0, gib_allowed, False, 16),
        (0.0, gib_allowed, True, 16),
        (gib_allowed, 1.6 * gib_allowed, True, 16),
        (gib_allowed, 2.0 * gib_allowed, True, 32),
        (gib_allowed, 2.6 * gib_allowed, True, 64),
    ]
    if gib_allowed < 1:
        cases = [(0.4 * gib_allowed, 1.0, False, 16)]
    for kept, allowed, lock, at_once in cases:
        if device.startswith("cuda"):
            whole = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.empty_cache()
            torch.cuda.set_per_process_memory_fraction(allowed * gib / whole)
            torch.cuda.reset_peak_memory_stats()
        began = time.perf_counter()
        source = StreamedRows(
            GroupRows(host.numpy(), groups), device, torch.bfloat16, None, None, int(kept * gib),
            lock,
        )  # fmt: skip
        opened = time.perf_counter() - began
        net = GroupNet(n_features, encoder=(n_features // 2,), pooling="attention").to(device)
        if device.startswith("cuda"):
            net.fuse()
        optimiser = torch.optim.AdamW(net.parameters(), 1e-4, fused=device.startswith("cuda"))
        labels = torch.as_tensor(np.arange(n_slides) % 2, device=device)
        loss = PooledLoss("label")
        rng = np.random.default_rng(0)
        for take in range(3):
            parts = np.array_split(rng.permutation(n_slides), max(1, n_slides // at_once))
            began = time.perf_counter()
            for batch in source.batches(parts):
                with torch.autocast(device.split(":")[0], torch.bfloat16):
                    train_step(net, loss, optimiser, batch.rows, batch.packed, labels[batch.groups])
            _wait(device)
            seconds = time.perf_counter() - began
            report(
                "streaming", groups_a_step=at_once, take=take,
                gib_of_rows=round(host.nbytes / gib, 1), gib_allowed=allowed, gib_kept=kept,
                locked=lock, opened_s=round(opened, 2),
                million_rows_per_s=round(len(host) / seconds / 1e6, 2),
                gb_per_s=round((host.nbytes - kept * gib) / seconds / 1e9, 1),
                gib=round(torch.cuda.max_memory_allocated() / gib, 2)
                if device.startswith("cuda") else 0.0,
            )  # fmt: skip
        source = net = optimiser = None
    if device.startswith("cuda"):
        torch.cuda.set_per_process_memory_fraction(1.0)
        pinned = host[: 2**30 // (2 * n_features)].pin_memory()
        there = torch.empty_like(pinned, device=device)
        _wait(device)
        began = time.perf_counter()
        for _ in range(5):
            there.copy_(pinned, non_blocking=True)
        _wait(device)
        gb = 5 * pinned.nbytes / 1e9 / (time.perf_counter() - began)
        report("way to the device", gb_per_s=round(gb, 1))


def mean_outputs(report: Report, device: str, n_rows: int, epochs: int) -> None:
    """AOC-ANN at its defaults: groups of 50, 32 groups a step, 64 units."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=n_rows)
    X = rng.normal(size=(n_rows, 10)) + 0.8 * y[:, None] * (np.arange(10) < 3)
    groups = Groups.of_sizes(np.full(n_rows // 50, 50))
    counts = np.stack([groups.sum(1.0 - y), groups.sum(1.0 * y)], axis=1)
    for where in dict.fromkeys((device, "cpu")):
        for take in range(2 if where == device else 1):
            seed = np.random.RandomState(1)
            layers = initial_layers([10, 64, 2], seed)
            n_epochs = epochs if where == device else max(1, epochs // 20)
            batches = (group_batches(groups, 32, seed) for _ in range(n_epochs))
            began = time.perf_counter()
            layers, history = train_mean_outputs(
                X, groups, counts, layers, loss="cross_entropy", batches=batches,
                learning_rate=0.01, alpha=1e-4, device=where,
            )  # fmt: skip
            seconds = time.perf_counter() - began
            hidden = np.maximum(X @ layers[0][0] + layers[0][1], 0.0)
            said = (hidden @ layers[1][0] + layers[1][1]).argmax(axis=1)
            report(
                "AOC-ANN", device=where, rows=n_rows, epochs=n_epochs, take=take,
                seconds=round(seconds, 3), loss_first=float(history[0]),
                loss_last=float(history[-1]), row_error=round(float((said != y).mean()), 4),
            )  # fmt: skip


def attempt(report: Report, name: str, run: Callable[..., Any], *args: Any, **more: Any) -> Any:
    """Run a part of a long measurement; what fails is reported, and the rest goes on."""
    try:
        return run(*args, **more)
    except Exception as error:
        last = traceback.format_exc().strip().splitlines()[-6:]
        report(name, failed=repr(error)[:500], trace=last)
        return None


def gpu(
    out: Path,
    small: bool,
    bags: Path | None,
    parts: list[str],
    sets: tuple[str, ...],
    seconds: float,
) -> None:
    out.mkdir(parents=True, exist_ok=True)
    device = "cpu" if small else "cuda"
    report = Report(out / "gpu.jsonl", budget=seconds)
    name = "cpu" if small else torch.cuda.get_device_name(0)
    report("machine", device=name, torch=torch.__version__, cores=os.cpu_count())
    plan: dict[str, Callable[[], Any]] = {
        "core": lambda: check_core(report, device),
        "networks": lambda: many_networks(report, device, *((1, 5) if small else (5, 200))),
        "aoc": lambda: mean_outputs(report, device, *((5_000, 3) if small else (200_000, 200))),
        "slides": lambda: slides(
            report, device, *((20, 60, 64) if small else (300, 8_000, 1_024))
        ),
        "streaming": lambda: streaming(
            report, device, gib_allowed=0.001 if small else 8.0, typical=60 if small else 8_000,
            n_features=64 if small else 1_024,
        ),
    }  # fmt: skip
    for part in parts:
        if part in plan:
            attempt(report, part, plan[part])
            if device.startswith("cuda"):
                torch.cuda.set_per_process_memory_fraction(1.0)
                torch.cuda.empty_cache()
    if bags is None:
        report("end")
        return
    repeats = (0,) if small else (0, 1, 2, 3, 4)
    more = {"epochs": 5, "n_members": 1} if small else {}
    common = {"sets": sets, "device": device, "packed": bags, **more}
    attempt(
        report, "bags", measure_bags, report, out / "networks.jsonl",
        variants=tuple(one + end for end in ENDS for one in VARIANTS), repeats=[repeats],
        **common,
    )  # fmt: skip
    attempt(
        report, "choice", measure_choices, report, out / "networks_choice.jsonl", repeats=repeats,
        **common,
    )  # fmt: skip
    report("end")


def picture(path: Path) -> None:
    """A bag of digits: where the network looks, and what each digit adds."""
    import matplotlib.pyplot as plt
    from sklearn.datasets import load_digits

    pixels, digit = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(digit))
    pixels, digit = pixels[order], digit[order]
    encoded = Groups(np.arange(len(digit)) // 10)
    holds_nine = encoded.spread(encoded.max(digit == 9)).astype(int)
    train = encoded.codes < 120
    model = GroupNetClassifier("presence", pooling="attention", random_state=0, device="cpu")
    model.fit(pixels[train], holds_nine[train], groups=encoded.codes[train])
    bag = next(
        g for g in range(120, encoded.n_groups) if (digit[encoded.codes == g] == 9).sum() == 1
    )
    rows = np.flatnonzero(encoded.codes == bag)
    share = model.attention(pixels[rows], encoded.codes[rows])
    adds = model.decision_function(pixels[rows], encoded.codes[rows])
    figure, axes = plt.subplots(2, len(rows), figsize=(9, 2.6), layout="constrained")
    for line, values, form in ((axes[0], share, "{:.2f}"), (axes[1], adds, "{:+.2f}")):
        for ax, image, value in zip(line, pixels[rows], values, strict=True):
            ax.imshow(image.reshape(8, 8), cmap="gray_r")
            ax.set_title(form.format(value), fontsize=9)
            ax.set_xticks([], [])
            ax.set_yticks([], [])
    axes[0, 0].set_ylabel("looked at", fontsize=8)
    axes[1, 0].set_ylabel("adds", fontsize=8)
    figure.suptitle("Attention is not explanation: is there a nine in this bag?", fontsize=10)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("mil", "table", "cpu", "gpu", "pack", "picture"))
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--bags", type=Path, help="all sets in one file, made by `pack`")
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument(
        "--parts", nargs="*", default=["core", "networks", "aoc", "slides", "streaming"]
    )
    parser.add_argument(
        "--variants", nargs="+", default=[one + end for end in ENDS for one in VARIANTS]
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=490.0)
    chosen = parser.parse_args()
    if chosen.part == "gpu":
        gpu(chosen.out, chosen.small, chosen.bags, chosen.parts, tuple(chosen.sets), chosen.seconds)
    elif chosen.part == "pack":
        pack_bags(chosen.out)
    elif chosen.part == "picture":
        picture(Path(__file__).parents[1] / "docs" / "networks_attention.png")
    elif chosen.part == "cpu":
        ensembles(Report(RESULTS / "networks_cpu.jsonl"), "cpu", (1, 2, 5, 10), 100)
    elif chosen.part == "mil":
        measure_bags(
            Report(None, chosen.seconds), RESULTS / "networks.jsonl", sets=tuple(chosen.sets),
            variants=tuple(chosen.variants), repeats=[(one,) for one in range(chosen.repeats)],
            device="cpu",
            packed=chosen.bags,
        )  # fmt: skip
    else:
        print(bag_table(RESULTS / "networks.jsonl"))


if __name__ == "__main__":
    main()
