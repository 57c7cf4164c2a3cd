"""Gradient form of the majority loss against naive LightGBM.

Run ``python benchmarks/bench_gbdt_accuracy.py [cmc|german|wisdm ...]`` with ``GROUPWISE_DATA``
set. Fixed before it ran: trees of depth 3 on half of the rows and half of the features; either 100
rounds at rate 0.1, or rounds and rate chosen with the rest; gamma of 1, 4, 16; everything chosen by
the share of wrong groups in repeated cross-validation over whole groups of the training half; the
test half looked at once, on halves (seeds from 5000) that no setting or default was looked for on.

What came before: settings were looked for on halves of seeds 2000-2039 and 4000-4039. A first
protocol without sampled rows and features, at 30 rounds and rate 0.3, was run on seeds 3000-3099:
its table is kept as ``gbdt_accuracy_first_*``.
"""

import logging
import sys
from collections.abc import Iterator
from functools import cache, partial
from typing import Any, NamedTuple

import lightgbm as lgb
import numpy as np
from harness import Report

from groupwise import Groups
from groupwise.boosting import HistTrees
from groupwise.datasets import load_uci, load_wisdm, make_sessions
from groupwise.gbdt import GroupBoostClassifier
from groupwise.losses import get_loss
from groupwise.model_selection import WholeGroupKFold, WholeGroupShuffleSplit
from groupwise.rules import MajorityVote, MeanScore

ROUNDS = (10, 30, 100)
RATES = (0.1, 0.3, 1.0)
GAMMAS = (1.0, 4.0, 16.0)
VOTE, SCORE = 0, 1  # columns of a judgement
FIRST_SEED = 5000


class Method(NamedTuple):
    """Losses and gammas to choose from, the rule, and whether rate and rounds are chosen too."""

    candidates: list[tuple[str, float]]
    rule: int
    tuned: bool

    def settings(self) -> list[tuple[str, float, float, int]]:
        """(loss, gamma, rate, position in ``ROUNDS``)."""
        steps = [(0.1, 2)]
        if self.tuned:
            steps = [(rate, at) for rate in RATES for at in range(len(ROUNDS))]
        return [(*candidate, *step) for candidate in self.candidates for step in steps]


NAIVE = [("naive", 0.0)]
GRADIENT = [("majority", gamma) for gamma in GAMMAS]
METHODS = {
    "naive LightGBM, its own defaults, vote": Method([("defaults", 0.0)], VOTE, False),
    "naive LightGBM, vote": Method(NAIVE, VOTE, False),
    "naive LightGBM, mean score": Method(NAIVE, SCORE, False),
    "gradient form, gamma chosen, vote": Method(GRADIENT, VOTE, False),
    "gradient form, gamma chosen, mean score": Method(GRADIENT, SCORE, False),
    "tuned naive LightGBM, vote": Method(NAIVE, VOTE, True),
    "tuned naive LightGBM, mean score": Method(NAIVE, SCORE, True),
    "tuned gradient form, mean score": Method(GRADIENT, SCORE, True),
}
TREES = HistTrees(3, l2_regularization=1.0, subsample=0.5, max_features=0.5, n_jobs=1)
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
        d = load_wisdm()
        codes = np.unique(d.y, return_inverse=True)[1]
        return Rows(d.X.to_numpy(float), codes, d.groups, d.keep_whole)
    uci = load_uci(name)
    s = make_sessions(uci.X, uci.y, random_state=seed)
    return Rows(s.X, s.y, s.groups, s.groups)


def halves(name: str, n_splits: int) -> Iterator[tuple[Rows, Rows]]:
    for seed in range(FIRST_SEED, FIRST_SEED + n_splits):
        rows = load(name, seed)
        split = WholeGroupShuffleSplit(
            1, test_size=0.5, stratify=name != "wisdm", random_state=seed
        )
        train, test = next(split.split(rows.X, rows.y, rows.whole))
        yield rows.take(train), rows.take(test)


