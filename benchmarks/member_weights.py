"""How members of the automatic choice should weigh, where there is little to tell them apart by.

``python benchmarks/member_weights.py transfer`` draws tables (600 rows of a source, 40 to 150
labelled rows of a target that lies elsewhere or follows another rule, 1,500 new ones); ``few``
takes 40 groups of each set that is there, twenty of each class, and asks about up to 300 others.
Every candidate but the slow ones is fitted, and averages are compared whose members were chosen,
scaled and weighed on the same held-out answers. Kept in ``results/member_weights.jsonl``; a run
that stopped goes on. Without a name: the tables of what is there.
"""

import argparse
from typing import Any

import numpy as np
from auto import load
from harness import RESULTS, Report, add_lines, read_lines
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from groupwise.auto.candidates import Candidate, first_candidates
from groupwise.auto.ensemble import Truth, best_of_each, mixture_weights
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.kinds import Kind, Labels, Transferred
from groupwise.auto.members import Fold, Trainer
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.scaling import Scaling, cross_fitted, log_loss
from groupwise.boosting.lightgbm import share_bins
from groupwise.groups import Groups
from groupwise.kernels import share_kernels
from groupwise.methods import methods_for

STORED = RESULTS / "member_weights.jsonl"
N_SOURCE, N_NEW = 600, 1500
SHAPES = ("linear", "curved", "rules", "words")
N_EACH, N_ASKED = 20, 300
SETS = (
    "musk1", "elephant", "fox", "tiger", "newsgroups1", "newsgroups2", "newsgroups3",
    "mutagenesis1", "german", "spam", "cmc", "corel_dogs", "birds_winter_wren",
)  # fmt: skip
#: Of each part: its heading, the rule before, and what to know.
NOTES = (
    (
        "transfer",
        "Transfer: {} made-up tables",
        "scaling 1, five, equal weights",
        "Scaling: the penalty that draws a member's scaling towards none; prior: rows of belief "
        "that members are equally good. The automatic choice has 10 and 5.",
    ),
    (
        "few",
        "Forty groups: {} sets",
        "all, equal weights",
        "With fewer than 60 groups the automatic choice weighs all members, prior 5.",
    ),
)


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


def answers(
    kind: Kind,
    problem: Problem,
    X_new: Any,
    new: Groups,
    seed: int,
    more: tuple[str, ...] = (),
) -> tuple[Any, Truth]:
    """Methods with their held-out and new probabilities; and what is true of what was held out.

    ``more``: methods that the automatic choice leaves out.
    """
    problem, _ = in_canonical_order(problem)
    splits = kind.splits(problem, 5, seed)
    tiers, _ = first_candidates(
        kind.name,
        n_rows=problem.n_rows,
        n_features=X_new.shape[1],
        n_classes=problem.n_classes,
        measure=None,
    )
    rows = kind.counted_rows(problem)
    groups = Groups(problem.groups.codes[rows])
    (keeps,) = kind.keeps
    fold, found = np.zeros(groups.n_groups, int), []
    with (
        threadpool_limits(1),
        share_bins(),
        share_kernels(),
        fold_tables(problem, splits) as tables,
    ):
        fitted = Trainer(kind, problem, 0)
        folds = [Fold(kind, tables, number, 0) for number in range(len(splits))]
        left_out = [Candidate(m) for m in methods_for(kind.name) if m.name in more]
        for candidate in [c for c in sum(tiers, left_out) if not c.method.is_slow]:
            held_out = np.zeros((groups.n_groups, problem.n_classes))
            parts = [one.answer(candidate) for one in folds]
            if any(part.failed for part in parts):
                continue
            for number, ((_, test), part) in enumerate(zip(splits, parts, strict=True)):
                at = np.unique(groups.codes[np.searchsorted(rows, test)])
                held_out[at], fold[at] = part.answer[keeps], number
            said = getattr(fitted.fit(candidate).predictions(X_new, new), keeps)
            found.append((candidate.method.name, held_out, np.asarray(said)))
    return found, Truth(problem.y[rows], groups, fold, problem.n_classes)


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


