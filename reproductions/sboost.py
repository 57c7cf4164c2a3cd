"""Jin and Liu (2005), Learning with labeled sessions: Table 3, Figures 1 and 4."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from groupwise.datasets import GroupedData, load_uci, make_sessions, make_triangle_sessions
from groupwise.gbdt import GroupBoostClassifier
from groupwise.majority import (
    GroupStatisticsClassifier,
    NaiveGroupClassifier,
    SBoostClassifier,
    SBoostClassifierCV,
)
from groupwise.metrics import group_accuracy, make_scorer
from groupwise.model_selection import group_train_test_split, paper_split
from groupwise.plotting import RoundsDisplay
from reproductions.result import Result, Track, quiet
from reproductions.store import Store

__all__ = ["TITLE", "run"]

TITLE = "Jin and Liu 2005 (SBoost): Table 3, Figures 1 and 4"
ROUNDS = 30
SETS = ("spam", "cmc", "german")
PRINTED = pd.DataFrame(
    {
        "spam": [0.189, 0.258, 0.232],
        "cmc": [0.439, 0.444, 0.519],
        "german": [0.342, 0.424, 0.476],
        "phys.": [0.163, 0.191, 0.176],
    },
    index=pd.Index(["SBoost", "naive AdaBoost", "naive tree"], name="method"),
)


@dataclass(frozen=True)
class Split:
    """Training and test part of sessions; the rows' labels only for the ceiling."""

    train: GroupedData
    test: GroupedData


def _tree() -> DecisionTreeClassifier:
    return DecisionTreeClassifier(max_depth=3)


def _error(estimator: Any) -> Callable[[Split, int], float]:
    def measure(split: Split, seed: int) -> float:
        model = estimator()
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        model.fit(split.train.X, split.train.y, groups=split.train.groups)
        return 1.0 - model.score(split.test.X, split.test.y, groups=split.test.groups)

    return measure


def _as_in_the_paper(split: Split, seed: int) -> float:
    """Rows drawn by D, gamma by 20 % of the training sessions held out."""
    model = SBoostClassifierCV(
        _tree(), n_estimators=ROUNDS, cv=paper_split(seed), tune_rounds=False, resample=True
    )
    return _error(lambda: model)(split, seed)


def _ceiling(split: Split, seed: int) -> float:
    """What the rows' true labels would allow; no method may see them."""
    model = HistGradientBoostingClassifier(random_state=seed).fit(split.train.X, split.train.y_row)
    scorer = make_scorer(group_accuracy)
    return 1.0 - scorer(model, split.test.X, split.test.y, groups=split.test.groups)


METHODS: dict[str, Callable[[Split, int], float]] = {
    "SBoost": _as_in_the_paper,
    "naive AdaBoost": _error(
        lambda: NaiveGroupClassifier(AdaBoostClassifier(_tree(), n_estimators=ROUNDS))
    ),
    "naive tree": _error(lambda: NaiveGroupClassifier(_tree())),
    "SBoost, gamma 4": _error(
        lambda: SBoostClassifier(_tree(), n_estimators=ROUNDS, resample=True)
    ),
    "SBoost, gamma 4, weighting by D": _error(
        lambda: SBoostClassifier(_tree(), n_estimators=ROUNDS)
    ),
    "SBoost, gamma 4, histogram trees": _error(lambda: SBoostClassifier(n_estimators=ROUNDS)),
    "SBoost, histogram trees, gamma and rounds by repeated CV": _error(
        lambda: SBoostClassifierCV(n_estimators=ROUNDS)
    ),
    "gradient boosting on SBoost's loss": _error(lambda: GroupBoostClassifier()),
    "naive gradient boosting": _error(lambda: NaiveGroupClassifier()),
    "logistic regression on group means": _error(
        lambda: GroupStatisticsClassifier(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
            statistics=("mean",),
        )
    ),
    "forest on group statistics": _error(lambda: GroupStatisticsClassifier()),
    "ceiling: gradient boosting on true row labels": _ceiling,
}

