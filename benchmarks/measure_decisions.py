"""How the automatic choice should decide for a measure.

``python benchmarks/measure_decisions.py`` draws tables of users (10 to 30 to learn from, 80 new
ones) whose habits and shares of positives differ; every candidate is fitted, and rules are compared
that were learned from the same held-out answers. The figure is the mean F1 of the new users. Kept
in ``results/measure_decisions.jsonl``; a run that stopped goes on.
"""

import argparse
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from scipy.special import expit
from threadpoolctl import threadpool_limits

from groupwise.auto.candidates import first_candidates
from groupwise.auto.ensemble import RowAverage, Truth, log_odds
from groupwise.auto.fold_tables import fold_tables
from groupwise.auto.kinds import Measured
from groupwise.auto.members import Fold, Trainer
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.scaling import cross_fitted, is_worse
from groupwise.boosting.lightgbm import share_bins
from groupwise.datasets import make_users
from groupwise.groups import Groups
from groupwise.measures.decision import best_f_cuts, with_own_shares
from groupwise.measures.threshold import best_threshold
from groupwise.metrics import get_measure

STORED = RESULTS / "measure_decisions.jsonl"
SHAPES = ("linear", "curved", "rules", "users")
N_NEW = 80
F1 = get_measure("f1")
BEFORE = "equal weights, best of three decisions, a member if better by 1 s.e."
STRENGTHS = (np.inf, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)


def table(seed: int) -> tuple[dict[str, Any], Any, Any, Any]:
    """What was drawn, rows, labels, users; those to learn from have the lowest numbers."""
    rng = np.random.RandomState(7000 + seed)
    told = {
        "seed": seed,
        "shape": SHAPES[seed % 4],
        "n_users": int(rng.choice([10, 15, 30])),
        "n_rows": int(rng.choice([25, 50])),
        "positive": float(rng.choice([0.1, 0.3, 0.5])),
        "skew": float(rng.choice([0.0, 0.7, 1.5])),
        "shift": float(rng.choice([0.0, 0.5, 1.0])),
    }
    return told, *drawn(rng, told)


