"""Whether sets and intervals hold, probabilities mean what they say, and reasons are right.

``python benchmarks/guarantees.py [seconds] [part ...]`` with ``GROUPWISE_DATA`` set; parts are
``coverage``, ``nested``, ``rowwise``, ``calibration``, ``issues``, ``reasons``, ``attention`` and
``cost``. Every finished set is one line of ``results/guarantees.jsonl``, and the same command goes
on; ``table`` writes the tables from what there is. ``rowwise`` uses MAPIE (``pip install mapie``),
``attention`` torch.

Fixed before it ran: GroupBoost at its defaults (100 rounds), five folds of whole groups, seed 0.
Coverage: every group is scored once, by a model of other groups; then the groups (of WISDM the
users) are split at random 1,000 times, about half to calibrate (9, 19, 29, ... of them, so that 90
% of one more is a whole number) and the rest to test.
Changed after a first look: the rule for units of several items (see "worst case" in the table),
three draws of folds for label issues instead of one (chosen on fox, german and mutagenesis1), ten
draws of flips instead of five (26 where ten were near three times chance), a model with graded
scores beside that of hard votes on mushrooms; last: cells of adult that come as they are, and rows
that carry their group's share or mean (before, MAPIE was asked about rows' own labels under shares,
and rows' intervals of a total were added up as independent); lists in the order of the label's
probability over its class's mean, which was chosen on made-up data and the eight sets other than
fox and german (before, by the difference to the likeliest other class, each less its class's mean:
musk1 3.2, elephant 5.9, tiger 5.4, birds 8.7, cmc 3.3, spam 6.0, WISDM 6.3, mutagenesis1 5.6, fox
2.7, german 2.7 times chance in ten draws).
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any
from unittest.mock import patch

import numpy as np
from harness import RESULTS, Report
from scipy.optimize import brentq
from scipy.stats import norm
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.metrics import roc_auc_score

from groupwise import (
    BalancedTransferClassifier,
    CalibratedGroupClassifier,
    ConformalGroupClassifier,
    ConformalGroupRegressor,
    GroupBoostClassifier,
    GroupBoostRegressor,
    Groups,
    TrAdaBoostClassifier,
)
from groupwise.datasets import load_mil, load_uci, load_wisdm, make_sessions, make_users
from groupwise.datasets.aggregates import load_adult, load_ionosphere, make_aggregates
from groupwise.datasets.transfer import load_mushroom_task
from groupwise.datasets.users import load_protein
from groupwise.explain import explain_groups, explain_rows, removal_curves
from groupwise.measures import BoostedRowsClassifier
from groupwise.model_selection import split_whole_groups
from groupwise.uncertainty import find_label_issues, label_issues, rank_label_issues
from groupwise.uncertainty.density_ratio import DensityRatio
from groupwise.uncertainty.quantiles import CalibrationScores, class_scores, poisson_binomial_spread

LINES = RESULTS / "guarantees.jsonl"
COVERAGE = 0.9
ROWS = ("measure", "transfer")
NUMBERS = ("proportions", "total")
COUNTED = ", counted from rows' labels"
N_SPLITS = 1000


@dataclass
class Case:
    """A set, the kind of its labels, and the estimator around which promises are made."""

    kind: str
    X: Any
    y: Any
    groups: np.ndarray
    estimator: Any
    keep_whole: Any = None
    domains: Any = None
    weighted: bool = False


def labels(kind: str, data: Any) -> Case:
    model = GroupBoostClassifier("presence" if kind == "presence" else "majority")
    whole = getattr(data, "keep_whole", None)
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X, float)
    return Case(kind, X, np.asarray(data.y), Groups(data.groups).codes, model, whole)


def sessions(name: str) -> Case:
    rows = load_uci(name)
    return labels("majority", make_sessions(rows.X, rows.y, random_state=0))


def shares(rows: Any, size: int, limit: int | None = None) -> Case:
    X, y = rows.X, np.asarray(rows.y)
    if limit is not None:
        kept = np.sort(np.random.RandomState(0).permutation(len(y))[:limit])
        X, y = X.iloc[kept].reset_index(drop=True), y[kept]
    data = make_aggregates(np.asarray(X.select_dtypes("number")) if limit else X, y, size=size,
                           random_state=0)  # fmt: skip
    model = GroupBoostClassifier("proportions")
    return Case("proportions", np.asarray(data.X, float), data.y_row, Groups(data.groups).codes,
                model)  # fmt: skip


def adult_cells() -> Case:
    """Shares in cells of a census table, as they come: rows of a cell resemble each other."""
    rows = load_adult()
    kept = np.sort(np.random.RandomState(0).permutation(len(rows.y))[:10_000])
    table = rows.X.iloc[kept]
    cells = table["occupation"].astype(str) + ", " + table["education"].astype(str)
    X = np.asarray(table.select_dtypes("number"), float)
    return Case("proportions", X, np.asarray(rows.y)[kept], Groups(np.asarray(cells)).codes,
                GroupBoostClassifier("proportions"))  # fmt: skip


def totals() -> Case:
    X, y = load_diabetes(return_X_y=True)
    rng = np.random.RandomState(0)
    sizes = rng.randint(1, 6, 200)
    sizes = sizes[: np.searchsorted(np.cumsum(sizes), len(y))]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    order = rng.permutation(len(y))[: len(groups)]
    total = Groups(groups).spread(Groups(groups).sum(y[order]))
    return Case("total", X[order], total, groups, GroupBoostRegressor("total"))


def protein() -> Case:
    data = load_protein()
    rng = np.random.RandomState(0)
    kept = np.sort(rng.permutation(len(data.X))[:20_000])
    y = np.asarray(data.y)[kept]
    return Case("measure", np.asarray(data.X)[kept], y, Groups(np.asarray(data.groups)[kept]).codes,
                BoostedRowsClassifier())  # fmt: skip


def users() -> Case:
    data = make_users(200, n_rows=30, random_state=0)
    return Case("measure", data.X, np.asarray(data.y), Groups(data.groups).codes,
                BoostedRowsClassifier())  # fmt: skip


def mushroom(estimator: Any, *, weighted: bool = False) -> Case:
    data = load_mushroom_task()
    rng, domains = np.random.RandomState(0), np.asarray(data.domains)
    target = rng.permutation(np.flatnonzero(domains == "target"))[:300]
    kept = np.sort(np.concatenate([target, np.flatnonzero(domains == "source")]))
    return Case("transfer", data.X[kept], np.asarray(data.y)[kept], np.arange(len(kept)),
                estimator, domains=domains[kept], weighted=weighted)  # fmt: skip


CASES: dict[str, Callable[[], Case]] = {
    "WISDM, by user": lambda: labels("majority", load_wisdm()),
    "spam sessions": lambda: sessions("spam"),
    "elephant": lambda: labels("presence", load_mil("elephant")),
    "musk2": lambda: labels("presence", load_mil("musk2")),
    "birds (winter wren)": lambda: labels("presence", load_mil("birds_winter_wren")),
    "adult, 10,000 rows": lambda: shares(load_adult(), 20, 10_000),
    "adult, by occupation and education": adult_cells,
    "ionosphere": lambda: shares(load_ionosphere(), 5),
    "diabetes, totals": totals,
    "protein, rows of blocks": protein,
    "made-up users, rows": users,
    "mushroom, rows": lambda: mushroom(TrAdaBoostClassifier.fading()),
    "mushroom, rows, weighted": lambda: mushroom(TrAdaBoostClassifier.fading(), weighted=True),
    "mushroom, rows, hard votes": lambda: mushroom(BalancedTransferClassifier()),
}


def conformal(case: Case) -> Any:
    if case.kind == "total":
        model: Any = ConformalGroupRegressor(case.estimator, random_state=0)
        return model.fit(case.X, case.y, groups=case.groups)
    shape = "adaptive" if case.kind == "proportions" else "plain"
    model = ConformalGroupClassifier(case.estimator, case.kind, conformity=shape, random_state=0)
    if case.kind == "transfer":
        model.set_params(target_domain="target")
        model.set_params(weighting="density_ratio" if case.weighted else None)
        return model.fit(case.X, case.y, domains=case.domains)
    return model.fit(case.X, case.y, groups=case.groups, keep_whole=case.keep_whole)


@dataclass
class Scored:
    """What models of other groups say of each item: a group, or a row where rows are labelled."""

    score: np.ndarray  # of the truth
    unit: np.ndarray
    classes: np.ndarray | None = None  # the score of each class
    spread: np.ndarray | None = None  # what errors are measured in
    row: np.ndarray | None = None  # the item's, or its first


def folds(case: Case, n_splits: int, seed: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Folds of whole units; in transfer those of the target's rows, all others to learn from."""
    if case.domains is None:
        yield from split_whole_groups(
            n_splits, case.X, None, Groups(case.groups), keep_whole=case.keep_whole,
            stratify=False, random_state=seed,
        )  # fmt: skip
        return
    counted = np.flatnonzero((case.domains == "target") | case.weighted)
    counted = np.random.RandomState(seed).permutation(counted)
    for start in range(n_splits):
        test = np.sort(counted[start::n_splits])
        yield np.setdiff1d(np.arange(len(case.X)), test), test


