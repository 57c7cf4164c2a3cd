"""What several margins tell of rows: adult, counts by education, by age and by marital status.

Run ``python benchmarks/bench_groupings.py`` with the environment variable ``GROUPWISE_DATA`` set
to the folder that holds ``llp/adult.csv.gz``. A model sees all columns of the rows, and of the
income only how many rows of each group have more than 50K, for the groups of one column or of
three. Each line is the error and the area under the curve of rows that were not trained on, mean of
three draws; the last learns from the rows' own labels. The learning
rate is that of ``bench_reported.py``.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
from harness import Report
from sklearn.metrics import roc_auc_score

from groupwise.boosting import HistTrees
from groupwise.gbdt import GroupBoostClassifier
from groupwise.losses import SeveralGroupings

N_TRAIN, N_TEST = 16_000, 16_000
# the curvature is a bound, cautious where a group says little of each of its rows: long steps
FEW = {"n_estimators": 100, "learning_rate": 1.0, "random_state": 0}
TREES = HistTrees(n_jobs=1)
MARGINS = ("education", "age_band", "marital_status")


def rows() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    """Features, the three columns of groups, and who earns more than 50K."""
    table = pd.read_csv(Path(os.environ["GROUPWISE_DATA"]) / "llp" / "adult.csv.gz")
    y = table.pop("income").str.contains(">50K").to_numpy(int)
    groups = table.assign(age_band=table["age"] // 5)[list(MARGINS)]
    for name in table.columns[[not pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes]]:
        table[name] = table[name].astype("category")
    return table, groups, y


def one_draw(seed: int) -> dict[str, tuple[float, float]]:
    X, groups, y = rows()
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST]
    X_train, X_test, ids = X.iloc[train], X.iloc[test], groups.iloc[train]
    fits = {}
    for name in MARGINS:  # of the labels the loss sees the counts only
        clf = GroupBoostClassifier("proportions", trees=TREES, **FEW)
        fits[name] = clf.fit(X_train, y[train], groups=ids[name])
    loss = SeveralGroupings(dict.fromkeys(MARGINS, "proportions"))
    clf = GroupBoostClassifier(loss, trees=TREES, **FEW)
    fits["all three"] = clf.fit(X_train, y[train], groups=ids)
    own = GroupBoostClassifier("proportions", trees=TREES, **FEW | {"learning_rate": 0.1})
    fits["labels of rows"] = own.fit(X_train, y[train], groups=np.arange(N_TRAIN))
    fits["none over 50K"] = None
    found = {}
    for name, clf in fits.items():
        score = np.full(N_TEST, -1.0) if clf is None else clf.decision_function(X_test)
        found[name] = np.mean((score > 0) != y[test]), roc_auc_score(y[test], score)
    return found


def main() -> None:
    report = Report("groupings", "Counts by three margins, adult")
    draws = [one_draw(seed) for seed in range(3)]
    lines = []
    for name in draws[0]:
        error, auc = np.mean([draw[name] for draw in draws], axis=0)
        lines.append({"known": name, "error": f"{error:.4f}", "AUC": f"{auc:.4f}"})
    report.add(f"{N_TRAIN} rows to train on", lines)


if __name__ == "__main__":
    main()