TRIANGLE_METHODS: dict[str, Callable[[Split, int], float]] = {
    "naive Gaussian Bayes": _error(lambda: NaiveGroupClassifier(GaussianNB())),
    "naive linear discriminant": _error(lambda: NaiveGroupClassifier(LinearDiscriminantAnalysis())),
    "naive tree": _error(lambda: NaiveGroupClassifier(_tree())),
    "naive gradient boosting": _error(lambda: NaiveGroupClassifier()),
    "SBoost one-vs-rest, gamma 0": _error(lambda: SBoostClassifier(gamma=0.0)),
    "SBoost one-vs-rest, gamma 4": _error(lambda: SBoostClassifier()),
    "SBoost one-vs-rest, gamma 16": _error(lambda: SBoostClassifier(gamma=16.0)),
    "SBoost SAMME, gamma 4": _error(lambda: SBoostClassifier(_tree(), multiclass="samme")),
    "gradient boosting on SBoost's loss": _error(lambda: GroupBoostClassifier()),
    "gradient boosting on session softmax": _error(
        lambda: GroupBoostClassifier(loss="majority_softmax")
    ),
    "forest on group statistics": _error(lambda: GroupStatisticsClassifier()),
    "ceiling: gradient boosting on true row labels": _ceiling,
}


def _split(sessions: GroupedData, seed: int, test_size: float = 0.5) -> Split:
    parts = group_train_test_split(
        sessions.X,
        sessions.y,
        sessions.y_row,
        groups=sessions.groups,
        y=sessions.y,
        test_size=test_size,
        random_state=seed,
    )
    X, X_test, y, y_test, y_row, y_row_test, groups, groups_test = parts
    return Split(
        GroupedData(X, y, groups, y_row), GroupedData(X_test, y_test, groups_test, y_row_test)
    )


def _splits(name: str, repeats: int, seed: int) -> list[Split]:
    """Fresh sessions and a fresh half for every repeat."""
    rows = load_uci(name)
    return [
        _split(make_sessions(rows.X, rows.y, random_state=seed + repeat), seed + repeat)
        for repeat in range(repeats)
    ]


def _measure(
    store: Store,
    name: str,
    methods: dict[str, Callable[[Split, int], float]],
    splits: list[Split],
    seed: int,
    track: Track,
    heading: str,
) -> pd.DataFrame:
    """Errors of each method (column) on each split (line); those in the store stay.

    A method that has not been measured on all splits has no column.
    """
    for method, repeat in track([(m, k) for m in methods for k in range(len(splits))], heading):
        if not store.has(name, method, seed + repeat):
            error = methods[method](splits[repeat], seed + repeat)
            store.add({"set": name, "method": method, "seed": seed + repeat, "error": error})
    found = store.table()
    wanted = (found["set"] == name) & found["seed"].isin(range(seed, seed + len(splits)))
    wide = found[wanted].pivot(index="seed", columns="method", values="error")
    wide = wide.reindex(range(seed, seed + len(splits))).dropna(axis=1)
    return wide[[method for method in methods if method in wide]].rename_axis(None, axis=1)


def _curves(splits: list[Split], seed: int) -> dict[str, Any]:
    """Test error by round; gamma = 0 is AdaBoost on the naive labels (the tests show it)."""

    def by_round(gamma: float, split: Split, seed: int) -> list[float]:
        model = SBoostClassifier(
            _tree(), n_estimators=ROUNDS, gamma=gamma, resample=gamma > 0, random_state=seed
        )
        model.fit(split.train.X, split.train.y, groups=split.train.groups)
        test = split.test
        accuracy = list(model.staged_score(test.X, test.y, groups=test.groups))
        return [1.0 - value for value in accuracy + accuracy[-1:] * (ROUNDS - len(accuracy))]

    return {
        name: [by_round(gamma, split, seed + k) for k, split in enumerate(splits)]
        for name, gamma in (("SBoost", 4.0), ("naive AdaBoost", 0.0))
    }


