"""How cautiously the average of the automatic choice should be scaled.

``PYTHONPATH=. python benchmarks/average_scaling.py`` (torch draws the tables) takes 20 to 90 groups
of made-up tables, two classes, majority or presence, from the prior that the in-context network was
trained on, and asks about the others. Every candidate but the slow ones is fitted; members are
scaled, chosen and weighed as the automatic choice does it, and their average is scaled with
penalties that draw it more or less towards no scaling. Kept in ``results/average_scaling.jsonl``; a
run that stopped goes on.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from member_weights import answers
from sklearn.metrics import roc_auc_score

from groupwise.auto.ensemble import FEW_GROUPS, GroupAverage
from groupwise.auto.kinds import Labels
from groupwise.auto.problem import Problem
from groupwise.auto.scaling import Scaling, cross_fitted, log_loss
from groupwise.groups import Groups
from training.incontext.prior import KINDS, SHAPES, make_tables

STORED = RESULTS / "average_scaling.jsonl"
N_TABLES = 120
PENALTIES = (1.0, 3.0, 10.0, 30.0)
BEFORE = 10.0
_NOTE = (
    "The automatic choice has 3. It was chosen on 65 of these tables, among 147 rules for members, "
    "weights and scalings, as the smallest change of those that were better."
)


@dataclass(frozen=True)
class Table:
    """Groups of a made-up table, some of which train; ``y`` is the group's label on each row."""

    name: str
    kind: str
    X: Any
    y: Any
    groups: Any
    train: Any
    test: Any


def tables() -> Iterator[Table]:
    """Tables of the prior with enough groups of both labels."""
    for batch in count():
        drawn = make_tables(77, batch, SHAPES[-1], 12, "cpu")
        for place in range(len(drawn)):
            kind, n_features = KINDS[drawn.kind[place]], int(drawn.n_features[place])
            if kind != "proportions" and drawn.n_classes[place] == 2:
                X = drawn.x[place, :, :n_features].numpy().astype(float)
                y_row, groups = drawn.y[place].numpy(), drawn.group[place].numpy()
                yield from _few_of(kind, X, y_row, groups, batch * 100 + place)


def _few_of(kind: str, X: Any, y_row: Any, groups: Any, seed: int) -> Iterator[Table]:
    """Some groups to learn from and the rest to be asked about; nothing if these are too few."""
    rng = np.random.RandomState(seed)
    sizes = np.bincount(groups)
    share = np.bincount(groups, y_row) / np.maximum(sizes, 1)
    label = (share > (0.0 if kind == "presence" else 0.5)).astype(int)
    order = rng.permutation(np.flatnonzero((sizes > 1) & ((kind == "presence") | (share != 0.5))))
    n_train = int(rng.choice([20, 30, 45, 60, 90]))
    train, rest = order[:n_train], order[n_train:]
    told = np.bincount(label[train], minlength=2).min() >= 4
    if told and len(rest) >= 40 and len(np.unique(label[rest])) == 2:
        inside, outside = np.isin(groups, train), np.isin(groups, rest)
        yield Table(str(seed), kind, X, label[groups], groups, inside, outside)


def scores(table: Table) -> dict[str, Any]:
    """Error, log-loss and area of new groups by penalty."""
    groups = Groups(np.unique(table.groups[table.train], return_inverse=True)[1])
    problem = Problem(table.X[table.train], table.y[table.train], groups, 2)
    new = Groups(table.groups[table.test])
    found, truth = answers(Labels(table.kind), problem, table.X[table.test], new, 0)
    methods, held_out, asked = zip(*found, strict=True)
    target = truth.one_hot(truth.y_group)
    ensemble = GroupAverage.fit([{"proba_group": p} for p in held_out], truth, methods)
    then, now = [], []
    for place, scaling in zip(ensemble.chosen, ensemble.scalings, strict=True):
        then.append(cross_fitted(held_out[place], target, truth.fold_group, penalty=1.0))
        now.append(scaling.apply(asked[place]))
    then, now = (np.tensordot(ensemble.weights, np.array(p), axes=1) for p in (then, now))
    code = table.y[table.test][new.first_rows]
    line: dict[str, Any] = {"table": table.name, "n_groups": groups.n_groups}
    for penalty in PENALTIES:
        said = Scaling.fit(then, target, penalty=penalty).apply(now)
        line[str(penalty)] = [
            float(np.mean(said.argmax(axis=1) != code)),
            float(log_loss(said, np.eye(2)[code]).mean()),
            float(roc_auc_score(code, said[:, 1])),
        ]
    return line


def write(kept: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences to the penalty before."""
    report = Report("average_scaling", "Scaling of the average")
    for heading, is_few in (("fewer than 60", True), ("60 and 90", False)):
        lines = [line for line in kept if (line["n_groups"] < FEW_GROUPS) == is_few]
        rows = []
        for penalty in PENALTIES:
            values = np.array([line[str(penalty)] for line in lines])
            less = values - np.array([line[str(BEFORE)] for line in lines])
            error = less.std(axis=0, ddof=1) / len(less) ** 0.5
            rows.append({"penalty": f"{penalty:g}"})
            for place, name in enumerate(("error", "log-loss", "AUC")):
                rows[-1][name] = f"{values[:, place].mean():.4f}"
                rows[-1][f"less that of 10 (s.e.), {name}"] = (
                    f"{less[:, place].mean():+.4f} ({error[place]:.4f})"
                )
        report.add(f"{heading} groups: {len(lines)} made-up tables", rows, _NOTE)


def main() -> None:
    known = {line["table"] for line in read_lines(STORED)}
    some = (table for _, table in zip(range(N_TABLES), tables(), strict=False))
    add_lines(STORED, (table for table in some if table.name not in known), scores)
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
