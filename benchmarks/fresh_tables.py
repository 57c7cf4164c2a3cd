"""The automatic choice on tables that nothing was chosen by, beside plain baselines.

``python benchmarks/fresh_tables.py [kind ...]`` puts the rows of KEEL's tables (``keel.py``) into
groups by the rules below, written before anything ran. Every case is one line of
``results/fresh_tables.jsonl``; a run that stopped goes on, and two runs of different kinds may
share the file. ``python benchmarks/fresh_tables.py table`` writes the tables of what is there.
Transfer is not here: who competes there was chosen on half of these tables
(``transfer_forests.py``). In majority ``naive-forest`` joined after a look at other draws of
them.

The choice is ``AutoGroupClassifier(kind, random_state=0)`` as it is, without a time limit; the
baselines are methods at their defaults, with the same preparation. Rows of new groups are in no
training group.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import RESULTS, Report, add_lines, read_lines
from keel import names, rows_of
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from groupwise.auto import AutoGroupClassifier
from groupwise.auto.candidates import Candidate
from groupwise.auto.kinds import Kind, Labels, Measured, Shares
from groupwise.auto.members import Trainer, one_thread
from groupwise.auto.problem import Problem
from groupwise.groups import Groups
from groupwise.methods import methods_for
from groupwise.metrics import get_measure

STORED = RESULTS / "fresh_tables.jsonl"
MAX_CLASSES = 12
#: A case with fewer groups to learn from, or a class in fewer of them, is left out.
LEAST_GROUPS, LEAST_OF_CLASS, LEAST_USERS = 20, 4, 16
N_NEW_GROUPS, N_NEW_ROWS = 200, 1000
_PLAIN_GROUPS = {
    "means-logistic": ("means-logistic", {}),
    "boosted rows, mean": ("naive-boosting", {"rule": "mean"}),
    "boosted rows, log-odds": ("naive-boosting", {"rule": "score"}),
    "forest on statistics": ("statistics", {}),
}
BASELINES: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "majority": _PLAIN_GROUPS | {"forest of rows, mean": ("naive-forest", {})},
    "presence": _PLAIN_GROUPS,
    "proportions": {name: (name, {}) for name in ("constant", "means-logistic")},
    "measure": {name: (name, {}) for name in ("boosted-rows", "threshold")},
}
#: Kind, and groups to learn from, or users in all.
CASES = (
    ("majority", 30), ("majority", 90), ("presence", 30), ("presence", 90), ("proportions", 40),
    ("measure", 24),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """What there is to learn from and what is asked.

    Attributes
    ----------
    kind : Kind
    problem : Problem
    X_new : ndarray of shape (n_new_rows, n_features)
    new : Groups
    y_new : ndarray of shape (n_new_rows,)
        Codes of the group's class, or of the row's own (proportions, measure).
    """

    kind: Kind
    problem: Problem
    X_new: NDArray[Any]
    new: Groups
    y_new: NDArray[np.intp]


# --- tables ---------------------------------------------------------------------------------------


def rarest(y: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rarest class with 40 rows against all others."""
    counts = np.bincount(y)
    enough = np.flatnonzero(counts >= 40)
    return (y == enough[counts[enough].argmin()]).astype(np.intp) if len(enough) else 0 * y


class Pools:
    """Rows of each class in random order; old ones are used once, new ones may come again."""

    def __init__(self, rows: NDArray[Any], y: NDArray[Any], rng: Any, *, again: bool):
        self.rng, self.again = rng, again
        self.rows = [rng.permutation(rows[y[rows] == code]) for code in range(y.max() + 1)]
        self.used = np.zeros(len(self.rows), int)

    def draw(self, codes: list[int]) -> list[int] | None:
        """A row of each of these classes; ``None`` when one of them is used up."""
        drawn = []
        for code in codes:
            if self.used[code] == len(self.rows[code]):
                if not self.again or not len(self.rows[code]):
                    return None
                self.rows[code], self.used[code] = self.rng.permutation(self.rows[code]), 0
            drawn.append(int(self.rows[code][self.used[code]]))
            self.used[code] += 1
        return drawn


def session(rng: Any, number: int, n_classes: int) -> tuple[int, list[int]]:
    """Eight rows, five to seven of the session's class, the others of any other."""
    code, n_own = number % n_classes, rng.randint(5, 8)
    others = [other for other in range(n_classes) if other != code]
    return code, [code] * n_own + rng.choice(others, 8 - n_own).tolist()


def bag(rng: Any, number: int, n_classes: int) -> tuple[int, list[int]]:
    """Three to eight rows, one or two of them positive in every other bag."""
    code, size = number % 2, rng.randint(3, 9)
    n_positive = rng.randint(1, 3) if code else 0
    return code, [1] * n_positive + [0] * (size - n_positive)


