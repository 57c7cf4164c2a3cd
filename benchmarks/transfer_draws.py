"""The arena's sets of transfer with labelled rows drawn many times, beside plain baselines.

Run ``PYTHONPATH=. python benchmarks/transfer_draws.py [set ...]`` from the repository's root, with
``GROUPWISE_DATA`` set; without a name all ten. Every draw (50 labelled rows of the target with both
classes in proportion, 1,000 of its other rows to be asked about) is one line of
``results/transfer_draws.jsonl``; a run that stopped goes on, and ``table`` writes what is there.

The arena draws labelled rows three times, and its standard errors are over new rows: they leave out
which fifty rows were labelled. Here every draw counts as one. ``AutoGroupClassifier("transfer",
random_state=0)`` as it is, without a time limit; baselines as in ``arena/own.py``.
"""

import sys
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from arena.folds import N_LABELLED
from arena.problem import Problem, Split, task_of
from arena.sets import SETS, get_set
from groupwise.auto import AutoGroupClassifier

STORED = RESULTS / "transfer_draws.jsonl"
NAMES = [each.name for each in SETS if each.room == "transfer"]
N_DRAWS, N_NEW = 8, 1000


def drawn(problem: Problem, seed: int) -> Split:
    """The source with labelled rows of the target; others of its rows to be asked about."""
    assert problem.domains is not None
    rng = np.random.RandomState(1000 + seed)  # the arena's is 0
    source, target = (np.flatnonzero(problem.domains == domain) for domain in (0, 1))
    positive = rng.permutation(target[problem.truth[target] == 1])
    negative = rng.permutation(target[problem.truth[target] == 0])
    n_positive = round(N_LABELLED * len(positive) / len(target))
    labelled = np.concatenate([positive[:n_positive], negative[: N_LABELLED - n_positive]])
    new = rng.permutation(np.setdiff1d(target, labelled))[:N_NEW]
    return Split(np.concatenate([source, labelled]), new)


def answers(task: dict[str, Any]) -> dict[str, NDArray[Any]]:
    """Labels of the new rows, by the automatic choice and by each baseline."""
    X, y, domains, new = task["X"], task["y"], task["domains"], task["X_asked"]
    auto = AutoGroupClassifier("transfer", target_domain=1, random_state=0)
    said = {"auto": auto.fit(X, y, domains=domains).predict(new)}
    target = domains == 1
    equal_mass = np.where(target, (~target).sum() / target.sum(), 1.0)
    rows = {"target": target, "union": np.ones_like(target), "equal mass": np.ones_like(target)}
    for way, taken in rows.items():
        weight = equal_mass if way == "equal mass" else np.ones(len(y))
        for name, learner in (
            ("logistic", LogisticRegression(max_iter=1000)),
            ("LightGBM", LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0)),
        ):
            learner.fit(X[taken], y[taken], sample_weight=weight[taken])
            said[f"{name}, {way}"] = learner.predict(new)
    return said


def line_of(name: str, seed: int) -> dict[str, Any]:
    """Errors on one draw."""
    problem = get_set("transfer", name).load()
    split = drawn(problem, seed)
    said = answers(task_of(problem, split, "transfer", seed))
    wrong = {who: float(np.mean(label != problem.truth[split.test])) for who, label in said.items()}
    return {"set": name, "seed": seed, "error": wrong}


def row_of(name: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """One set: means over draws, and the choice beside the baseline that is best on average."""
    errors = {who: np.array([line["error"][who] for line in lines]) for who in lines[0]["error"]}
    auto = errors.pop("auto")
    best = min(errors, key=lambda who: errors[who].mean())
    less = auto - errors[best]
    return {
        "set": name,
        "draws": len(lines),
        "auto": f"{auto.mean():.4f}",
        "best baseline on average": f"{best} {errors[best].mean():.4f}",
        "auto less that (s.e.)": f"{less.mean():+.4f} ({less.std(ddof=1) / len(less) ** 0.5:.4f})",
        "best of each draw": f"{np.min(list(errors.values()), axis=0).mean():.4f}",
    } | {who: f"{error.mean():.4f}" for who, error in errors.items()}


def write(lines: list[dict[str, Any]]) -> None:
    """The table."""
    report = Report("transfer_draws", "Transfer: labelled rows drawn many times")
    note = (
        f"Share of new rows predicted wrong with {N_LABELLED} labelled rows of the target. The "
        "best baseline on average is the best of six in hindsight; standard errors are over draws."
    )
    sets = {name: [line for line in lines if line["set"] == name] for name in NAMES}
    report.add("The arena's sets", [row_of(*own) for own in sets.items() if own[1]], note)


def main() -> None:
    chosen = [name for name in sys.argv[1:] if name != "table"]
    if sys.argv[1:] != ["table"]:
        done = {(line["set"], line["seed"]) for line in read_lines(STORED)}
        cases = [(name, seed) for seed in range(N_DRAWS) for name in chosen or NAMES]
        add_lines(STORED, [case for case in cases if case not in done], lambda case: line_of(*case))
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
