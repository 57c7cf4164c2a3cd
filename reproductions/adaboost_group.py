"""Ni, Xu, Li and Huang (2008), Group-based learning: Tables 1 and 2."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from lightgbm import LGBMClassifier
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from groupwise.boosting import HistTrees
from groupwise.datasets.users import load_protein, load_spam_inboxes, make_users
from groupwise.groups import Groups
from groupwise.measures import (
    BoostedRowsClassifier,
    ExpectedMeasureClassifier,
    FocusedAdaBoostClassifier,
    GroupAdaBoostClassifier,
    SVMPerfClassifier,
    ThresholdTunedClassifier,
    add_relative_features,
)
from groupwise.metrics import Accuracy, AveragePrecision, FBeta, make_scorer
from groupwise.model_selection import WholeGroupKFold
from groupwise.plotting.group_scores import GroupScoresDisplay
from reproductions.adaboost_group_tables import PRINTED, TUNED, table
from reproductions.result import Result, Track, quiet
from reproductions.store import Store

__all__ = ["TITLE", "run"]

TITLE = "Ni, Xu, Li and Huang 2008 (AdaBoost.Group): Tables 1 and 2"
ROUNDS = 100
TREES = 300
INNER_TREES = 10
INNER_FOLDS = 2
FOLDS = 5
COSTS = (1.0, 3.0, 10.0)
MAX_PASSES = 100_000
HINGE_GAP = 1e-4
N_USERS = 250
#: Words in fewer mails than this are left out of the spam data; no label is looked at.
LEAST_MAILS = 20
OURS = "ours: LightGBM, expected F1"
OURS_RELATIVE = "ours: LightGBM, expected F1, relative features"


@dataclass(frozen=True)
class Split:
    """Training groups and test groups, and a seed."""

    X: Any
    y: NDArray[Any]
    groups: NDArray[Any]
    X_test: Any
    groups_test: NDArray[Any]
    seed: int

    def scaled(self) -> tuple[Any, Any]:
        """For linear models: standardised, or sparse rows of length one."""
        scaler = Normalizer() if issparse(self.X) else StandardScaler()
        return scaler.fit_transform(self.X), scaler.transform(self.X_test)


Scores = dict[str, NDArray[Any]]


def _trees() -> HistTrees:
    return HistTrees(max_depth=3)


def _adaboost(split: Split, **changed: Any) -> FocusedAdaBoostClassifier:
    options = {"focus": 0.0, "balance_groups": False, **changed}
    return FocusedAdaBoostClassifier(
        _trees(), n_estimators=ROUNDS, random_state=split.seed, **options
    )


def _rows(split: Split, loss: str = "logistic") -> BoostedRowsClassifier:
    return BoostedRowsClassifier(loss, n_estimators=TREES, random_state=split.seed)


def _tuned(estimator: Any, split: Split) -> ThresholdTunedClassifier:
    tuned = ThresholdTunedClassifier(estimator, cv=INNER_FOLDS, random_state=split.seed)
    return tuned.fit(split.X, split.y, groups=split.groups)


def _decided(estimator: Any, split: Split) -> NDArray[Any]:
    """Ours: every test group decided for its expected F1."""
    clf = ExpectedMeasureClassifier(estimator, cv=INNER_FOLDS, random_state=split.seed)
    clf.fit(split.X, split.y, groups=split.groups)
    return clf.decision_function(split.X_test, groups=split.groups_test)


def _group_boosting(split: Split) -> Scores:
    """Figure 1 for two measures."""
    scores = {}
    for name, measure in (("accuracy", "accuracy"), ("F1", "f1")):
        clf = GroupAdaBoostClassifier(
            _trees(), measure=measure, n_estimators=ROUNDS, random_state=split.seed
        ).fit(split.X, split.y, groups=split.groups)
        scores[f"AdaBoost.Group ({name})"] = clf.decision_function(split.X_test)
    inner = LGBMClassifier(
        n_estimators=INNER_TREES, max_depth=3, n_jobs=1, random_state=split.seed, verbosity=-1
    )
    clf = GroupAdaBoostClassifier(inner, measure="f1", n_estimators=ROUNDS // INNER_TREES)
    clf.fit(split.X, split.y, groups=split.groups)
    scores["AdaBoost.Group (F1), inner boosting"] = clf.decision_function(split.X_test)
    return scores


def _svm_perf(split: Split) -> Scores:
    X, X_test = split.scaled()
    scores = {}
    for name, options in (
        ("accuracy", {"measure": "accuracy", "C": 0.01, "tol": 0.01}),
        ("F1", {"measure": "f1"}),
        ("group-mean F1", {"measure": "group_f1"}),
    ):
        clf = SVMPerfClassifier(**options).fit(X, split.y, groups=split.groups)
        scores[f"SVMperf ({name})"] = clf.decision_function(X_test)
    return scores


def _svm(split: Split, name: str, svm: Any, grid: dict[str, Any]) -> Scores:
    X, X_test = split.scaled()
    return {
        name: svm.fit(X, split.y).decision_function(X_test),
        f"{name}, cost-sensitive": _by_cost(svm, grid, X, split).decision_function(X_test),
    }


def _hinge_svm(split: Split) -> Scores:
    """The plain hinge: liblinear's problem, solved to a gap that is known."""
    svm = SVMPerfClassifier("accuracy", C=1.0, tol=HINGE_GAP)
    return _svm(split, "SVM", svm, {"cost": list(COSTS)})


