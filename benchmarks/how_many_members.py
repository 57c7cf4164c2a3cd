"""How many members should tell the classes of 60 to 300 groups, and how they should weigh.

``python benchmarks/how_many_members.py sets`` (needs GROUPWISE_DATA) draws 60 to 130 groups of each
set to learn from, twice, and asks about up to 300 others; ``python benchmarks/how_many_members.py
keel`` does so with 88 sessions and bags of KEEL's tables (``keel.py``). Whatever the automatic
choice judges on all folds, without a limit, networks included, is fitted to all groups; rules for
the average are then compared on the same answers. Kept in ``results/how_many_members.jsonl``; a run
that stopped goes on. Without a name: the tables of what is there.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from auto import load
from fresh_tables import Case, labelled_groups
from harness import RESULTS, Report, add_lines, read_lines
from keel import names

from groupwise.auto import AutoGroupClassifier, last_fits
from groupwise.auto.choice import Choice
from groupwise.auto.ensemble import Truth, best_of_each, mixture_weights
from groupwise.auto.kinds import Kind, Labels
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem, in_canonical_order
from groupwise.auto.race import Race
from groupwise.auto.scaling import Scaling, cross_fitted, log_loss
from groupwise.groups import Groups

STORED = RESULTS / "how_many_members.jsonl"
SETS = (
    "musk1", "elephant", "fox", "tiger", "mutagenesis1", "newsgroups1", "newsgroups2",
    "newsgroups3", "musk2", "birds_winter_wren", "corel_african", "corel_dogs", "spam", "cmc",
    "wisdm",
)  # fmt: skip
N_DRAWS, N_ASKED, N_SESSIONS, LEAST_GROUPS = 2, 300, 88, 60
BEFORE = "five, prior 20"
#: Of the best members and the best baselines, each in order: who is averaged; and the prior.
RULES: dict[str, tuple[Callable[[list[int], list[int]], list[int]], float]] = {
    BEFORE: (lambda best, plain: best[:5], 20.0),
    "three, prior 20": (lambda best, plain: best[:3], 20.0),
    "eight, prior 20": (lambda best, plain: best[:8], 20.0),
    "eight, prior 5": (lambda best, plain: best[:8], 5.0),
    "twelve, prior 20": (lambda best, plain: best[:12], 20.0),
    "all, prior 20": (lambda best, plain: best, 20.0),
    "all, prior 5": (lambda best, plain: best, 5.0),
    "five and the best baseline": (lambda best, plain: _joined(best[:5], plain[:1]), 20.0),
    "five and two baselines": (lambda best, plain: _joined(best[:5], plain[:2]), 20.0),
    "five and all baselines": (lambda best, plain: _joined(best[:5], plain), 20.0),
}
NOTES = {
    "sets": "{} draws of fifteen sets, on which *eight, prior 5* was chosen among these rules. The "
    "automatic choice has it below 1,000 groups.",
    "keel": "{} cases of KEEL's tables, looked at once, for *eight, prior 5* alone.",
}


def _joined(some: list[int], others: list[int]) -> list[int]:
    return some + [member for member in others if member not in some]


class _Judged(Exception):
    """All folds are done."""


def judged(case: Case) -> Race:
    """The race of the automatic choice, when it has come to its end."""
    races: list[Race] = []

    def stop(kind: Kind, race: Race, whole: Any) -> Choice:
        races.append(race)
        raise _Judged

    problem = case.problem
    model = AutoGroupClassifier(case.kind.name, random_state=0)
    with patch.object(last_fits, "choose", stop), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(problem.X, problem.y, groups=problem.groups.names[problem.groups.codes])
        except _Judged:
            return races[0]
    raise RuntimeError("the choice was not asked for")


def scores(case: Case) -> dict[str, list[float]]:
    """Error and log-loss of new groups under each rule, and of the best baseline in hindsight."""
    race = judged(case)
    n_folds = race.n_folds
    truth, entries = race.held_out.truth(n_folds), race.usable(n_folds)
    problem, _ = in_canonical_order(case.problem)
    seed = int(np.random.RandomState(0).randint(2**31 - 1))
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = Trainer(race.kind, problem, seed)
        members = [trainer.fit(entry.candidate) for entry in entries]
        asked = [m.predictions(case.X_new, case.new).proba_group for m in members]
    held_out = [race.held_out.answer(entry, n_folds)["proba_group"] for entry in entries]
    methods = [entry.candidate.method.name for entry in entries]
    is_plain = [entry.candidate.is_baseline for entry in entries]
    return compared(truth, held_out, asked, methods, is_plain, case.y_new)


def compared(
    truth: Truth,
    held_out: list[Any],
    asked: list[Any],
    methods: list[str],
    is_plain: list[bool],
    y_new: Any,
) -> dict[str, list[float]]:
    """The same from what each member said of held-out groups and of new ones."""
    target, how = truth.one_hot(truth.y_group), {"penalty": 1.0, "biased": truth.biased}
    pairs = list(zip(held_out, asked, strict=True))
    then = [cross_fitted(p, target, truth.fold_group, **how) for p, _ in pairs]
    now = [Scaling.fit(p, target, **how).apply(said) for p, said in pairs]
    best = best_of_each([float(log_loss(p, target).mean()) for p in then], methods)
    plain = [place for place in best if is_plain[place]]

    def judge(said: Any) -> list[float]:
        losses = log_loss(said, truth.one_hot(y_new))
        return [float(np.mean(said.argmax(axis=1) != y_new)), float(losses.mean())]

    line = {}
    for name, (choose, prior) in RULES.items():
        chosen = choose(best, plain)
        some = np.array([then[place] for place in chosen])
        weights = mixture_weights((some * target).sum(axis=2).T, prior)
        mean = np.tensordot(weights, some, axes=1)
        last = Scaling.fit(mean, target, penalty=3.0, biased=truth.biased)
        averaged = np.tensordot(weights, np.array([now[place] for place in chosen]), axes=1)
        line[name] = judge(last.apply(averaged))
    alone = [judge(said) for said, one in zip(asked, is_plain, strict=True) if one]
    return line | {"best baseline in hindsight": np.min(alone, axis=0).tolist()}


def drawn(name: str, draw: int) -> Case:
    """Some groups of a set to learn from, with classes as often as in all, and others."""
    kind, data = load(name)
    rows = data.X.iloc if isinstance(data.X, pd.DataFrame) else data.X
    groups, y = Groups(np.asarray(data.groups)), np.asarray(data.y)
    of_group, rng = groups.one_per_group(y), np.random.RandomState(100 + draw)
    n_all = groups.n_groups
    n = min((65, 90, 130)[(draw + len(name)) % 3], int(0.7 * n_all))
    order = rng.permutation(n_all)
    classes, counts = np.unique(of_group, return_counts=True)
    n_each = np.maximum(8, np.round(n * counts / n_all)).astype(int)
    taken = np.concatenate(
        [order[of_group[order] == c][:k] for c, k in zip(classes, n_each, strict=True)]
    )
    others = rng.permutation(np.setdiff1d(order, taken))[:N_ASKED]
    old, new = (np.flatnonzero(np.isin(groups.codes, some)) for some in (taken, others))
    code = np.searchsorted(classes, y)
    learned, asked = (Groups(groups.names[groups.codes[part]]) for part in (old, new))
    problem = Problem(np.asarray(rows[old], float), code[old], learned, len(classes))
    y_new = code[new][asked.first_rows]
    return Case(Labels(kind), problem, np.asarray(rows[new], float), asked, y_new)


def cases(part: str) -> Iterator[tuple[str, int | str]]:
    if part == "sets":
        yield from ((name, draw) for draw in range(N_DRAWS) for name in SETS)
    else:
        yield from ((name, kind) for name in names() for kind in ("majority", "presence"))


def line_of(part: str, name: str, which: Any) -> dict[str, Any]:
    case = drawn(name, which) if part == "sets" else labelled_groups(which, name, N_SESSIONS)
    line: dict[str, Any] = {"part": part, "set": name, "which": which}
    if case is None or case.problem.groups.n_groups < LEAST_GROUPS:
        return line | {"too few": True}
    return line | scores(case)


def write(kept: list[dict[str, Any]]) -> None:
    """Means over cases, and their differences to the rule before."""
    report = Report("how_many_members", "How many members tell classes of groups")
    kept = [line for line in kept if "too few" not in line]
    for part, note in NOTES.items():
        found = [line for line in kept if line["part"] == part]
        rows = []
        for name in (*RULES, "best baseline in hindsight"):
            values = np.array([line[name] for line in found])
            less = values - np.array([line[BEFORE] for line in found])
            error = less.std(axis=0, ddof=1) / len(less) ** 0.5
            row = {"rule": name}
            for place, what in enumerate(("error", "log-loss")):
                row[what] = f"{values[:, place].mean():.4f}"
                row[f"less {BEFORE} (s.e.), {what}"] = (
                    f"{less[:, place].mean():+.4f} ({error[place]:.4f})"
                )
            rows.append(row)
        report.add(f"{part}: {len(found)} cases", rows, note.format(len(found)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=NOTES)
    part = parser.parse_args().part
    if part is not None:
        known = {(line["part"], line["set"], line["which"]) for line in read_lines(STORED)}
        todo = (case for case in cases(part) if (part, *case) not in known)
        add_lines(STORED, todo, lambda case: line_of(part, *case))
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
