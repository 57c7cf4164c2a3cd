"""Methods that hold the kernel values of all rows: times against boosting on the same rows.

Run ``python benchmarks/bench_kernel_methods.py``; it needs 3 GB of memory.
"""

from typing import Any

import numpy as np
from harness import Report, take_turns
from sklearn.datasets import make_classification
from threadpoolctl import threadpool_limits

from groupwise.datasets.aggregates import make_aggregates
from groupwise.gbdt import GroupBoostClassifier
from groupwise.proportions import (
    EasyLLPClassifier,
    LaplacianMeanMapClassifier,
    MeanMapClassifier,
)
from groupwise.transfer import WeightedTransferClassifier

REPEATS = 2


def shares(n_rows: int, size: int) -> list[dict[str, Any]]:
    """One fit of each on the counts of groups."""
    X, y = make_classification(
        n_rows, 20, n_informative=8, n_redundant=2, class_sep=1.5, random_state=0
    )
    d = make_aggregates(X, y, size=size, random_state=0)
    models = {
        "GroupBoost": GroupBoostClassifier(loss="proportions"),
        "mean map": MeanMapClassifier(),
        "EasyLLP": EasyLLPClassifier(),
        "Laplacian mean map": LaplacianMeanMapClassifier(),
    }
    timings = take_turns(
        {name: lambda m=m: m.fit(d.X, d.y, groups=d.groups) for name, m in models.items()},
        REPEATS,
    )
    base = timings["GroupBoost"]
    case = f"{n_rows} rows, groups of {size}"
    return [{"case": case, **timing.row(base)} for timing in timings.values()]


def matching(n_source: int, n_target: int) -> list[dict[str, Any]]:
    """Weights of source rows by kernel mean matching, and a tree on them."""
    rng = np.random.RandomState(0)
    domain = np.repeat(["source", "target"], [n_source, n_target])
    X = rng.normal(size=(n_source + n_target, 10))
    X[domain == "target", :3] += 0.5
    y = (X[:, :4].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int)
    boost = GroupBoostClassifier()
    matched = WeightedTransferClassifier(weighting="kmm", target_domain="target")
    timings = take_turns(
        {
            "GroupBoost": lambda: boost.fit(X, y, groups=np.arange(len(X))),
            "kernel mean matching": lambda: matched.fit(X, y, domains=domain),
        },
        REPEATS,
    )
    base = timings["GroupBoost"]
    case = f"{n_source} source rows, {n_target} of the target"
    return [{"case": case, **timing.row(base)} for timing in timings.values()]


def main() -> None:
    report = Report("kernel_methods", "Methods with the kernel values of all rows")
    with threadpool_limits(1):
        rows = shares(12_000, 60)
        report.add("Shares of classes: one fit, one thread", rows)
        report.add("Kernel mean matching: one fit, one thread", matching(20_000, 2_000))


if __name__ == "__main__":
    main()