def _squared_hinge_svm(split: Split) -> Scores:
    svm = LinearSVC(max_iter=MAX_PASSES, random_state=split.seed)
    grid = {"class_weight": [{1: cost} for cost in COSTS]}
    return _svm(split, "squared hinge: SVM", svm, grid)


def _by_cost(estimator: Any, grid: dict[str, Any], X: Any, split: Split) -> Any:
    """The cost with the best group-mean F1 in two folds of the training groups."""
    folds = WholeGroupKFold(2, stratify=False, random_state=split.seed)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, grid, scoring=make_scorer("f1"), cv=folds)
        return search.fit(X, split.y, groups=split.groups).best_estimator_


def _boosting(split: Split) -> Scores:
    """AdaBoost, its costs and its weights of groups."""
    plain = _adaboost(split)
    tuned = _tuned(plain, split)
    grid = {"cost": list(COSTS)}
    scores = {
        "AdaBoost": tuned.decision_function(split.X_test) + tuned.threshold_,
        "AdaBoost, threshold tuned": tuned.decision_function(split.X_test),
        "AdaBoost, cost-sensitive": _by_cost(plain, grid, split.X, split).decision_function(
            split.X_test
        ),
        "ours: AdaBoost, expected F1": _decided(plain, split),
    }
    for name, options in (
        ("1/m weights", {"focus": 0.0}),
        ("confidence-rated, 1/m weights", {"focus": 0.0, "hypotheses": "soft"}),
        ("focus 1", {"focus": 1.0}),
        ("worst groups, focus 5", {"focus": 5.0}),
    ):
        model = _tuned(_adaboost(split, balance_groups=True, **options), split)
        scores[f"AdaBoost, {name}, threshold tuned"] = model.decision_function(split.X_test)
    return scores


def _gradient_boosting(split: Split) -> Scores:
    tuned = _tuned(_rows(split), split)
    score = tuned.decision_function(split.X_test)
    return {
        "LightGBM": score + tuned.threshold_,
        TUNED: score,
        "LightGBM lambdarank, threshold tuned": _tuned(
            _rows(split, "lambdarank"), split
        ).decision_function(split.X_test),
        OURS: _decided(_rows(split), split),
    }


