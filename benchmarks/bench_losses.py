"""Rounds of boosting on group losses against XGBoost's own objective of the same kind, in turns.

Run ``python benchmarks/bench_losses.py [counts|totals|medians|survival]``: one thread, 300,000 rows
of 28 features in groups of unequal size (mean 10, at most 40), trees of depth 3. Each fit is of 10
rounds on a matrix that is binned beforehand.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import xgboost
from harness import Report, take_turns

from groupwise import Groups
from groupwise.gbdt import GroupObjective
from groupwise.losses import (
    BoundLoss,
    CountLikelihoodLoss,
    CoxLoss,
    GroupQuantileLoss,
    NegativeBinomialTotalLoss,
    OrdinalLoss,
    PoissonTotalLoss,
    Reported,
    ReportedCountLoss,
)

N_ROWS, N_FEATURES, N_ROUNDS = 300_000, 28, 10
PARAMS = {"max_depth": 3, "learning_rate": 0.1, "nthread": 1, "tree_method": "hist"}


def make() -> tuple[Any, Groups, np.ndarray]:
    rng = np.random.default_rng(0)
    sizes = np.minimum(rng.geometric(0.1, N_ROWS), 40)
    ids = np.repeat(np.arange(len(sizes)), sizes)[:N_ROWS]
    X = rng.integers(0, 200, (N_ROWS, N_FEATURES)).astype(np.float32)
    proba = 1.0 / (1.0 + np.exp(-(X[:, 0] - 100) / 40.0))
    y = (rng.random(N_ROWS) < proba).astype(float)
    data = xgboost.QuantileDMatrix(X, y, base_margin=np.zeros(N_ROWS), nthread=1)
    return data, Groups(ids), y


def own(data: Any, objective: str, label: np.ndarray) -> Callable[[], Any]:
    def fit() -> None:
        data.set_info(label=label)
        booster = xgboost.Booster({**PARAMS, "objective": objective}, [data])
        for index in range(N_ROUNDS):
            booster.update(data, index)

    return fit


def ours(data: Any, bound: BoundLoss) -> Callable[[], Any]:
    objective = GroupObjective(bound, "xgboost")

    def fit() -> None:
        booster = xgboost.Booster({**PARAMS, "base_score": 0.0}, [data])
        for index in range(N_ROUNDS):
            booster.update(data, index, fobj=objective)

    return fit


def main() -> None:
    data, groups, y = make()
    rng = np.random.default_rng(1)
    total = groups.sum(y)
    mean = total / groups.sizes
    noisy = total + rng.laplace(0.0, 2.0, len(total))
    grade = np.digitize(mean, [0.3, 0.5, 0.7])
    time = rng.exponential(np.exp(-mean)) * rng.choice([1.0, -1.0], len(mean), p=[0.7, 0.3])
    shares = np.column_stack([1.0 - mean, mean])
    reported = ReportedCountLoss(Reported("laplace", 2.0))
    kinds = {
        "counts": {
            "XGBoost's logistic": own(data, "binary:logistic", y),
            "proportions": ours(data, CountLikelihoodLoss().bind(shares, groups)),
            "reported_counts, Laplace": ours(
                data, reported.bind(np.column_stack([noisy, noisy]), groups)
            ),
            "ordinal, 4 grades": ours(data, OrdinalLoss().bind(grade, groups, n_classes=4)),
        },
        "totals": {
            "XGBoost's Poisson": own(data, "count:poisson", y),
            "poisson": ours(data, PoissonTotalLoss().bind(mean, groups)),
            "negative_binomial": ours(data, NegativeBinomialTotalLoss().bind(mean, groups)),
        },
        "medians": {
            "XGBoost's absolute error": own(data, "reg:absoluteerror", y),
            "absolute_error": ours(data, GroupQuantileLoss().bind(mean, groups)),
        },
        "survival": {
            "XGBoost's Cox": own(data, "survival:cox", groups.spread(time)),
            "cox": ours(data, CoxLoss().bind(time, groups)),
        },
    }
    for kind in sys.argv[1:] or kinds:
        timings = list(take_turns(kinds[kind], repeats=9).values())
        report = Report(f"losses_{kind}", f"Group losses against XGBoost's own objectives: {kind}")
        report.add("10 rounds", [timing.row(timings[0]) for timing in timings])


if __name__ == "__main__":
    main()
