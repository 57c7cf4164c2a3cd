"""Gradient form of the majority loss against naive LightGBM, both tuned by groups.

Run ``python benchmarks/bench_gbdt_accuracy.py [cmc|german|wisdm ...]`` with ``GROUPWISE_DATA``
set. Every setting is chosen by repeated cross-validation over whole groups inside the training
half; the test half is looked at once. All methods have the same trees, rounds and learning rates
to choose from; the gradient form also chooses gamma. Rows decide by vote or by their mean score;
settings are chosen by the share of wrong groups, which is coarse where a fold holds a dozen groups,
or by the groups' log-loss.
"""

import logging
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
from harness import Report

from groupwise import Groups
from groupwise.datasets import load_uci, load_wisdm, make_sessions
from groupwise.gbdt import GroupBoostClassifier
from groupwise.model_selection import WholeGroupKFold, WholeGroupShuffleSplit
from groupwise.rules import MajorityVote, MeanProbability, MeanScore

ROUNDS = (10, 30, 100)
RATES = (0.1, 0.3, 1.0)
METHODS: dict[str, list[tuple[str, float]]] = {
    "naive LightGBM": [("naive", 0.0)],
    "gradient form": [("majority", gamma) for gamma in (1.0, 4.0, 16.0)],
    "gradient form, softmax": [("majority_softmax", gamma) for gamma in (1.0, 4.0, 16.0)],
}
# of a judgement's columns: the rule, and what settings are chosen by
COLUMNS = (("vote", "error"), ("vote", "log-loss"), ("score", "error"), ("score", "log-loss"))
TREES = {"max_depth": 3, "min_leaf_weight": 1.0, "reg_lambda": 1.0, "n_threads": 1}
logger = logging.getLogger("bench_gbdt_accuracy")


class Rows(NamedTuple):
    """Rows, class codes, groups, and ids that no split may divide."""

    X: Any
    y: Any
    groups: Any
    whole: Any

    def take(self, rows: Any) -> "Rows":
        return Rows(*(array[rows] for array in self))


def load(name: str, seed: int) -> Rows:
    if name == "wisdm":
        X, activity, session, user = load_wisdm()
        codes = np.unique(activity, return_inverse=True)[1]
        return Rows(X.to_numpy(float), codes, session, user)
    s = make_sessions(*load_uci(name), random_state=seed)
    return Rows(s.X, s.y, s.groups, s.groups)


def halves(name: str, n_splits: int) -> Iterator[tuple[Rows, Rows]]:
    for seed in range(n_splits):
        rows = load(name, seed)
        split = WholeGroupShuffleSplit(
            1, test_size=0.5, stratify=name != "wisdm", random_state=seed
        )
        train, test = next(split.split(rows.X, rows.y, rows.whole))
        yield rows.take(train), rows.take(test)


def staged_proba(loss: str, gamma: float, rate: float, train: Rows, X: Any, n_classes: int) -> Any:
    """Row probabilities of new rows after each number of rounds in ``ROUNDS``."""
    if loss == "naive":
        params = {"objective": "binary" if n_classes == 2 else "multiclass", "verbosity": -1}
        params |= {"learning_rate": rate, "max_depth": 3, "num_leaves": 8, "num_threads": 1}
        params |= {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0, "lambda_l2": 1.0}
        params |= {"min_data_in_bin": 1, "num_class": 1 if n_classes == 2 else n_classes}
        booster = lgb.train(params, lgb.Dataset(train.X, train.y), ROUNDS[-1])
        for rounds in ROUNDS:
            proba = booster.predict(X, num_iteration=rounds, num_threads=1)
            yield proba if n_classes > 2 else np.column_stack([1.0 - proba, proba])
        return
    model = GroupBoostClassifier(
        loss, gamma=gamma, learning_rate=rate, n_estimators=ROUNDS[-1], **TREES
    ).fit(train.X, train.y, groups=train.groups)
    score, first = model.trees_.start(len(X)), 0
    for rounds in ROUNDS:
        last = min(rounds, model.trees_.n_rounds)
        if last > first:
            score = score + model.trees_.parts[0].score(X, first, last)
        first = last
        yield model._loss().proba(score)