def _relative_features(split: Split) -> Scores:
    """Standard scores inside the group beside the features; dense rows only."""
    if issparse(split.X):
        return {}
    both = replace(
        split,
        X=add_relative_features(split.X, split.groups),
        X_test=add_relative_features(split.X_test, split.groups_test),
    )
    return {
        f"{TUNED}, relative features": _tuned(_rows(both), both).decision_function(both.X_test),
        OURS_RELATIVE: _decided(_rows(both), both),
    }


FAMILIES: dict[str, Callable[[Split], Scores]] = {
    "SVM": _hinge_svm,
    "squared hinge: SVM": _squared_hinge_svm,
    "AdaBoost.Group": _group_boosting,
    "AdaBoost": _boosting,
    "SVMperf": _svm_perf,
    "LightGBM": _gradient_boosting,
    "LightGBM, relative features": _relative_features,
}
MEASURES = {"accuracy": Accuracy(), "F1": FBeta(), "average precision": AveragePrecision()}


def _values(split: Split, y_test: NDArray[Any], family: str) -> dict[str, dict[str, list[float]]]:
    """Of each method, the measures of the test groups."""
    groups = Groups(split.groups_test)
    return {
        method: {k: m(y_test, score, groups).tolist() for k, m in MEASURES.items()}
        for method, score in FAMILIES[family](split).items()
    }


Case = tuple[Split, NDArray[Any]]


def _cross_validated(X: Any, y: NDArray[Any], groups: NDArray[Any], seed: int) -> list[Case]:
    """Every group is tested once."""
    folds = WholeGroupKFold(FOLDS, stratify=False, random_state=seed)
    return [
        (Split(X[train], y[train], groups[train], X[test], groups[test], seed), y[test])
        for train, test in folds.split(y, groups=groups)
    ]


def _users(repeats: int, seed: int) -> list[Case]:
    cases = []
    for repeat in range(repeats):
        train = make_users(N_USERS, random_state=2 * (seed + repeat))
        test = make_users(N_USERS, random_state=2 * (seed + repeat) + 1)
        split = Split(train.X, train.y, train.groups, test.X, test.groups, seed + repeat)
        cases.append((split, test.y))
    return cases


def _collect(
    store: Store, cases: dict[str, list[Case]], seed: int, track: Track
) -> dict[str, dict[str, pd.DataFrame]]:
    """By data, of each method: one line per group, one column per measure; all cases or none."""
    steps = [
        (data, family, number)
        for family in FAMILIES
        for data, of_data in cases.items()
        for number in range(len(of_data))
    ]
    for data, family, number in track(
        [step for step in steps if not store.has(*step, seed)], "protein, spam and users"
    ):
        split, y_test = cases[data][number]
        found = _values(split, y_test, family)
        key = {"data": data, "family": family, "case": number, "seed": seed}
        store.add(key | {"values": found})
    parts: dict[str, dict[str, list[pd.DataFrame]]] = {data: {} for data in cases}
    for family in FAMILIES:
        for data, of_data in cases.items():
            lines = [
                line for line in store.records
                if (line["data"], line["family"], line["seed"]) == (data, family, seed)
            ]  # fmt: skip
            if len(lines) >= len(of_data):
                for line in sorted(lines, key=lambda line: line["case"])[: len(of_data)]:
                    for method, values in line["values"].items():
                        parts[data].setdefault(method, []).append(pd.DataFrame(values))
    return {
        data: {method: pd.concat(frames, ignore_index=True) for method, frames in found.items()}
        for data, found in parts.items()
    }


def _frequent(X: Any) -> Any:
    return X[:, np.asarray((X > 0).sum(axis=0)).ravel() >= LEAST_MAILS]