def fit(case: Case, model: Any, rows: np.ndarray) -> Any:
    if case.domains is not None:
        model.set_params(target_domain="target")
        return model.fit(case.X[rows], case.y[rows], domains=case.domains[rows])
    return model.fit(case.X[rows], case.y[rows], groups=case.groups[rows])


def cross_fit(case: Case) -> Scored:
    """Score every item once."""
    whole = Groups(case.groups if case.keep_whole is None else case.keep_whole).codes
    parts: list[Scored] = []
    for train, test in folds(case, 5):
        found = fit(case, clone(case.estimator), train).predictions(case.X[test], case.groups[test])
        groups, y = found.groups, case.y[test]
        items = test if case.kind in ROWS else test[groups.first_rows]
        if case.kind == "total":
            spread = np.sqrt(groups.sizes)
            score = np.abs(y[groups.first_rows] - found.y_group) / spread
            parts.append(Scored(score, whole[items], spread=spread, row=items))
        elif case.kind == "proportions":
            truth = groups.mean(y[:, None] == found.classes)
            spread = poisson_binomial_spread(found.proba_row, groups.codes, groups.sizes)
            score = (np.abs(truth - found.proba_group) / spread).max(axis=1)
            parts.append(Scored(score, whole[items], spread=spread[:, -1], row=items))
        else:
            proba = found.proba_row if case.kind in ROWS else found.proba_group
            full = np.ones((len(items), len(np.unique(case.y))))
            known = np.searchsorted(np.unique(case.y), found.classes)
            full[:, known] = class_scores(proba, "plain")
            code = np.searchsorted(np.unique(case.y), case.y[items])
            score = full[np.arange(len(items)), code]
            parts.append(Scored(score, whole[items], full, row=items))
    joined = {
        name: None if getattr(parts[0], name) is None else
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("score", "unit", "classes", "spread", "row")
    }  # fmt: skip
    return Scored(**joined)


