"""How members of the automatic choice should weigh in transfer: rules compared on made-up tables.

``python benchmarks/transfer_weights.py`` draws tables (600 rows of a source, 40 to 150 labelled
rows of a target that lies elsewhere or follows another rule, 1,500 new ones), fits every candidate,
and compares the errors of averages whose members were chosen, scaled and weighed on the same
held-out answers. Kept in ``results/transfer_weights.jsonl``; a run that stopped goes on.
"""

import argparse
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
from harness import RESULTS, Report
from threadpoolctl import threadpool_limits

from groupwise.auto.candidates import first_candidates
from groupwise.auto.ensemble import Truth, best_of_each, mixture_weights
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.kinds import Problem, Transferred, in_canonical_order
from groupwise.auto.members import Fold, Trainer
from groupwise.auto.scaling import Scaling, cross_fitted, log_loss
from groupwise.groups import Groups

STORED = RESULTS / "transfer_weights.jsonl"
N_SOURCE, N_NEW = 600, 1500
SHAPES = ("linear", "curved", "rules", "words")


def table(seed: int) -> tuple[dict[str, Any], Any, Any, Any, int]:
    """What was drawn, rows, labels, domains (0 is the target), and how many rows train."""
    rng = np.random.RandomState(5000 + seed)
    n_target, shape = int(rng.choice([40, 50, 80, 150])), SHAPES[seed % 4]
    n_rows = N_SOURCE + n_target + N_NEW
    is_source = np.arange(n_rows) < N_SOURCE
    change = float(rng.choice([0, 0, 0.3, 0.8, 1.5]))
    noise = float(rng.choice([0.05, 0.3, 1.0]))
    make = {"rules": _rules, "words": _words}.get(shape, _plane)
    X, score = make(rng, is_source, change, shape)
    middle = np.where(is_source, np.median(score[is_source]), np.median(score[~is_source]))
    score = score - middle
    y = (score + noise * score.std() * rng.normal(size=n_rows) > 0).astype(int)
    told = {"seed": seed, "shape": shape, "change": change, "noise": noise, "n_target": n_target}
    return told, X, y, is_source.astype(int), N_SOURCE + n_target


def _plane(rng: Any, is_source: Any, change: float, shape: str) -> tuple[Any, Any]:
    """Two sides of a plane, turned in the target; curved: a saddle on top."""
    n_features = int(rng.choice([4, 10, 30]))
    X = rng.normal(size=(len(is_source), n_features))
    w, v = (rng.normal(size=n_features) / np.sqrt(n_features) for _ in range(2))
    X[~is_source] += float(rng.choice([0, 1.0])) * rng.normal(size=n_features) / 2
    turned = np.cos(change) * w + np.sin(change) * v
    score = np.where(is_source, X @ w, X @ turned)
    return X, score + 0.7 * X[:, 0] * X[:, 1] if shape == "curved" else score


def _rules(rng: Any, is_source: Any, change: float, shape: str) -> tuple[Any, Any]:
    """Sums of cuts in grades, some of them exclusive; the target has one or two others."""
    n_rows, n_features = len(is_source), int(rng.choice([8, 20]))
    X = rng.randint(0, 5, size=(n_rows, n_features)).astype(float)
    moved = np.ix_(~is_source, rng.rand(n_features) < 0.4)
    X[moved] = np.minimum(X[moved], rng.randint(0, 5, size=X[moved].shape))

    def cut() -> tuple[int, int, float]:
        return rng.randint(n_features), rng.randint(1, 5), rng.normal()

    def score(cuts: list[Any]) -> Any:
        total = np.zeros(n_rows)
        for place, (column, at, weight) in enumerate(cuts):
            other, there, _ = cuts[(place + 1) % 4]
            below = X[:, column] < at
            total += 2 * weight * (below ^ (X[:, other] < there) if place % 2 else below)
        return total

    cuts = [cut() for _ in range(4)]
    others = list(cuts)
    for place, least in enumerate((0.5, 1.0)):
        if change > least:
            others[place] = cut()
    tie = 1e-3 * rng.normal(size=n_rows)
    return X, np.where(is_source, score(cuts), score(others)) + tie


def _words(rng: Any, is_source: Any, change: float, shape: str) -> tuple[Any, Any]:
    """Words that come or not, some of which say something; the target uses and means others."""
    n_words = int(rng.choice([100, 400]))
    often = np.clip(rng.beta(0.3, 6, size=n_words), 0.005, 0.6)
    there = np.clip(often * np.exp(rng.normal(size=n_words) * 0.5 * (change > 0)), 0.005, 0.6)
    X = rng.rand(len(is_source), n_words) < np.where(is_source[:, None], often, there)
    means = rng.normal(size=n_words) * (rng.rand(n_words) < 0.3)
    moved = rng.rand(n_words) < change / 2
    changed = np.where(moved, rng.normal(size=n_words) * (rng.rand(n_words) < 0.3), means)
    score = np.where(is_source, X @ means, X @ changed)
    return X.astype(float), score / score.std() * 2