def judge(loss: str, gamma: float, rate: float, train: Rows, test: Rows, k: int) -> Any:
    """Values of ``COLUMNS`` for each number of rounds; a vote's log-loss is that of the mean."""
    groups = Groups(test.groups)
    y_group = groups.one_per_group(test.y)
    out = []
    for proba in staged_proba(loss, gamma, rate, train, test.X, k):
        by_vote, by_mean, by_score = (
            rule.combine(proba, groups) for rule in (MajorityVote(), MeanProbability(), MeanScore())
        )
        out.append(
            (
                np.mean(by_vote.argmax(axis=1) != y_group),
                group_log_loss(by_mean, y_group),
                np.mean(by_score.argmax(axis=1) != y_group),
                group_log_loss(by_score, y_group),
            )
        )
    return np.array(out)


def group_log_loss(proba_group: Any, y_group: Any) -> float:
    own = proba_group[np.arange(len(y_group)), y_group]
    return float(-np.log(np.maximum(own, 1e-3)).mean())


def choose(candidates: list[tuple[str, float]], train: Rows, name: str, k: int) -> Any:
    """For each column the best setting in cross-validation; of equal ones the first."""
    folds = WholeGroupKFold(
        3 if name == "wisdm" else 5,
        n_repeats=1 if name == "wisdm" else 2,
        stratify=name != "wisdm",
        random_state=0,
    )
    parts = [
        (train.take(fit), train.take(held))
        for fit, held in folds.split(train.X, train.y, train.whole)
    ]
    settings, values = [], []
    for candidate in candidates:
        for rate in RATES[1:] if name == "wisdm" else RATES:
            table = np.mean([judge(*candidate, rate, *part, k) for part in parts], axis=0)
            settings += [(*candidate, rate, index) for index in range(len(ROUNDS))]
            values.append(table)
    return [settings[best] for best in np.concatenate(values).argmin(axis=0)]


def compare(report: Report, name: str, n_splits: int) -> None:
    k = len(np.unique(load(name, 0).y))
    errors: dict[Any, list[float]] = {}
    chosen: dict[Any, list[str]] = {}
    for index, (train, test) in enumerate(halves(name, n_splits)):
        for method, candidates in METHODS.items():
            settings = choose(candidates, train, name, k)
            for column, (*setting, at) in zip(COLUMNS, settings, strict=True):
                value = judge(*setting, train, test, k)[at, COLUMNS.index((column[0], "error"))]
                errors.setdefault((method, *column), []).append(float(value))
                text = f"{setting[1]:g}/{setting[2]:g}/{ROUNDS[at]}"
                chosen.setdefault((method, *column), []).append(text)
        shown = {" ".join(key): round(values[-1], 3) for key, values in errors.items()}
        logger.info("%s split %d: %s", name, index, shown)
    table = []
    for (method, rule, criterion), values in errors.items():
        gain = np.array(errors["naive LightGBM", "vote", criterion]) - np.array(values)
        table.append(
            {
                "method": method,
                "rule": rule,
                "chosen by": criterion,
                "error": round(float(np.mean(values)), 4),
                "s.e.": round(float(np.std(values, ddof=1) / np.sqrt(n_splits)), 4),
                "gain over naive vote": round(float(gain.mean()), 4),
                "s.e. of gain": round(float(np.std(gain, ddof=1) / np.sqrt(n_splits)), 4),
                "better/equal/worse": f"{(gain > 0).sum()}/{(gain == 0).sum()}/{(gain < 0).sum()}",
                "gamma/rate/rounds": ", ".join(chosen[method, rule, criterion]),
            }
        )
    report.add(f"{name}: share of wrong groups, {n_splits} random halves", table)


def main(names: list[str]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    report = Report(f"gbdt_accuracy_{'_'.join(names)}", "Gradient form against naive LightGBM")
    for name in names:
        compare(report, name, 6 if name == "wisdm" else 10)


if __name__ == "__main__":
    main(sys.argv[1:] or ["cmc", "german", "wisdm"])