def scores(found: list[Any], truth: Truth, new: Any) -> dict[str, list[float]]:
    """Error, log-loss and area of groups by rule; the average is scaled once more, as always."""
    methods, held_out, asked = zip(*found, strict=True)
    code = truth.y_group
    target = truth.one_hot(code)
    scaled = [cross_fitted(p, target, truth.fold_group, penalty=1.0) for p in held_out]
    order = best_of_each([float(log_loss(p, target).mean()) for p in scaled], methods)
    scalings = [Scaling.fit(p, target, penalty=1.0) for p in held_out]
    now = [s.apply(p) for s, p in zip(scalings, asked, strict=True)]
    rules = {}
    for name, chosen in (("all", order), ("five", order[:5])):
        true = np.column_stack([scaled[m][np.arange(len(code)), code] for m in chosen])
        weights = {"equal weights": np.full(len(chosen), 1.0 / len(chosen))}
        weights |= {f"weighed, prior {c:g}": mixture_weights(true, c) for c in (5.0, 20.0)}
        for how, weight in weights.items():
            average = np.tensordot(weight, np.array([scaled[m] for m in chosen]), axes=1)
            last = Scaling.fit(average, target, penalty=10.0)
            said = last.apply(np.tensordot(weight, np.array([now[m] for m in chosen]), axes=1))
            rules[f"{name}, {how}"] = [
                float(np.mean(said.argmax(axis=1) != new)),
                float(log_loss(said, np.eye(2)[new]).mean()),
                float(roc_auc_score(new, said[:, 1])),
            ]
    return rules


def made_up(seed: int) -> dict[str, Any]:
    """One table of transfer."""
    told, X, y, domains, n_train = table(seed)
    groups, new = Groups.singletons(n_train), Groups.singletons(len(X) - n_train)
    problem = Problem(X[:n_train], y[:n_train], groups, 2, domains=domains[:n_train])
    found, truth = answers(Transferred(), problem, X[n_train:], new, seed)
    return told | errors(found, truth, y[n_train:])


def real(name: str) -> dict[str, Any]:
    """40 groups of a set."""
    kind, data = load(name)
    X = np.asarray(data.X, float)
    groups = np.unique(np.asarray(data.groups), return_inverse=True)[1]
    y = np.unique(np.asarray(data.y), return_inverse=True)[1]
    y_group = y[np.unique(groups, return_index=True)[1]]
    rng = np.random.RandomState(1)
    order = rng.permutation(len(y_group))
    by_class = [order[y_group[order] == code] for code in (0, 1)]
    rest = rng.permutation(np.concatenate([one[N_EACH:] for one in by_class]))[:N_ASKED]
    train = np.isin(groups, np.concatenate([one[:N_EACH] for one in by_class]))
    test = np.isin(groups, rest)
    problem = Problem(X[train], y[train], Groups(groups[train]), 2)
    new = Groups(groups[test])
    found, truth = answers(Labels(kind), problem, X[test], new, 0)
    return {"set": name} | scores(found, truth, y[test][new.first_rows])


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables and sets, and their differences to a rule that was there before."""
    report = Report("member_weights", "Weights of members")
    told = {"part", "seed", "shape", "change", "noise", "n_target", "set"}
    for part, heading, first, note in NOTES:
        lines = [line for line in kept if line["part"] == part]
        if not lines:
            continue
        rules = [rule for rule in lines[0] if rule not in told]
        values = {rule: np.array([np.atleast_1d(line[rule]) for line in lines]) for rule in rules}
        rows = []
        for rule in rules:
            row = {"rule": rule}
            less = values[rule] - values[first]
            spread = less.std(axis=0, ddof=1) / len(less) ** 0.5
            parts = zip(("error", "log-loss", "AUC"), values[rule].T, less.T, spread, strict=False)
            for name, value, difference, error in parts:
                row[name] = f"{value.mean():.4f}"
                row[f"less the rule before (s.e.), {name}"] = (
                    f"{difference.mean():+.4f} ({error:.4f})"
                )
            rows.append(row)
        report.add(heading.format(len(lines)), rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=("transfer", "few"))
    parser.add_argument("--tables", type=int, default=125)
    chosen = parser.parse_args()
    known = {(line["part"], line.get("seed", line.get("set"))) for line in read_lines(STORED)}
    cases = {"transfer": range(chosen.tables), "few": SETS, None: ()}[chosen.part]
    make = {"transfer": made_up, "few": real}
    todo = (case for case in cases if (chosen.part, case) not in known)
    add_lines(STORED, todo, lambda case: {"part": chosen.part, **make[chosen.part](case)})
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