def run(out: Path, *, repeats: int = 10, seed: int = 0, track: Track = quiet) -> Result:
    """Measure everything; pictures go to ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    splits = {name: _splits(name, repeats, seed) for name in SETS}
    store = Store(out / "sboost_splits.jsonl", ("set", "method", "seed"))
    errors = {
        name: _measure(store, name, METHODS, splits[name], seed, track, f"Table 3, {name}")
        for name in SETS
    }
    triangle = [
        _split(make_triangle_sessions(random_state=seed + k), seed + k) for k in range(repeats)
    ]
    toy = _measure(store, "triangle", TRIANGLE_METHODS, triangle, seed, track, "Figure 1, triangle")
    figure = out / "sboost_figure4.png"
    display = RoundsDisplay.from_predictions(_curves(splits["spam"], seed))
    display.ax_.set_title("Figure 4: spam sessions, mean of test halves")
    display.figure_.savefig(figure, dpi=150)
    return Result(
        name="sboost",
        tables={
            **{f"Table 3, {name}: session error": _table(name, errors[name]) for name in SETS},
            "Table 3, phys.: session error": PRINTED[["phys."]].rename(columns={"phys.": "paper"}),
            "Figure 1: session error": _summary(toy),
        },
        settings={
            "repeats": repeats,
            "seed": seed,
            "sessions": "ten rows, 1 to 5 of the other class, no row used twice",
            "split": "half of the sessions for training, stratified",
            "trees": "scikit-learn, depth 3, unless histogram trees are named",
            "rounds": ROUNDS,
            "gamma": "SBoost: of 0, 1, 2, 4, 8 and 16 by 20 % of the training sessions, as in the "
            "paper; 4 where the row says so; Figure 4: 4",
            "sizes": {name: _size(splits[name][0]) for name in SETS},
        },
        notes=NOTES,
        figures=[figure],
    )


def _size(split: Split) -> int:
    return len(np.unique(np.concatenate([split.train.groups, split.test.groups])))


def _summary(errors: pd.DataFrame) -> pd.DataFrame:
    table = pd.DataFrame({"ours": errors.mean(), "standard error": errors.sem()})
    return table.rename_axis("method")


def _table(name: str, errors: pd.DataFrame) -> pd.DataFrame:
    """Ours with standard errors, the paper's beside, and the paired difference to AdaBoost."""
    if "naive AdaBoost" not in errors:
        return pd.DataFrame()
    difference = errors.sub(errors["naive AdaBoost"], axis=0)
    table = _summary(errors)
    table.insert(0, "paper", PRINTED[name])
    table["minus naive AdaBoost"] = difference.mean()
    table["its standard error"] = difference.sem()
    return table


NOTES = [
    "phys. (ICML 2004 physiological data, user 3004) is not at hand: printed figures only.",
    "The paper states neither the number of sessions, nor whether rows are reused, nor how "
    "cmc (three classes) was made binary, and counts 680 rows of german (UCI has 1000). "
    "Ours: no reuse, no use against use, all rows. Other sessions are other problems, so "
    "the ranking is comparable and the level is not.",
    "Every fifth session is a tie (5 of 10): an error near .10 cannot be avoided.",
    "SBoost is as in the paper: rows drawn by D (Figure 3, on after a hypothesis no better "
    "than a coin), gamma by 20 % of the training sessions. A fixed gamma of 4 has rows of "
    "its own.",
    "We made sampling the paper's row only after seeing that weighting loses to AdaBoost "
    "on the ten cmc halves of seed 0, so those ten are no clean test of it. On other "
    "halves (seeds from 1000 on, looked at once; 30 of cmc and german, 5 of spam; gamma 4, "
    "when sampling ended at a coin) the difference to AdaBoost is -.019 (s.e. .013), -.036 "
    "(.019), -.044 (.022) for weighting and -.023 (.013), -.012 (.019), -.056 (.021) for "
    "sampling: both below AdaBoost on all three sets, and no reliable difference between "
    "the two.",
    "The paper's trees are C4.5 of unstated size, ours have depth 3. Deeper ones hurt the "
    "naive approach more: they fit the wrong labels.",
]