def answers(X: Any, y: Any, domains: Any, n_train: int, seed: int) -> tuple[Any, ...]:
    """Held-out and new probabilities of every candidate, their methods, and what is true."""
    kind = Transferred()
    groups = Groups.singletons(n_train)
    problem = Problem(X[:n_train], y[:n_train], groups, 2, domains=domains[:n_train])
    problem, _ = in_canonical_order(problem)
    splits = kind.splits(problem, 5, seed)
    tiers, _ = first_candidates(
        kind.name, n_rows=n_train, n_features=X.shape[1], n_classes=2, measure=None
    )
    target, new = kind.counted_rows(problem), Groups.singletons(len(X) - n_train)
    fold, found = np.zeros(len(target), int), []
    with threadpool_limits(1), fold_tables(problem, splits) as tables:
        fitted = Trainer(kind, problem, 0)
        folds = [Fold(kind, tables, number, 0) for number in range(len(splits))]
        for candidate in [candidate for tier in tiers for candidate in tier]:
            held_out = np.zeros((len(target), 2))
            parts = [one.answer(candidate) for one in folds]
            if any(part.failed for part in parts):
                continue
            for number, ((_, test), part) in enumerate(zip(splits, parts, strict=True)):
                at = np.searchsorted(target, test)
                held_out[at], fold[at] = part.answer["proba_row"], number
            said = fitted.fit(candidate).predictions(X[n_train:], new).proba_row
            found.append((candidate.method.name, held_out, said))
    truth = Truth(problem.y[target], Groups.singletons(len(target)), fold, 2)
    return found, truth, y[n_train:]


def errors(found: list[Any], truth: Truth, new: Any) -> dict[str, float]:
    """Errors on new rows by rule: which members, how cautiously scaled, with which weights."""
    methods, held_out, asked = zip(*found, strict=True)
    target, rows = truth.one_hot(truth.y_row), np.arange(len(truth.y_row))

    def error(proba: Any) -> float:
        return float(np.mean(proba.argmax(axis=1) != new))

    rules = {}
    for penalty in (1.0, 10.0, 30.0):
        scaled = [cross_fitted(p, target, truth.fold_row, penalty=penalty) for p in held_out]
        order = best_of_each([float(log_loss(p, target).mean()) for p in scaled], methods)
        scalings = [Scaling.fit(p, target, penalty=penalty) for p in held_out]
        now = np.array([s.apply(p) for s, p in zip(scalings, asked, strict=True)])
        five = order[:5]
        true = np.column_stack([scaled[m][rows, truth.y_row] for m in five])
        rules[f"scaling {penalty:g}, the best by log-loss"] = error(now[order[0]])
        rules[f"scaling {penalty:g}, all, equal weights"] = error(now.mean(axis=0))
        rules[f"scaling {penalty:g}, five, equal weights"] = error(now[five].mean(axis=0))
        for prior in (1.0, 5.0, 20.0):
            weights = mixture_weights(true, prior)
            weighed = np.tensordot(weights, now[five], axes=1)
            rules[f"scaling {penalty:g}, five, weighed, prior {prior:g}"] = error(weighed)
    return rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=125)
    n_tables = parser.parse_args().tables
    lines = STORED.read_text().splitlines() if STORED.exists() else []
    kept = [json.loads(line) for line in lines]
    done = {line["seed"] for line in kept}
    for seed in (seed for seed in range(n_tables) if seed not in done):
        told, X, y, domains, n_train = table(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            line = told | errors(*answers(X, y, domains, n_train, seed))
        kept.append(line)
        with STORED.open("a") as file:
            file.write(json.dumps(line) + "\n")
    rules = pd.DataFrame(kept).drop(columns=["seed", "shape", "change", "noise", "n_target"])
    less = rules.sub(rules["scaling 1, five, equal weights"], axis=0)
    deviation = less.std() / len(less) ** 0.5
    report = Report("transfer_weights", "Transfer weights")
    report.add(
        f"{len(kept)} made-up tables",
        [
            {
                "rule": rule,
                "error on new rows": f"{rules[rule].mean():.4f}",
                "less that of five, equal weights": f"{less[rule].mean():+.4f}",
                "s.e.": f"{deviation[rule]:.4f}",
            }
            for rule in rules
        ],
        "Members chosen, scaled and weighed on the same held-out answers; scaling: the penalty "
        "that draws a member's scaling towards none; prior: rows of belief that members are "
        "equally good. The automatic choice has 10 and 5.",
    )


if __name__ == "__main__":
    main()