def labelled_groups(
    kind: str, X: NDArray[Any], y: NDArray[np.intp], n_groups: int, n_new: int = N_NEW_GROUPS
) -> Case | None:
    """Sessions or bags; 60 % of the rows are for those to learn from."""
    y = rarest(y) if kind == "presence" else y
    rng, n_classes = np.random.RandomState(n_groups), int(y.max()) + 1
    if not 2 <= n_classes <= MAX_CLASSES:
        return None
    old, new = np.split(rng.permutation(len(y)), [int(0.6 * len(y))])
    make = bag if kind == "presence" else session
    rows, y_old, groups = drawn_groups(make, n_groups, Pools(old, y, rng, again=False))
    asked, y_new, new_groups = drawn_groups(make, n_new, Pools(new, y, rng, again=True))
    of_class = np.bincount(y_old[groups.first_rows], minlength=n_classes)
    if groups.n_groups < LEAST_GROUPS or of_class.min() < LEAST_OF_CLASS:
        return None
    problem = Problem(X[rows], y_old, groups, n_classes)
    return Case(Labels(kind), problem, X[asked], new_groups, y_new[new_groups.first_rows])


def drawn_groups(make: Any, n_groups: int, pools: Pools) -> tuple[Any, Any, Groups]:
    """Rows, their group's class and their groups, until a class is used up."""
    rows: list[int] = []
    label: list[int] = []
    group: list[int] = []
    for number in range(n_groups):
        code, codes = make(pools.rng, number, len(pools.rows))
        found = pools.draw(codes)
        if found is None:
            break
        rows += found
        label += [code] * len(found)
        group += [number] * len(found)
    return np.array(rows, int), np.array(label, int), Groups(np.array(group, int))


