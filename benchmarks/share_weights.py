"""How members of the automatic choice should weigh where groups tell shares of two classes.

``python benchmarks/share_weights.py`` makes tables of 100 to 200 rows (eleven of 1,200 to 2,500) in
groups of 4, 6 or 10: drawn ones, and rows of two digits, of diabetes and of two activities of WISDM
(``GROUPWISE_DATA``). Every candidate but the slow ones and networks is fitted, and averages are
compared that were chosen and weighed on the same held-out answers. Kept in
``results/share_weights.jsonl``; a run that stopped goes on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from scipy.special import softmax
from sklearn.datasets import load_diabetes, load_digits
from threadpoolctl import threadpool_limits

from groupwise.auto.candidates import first_candidates
from groupwise.auto.ensemble import Answer, ShareAverage, Truth, best_of_each, count_loss
from groupwise.auto.entries import Entry
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.held_out import HeldOut
from groupwise.auto.kinds import Shares
from groupwise.auto.members import Fold, Trainer
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.scaling import Scaling, is_worse
from groupwise.boosting.lightgbm import share_bins
from groupwise.datasets import load_wisdm, make_aggregates
from groupwise.groups import Groups
from groupwise.kernels import share_kernels

STORED = RESULTS / "share_weights.jsonl"
N_NEW = 600
FIRST_LARGE = 300
#: Of each part: its heading, the seeds of its tables, and what to know.
PARTS = (
    (
        "{} tables that the rule was chosen on",
        range(100, 130),
        "Equal weights, the rule before: without those behind the best by two standard errors. "
        "Other weights are proportional to a power of the likelihood of all held-out counts; the "
        "automatic choice has a half, without members below 1 %. It was chosen among 58 rules on "
        "these tables and eight of an earlier generator. Members: their mean number.",
    ),
    (
        "{} tables that confirm it",
        range(130, 204),
        "A half and a quarter were compared here, and were looked at three times (30, 56 and 74 "
        "tables; the last 18 were added after the second look): the differences are less sure than "
        "their standard errors say.",
    ),
    (
        "{} tables of 1,200 to 2,500 rows",
        range(FIRST_LARGE, 311),
        "Drawn ones only, without the methods that take long on so many rows.",
    ),
)
FAMILIES = ("plane", "curved", "spot", "cuts", "blobs", "grades", "real", "real")
LARGE_FAMILIES = (*FAMILIES[:-2], "plane", "curved")
LEFT_OUT = ("mlp", "network")
LARGE_LEFT_OUT = (*LEFT_OUT, "kernel-counts", "in-context", "manifold")
BEFORE, NOW = "three, equal weights", "five, weights by half the likelihood"


@dataclass(frozen=True)
class Table:
    """Rows with class codes, of which the first train; put into groups of this size."""

    family: str
    X: Any
    y: Any
    n_train: int
    size: int
    randomness: float


@dataclass(frozen=True)
class Asked:
    """What a method says of held-out rows and of new ones."""

    method: str
    held_out: Answer
    new: Answer


def table(seed: int) -> Table:
    """Rows of one family; columns have mean 0 and spread 1 over the training rows."""
    is_large = seed >= FIRST_LARGE
    rng = np.random.RandomState(910_000 + seed)
    family = (LARGE_FAMILIES if is_large else FAMILIES)[seed % len(FAMILIES)]
    least, most = (1200, 2500) if is_large else (100, 200)
    n_train = int(np.exp(rng.uniform(np.log(least), np.log(most))))
    size, randomness = int(rng.choice([4, 6, 10])), float(rng.choice([1.0, 1.0, 0.7]))
    if family == "real":
        family, X, y = _real(rng)
        order = rng.permutation(len(y))
        X, y = X[order], y[order]
        n_train = min(n_train, len(y) * 2 // 3)
    else:
        n_features = max(int(np.exp(rng.uniform(np.log(2.5), np.log(36)))), 2)
        X, score = _drawn(rng, family, n_train + N_NEW, n_features)
        noise = rng.choice([1e-3, 0.1, 0.3]) * score.std()
        score = score + noise * rng.normal(size=len(score))
        y = (score > np.quantile(score, rng.choice([0.35, 0.5, 0.65, 0.8]))).astype(int)
    mean, spread = X[:n_train].mean(axis=0), X[:n_train].std(axis=0)
    X = (X - mean) / np.where(spread > 0, spread, 1)
    return Table(family, X, y, n_train, size, randomness)


def _drawn(rng: Any, family: str, n_rows: int, n_features: int) -> tuple[Any, Any]:
    """Rows, and the score by whose size they have their class."""
    X = rng.normal(size=(n_rows, n_features))
    if rng.rand() < 0.5:
        mixed = rng.normal(size=(n_features, n_features)) / np.sqrt(4 * n_features)
        X = X @ (np.eye(n_features) + mixed)
    w = rng.normal(size=n_features) * (rng.rand(n_features) < rng.choice([0.3, 1.0]))
    w[rng.randint(n_features)] += 1
    if family == "plane":
        return X, X @ w
    if family == "curved":
        i, j = rng.choice(n_features, 2, replace=False)
        return X, X @ w / np.linalg.norm(w) + rng.uniform(0.5, 2) * X[:, i] * X[:, j]
    return {"spot": _spot, "cuts": _cuts, "grades": _grades, "blobs": _blobs}[family](rng, X)


def _spot(rng: Any, X: Any) -> tuple[Any, Any]:
    """One class is dense, the other all around it."""
    n_features = X.shape[1]
    columns = rng.choice(n_features, rng.randint(2, n_features + 1), replace=False)
    radius = np.linalg.norm(X[:, columns], axis=1)
    X[np.ix_(radius < np.median(radius), columns)] *= rng.uniform(0.3, 1)
    return X, radius


def _grades(rng: Any, X: Any) -> tuple[Any, Any]:
    """Cuts in grades that depend on each other."""
    n_rows, n_features = X.shape
    X = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, n_features))
    X = X + rng.normal(size=(n_rows, n_features))
    for column in X.T:
        inner = np.linspace(0, 1, rng.randint(3, 7))[1:-1]
        column[:] = np.digitize(column, np.quantile(column, inner))
    return _cuts(rng, X)


def _cuts(rng: Any, X: Any) -> tuple[Any, Any]:
    """A sum of sides of cuts, some of them exclusive."""
    score = np.zeros(len(X))
    for _ in range(rng.randint(2, 6)):
        columns = rng.randint(X.shape[1], size=2)
        below = [X[:, c] <= np.quantile(X[:, c], rng.uniform(0.2, 0.8)) for c in columns]
        side = below[0] ^ below[1] if rng.rand() < 0.4 else below[0]
        score += rng.normal() * (2.0 * side - 1)
    return X, score + 1e-3 * rng.normal(size=len(X))


def _blobs(rng: Any, X: Any) -> tuple[Any, Any]:
    """Clusters, most of them of one class."""
    n_rows, n_features = X.shape
    n_blobs = rng.randint(2, 9)
    centres = rng.normal(size=(n_blobs, n_features)) * rng.uniform(1.0, 3.0)
    centres = centres / np.sqrt(n_features / 4)
    part = rng.randint(n_blobs, size=n_rows)
    value = rng.permutation(n_blobs).astype(float)
    X = centres[part] + X * rng.uniform(0.3, 1.2, size=n_blobs)[part][:, None]
    return X, value[part] + 0.1 * rng.normal(size=n_rows)


def _real(rng: Any) -> tuple[str, Any, Any]:
    """Two digits; diabetes above and below a number; or two activities of WISDM."""
    which = rng.randint(4)
    if which < 2:
        X, y = load_digits(return_X_y=True)
        one, other = rng.choice(10, 2, replace=False)
        kept = (y == one) | (y == other)
        return "digits", X[kept], (y[kept] == one).astype(int)
    if which == 2:
        X, y = load_diabetes(return_X_y=True)
        return "diabetes", X, (y > np.quantile(y, rng.choice([0.4, 0.5, 0.65]))).astype(int)
    data = load_wisdm()
    X, y = np.asarray(data.X, float), np.asarray(data.y)
    names, counts = np.unique(y, return_counts=True)
    one, other = rng.choice(names[counts > 300], 2, replace=False)
    kept = rng.permutation(np.flatnonzero((y == one) | (y == other)))[:700]
    X = X[kept]
    return "wisdm", X[:, np.ptp(X, axis=0) > 0], (y[kept] == one).astype(int)


def in_groups(X: Any, y: Any, made: Table, seed: int) -> tuple[Any, Any, Groups]:
    """Rows, the shares of their groups, and these."""
    how: dict[str, Any] = {"size": made.size, "randomness": made.randomness}
    data = make_aggregates(X, y, **how, random_state=seed)
    counts = data.y.to_numpy().astype(float)
    return data.X, counts / counts.sum(axis=1, keepdims=True), Groups(np.asarray(data.groups))


def answers(problem: Problem, X_new: Any, new: Groups, seed: int) -> tuple[list[Asked], Truth]:
    """What every method says, and what is true of what was held out."""
    kind = Shares()
    problem, _ = in_canonical_order(problem)
    splits = kind.splits(problem, 5, seed)
    tiers, _ = first_candidates(
        kind.name, n_rows=problem.n_rows, n_features=X_new.shape[1], n_classes=2, measure=None
    )
    left_out = LARGE_LEFT_OUT if seed >= FIRST_LARGE else LEFT_OUT
    held_out, found = HeldOut(kind, problem, splits), []
    with (
        threadpool_limits(1),
        share_bins(),
        share_kernels(),
        fold_tables(problem, splits) as tables,
    ):
        trainer = Trainer(kind, problem, 0)
        folds = [Fold(kind, tables, number, 0) for number in range(len(splits))]
        for candidate in [c for tier in tiers for c in tier]:
            name = candidate.method.name
            if candidate.method.is_slow or name in left_out:
                continue
            entry = Entry(candidate, {k: fold.answer(candidate) for k, fold in enumerate(folds)})
            if any(part.failed for part in entry.folds.values()):
                continue
            said = trainer.fit(candidate).predictions(X_new, new)
            asked = {keep: np.asarray(getattr(said, keep)) for keep in kind.keeps}
            found.append(Asked(name, held_out.answer(entry, len(splits)), asked))
    return found, held_out.truth(len(splits))


def ensembles(found: list[Asked], truth: Truth) -> dict[str, ShareAverage]:
    """By rule."""
    methods, held_out = [each.method for each in found], [each.held_out for each in found]
    losses = [count_loss(answer, truth) for answer in held_out]
    order = best_of_each([float(loss.mean()) for loss in losses], methods)
    near = [m for m in order[:3] if not is_worse(losses[m], losses[order[0]], errors=2.0)]
    total = np.array([losses[m].sum() for m in order[:5]])

    def average(chosen: list[int], weights: Any) -> ShareAverage:
        shares = np.array([held_out[m]["proba_group"] for m in chosen])
        mean = np.tensordot(weights, shares, axes=1)
        last = Scaling.fit(mean, truth.y_group, penalty=10.0, biased=False)
        return ShareAverage(chosen, last, weights)

    return {
        BEFORE: average(near, np.full(len(near), 1.0 / len(near))),
        NOW: ShareAverage.fit(held_out, truth, methods),
        "the same with members below 1 %": average(order[:5], softmax(-0.5 * total)),
        "a quarter, with members below 1 %": average(order[:5], softmax(-0.25 * total)),
    }


def scores(found: list[Asked], truth: Truth, new: Truth, y_new: Any) -> dict[str, list[float]]:
    """Error of new rows, loss of new counts, error of new shares, and members, by rule."""
    lines = {}
    for rule, ensemble in ensembles(found, truth).items():
        said = ensemble.combine([found[m].new for m in ensemble.chosen], new.groups)
        lines[rule] = [
            float(np.mean(said["proba_row"].argmax(axis=1) != y_new)),
            float(count_loss(said, new).mean()),
            float(0.5 * np.abs(said["proba_group"] - new.y_group).sum(axis=1).mean()),
            len(ensemble.chosen),
        ]
    return lines


def line(seed: int) -> dict[str, Any]:
    """One table."""
    made = table(seed)
    X, y, groups = in_groups(made.X[: made.n_train], made.y[: made.n_train], made, seed)
    y_new = made.y[made.n_train :]
    X_new, share, new = in_groups(made.X[made.n_train :], y_new, made, seed + 1)
    found, truth = answers(Problem(X, y, groups, 2), X_new, new, seed)
    true = Truth(share, new, np.zeros(new.n_groups, int), 2)
    told = {"seed": seed, "family": made.family, "n_rows": made.n_train, "size": made.size}
    return told | scores(found, truth, true, y_new)


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences to the rule before."""
    report = Report("share_weights", "Weights of members that tell shares")
    by_seed = {one["seed"]: one for one in kept}
    for heading, seeds, note in PARTS:
        lines = [by_seed[seed] for seed in seeds]
        rows = []
        for rule in [key for key, value in lines[0].items() if isinstance(value, list)]:
            values = np.array([one[rule] for one in lines])
            less = values - np.array([one[BEFORE] for one in lines])
            error = less.std(axis=0, ddof=1) / len(less) ** 0.5
            rows.append({"rule": rule})
            for place, name in enumerate(("row error", "count loss", "error of shares")):
                rows[-1][name] = f"{values[:, place].mean():.4f}"
                rows[-1][f"less that before (s.e.), {name}"] = (
                    f"{less[:, place].mean():+.4f} ({error[place]:.4f})"
                )
            rows[-1]["members"] = f"{values[:, 3].mean():.1f}"
        report.add(heading.format(len(lines)), rows, note)


def main() -> None:
    known = {one["seed"] for one in read_lines(STORED)}
    seeds = [seed for _, part, _ in PARTS for seed in part]
    add_lines(STORED, (seed for seed in seeds if seed not in known), line)
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