def drawn(rng: Any, told: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Rows, labels, users."""
    n_users, positive = told["n_users"] + N_NEW, told["positive"]
    if told["shape"] == "users":
        names = ("n_rows", "positive", "skew", "shift")
        how = {name: told[name] for name in names}
        how["n_features"] = int(rng.choice([5, 10, 20]))
        how["signal"] = float(rng.choice([1.0, 1.5, 2.5]))
        data = make_users(n_users, random_state=told["seed"], **how)
        return data.X, data.y, data.groups
    sizes = np.maximum(5, np.round(told["n_rows"] * np.exp(0.6 * rng.normal(size=n_users))))
    user = np.repeat(np.arange(n_users), sizes.astype(int))
    n_features, noise = int(rng.choice([5, 12, 30])), float(rng.choice([0.2, 0.6, 1.2]))
    habits = told["shift"] * rng.normal(size=(n_users, n_features))[user]
    X, score = (_cuts if told["shape"] == "rules" else _plane)(rng, habits, told["shape"])
    score = score / score.std() + 0.6 * noise * rng.logistic(size=len(user))
    score += 0.6 * told["skew"] * rng.normal(size=n_users)[user]
    return X, (score > np.quantile(score, 1 - positive)).astype(int), user


def _plane(rng: Any, habits: Any, shape: str) -> tuple[Any, Any]:
    X = rng.normal(size=habits.shape) + habits
    score = X @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1])
    if shape == "curved":
        score += 0.7 * X[:, 0] * X[:, 1] + 0.5 * np.abs(X[:, 2])
    return X, score


def _cuts(rng: Any, habits: Any, shape: str) -> tuple[Any, Any]:
    """Grades, and sums of cuts in them, some exclusive."""
    X = rng.randint(0, 5, size=habits.shape) + np.round(habits)
    score = 1e-3 * rng.normal(size=len(X))
    for place in range(6):
        (a, b), (at, there) = rng.randint(X.shape[1], size=2), rng.randint(1, 5, size=2)
        below = X[:, a] < at
        score += 2 * rng.normal() * (below ^ (X[:, b] < there) if place % 2 else below)
    return X, score


def answers(
    told: dict[str, Any], X: Any, y: Any, user: Any
) -> tuple[Truth, list[Any], Groups, Any]:
    """Truth; name, held-out and new answer of each candidate; new users, and what is true of them.

    Takes what :func:`table` returns.
    """
    train = user < told["n_users"]
    kind, new = Measured(F1, "f1"), Groups(user[~train])
    problem, _ = in_canonical_order(Problem(X[train], y[train], Groups(user[train]), 2))
    splits = kind.splits(problem, 5, told["seed"])
    tiers, _ = first_candidates(
        "measure", n_rows=problem.n_rows, n_features=X.shape[1], n_classes=2, measure="f1"
    )
    fold, found = np.zeros(problem.groups.n_groups, int), []
    for number, (_, test) in enumerate(splits):
        fold[np.unique(problem.groups.codes[test])] = number
    with threadpool_limits(1), share_bins(), fold_tables(problem, splits) as tables:
        fitted = Trainer(kind, problem, 0)
        folds = [Fold(kind, tables, number, 0) for number in range(len(splits))]
        for candidate in [candidate for tier in tiers for candidate in tier]:
            parts = [one.answer(candidate) for one in folds]
            if any(part.failed for part in parts):
                continue
            held_out = {"score_row": np.zeros(problem.n_rows)}
            held_out["proba_row"] = np.zeros((problem.n_rows, 2))
            for (_, test), part in zip(splits, parts, strict=True):
                for name, values in part.answer.items():
                    held_out[name][test] = values
            said = fitted.fit(candidate).predictions(X[~train], new)
            asked = {name: np.asarray(getattr(said, name)) for name in kind.keeps}
            found.append((candidate.method.name, held_out, asked))
    return Truth(problem.y, problem.groups, fold, 2), found, new, y[~train]


def scores(truth: Truth, found: list[Any], new: Groups, y_new: Any) -> dict[str, float]:
    """Mean F1 of the new users, by rule and of each candidate alone."""
    methods, held_out, asked = zip(*found, strict=True)
    average, weighed = RowAverage.fit_and_held_out(held_out, truth, methods)
    own = [F1.of(truth.y_row, answer["score_row"], truth.groups) for answer in held_out]
    best = int(np.argmax([np.nanmean(values) for values in own]))
    said = {m: np.nanmean(F1.of(y_new, asked[m]["score_row"], new)) for m in range(len(asked))}
    rules = {f"{method} alone": float(said[m]) for m, method in enumerate(methods)}
    rules["the best member alone"] = float(said[best])
    target = truth.one_hot(truth.y_row)
    scaled = [cross_fitted(held_out[m]["proba_row"], target, truth.fold_row, penalty=10.0)
              for m in average.chosen]  # fmt: skip
    members = [asked[m] for m in average.chosen]
    plain = RowAverage(average.chosen, average.scalings, np.full(len(scaled), 1 / len(scaled)))
    for weights, one, held in (
        ("equal weights", plain, np.mean(scaled, axis=0)),
        ("weighed", average, weighed),
    ):
        now = one.combine(members, new)["proba_row"]
        for decision, (before, after) in _decisions(held, now, truth, new).items():
            value = F1.of(truth.y_row, before, truth.groups)
            mean = float(np.nanmean(F1.of(y_new, after, new)))
            for errors in (1, 2):
                alone = is_worse(-value, -own[best], errors=errors)
                name = f"{weights}, {decision}, a member if better by {errors} s.e."
                rules[name] = float(said[best]) if alone else mean
    return rules


def _decisions(held: Any, now: Any, truth: Truth, new: Groups) -> dict[str, tuple[Any, Any]]:
    """Scores of held-out and of new rows, by how they are decided."""
    share = float(truth.y_row.mean())
    empty = bool((truth.groups.sum(truth.y_row) == 0).any())

    def expected(proba: Any, groups: Groups, strength: float) -> Any:
        score = with_own_shares(log_odds(proba), groups, share=share, strength=strength)
        return score - best_f_cuts(expit(score), groups, may_be_empty=empty).cut[groups.codes]

    def mean(score: Any) -> float:
        return float(np.nanmean(F1.of(truth.y_row, score, truth.groups)))

    score_held, score_now = log_odds(held), log_odds(now)
    cross = np.empty(len(score_held))
    for number in np.unique(truth.fold_row):
        inside = truth.fold_row == number
        others = truth.take(truth.fold_group != number)
        cross[inside] = score_held[inside] - best_threshold(
            others.y_row, score_held[~inside], others.groups, F1)[0]  # fmt: skip
    at, _ = best_threshold(truth.y_row, score_held, truth.groups, F1)
    plain = expected(held, truth.groups, np.inf), expected(now, new, np.inf)
    three = [plain, (score_held, score_now), (cross, score_now - at)]
    tuned = max(STRENGTHS, key=lambda strength: mean(expected(held, truth.groups, strength)))
    own = expected(held, truth.groups, tuned), expected(now, new, tuned)
    return {
        "best of three decisions": max(three, key=lambda pair: mean(pair[0])),
        "expected F": plain,
        "expected F of the users' own shares": own,
    }


def made_up(seed: int) -> dict[str, Any]:
    """One table."""
    told, *rows = table(seed)
    return {**told, "F1": scores(*answers(told, *rows))}


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences to the rule before."""
    report = Report("measure_decisions", "Decisions for a measure")
    rules = [rule for rule in kept[0]["F1"] if all(rule in line["F1"] for line in kept)]
    before = np.array([line["F1"][BEFORE] for line in kept])
    rows = []
    for rule in rules:
        values = np.array([line["F1"][rule] for line in kept])
        less = values - before
        error = less.std(ddof=1) / len(less) ** 0.5
        difference = f"{less.mean():+.4f} ({error:.4f})"
        row = {"rule": rule, "F1": f"{values.mean():.4f}"}
        rows.append(row | {"less the rule before (s.e.)": difference})
    note = (
        "The automatic choice has: weighed, expected F of the users' own shares, a member if "
        "better by 2 s.e.; since then with a scaling that counts users, not rows."
    )
    report.add(f"{len(kept)} made-up tables", rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=60)
    n_tables = parser.parse_args().tables
    done = {line["seed"] for line in read_lines(STORED)}
    add_lines(STORED, (seed for seed in range(n_tables) if seed not in done), made_up)
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