def coverage(name: str) -> dict[str, Any]:
    """Cross-fitted scores, split again and again."""
    case, started = CASES[name](), time.process_time()
    known = cross_fit(case)
    unit, rng = np.unique(known.unit, return_inverse=True)[1], np.random.RandomState(0)
    n_units, weight = unit.max() + 1, 1.0 / np.bincount(unit)[unit]
    ratio, counted = np.ones(len(unit)), np.ones(len(unit), bool)
    if case.weighted:
        is_target = case.domains == "target"
        ratio = DensityRatio.fit(case.X, is_target).weights(case.X[known.row])
        counted = is_target[known.row]
    drawn = np.unique(known.score, return_inverse=True)[1] + rng.uniform(size=len(unit))
    held, worst, between, size, worth = [], [], [], [], []
    n_known = 10 * ((n_units // 2 + 1) // 10) - 1  # 90 % of one more is a whole number
    for _ in range(N_SPLITS):
        chosen = np.zeros(n_units, bool)
        chosen[rng.permutation(n_units)[:n_known]] = True
        inside, test = chosen[unit], ~chosen[unit] & counted
        for results, score, sharp in ((worst, known.score, False),
                                      (between, drawn, True),
                                      (held, known.score, True)):  # fmt: skip
            scores = CalibrationScores.of_units(
                score[inside], unit[inside], ratio=ratio[inside], sharp=sharp
            )
            kept = scores.keeps(score[test][None], COVERAGE, ratio[test])
            results.append(np.average(kept, weights=weight[test]))
        sizes = _sizes(scores, known, test, ratio[test])
        size.append(np.average(sizes, weights=weight[test]))
        worth.append(scores.effective_size)
    words = {"proportions": "width of a share's interval", "total": "width over s.d. of totals"}
    scale = float(np.std(case.y[Groups(case.groups).first_rows])) if case.kind == "total" else 1.0
    return {
        "kind": case.kind,
        "units": int(n_units),
        "to calibrate": int(n_known),
        "items": len(unit),
        "promised": COVERAGE,
        "held": float(np.mean(held)),
        "s.d. of a split": float(np.std(held)),
        "held, worst case": float(np.mean(worst)),
        "held, equal scores drawn": float(np.mean(between)),
        "size": float(np.mean(size)) / scale,
        "size is": words.get(case.kind, "classes in a set"),
        "effective units": float(np.mean(worth)),
        "cpu s": time.process_time() - started,
    }


def _sizes(
    scores: CalibrationScores, known: Scored, test: np.ndarray, ratio: np.ndarray
) -> np.ndarray:
    """How large each item's set or interval is."""
    if known.classes is not None:
        kept = [scores.keeps(column[None], COVERAGE, ratio) for column in known.classes[test].T]
        return np.sum(kept, axis=0).astype(float)
    assert known.spread is not None
    factor = scores.upper(np.zeros((1, 1)), np.ones((1, 1)), COVERAGE)[0]
    return 2.0 * factor * known.spread[test]


def nested(name: str) -> dict[str, Any]:
    """The estimators themselves on groups of three outer folds: cross-conformal, five folds."""
    case, started = CASES[name](), time.process_time()
    held, size = [], []
    for train, test in folds(case, 3, seed=1):
        inner = replace(
            case, X=case.X[train], y=case.y[train], groups=case.groups[train],
            keep_whole=None if case.keep_whole is None else np.asarray(case.keep_whole)[train],
            domains=None if case.domains is None else case.domains[train],
        )  # fmt: skip
        if case.domains is not None:
            test = test[case.domains[test] == "target"]
        model, X, ids, y = conformal(inner), case.X[test], case.groups[test], case.y[test]
        groups = Groups(ids)
        if case.kind in ("proportions", "total"):
            bounds = model.predict_group_intervals(X, ids)
            truth = y[groups.first_rows] if case.kind == "total" else groups.mean(
                y[:, None] == model.classes_)  # fmt: skip
            inside = (bounds[..., 0] <= truth + 1e-9) & (truth - 1e-9 <= bounds[..., 1])
            held.append(inside if inside.ndim == 1 else inside.all(axis=1))
            wide = bounds[..., 1] - bounds[..., 0]
            size.append(wide if wide.ndim == 1 else wide[:, -1])
            continue
        rows = case.kind in ROWS
        sets = model.predict_row_sets(X, ids) if rows else model.predict_group_sets(X, ids)
        item_y = y if rows else y[groups.first_rows]
        inside = sets[np.arange(len(sets)), np.searchsorted(model.classes_, item_y)]
        held.append(groups.mean(inside) if rows else inside)
        size.append(groups.mean(sets.sum(axis=1)) if rows else sets.sum(axis=1))
    scale = float(np.std(case.y[Groups(case.groups).first_rows])) if case.kind == "total" else 1.0
    return {
        "kind": case.kind,
        "promised": COVERAGE,
        "held": float(np.mean(np.concatenate(held))),
        "groups": len(np.concatenate(held)),
        "size": float(np.mean(np.concatenate(size))) / scale,
        "cpu s": time.process_time() - started,
    }


def rowwise(name: str) -> dict[str, Any]:
    """Conformal prediction on rows, as if they were exchangeable; tested on groups held out.

    Every row carries what is known: its own label, or its group's label, share or mean. In each of
    five folds of whole groups the training rows are split at random into rows to learn from and
    rows to calibrate on, by MAPIE. What counts is the mean over new groups of the share of their
    rows whose set (interval) holds that.
    """
    name, *counted = name.split(COUNTED)
    case, rng, started = CASES[name](), np.random.RandomState(0), time.process_time()
    groups = Groups(case.groups)
    in_target = np.ones(groups.n_rows, bool) if case.domains is None else case.domains == "target"
    y = np.unique(case.y, return_inverse=True)[1] if counted else known_of_rows(case, groups)
    held, size = [], []
    for train, test in split_whole_groups(
        5, case.X, None, groups, keep_whole=case.keep_whole, stratify=False, random_state=0
    ):
        test = test[in_target[test]]
        order = rng.permutation(train)
        learn, calibrate = order[: len(order) // 2], order[len(order) // 2 :]
        new = Groups(groups.codes[test])
        if case.kind in NUMBERS and not counted:
            bounds = mapie_intervals(case.X, y, learn, calibrate, test)
            inside = (bounds[:, 0] <= y[test] + 1e-9) & (y[test] - 1e-9 <= bounds[:, 1])
            large = bounds[:, 1] - bounds[:, 0]
            if case.kind == "total":
                large = large * new.sizes[new.codes] / np.std(case.y[groups.first_rows])
        else:
            sets = mapie_sets(case.X, y, learn, calibrate, test)
            inside, large = sets[np.arange(len(test)), y[test]], sets.sum(axis=1)
        if counted:  # rows that must be of the second class, and rows that may be
            least = new.mean(sets[:, 1] & ~sets[:, 0])
            most = new.mean(sets[:, 1] | ~sets.any(axis=1))
            share = new.mean(y[test])
            held.append((least <= share + 1e-9) & (share - 1e-9 <= most))
            size.append(most - least)
        else:
            held.append(new.mean(inside.astype(float)))
            size.append(new.mean(large.astype(float)))
    by_group = np.concatenate(held).astype(float)
    few = None if counted else float(np.mean(by_group < 0.8))
    return {
        "kind": case.kind,
        "promised": COVERAGE,
        "held, new groups": float(by_group.mean()),
        "s.e.": float(by_group.std() / np.sqrt(len(by_group))),
        "groups with less than 80 % of rows held": few,
        "size": float(np.mean(np.concatenate(size))),
        "cpu s": time.process_time() - started,
    }


def known_of_rows(case: Case, groups: Groups) -> np.ndarray:
    """What a row carries: a class code, or its group's mean or share of the second class."""
    if case.kind == "total":
        return np.asarray(case.y, float) / groups.sizes[groups.codes]
    codes = np.unique(case.y, return_inverse=True)[1]
    return groups.spread(groups.mean(codes)) if case.kind == "proportions" else codes


def mapie_intervals(X: Any, y: Any, learn: Any, calibrate: Any, test: Any) -> np.ndarray:
    from mapie.regression import SplitConformalRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor

    plain = HistGradientBoostingRegressor(random_state=0).fit(X[learn], y[learn])
    mapie = SplitConformalRegressor(plain, confidence_level=COVERAGE, prefit=True)
    return mapie.conformalize(X[calibrate], y[calibrate]).predict_interval(X[test])[1][:, :, 0]


def mapie_sets(X: Any, y: Any, learn: Any, calibrate: Any, test: Any) -> np.ndarray:
    from mapie.classification import SplitConformalClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier

    plain = HistGradientBoostingClassifier(random_state=0).fit(X[learn], y[learn])
    mapie = SplitConformalClassifier(plain, confidence_level=COVERAGE, prefit=True)
    return mapie.conformalize(X[calibrate], y[calibrate]).predict_set(X[test])[1][:, :, 0]


CALIBRATION = (
    "musk1", "elephant", "fox", "tiger", "mutagenesis1", "birds_winter_wren", "newsgroups1",
    "cmc sessions", "german sessions", "spam sessions", "WISDM, by user",
)  # fmt: skip


def labelled(name: str) -> Case:
    if name in CASES:
        return CASES[name]()
    if name.endswith(" sessions"):
        return sessions(name.removesuffix(" sessions"))
    return labels("presence", load_mil(name))


def outer_folds(case: Case, n_splits: int) -> list[Any]:
    groups = Groups(case.groups)
    return split_whole_groups(
        n_splits, case.X, case.y, groups, keep_whole=case.keep_whole,
        stratify=case.keep_whole is None, random_state=0,
    )  # fmt: skip


def calibration(name: str) -> dict[str, Any]:
    """ECE and log-loss of held-out groups before and after."""
    case, started = labelled(name), time.process_time()
    classes, codes = np.unique(case.y, return_inverse=True)
    before, after, truth = [], [], []
    for train, test in outer_folds(case, 3):
        whole = None if case.keep_whole is None else np.asarray(case.keep_whole)[train]
        model = CalibratedGroupClassifier(case.estimator, random_state=0)
        model.fit(case.X[train], codes[train], groups=case.groups[train], keep_whole=whole)
        asked = case.X[test], case.groups[test]
        after.append(model.predict_groups_proba(*asked))
        before.append(model.estimator_.predict_groups_proba(*asked))
        truth.append(codes[test][Groups(case.groups[test]).first_rows])
    code = np.concatenate(truth)
    line: dict[str, Any] = {"groups": len(code), "classes": len(classes)}
    losses = {}
    for when, parts in (("before", before), ("after", after)):
        proba = np.concatenate(parts)
        top, right = proba.max(axis=1), proba.argmax(axis=1) == code
        place = np.minimum((top * 10).astype(int), 9)
        line[f"ECE {when}"] = float(
            sum(abs((top - right)[place == b].sum()) for b in range(10)) / len(code)
        )
        losses[when] = -np.log(np.maximum(proba[np.arange(len(code)), code], 1e-6))
        line[f"log-loss {when}"] = float(losses[when].mean())
        line[f"accuracy {when}"] = float(right.mean())
    worse = losses["after"] - losses["before"]
    line["s.e. of the difference"] = float(worse.std() / np.sqrt(len(worse)))
    return line | {"cpu s": time.process_time() - started}


ISSUES = ("musk1", "elephant", "tiger", "birds_winter_wren", "cmc sessions", "spam sessions",
          "WISDM, by user", "mutagenesis1", "fox", "german sessions")  # fmt: skip
# Sets that were near three times chance after ten draws.
NEAR_THREE = ("musk1", "cmc sessions", "fox", "german sessions")


def issues(name: str) -> dict[str, Any]:
    """Labels of a tenth of the groups flipped, again and again."""
    case, started = labelled(name), time.process_time()
    groups = Groups(case.groups)
    classes, codes = np.unique(case.y, return_inverse=True)
    y_group = codes[groups.first_rows]
    n_flipped = max(1, round(0.1 * groups.n_groups))
    precision, right, flagged, plain = [], [], [], []
    asked: list[np.ndarray] = []

    def keep(proba: np.ndarray, *others: Any) -> Any:
        asked.append(proba)
        return rank_label_issues(proba, *others)

    n_draws = 26 if name in NEAR_THREE else 10
    for seed in range(n_draws):
        rng = np.random.RandomState(seed)
        flipped = rng.permutation(groups.n_groups)[:n_flipped]
        wrong = y_group.copy()
        wrong[flipped] = (wrong[flipped] + rng.randint(1, len(classes), n_flipped)) % len(classes)
        with patch.object(label_issues, "rank_label_issues", keep):
            found = find_label_issues(
                case.estimator, case.X, groups.spread(wrong), groups=groups.codes,
                keep_whole=case.keep_whole, random_state=seed,
            )  # fmt: skip
        table = found.table
        precision.append(np.isin(table["group"].head(n_flipped), flipped).mean())
        flagged.append(np.isin(table["group"][table["issue"]], flipped).mean())
        by_proba = table.sort_values("proba", kind="stable")["group"]
        plain.append(np.isin(by_proba.head(n_flipped), flipped).mean())
        right.append((asked[-1].argmax(axis=1) == y_group).mean())
    share, accuracy = n_flipped / groups.n_groups, float(np.mean(right))
    return {
        "groups": groups.n_groups,
        "flipped": n_flipped,
        "draws": n_draws,
        "precision in the first tenth": float(np.mean(precision)),
        "times chance": float(np.mean(precision) / share),
        "s.e.": float(np.std(precision) / np.sqrt(n_draws) / share),
        "times chance by probability": float(np.mean(plain) / share),
        "precision of those flagged": float(np.mean(flagged)),
        "groups right": accuracy,
        "s.e. of groups right": float(np.sqrt(accuracy * (1.0 - accuracy) / groups.n_groups)),
        "commonest class": float(np.bincount(y_group).max() / groups.n_groups),
        "times chance at best": best_precision(accuracy, share) / share
        if len(classes) == 2
        else None,
        "cpu s": time.process_time() - started,
    }


def best_precision(accuracy: float, share: float) -> float:
    """Flipped labels in the first of an ideal list, as long as they are many.

    For a score that is normal with means -d and d in the two classes, as likely as each other,
    so that a share Phi(d) is right: the score times the given label is normal about -d where the
    label was flipped and about d elsewhere, the likelihood ratio falls in it, and no list is better
    than that of all below t with share Phi(t + d) + (1 - share) Phi(t - d) = share.
    """
    d = norm.ppf(accuracy)
    t = brentq(lambda t: share * norm.cdf(t + d) + (1.0 - share) * norm.cdf(t - d) - share, -20, 20)
    return float(norm.cdf(t + d))


REASONS = ("musk1", "elephant", "fox", "tiger", "birds_winter_wren", "digit bags", "spam rows",
           "WISDM rows")  # fmt: skip


def digit_bags() -> tuple[Case, np.ndarray]:
    """Bags of 3 to 12 digits, positive if a nine is among them."""
    X, digit = load_digits(return_X_y=True)
    rng = np.random.RandomState(0)
    sizes = rng.randint(3, 13, 240)
    groups = np.repeat(np.arange(240), sizes)
    order = rng.permutation(len(X))[: len(groups)]
    groups = groups[: len(order)]
    truth = (digit[order] == 9).astype(int)
    y = Groups(groups).spread(Groups(groups).max(truth))
    return Case("presence", X[order], y, groups, GroupBoostClassifier("presence")), truth


def wisdm_bags() -> tuple[Case, np.ndarray]:
    """Six rows of a user at random, positive if one of them climbs stairs."""
    data, rng = load_wisdm(), np.random.RandomState(0)
    user = Groups(np.asarray(data.keep_whole))
    order = np.lexsort((rng.uniform(size=user.n_rows), user.codes))
    place = np.arange(user.n_rows) - user.offsets[user.codes[order]]
    full = place < 6 * (user.sizes // 6)[user.codes[order]]
    order, place = order[full], place[full]
    groups = Groups(user.codes[order] * 1000 + place // 6)
    truth = (np.asarray(data.y)[order] == "Upstairs").astype(int)
    X = np.asarray(data.X, float)[order]
    model = GroupBoostClassifier("presence")
    return Case("presence", X, groups.spread(groups.max(truth)), groups.codes, model,
                user.codes[order]), truth  # fmt: skip


def reasons(name: str) -> dict[str, Any]:
    """Deletion and insertion of rows of held-out groups, in the order of shares and at random."""
    started, truth = time.process_time(), None
    if name == "digit bags":
        case, truth = digit_bags()
    elif name == "WISDM rows":
        case, truth = wisdm_bags()
    elif name == "spam rows":
        rows = load_uci("spam")
        data = make_sessions(rows.X, rows.y, random_state=0)
        case, truth = labels("majority", data), np.asarray(data.y_row)
    else:
        case = labels("presence", load_mil(name))
    curves = Curves()
    auc = []
    for train, test in outer_folds(case, 3):
        model = case.estimator.fit(case.X[train], case.y[train], groups=case.groups[train])
        X, ids = case.X[test], case.groups[test]
        found = explain_groups(model, X, ids)
        curves.add(model, X, ids, {"shares": found.share_row})
        if truth is not None:
            sign = np.unique(case.y)[1]
            auc.append(roc_auc_score(truth[test] == sign, found.share_row))
    line: dict[str, Any] = {"method": found.method} | curves.line()
    if auc:
        line["AUC of shares against rows"] = float(np.mean(auc))
    return line | {"cpu s": time.process_time() - started}


class Curves:
    """Mean probability of positive groups while rows go and come, by the order of the rows."""

    def __init__(self) -> None:
        self.rng = np.random.RandomState(0)
        self.deletion: dict[str, list[np.ndarray]] = {}
        self.insertion: dict[str, list[np.ndarray]] = {}

    def add(self, model: Any, X: np.ndarray, ids: np.ndarray, orders: dict[str, Any]) -> None:
        found = model.predictions(X, ids)
        chosen = ((found.code_group == 1) & (found.groups.sizes > 1))[found.groups.codes]
        for order, share in (orders | {"random": self.rng.uniform(size=len(ids))}).items():
            run = removal_curves(model, X[chosen], ids[chosen], share_row=share[chosen])
            self.deletion.setdefault(order, []).append(run.deletion.mean(axis=1))
            self.insertion.setdefault(order, []).append(run.insertion.mean(axis=1))

    def line(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for order in self.deletion:
            out[f"deletion, {order}"] = float(np.concatenate(self.deletion[order]).mean())
            out[f"insertion, {order}"] = float(np.concatenate(self.insertion[order]).mean())
        return out | {"groups": len(np.concatenate(self.deletion["random"]))}


ATTENTION = ("musk1", "elephant", "fox", "tiger", "birds_winter_wren")


def attention(name: str) -> dict[str, Any]:
    """One network, two orders of its rows: its own attention, and what leaving a row out costs."""
    from groupwise.nets import GroupNetClassifier

    case, started, curves, right = labelled(name), time.process_time(), Curves(), []
    for train, test in outer_folds(case, 3):
        model = GroupNetClassifier("presence", pooling="attention", random_state=0)
        model.fit(case.X[train], case.y[train], groups=case.groups[train])
        X, ids = case.X[test], case.groups[test]
        found = explain_groups(model, X, ids)
        curves.add(model, X, ids, {"shares": found.share_row, "attention": model.attention(X, ids)})
        right.append(model.score(X, case.y[test], ids))
    line = {"method": found.method, "groups right": float(np.mean(right))} | curves.line()
    return line | {"cpu s": time.process_time() - started}


COST = ("conformal fit, spam sessions", "conformal fit, birds", "conformal fit, 20,000 rows x 20",
        "conformal fit, 50,000 rows x 20", "conformal fit, 100,000 rows x 20",
        "conformal fit, 200,000 rows x 20", "explain 1,000,000 rows")  # fmt: skip
TURNS = {"20,000": 21, "50,000": 11, "100,000": 7, "200,000": 5}


def cpu_seconds(call: Callable[[], Any]) -> float:
    started = time.process_time()
    call()
    return time.process_time() - started


def cost(name: str) -> dict[str, Any]:
    """What it takes beside the plain thing, in turns."""
    if name.startswith("conformal"):
        return cost_of_folds(name.split(", ", 1)[1])
    case, n_turns = made_up(1_000_000), 3
    case.estimator.set_params(n_estimators=20)
    few = np.isin(case.groups, np.arange(20_000))
    model = case.estimator.fit(case.X[few], case.y[few], groups=case.groups[few])

    def plain() -> Any:
        return model.booster_.predict(case.X, pred_contrib=True, num_threads=1)

    both = np.array(
        [
            [cpu_seconds(plain), cpu_seconds(lambda: explain_rows(model, case.X))]
            for _ in range(n_turns)
        ]
    )
    one, all_of_it = np.median(both, axis=0)
    return {"turns": n_turns, "plain cpu s": one, "cpu s": all_of_it, "ratio": all_of_it / one}


def cost_of_folds(name: str) -> dict[str, Any]:
    """A conformal fit over five folds and where it goes, in plain fits."""
    n_rows = name.split(" ")[0]
    if n_rows in TURNS:
        case, n_turns = made_up(int(n_rows.replace(",", "")), 20), TURNS[n_rows]
    else:
        case, n_turns = sessions("spam") if "spam" in name else CASES["birds (winter wren)"](), 21
    inside, ratios, pieces, plains = type(case.estimator), [], [], []
    spent: dict[str, list[float]] = {}

    def timed(what: str) -> Any:
        function = getattr(inside, what)

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            started = time.process_time()
            found = function(*args, **options)
            spent.setdefault(what, []).append(time.process_time() - started)
            return found

        return patch.object(inside, what, call)

    def one_fit() -> float:
        return cpu_seconds(lambda: clone(case.estimator).fit(case.X, case.y, groups=case.groups))

    with timed("fit"), timed("predictions"):
        for _ in range(n_turns):
            plains.append(one_fit())
            spent.clear()
            whole = cpu_seconds(lambda: conformal(case))
            *folds, last = spent["fit"]
            asked = sum(spent["predictions"])
            rest = whole - sum(spent["fit"]) - asked
            pieces.append([*spent["fit"], *spent["predictions"], rest])
            plains.append(one_fit())
            plain = 0.5 * (plains[-2] + plains[-1])
            parts = np.array([whole, np.mean(folds), last, asked, rest])
            ratios.append([plain, *(parts / plain)])
    found = np.median(ratios, axis=0).tolist()
    named = ("plain cpu s", "ratio", "a fold's fit", "the fit of all", "held-out rows asked",
             "order, folds, checks")  # fmt: skip
    return (
        {"turns": n_turns}
        | dict(zip(named, found, strict=True))
        | {
            "s.e. of the ratio": float(1.25 * np.std(ratios, axis=0)[1] / np.sqrt(n_turns)),
            "ratio, least times": float(np.min(pieces, axis=0).sum() / min(plains)),
        }
    )


def made_up(n_rows: int, n_features: int = 10) -> Case:
    rng = np.random.RandomState(0)
    X, groups = rng.normal(size=(n_rows, n_features)), np.repeat(np.arange(n_rows // 10), 10)
    y = Groups(groups).spread(Groups(groups).max(X[:, 0]) > 2).astype(int)
    return Case("presence", X, y, groups, GroupBoostClassifier("presence"))


ROWWISE = (
    *(name for name in CASES if name not in ("mushroom, rows, weighted",
                                             "mushroom, rows, hard votes")),
    *(name + COUNTED for name in CASES if name.startswith(("adult", "ionosphere"))),
)  # fmt: skip
PARTS: dict[str, tuple[Callable[[str], dict[str, Any]], Any]] = {
    "coverage": (coverage, tuple(CASES)),
    "nested": (nested, tuple(CASES)),
    "rowwise": (rowwise, ROWWISE),
    "calibration": (calibration, CALIBRATION),
    "issues": (issues, ISSUES),
    "reasons": (reasons, REASONS),
    "attention": (attention, ATTENTION),
    "cost": (cost, COST),
}


def finished() -> list[dict[str, Any]]:
    return [json.loads(line) for line in LINES.read_text().splitlines()] if LINES.exists() else []


def run(parts: list[str], seconds: float) -> None:
    """Everything that is not there yet, until the time is up."""
    until = time.monotonic() + seconds
    for part in parts:
        do, names = PARTS[part]
        for name in names:
            if any(line["part"] == part and line["set"] == name for line in finished()):
                continue
            if time.monotonic() > until:
                return
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                line = {"part": part, "set": name} | do(name)
            with LINES.open("a") as stream:
                stream.write(json.dumps(line) + "\n")
            print(json.dumps(line), flush=True)


NOTES = {
    "coverage": "Mean over 1,000 splits of the units into those to calibrate on and those to test; "
    "scores are cross-fitted once (five folds), so that splits cost nothing. Users, blocks and "
    "groups count once, whatever the number of their rows. Worst case: all rows of the new "
    "unit are as strange as this one, which is what can be proved (method split). Equal scores "
    "drawn: of items with the same score a random one is the stranger (for comparison: sets "
    "depend on no draw). Widths before they are cut at 0 and 1.",
    "nested": "``ConformalGroupClassifier`` and ``ConformalGroupRegressor`` as they are (five "
    "folds, cross), on the groups of three outer folds.",
    "rowwise": "MAPIE's split conformal prediction with rows taken for exchangeable, on five folds "
    "of whole groups. Every row carries what is known (its own label, or its group's label, share "
    "or mean); held: the mean over new groups of the share of their rows whose set or interval "
    "holds that. Counted from rows' labels: MAPIE is told rows' own labels, which our models are "
    "not, and a group's share lies between the rows that must and those that may have the second "
    "class (a row without a class may); held: the groups whose share does. Groups of adult "
    "(10,000 rows), ionosphere, the totals and the sessions of spam were put together at random "
    "from rows, which are exchangeable there: nothing can be missed of what a row carries, but "
    "for groups of unequal size (totals).",
    "calibration": "Groups of three outer folds; the five inner folds are of training groups. The "
    "error counts the probability of the predicted class in ten bins.",
    "issues": "Means over draws of the flipped groups; s.e. of the times. By probability: the "
    "list in the order of the given label's probability itself. Groups right: by the "
    "models of other groups that make the list, which learn from the flipped labels too; its s.e. "
    "is of so many groups. At best: no list is better if scores of the two classes are normal with "
    "equal spread and so many groups are right (two classes).",
    "reasons": "Groups of three outer folds that are predicted positive and have two rows or more: "
    "mean probability while rows go (lower is better) and come (higher is better).",
    "attention": "The same of a network with gated attention: its rows in the order of its own "
    "attention and of what leaving them out costs.",
    "cost": "CPU seconds, one thread, 100 trees (20 where explained); medians over turns of ratios "
    "to the plain thing (one fit, the mean of one before and one after; the engine's own "
    "contributions). Five fits of four fifths of the groups and one of all would be 5.0 if a fit "
    "took time as it has rows and nothing else took any; made-up rows are in groups of ten; s.e. "
    "by normal theory of the median; least times are each piece's least over the turns, added up, "
    "over the least of a plain fit.",
}


def table() -> None:
    """Write what there is."""
    report = Report("guarantees", "Guarantees and reasons")
    for part, (_, names) in PARTS.items():
        lines = {line["set"]: line for line in finished() if line["part"] == part}
        shown = [
            {k: round(v, 3) if isinstance(v, float) else v for k, v in lines[name].items()
             if k != "part"}
            for name in names if name in lines
        ]  # fmt: skip
        missing = [name for name in names if name not in lines]
        note = NOTES[part] + (f" Not run: {'; '.join(missing)}." if missing else "")
        if shown:
            keys = list(dict.fromkeys(key for line in shown for key in line))
            report.add(part, [{key: line.get(key) for key in keys} for line in shown], note)


if __name__ == "__main__":
    asked = sys.argv[1:]
    if asked == ["table"]:
        table()
    else:
        limit = float(asked.pop(0)) if asked and asked[0].isdigit() else 1e9
        run(asked or list(PARTS), limit)
