"""How cautiously members of the automatic choice should be scaled for a measure of few users.

``python benchmarks/few_users.py`` draws tables as ``measure_decisions.py`` does, but of 8 to 24
users to learn from, whose shares of positives are alike or very unlike. Every candidate is fitted;
averages are compared whose members are scaled with penalties that count rows or users, and that
decide as the automatic choice does. The figure is the mean F1 of 80 new users. Kept in
``results/few_users.jsonl``; a run that stopped goes on.
"""

from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from measure_decisions import F1, SHAPES, answers, drawn

from groupwise.auto.ensemble import RowAverage, Truth, log_odds
from groupwise.groups import Groups
from groupwise.measures.decision import STRENGTHS, score_for_f

STORED = RESULTS / "few_users.jsonl"
SEEDS = [seed for seed in range(12, 169) if not 72 <= seed < 100 or seed // 4 % 2]
BEFORE, NOW = "10 rows", "10 users"
_NOTE = (
    "The automatic choice has 10 users. It was chosen on 24 tables (the 20 here, and four with up "
    "to 60 rows per user), among 560 rules for scalings, weights and decisions, as the smallest "
    "change of those that were better, before the others were looked at."
)
PENALTIES = {BEFORE: None, "1 user": 1.0, "3 users": 3.0, NOW: 10.0, "30 users": 30.0}


def table(seed: int) -> tuple[dict[str, Any], Any, Any, Any]:
    """What was drawn, rows, labels, users; those to learn from have the lowest numbers."""
    rng = np.random.RandomState(170_000 + seed)
    told = {
        "seed": seed,
        "shape": SHAPES[seed % 4],
        "n_users": int(rng.choice([8, 11, 16, 24])),
        "n_rows": int(rng.choice([12, 20, 40])),
        "positive": float(rng.choice([0.05, 0.15, 0.3, 0.5])),
        "skew": float(rng.choice([0.3, 0.8, 1.6, 2.5])),
        "shift": float(rng.choice([0.0, 0.5, 1.0, 2.0])),
    }
    return told, *drawn(rng, told)


def can_be_held_out(seed: int) -> bool:
    """Whether two users to learn from have positives."""
    told, _, y, user = table(seed)
    return len(np.unique(user[(user < told["n_users"]) & (y == 1)])) > 1


def chose(seed: int) -> bool:
    """Whether the table is of those that the penalty was chosen on."""
    return seed < 52 and seed // 4 % 2 == 0


def scores(truth: Truth, found: list[Any], new: Groups, y_new: Any) -> dict[str, float]:
    """Mean F1 of the new users: of each candidate alone, and by penalty."""
    methods, held_out, asked = zip(*found, strict=True)
    rules = {
        f"{method} alone": _mean(y_new, answer["score_row"], new)
        for method, answer in zip(methods, asked, strict=True)
    }
    for name, users in PENALTIES.items():
        penalty = 10.0 if users is None else users * truth.groups.n_rows / truth.groups.n_groups
        average, held = RowAverage.fit_and_held_out(held_out, truth, methods, penalty=penalty)
        now = average.combine([asked[m] for m in average.chosen], new)["proba_row"]
        rules[f"scaling {name}"] = _mean(y_new, _decided(truth, held, now, new), new)
    return rules


def _mean(y_row: Any, score_row: Any, groups: Groups) -> float:
    return float(np.nanmean(F1.of(y_row, score_row, groups)))


def _decided(truth: Truth, held: Any, now: Any, new: Groups) -> Any:
    """Scores of new rows for the largest expected F, shares moved as held-out users say."""
    empty = bool((truth.groups.sum(truth.y_row) == 0).any() and F1.without_positives == "count")
    how = {"share": float(truth.y_row.mean()), "may_be_empty": empty}

    def value(strength: float) -> float:
        score = score_for_f(log_odds(held), truth.groups, strength=strength, **how)
        return _mean(truth.y_row, score, truth.groups)

    return score_for_f(log_odds(now), new, strength=max(STRENGTHS, key=value), **how)


def made_up(seed: int) -> dict[str, Any]:
    """One table."""
    told, *rows = table(seed)
    return {**told, "F1": scores(*answers(told, *rows))}


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences to the rule before."""
    report = Report("few_users", "Scaling for a measure of few users")
    for heading, chosen in (("that chose", True), ("that confirm", False)):
        lines = [line["F1"] for line in kept if chose(line["seed"]) == chosen]
        rules = [rule for rule in lines[0] if all(rule in line for line in lines)]
        rows = []
        for rule in rules:
            values = np.array([line[rule] for line in lines])
            less = values - np.array([line[f"scaling {BEFORE}"] for line in lines])
            error = less.std(ddof=1) / len(less) ** 0.5
            row = {"rule": rule, "F1": f"{values.mean():.4f}"}
            rows.append(row | {"less that of 10 rows (s.e.)": f"{less.mean():+.4f} ({error:.4f})"})
        report.add(f"{len(lines)} made-up tables {heading}", rows, _NOTE)


def main() -> None:
    done = {line["seed"] for line in read_lines(STORED)}
    seeds = [seed for seed in SEEDS if seed not in done]
    add_lines(STORED, (seed for seed in seeds if can_be_held_out(seed)), made_up)
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
