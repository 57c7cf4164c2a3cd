"""Beside the paper on aggregate outputs: group totals of two tables, and ecological inference."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from groupwise.boosting import HistTrees
from groupwise.datasets.aggregates import load_adult, load_bank, load_ecological, make_aggregates
from groupwise.gbdt import GroupBoostClassifier
from groupwise.proportions import (
    EasyLLPClassifier,
    KernelCountClassifier,
    ManifoldAOCClassifierCV,
)

__all__ = ["ecological", "with_totals"]


def with_totals(seed: int) -> pd.DataFrame:
    """Bank and adult in random groups: error on 20 % of the rows, never seen."""
    lines = []
    for name, load, size in (("bank", load_bank, 10), ("adult", load_adult, 20)):
        rows = load()
        y = rows.y
        encode = make_column_transformer(
            (StandardScaler(), make_column_selector(dtype_include="number")),
            remainder=OneHotEncoder(min_frequency=20, sparse_output=False, handle_unknown="ignore"),
        )
        X = np.asarray(encode.fit_transform(rows.X), dtype=float)
        train, test = train_test_split(np.arange(len(y)), test_size=0.2, random_state=seed)
        data = make_aggregates(X[train], y[train], size=size, random_state=seed)
        options: dict[str, Any] = {"n_components": 300, "random_state": 0}
        models = {
            "il-L2 + bias, 300 landmarks": ManifoldAOCClassifierCV(rhos=(0.0,), **options),
            "EasyLLP, 300 landmarks": EasyLLPClassifier(C=0.01, width=2.0, **options),
            "GroupBoost": GroupBoostClassifier(
                "proportions", trees=HistTrees(n_jobs=1), random_state=0
            ),
        }
        line = {
            method: np.mean(
                model.fit(data.X, data.y, groups=data.groups).predict(X[test]) != y[test]
            )
            for method, model in models.items()
        }
        for method, plain in (
            ("most frequent class", DummyClassifier()),
            ("true labels (boosted trees)", HistGradientBoostingClassifier(random_state=0)),
        ):
            line[method] = np.mean(plain.fit(X[train], y[train]).predict(X[test]) != y[test])
        lines.append(pd.Series(line, name=f"{name}, n_b = {size}"))
    return (100 * pd.DataFrame(lines).T).round(1).rename_axis("method")


def ecological() -> pd.DataFrame:
    """Share with the outcome in both kinds of people, from the units' margins alone."""
    matproii = load_ecological("matproii")
    senc = load_ecological("senc")
    black = senc["black"] / senc["total"]
    units = {
        "matproii": matproii[["x", "t", "n", "tb", "tw"]],
        "senc (black, Democrat)": pd.DataFrame(
            {
                "x": black,
                "t": senc["dem"] / senc["total"],
                "n": senc["total"],
                "tb": senc["bldem"] / senc["black"].clip(lower=1),
                "tw": (senc["dem"] - senc["bldem"]) / (senc["total"] - senc["black"]).clip(lower=1),
            }
        ),
    }
    table = pd.DataFrame({name: _one_ecological(unit) for name, unit in units.items()})
    return table.round(2).rename_axis("method")


def _one_ecological(unit: pd.DataFrame, rows_per_unit: int = 20) -> dict[str, float]:
    """Mean absolute error of both shares, in points, weighted by the people they are about."""
    kind = (np.arange(rows_per_unit) + 0.5) / rows_per_unit < unit["x"].to_numpy()[:, None]
    X = kind.reshape(-1, 1).astype(float)
    groups = np.repeat(np.arange(len(unit)), rows_per_unit)
    count = np.rint(unit["t"].to_numpy() * rows_per_unit)
    y = np.column_stack([rows_per_unit - count, count])[groups]
    x = unit["x"].to_numpy()
    asked = np.repeat([[1.0], [0.0]], len(unit), axis=0)
    weight = np.concatenate([unit["n"] * x, unit["n"] * (1 - x)])
    truth = np.concatenate([unit["tb"], unit["tw"]])

    def error(share: Any) -> float:
        return 100 * float(np.average(np.abs(np.clip(share, 0, 1) - truth), weights=weight))

    goodman = np.linalg.lstsq(np.column_stack([x, 1 - x]), unit["t"].to_numpy(), rcond=None)[0]
    model = KernelCountClassifier(
        kernel="linear", rhos=(0.0,), alphas=(0.01,), n_components=20, random_state=0
    )
    return {
        "both kinds alike": error(np.tile(unit["t"], 2)),
        "Goodman's regression": error(np.repeat(goodman, len(unit))),
        "count likelihood": error(model.fit(X, y, groups=groups).predict_proba(asked)[:, 1]),
    }