def staged_proba(loss: str, gamma: float, rate: float, train: Rows, X: Any, n_classes: int) -> Any:
    """Row probabilities of new rows after each number of rounds in ``ROUNDS``."""
    if loss in ("naive", "defaults"):
        params = {"objective": "binary" if n_classes == 2 else "multiclass", "verbosity": -1}
        params |= {"num_threads": 1, "num_class": 1 if n_classes == 2 else n_classes}
        if loss == "naive":
            params |= {"learning_rate": rate, "max_depth": 3, "num_leaves": 8, "lambda_l2": 1.0}
            params |= {"min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1.0, "min_data_in_bin": 1}
            params |= {
                "bagging_fraction": 0.5,
                "bagging_freq": 1,
                "feature_fraction": 0.5,
                "seed": 0,
            }
        booster = lgb.train(params, lgb.Dataset(train.X, train.y), ROUNDS[-1])
        for rounds in ROUNDS if loss == "naive" else ROUNDS[-1:] * len(ROUNDS):
            proba = booster.predict(X, num_iteration=rounds, num_threads=1)
            yield proba if n_classes > 2 else np.column_stack([1.0 - proba, proba])
        return
    model = GroupBoostClassifier(
        get_loss(loss).set_params(gamma=gamma),
        trees=TREES,
        learning_rate=rate,
        n_estimators=ROUNDS[-1],
        random_state=0,
    ).fit(train.X, train.y, groups=train.groups)
    score, first = model.ensemble_.start(len(X)), 0
    for rounds in ROUNDS:
        last = min(rounds, model.ensemble_.n_rounds)
        if last > first:
            score = score + model.ensemble_.parts[0].score(X, first, last)
        first = last
        yield model.loss_.proba(score)


def judge(loss: str, gamma: float, rate: float, train: Rows, test: Rows, k: int) -> Any:
    """Share of wrong groups for each number of rounds, by vote and by mean score."""
    groups = Groups(test.groups)
    y_group = groups.one_per_group(test.y)
    return np.array(
        [
            [
                np.mean(rule.combine(proba, groups).argmax(axis=1) != y_group)
                for rule in (MajorityVote(), MeanScore())
            ]
            for proba in staged_proba(loss, gamma, rate, train, test.X, k)
        ]
    )


def in_cross_validation(train: Rows, name: str, k: int) -> Any:
    """Judgements of (loss, gamma, rate), each worked out once and only when asked for."""
    wisdm = name == "wisdm"
    folds = WholeGroupKFold(
        3 if wisdm else 5, n_repeats=1 if wisdm else 2, stratify=not wisdm, random_state=0
    )
    parts = [
        (train.take(fit), train.take(held))
        for fit, held in folds.split(train.X, train.y, train.whole)
    ]
    return cache(lambda *at: np.mean([judge(*at, *part, k) for part in parts], axis=0))


def compare(report: Report, name: str, n_splits: int) -> None:
    k = len(np.unique(load(name, 0).y))
    errors: dict[str, list[float]] = {method: [] for method in METHODS}
    for index, (train, test) in enumerate(halves(name, n_splits)):
        validated = in_cross_validation(train, name, k)
        tested = cache(partial(judge, train=train, test=test, k=k))
        for label, method in METHODS.items():
            settings = method.settings()
            values = [0.0]
            if len(settings) > 1:
                values = [validated(*s[:3])[s[3], method.rule] for s in settings]
            *setting, at = settings[int(np.argmin(values))]
            errors[label].append(float(tested(*setting)[at, method.rule]))
        logger.info("%s split %d: %s", name, index, [round(v[-1], 3) for v in errors.values()])
    report.add(
        f"{name}: share of wrong groups, {n_splits} random halves",
        [line(label, errors, n_splits) for label in METHODS],
        "Gains are paired, over halves of the same groups: their standard errors are optimistic.",
    )


def line(label: str, errors: dict[str, list[float]], n_splits: int) -> dict[str, Any]:
    """A method's error and, for the gradient form, its gain over each naive one of its kind."""
    values = np.array(errors[label])
    out: dict[str, Any] = {"method": label, "error": round(float(values.mean()), 4)}
    out["s.e."] = round(float(values.std(ddof=1) / np.sqrt(n_splits)), 4)
    prefix = "tuned naive" if label.startswith("tuned") else "naive"
    for rule in ("vote", "mean score"):
        gain = np.array(errors[f"{prefix} LightGBM, {rule}"]) - values
        own = "gradient" in label
        error = gain.std(ddof=1) / np.sqrt(n_splits)
        out[f"gain over naive, {rule}"] = f"{gain.mean():+.4f} ± {error:.4f}" if own else ""
    return out


def main(names: list[str]) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    report = Report(f"gbdt_accuracy_{'_'.join(names)}", "Gradient form against naive LightGBM")
    for name in names:
        compare(report, name, 20 if name == "wisdm" else 100)


if __name__ == "__main__":
    main(sys.argv[1:] or ["cmc", "german", "wisdm"])
