"""How the five best of several classes should weigh.

``python benchmarks/many_classes.py`` (needs GROUPWISE_DATA) draws groups of three to ten classes,
of which most rows have one: digits, WISDM's windows and made-up clusters in turn, with more or less
noise. 60 to 120 groups to learn from, 150 new ones of other rows. Every candidate but the slow ones
is fitted; the five with the least log-loss are averaged with equal weights, and with weights by
what they said of held-out groups, drawn towards equal ones. Kept in
``results/many_classes.jsonl``; a run that stopped goes on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from member_weights import answers
from sklearn.datasets import load_digits

from groupwise.auto.ensemble import best_of_each, mixture_weights
from groupwise.auto.kinds import Labels
from groupwise.auto.problem import Problem
from groupwise.auto.scaling import Scaling, cross_fitted, log_loss
from groupwise.datasets import load_wisdm
from groupwise.groups import Groups

STORED = RESULTS / "many_classes.jsonl"
N_TABLES = 60
N_NEW = 150
PRIORS = (None, 5.0, 10.0, 20.0, 40.0)
_NOTE = (
    "Prior: groups' worth of belief that members are equally good. The automatic choice had 20, "
    "and has 5 of eight members (how_many_members.py). 20 was chosen on 44 tables of a first "
    "version of this file, among 11 rules for members, weights and scalings, and looked at on 44 "
    "more; none of them is here."
)


@dataclass(frozen=True)
class Table:
    """Rows with their group's class, and which of the groups are new."""

    X: Any
    y: Any
    groups: Any
    is_new: Any


def rows_of(seed: int, rng: Any) -> tuple[Any, Any, Any]:
    """Rows, their classes, and the classes that take part."""
    if seed % 3 == 0:
        X, y = load_digits(return_X_y=True)
        return X, y, rng.permutation(10)[: rng.randint(3, 11)]
    if seed % 3 == 1:
        n_classes, n_features, n_rows = rng.randint(3, 9), rng.randint(4, 30), 3000
        y = rng.randint(n_classes, size=n_rows)
        centres = rng.normal(size=(n_classes, n_features)) * rng.choice([0.5, 1, 1.5])
        X = centres[y] + rng.normal(size=(n_rows, n_features))
        if rng.rand() < 0.5:
            X = np.tanh(X @ rng.normal(size=(n_features, n_features)) / n_features**0.5)
        return X, y, np.arange(n_classes)
    wisdm = load_wisdm()
    y = np.unique(np.asarray(wisdm.y), return_inverse=True)[1]
    taken = rng.permutation(y.max() + 1)[: rng.randint(3, y.max() + 2)]
    return np.nan_to_num(np.asarray(wisdm.X, float)), y, taken


def table(seed: int) -> Table:
    """Groups of rows, most of one class; those of new groups were in no other."""
    rng = np.random.RandomState(seed)
    X, y_row, classes = rows_of(seed, rng)
    n_train, size = int(rng.choice([60, 80, 120])), rng.randint(4, 11)
    pools = [rng.permutation(np.flatnonzero(y_row == c)) for c in classes]
    n_most = max(int(np.ceil(rng.choice([0.55, 0.7, 0.9]) * size)), size // 2 + 1)
    noise = rng.choice([0.0, 0.5, 1.5]) * (X.std(axis=0) + 1e-9)
    rows, y = [], []
    for group in range(n_train + N_NEW):
        code = group % len(classes)
        others = (code + rng.randint(1, len(classes), size=size - n_most)) % len(classes)
        for each in [code] * n_most + others.tolist():
            half = len(pools[each]) // 2
            part = pools[each][:half] if group < n_train else pools[each][half:]
            rows.append(rng.choice(part))
            y.append(code)
    groups = np.repeat(np.arange(n_train + N_NEW), size)
    return Table(
        X[rows] + noise * rng.normal(size=(len(rows), X.shape[1])),
        np.array(y),
        groups,
        groups >= n_train,
    )


def scores(seed: int) -> dict[str, Any]:
    """Error and log-loss of new groups by the prior of the weights."""
    data = table(seed)
    old, new = ~data.is_new, Groups(data.groups[data.is_new])
    n_classes = int(data.y.max()) + 1
    problem = Problem(data.X[old], data.y[old], Groups(data.groups[old]), n_classes)
    found, truth = answers(Labels("majority"), problem, data.X[data.is_new], new, 0)
    methods, held_out, asked = zip(*found, strict=True)
    code, target = truth.y_group, truth.one_hot(truth.y_group)
    how: dict[str, Any] = {"penalty": 1.0, "biased": False}
    scaled = [cross_fitted(p, target, truth.fold_group, **how) for p in held_out]
    five = best_of_each([float(log_loss(p, target).mean()) for p in scaled], methods)[:5]
    then = np.array([scaled[m] for m in five])
    now = np.array([Scaling.fit(held_out[m], target, **how).apply(asked[m]) for m in five])
    proba_true = then[:, np.arange(len(code)), code].T
    new_code = data.y[data.is_new][new.first_rows]
    line: dict[str, Any] = {"seed": seed, "n_classes": n_classes}
    for prior in PRIORS:
        equal = np.full(len(five), 1.0 / len(five))
        weights = equal if prior is None else mixture_weights(proba_true, prior)
        last = Scaling.fit(np.tensordot(weights, then, axes=1), target, penalty=3.0, biased=False)
        said = last.apply(np.tensordot(weights, now, axes=1))
        line[_name(prior)] = [
            float(np.mean(said.argmax(axis=1) != new_code)),
            float(log_loss(said, truth.one_hot(new_code)).mean()),
        ]
    return line


def _name(prior: float | None) -> str:
    return "equal weights" if prior is None else f"weights, prior {prior:g}"


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences to equal weights."""
    report = Report("many_classes", "Weights of members where classes are many")
    rows = []
    for prior in PRIORS:
        values = np.array([line[_name(prior)] for line in kept])
        less = values - np.array([line[_name(None)] for line in kept])
        error = less.std(axis=0, ddof=1) / len(less) ** 0.5
        row = {"rule": _name(prior)}
        for place, name in enumerate(("error", "log-loss")):
            row[name] = f"{values[:, place].mean():.4f}"
            row[f"less equal (s.e.), {name}"] = f"{less[:, place].mean():+.4f} ({error[place]:.4f})"
        rows.append(row)
    report.add(f"{len(kept)} tables", rows, _NOTE)


def main() -> None:
    known = {line["seed"] for line in read_lines(STORED)}
    add_lines(STORED, (seed for seed in range(N_TABLES) if seed not in known), scores)
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
