"""Continuous features: whether it matters for the error who found the cut points."""

from typing import Any

import dask.array as da
import numpy as np
from cluster import cluster
from sklearn.base import clone

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.gbdt import GroupBoostClassifier

N_GROUPS, N_TEST, N_FEATURES, SEEDS = 4_000, 4_000, 10, 6
SETTINGS = GroupBoostClassifier(
    engine="xgboost", n_estimators=40, trees=HistTrees(max_bins=64, n_jobs=1), random_state=0
)


def sessions(seed: int) -> tuple[Any, ...]:
    """Rows of a session lean towards its class, a third of them the other way."""
    rng = np.random.default_rng(seed)
    n_groups = N_GROUPS + N_TEST
    group = np.repeat(np.arange(n_groups), rng.integers(2, 9, n_groups))
    label = rng.integers(0, 2, n_groups)[group]
    own = np.where(rng.random(len(group)) < 0.35, 1 - label, label)
    X = rng.normal(size=(len(group), N_FEATURES)) ** 3
    X[:, :3] += 0.7 * own[:, None]
    train = group < N_GROUPS
    order = rng.permutation(np.flatnonzero(train))
    return X[order], label[order], group[order], X[~train], label[~train], group[~train]


def error() -> list[dict[str, Any]]:
    """Session error of one machine and of clusters, seed by seed."""
    lines = []
    with cluster(2, "2GiB") as two, cluster(1, "2GiB") as one:
        for seed in range(SEEDS):
            X, y, groups, *test = sessions(seed)
            found = {"one machine": _fit_here(X, y, groups)}
            for name, client, n_partitions in (
                ("1 worker, 3 partitions", one, 3),
                ("2 workers, 3 partitions", two, 3),
                ("2 workers, 7 partitions", two, 7),
            ):
                many = DaskGroupBoostClassifier(SETTINGS, client=client)
                size = -(-len(y) // n_partitions)
                X_cut = da.from_array(X, chunks=(size, N_FEATURES))
                y_cut, g_cut = (da.from_array(part, chunks=size) for part in (y, groups))
                found[name] = many.fit(X_cut, y_cut, groups=g_cut).estimator_
            for name, model in found.items():
                lines.append(
                    {"seed": seed, "where": name, "error": 1.0 - model.score(*test[:2], test[2])}
                )
                print(lines[-1], flush=True)
    return lines


def _fit_here(X: Any, y: Any, groups: Any) -> GroupBoostClassifier:
    return clone(SETTINGS).fit(X, y, groups=groups)
