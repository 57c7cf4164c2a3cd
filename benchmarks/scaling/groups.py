"""A million groups over 200 partitions: interleaved, named by text, one of a million rows."""

import time
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
from cluster import Watched, cluster
from sklearn.base import clone

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.gbdt import GroupBoostClassifier

N_GROUPS, N_PARTITIONS, LARGEST, LIMIT = 1_000_000, 200, 1_000_000, "3GiB"
SETTINGS = GroupBoostClassifier(
    "majority", engine="xgboost", n_estimators=10, trees=HistTrees(n_jobs=1), random_state=0
)


def partition(number: int, group: Any) -> pd.DataFrame:
    """Rows of the groups with these numbers, in this order."""
    rng = np.random.default_rng([1, number])
    label = (group.astype(np.int64) * 2_654_435_761 >> 7) % 2
    X = rng.integers(0, 30, (len(group), 4)).astype(np.uint8)
    X[:, 0] += (10 * label).astype(np.uint8)
    frame = pd.DataFrame(X, columns=list("abcd"))
    return frame.assign(label=label, session=np.char.add("s", group.astype(str)))


def groups() -> list[dict[str, Any]]:
    """The model of two workers against that of one machine."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 4, N_GROUPS)
    sizes[0] = LARGEST
    row_groups = rng.permutation(np.repeat(np.arange(N_GROUPS, dtype=np.int32), sizes))
    parts = np.array_split(row_groups, N_PARTITIONS)
    table = pd.concat([partition(*pair) for pair in enumerate(parts)], ignore_index=True)
    X = table[list("abcd")]
    started = time.perf_counter()
    one = clone(SETTINGS)
    one.fit(X, table["label"].to_numpy(), groups=table["session"].to_numpy())
    seconds = time.perf_counter() - started
    with cluster(2, LIMIT) as client:
        there = client.scatter(parts)
        delayed = [dask.delayed(partition)(*pair) for pair in enumerate(there)]
        frame = dd.from_delayed(delayed, meta=table.iloc[:0])
        with Watched(client) as watched:
            many = DaskGroupBoostClassifier(SETTINGS).fit(frame, "label", groups="session")
    apart = np.abs(many.estimator_.decision_function(X) - one.decision_function(X)).max()
    line = {
        "rows": len(table),
        "groups": many.estimator_.n_groups_,
        "partitions": N_PARTITIONS,
        "largest group": LARGEST,
        "one machine s": round(seconds, 1),
        "two workers s": round(many.seconds_["all"], 1),
        "peak MiB a worker": round(watched.peak_mib),
        "largest difference of a score": float(apart),
    }
    print(line, flush=True)
    return [line]