def counted_groups(name: str, n_groups: int) -> Case | None:
    """Random groups of ten whose counts are told; asked are rows."""
    X, y = rows_of(name)
    n_classes = int(y.max()) + 1
    if n_classes > 4:
        return None
    order = np.random.RandomState(n_groups).permutation(len(y))
    n_old = min(10 * n_groups, int(0.06 * len(y)) * 10)
    old, new = order[:n_old], order[n_old:][:N_NEW_ROWS]
    groups = Groups(np.arange(n_old) // 10)
    if groups.n_groups < LEAST_GROUPS:
        return None
    shares = groups.mean(np.eye(n_classes)[y[old]])[groups.codes]
    problem = Problem(X[old], shares, groups, n_classes)
    return Case(Shares(), problem, X[new], Groups(np.arange(len(new)) // 10), y[new])


def users(name: str, n_users: int) -> Case | None:
    """Clusters of rows, without those of fewer than ten rows or one class; a third are new."""
    X, y = rows_of(name)
    y = rarest(y)
    scaled = StandardScaler().fit_transform(X)
    user = KMeans(n_users, n_init=1, random_state=0).fit_predict(scaled)
    n_rows, n_positive = np.bincount(user), np.bincount(user, y)
    good = np.flatnonzero((n_rows >= 10) & (n_positive > 0) & (n_positive < n_rows))
    if len(good) < LEAST_USERS:
        return None
    good = np.random.RandomState(n_users).permutation(good)
    old, new = (np.isin(user, part) for part in np.split(good, [len(good) * 2 // 3]))
    problem = Problem(X[old], y[old], Groups(user[old]), 2)
    kind = Measured(get_measure("f1"), "f1")
    return Case(kind, problem, X[new], Groups(user[new]), y[new])


def case_of(kind: str, name: str, size: int) -> Case | None:
    """A case, or none where the table has too few rows or too many classes for it."""
    if kind == "proportions":
        return counted_groups(name, size)
    if kind == "measure":
        return users(name, size)
    return labelled_groups(kind, *rows_of(name), size)


# --- figures --------------------------------------------------------------------------------------


def mistakes(case: Case, said: Any) -> NDArray[Any]:
    """Of each group, row or user: wrong or right, or what its F1 lacks."""
    if isinstance(case.kind, Labels):
        return (np.asarray(said.y_group) != case.y_new).astype(float)
    if isinstance(case.kind, Measured):
        score = np.where(np.asarray(said.y_row) == 1, 1.0, -1.0)
        return 1.0 - case.kind.measure.of(case.y_new, score, case.new)
    return (np.asarray(said.y_row) != case.y_new).astype(float)


def truth(case: Case, said: Any) -> float:
    """What the estimate is one of."""
    if not isinstance(case.kind, Shares):
        return 1.0 - float(mistakes(case, said).mean())
    shares = case.new.mean(np.eye(case.problem.n_classes)[case.y_new])
    return 1.0 - 0.5 * float(np.abs(said.proba_group - shares).sum(axis=1).mean())


def chosen(case: Case) -> AutoGroupClassifier:
    """The automatic choice, fitted."""
    problem, kind = case.problem, case.kind
    measure = {"measure": "f1"} if isinstance(kind, Measured) else {}
    model = AutoGroupClassifier(kind.name, random_state=0, **measure)
    return model.fit(problem.X, problem.y, groups=problem.groups.codes)


def line_of(kind: str, name: str, size: int) -> dict[str, Any]:
    """Mean mistakes of the choice and of each baseline."""
    line: dict[str, Any] = {"kind": kind, "size": size, "table": name}
    case = case_of(kind, name, size)
    if case is None:
        return line
    offered = {method.name: method for method in methods_for(kind)}
    with one_thread():
        model = chosen(case)
        said = model.predictions(case.X_new, case.new.codes)
        wrong = mistakes(case, said)
        trainer = Trainer(case.kind, case.problem, 0)
        plain = {}
        for label, (method, params) in BASELINES[kind].items():
            member = trainer.fit(Candidate(offered[method], params))
            plain[label] = mistakes(case, member.predictions(case.X_new, case.new))
    best = min(plain, key=lambda label: plain[label].mean())
    behind = wrong - plain[best]
    estimate = model.estimate_
    return line | {
        "groups": case.problem.groups.n_groups,
        "classes": case.problem.n_classes,
        "new": len(wrong),
        "auto": float(wrong.mean()),
        "plain": {label: float(each.mean()) for label, each in plain.items()},
        "best": best,
        "behind": [float(behind.mean()), float(behind.std(ddof=1) / len(behind) ** 0.5)],
        "estimate": [estimate.score, estimate.low, estimate.high],
        "truth": truth(case, said),
    }


def write(kept: list[dict[str, Any]]) -> None:
    """A table of each kind, and one of them all."""
    report = Report("fresh_tables", "The automatic choice on tables that nothing was chosen by")
    summary = []
    for kind, size in CASES:
        lines = [line for line in kept if (line["kind"], line["size"]) == (kind, size)]
        lines = [line for line in lines if "auto" in line]
        if lines:
            summary.append(summary_of(kind, size, lines))
    report.add("By kind", summary, _NOTE)
    for kind, size in CASES:
        lines = [line for line in kept if (line["kind"], line["size"]) == (kind, size)]
        rows = [row_of(line) for line in lines if "auto" in line]
        if rows:
            report.add(f"{kind}, {size}", rows)


_NOTE = (
    "Mistakes: share of new groups predicted wrong (majority, presence), of new rows "
    "(proportions), 1 - F1 of new users (measure). Size: groups to learn from (of small tables "
    "fewer), users in all. The best baseline is the best in "
    "hindsight, of each table anew; behind it and ahead: on so many tables by more than a standard "
    "error over what was asked, which leaves the luck of the training set out. The estimate is of "
    "the score that the automatic choice prints."
)


def summary_of(kind: str, size: int, lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the tables of a kind."""
    auto = np.array([line["auto"] for line in lines])
    row: dict[str, Any] = {"kind": kind, "size": size, "tables": len(lines), "auto": _mean(auto)}
    each = {name: np.array([x["plain"][name] for x in lines]) for name in BASELINES[kind]}
    single = min(each, key=lambda name: each[name].mean())
    less = auto - each[single]
    row["best baseline on average"] = f"{single} {_mean(each[single])}"
    row["less that (s.e.)"] = f"{_mean(less)} ({less.std(ddof=1) / len(less) ** 0.5:.4f})"
    row["best baseline in hindsight"] = _mean(np.min(list(each.values()), axis=0))
    n_behind = sum(line["behind"][0] > line["behind"][1] for line in lines)
    n_ahead = sum(line["behind"][0] < -line["behind"][1] for line in lines)
    row["behind it / ahead"] = f"{n_behind} / {n_ahead}"
    off = np.array([line["estimate"][0] - line["truth"] for line in lines])
    held = [line["estimate"][1] <= line["truth"] <= line["estimate"][2] for line in lines]
    row["estimate - truth (s.e.)"] = f"{_mean(off)} ({off.std(ddof=1) / len(off) ** 0.5:.4f})"
    row["interval holds it"] = f"{sum(held)} of {len(held)}"
    return row


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """One table."""
    score, low, high = line["estimate"]
    return {
        "table": line["table"],
        "groups": line["groups"],
        "classes": line["classes"],
        "auto": f"{line['auto']:.3f}",
        "best baseline": f"{line['best']} {line['plain'][line['best']]:.3f}",
        "less it (s.e.)": f"{line['behind'][0]:+.3f} ({line['behind'][1]:.3f})",
        "estimate": f"{score:.3f} ({low:.3f}, {high:.3f})",
        "truth": f"{line['truth']:.3f}",
    }


def _mean(values: NDArray[Any]) -> str:
    return f"{values.mean():.4f}"


def todo(kinds: list[str]) -> Iterator[tuple[str, str, int]]:
    """Cases of these kinds that are not there yet."""
    for kind, size in CASES:
        for name in names() if kind in kinds else ():
            done = {(x["kind"], x["table"], x["size"]) for x in read_lines(STORED)}
            if (kind, name, size) not in done:
                yield kind, name, size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", choices=[*BASELINES, "table", []])
    asked = parser.parse_args().kinds or list(BASELINES)
    add_lines(STORED, todo(asked), lambda case: line_of(*case))
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