def run(out: Path, *, repeats: int = 10, seed: int = 0, track: Track = quiet) -> Result:
    """Measure everything; pictures go to ``out``.

    ``repeats`` counts fresh draws of users; protein blocks and inboxes are cross-validated once.
    """
    out.mkdir(parents=True, exist_ok=True)
    blocks, inboxes = load_protein(), load_spam_inboxes("b")
    store = Store(out / "adaboost_group_values.jsonl", ("data", "family", "case", "seed"))
    cases = {
        "protein": _cross_validated(blocks.X, blocks.y, blocks.groups, seed),
        "spam": _cross_validated(_frequent(inboxes.X), inboxes.y, inboxes.groups, seed),
        "users": _users(repeats, seed),
    }
    found = _collect(store, cases, seed, track)
    figure = out / "adaboost_group_protein.png"
    shown = ("AdaBoost.Group (F1)", "AdaBoost", TUNED, OURS_RELATIVE)
    protein = found["protein"]
    if all(method in protein for method in shown):  # else the picture that is there stays
        display = GroupScoresDisplay.from_values({name: protein[name]["F1"] for name in shown})
        display.ax_.set_title("F1 of the protein blocks, each tested once")
        display.figure_.savefig(figure, dpi=150)
    return Result(
        name="adaboost_group",
        tables={
            "Tables 1 and 2, Protein": table(protein, "Protein"),
            "Spam inboxes (the paper: TREC 2005)": table(found["spam"], "Email"),
            "Users with personal shifts and skewed classes": table(found["users"]),
            "Tables 1 and 2, Acronym (printed only)": PRINTED[["Acronym accuracy", "Acronym F1"]],
        },
        settings={
            "seed": seed,
            "protein and spam": f"{FOLDS} folds of whole groups, each group tested once",
            "users": f"{repeats} draws of {N_USERS} users for training and {N_USERS} for test",
            "AdaBoost and AdaBoost.Group": f"{ROUNDS} histogram trees of depth 3",
            "inner boosting": f"LightGBM of {INNER_TREES} trees, {ROUNDS // INNER_TREES} times",
            "LightGBM": f"{TREES} trees of 31 leaves, rate 0.05, half of the features a tree",
            "SVM": "the plain hinge as in SVMlight, C = 1, by SVMPerfClassifier('accuracy') to a "
            f"relative duality gap of {HINGE_GAP:g}; where the row says squared hinge, "
            "scikit-learn's LinearSVC (liblinear), C = 1",
            "SVMperf": "accuracy: C = 0.01 to a gap of 0.01; F1: C = 0.1 to a gap of 0.001",
            "costs": f"{COSTS}, chosen by group-mean F1 in two folds of the training groups",
            "thresholds and strengths": "likewise",
            "spam words": f"those in at least {LEAST_MAILS} mails",
        },
        notes=NOTES,
        figures=[figure],
    )


NOTES = [
    "SVM and SVMperf (accuracy) are one problem, with C = 1 and C = 0.01 per row.",
    "A group without positives counts 1 if nothing in it is called positive, else 0.",
    "The paper names neither its weak learner nor its rounds, costs and splits; TREC 2005 mails "
    "and the acronyms are not at hand. ECML/PKDD 2006 inboxes are half spam each, the paper's "
    "mailboxes are not: levels of that table cannot be compared.",
    "AdaBoost.Group exactly as printed hardly re-weights (D n within a factor of e), repeats its "
    "tree and loses to AdaBoost. Weights of groups alone do not make a weak learner strong.",
    "What wins is to decide group by group: ours takes the rows' chances and calls those rows of a "
    "group positive that make its expected F1 largest. Relative features tell a row from the rest "
    "of its group; they need the group at prediction time, but no label.",
    "The decision and the relative features were found by cross-validation on two thirds of the "
    "protein blocks (parts 1 and 2 of the data), so the protein table is not wholly blind. The "
    "groups' own shares (strength) and the signal of make_users were settled while looking at "
    "draws of users, seeds 0 and 1 among them: a seed of 100 or more gives users nobody chose by.",
    "Low, high: bootstrap interval over groups of the paired difference. p: paired t-test over "
    "groups, as in the paper. Groups that share a training set are not independent, so that both "
    "are a little too sure of themselves.",
]
