"""The fits that are compared: group losses through groupwise, a built-in one through XGBoost."""

import time
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import xgboost as xgb
import xgboost.dask as dxgb
from distributed import Client

from groupwise.boosting import HistTrees
from groupwise.dask import DaskGroupBoostClassifier
from groupwise.gbdt import GroupBoostClassifier

LEARNING_RATE, MAX_BINS = 0.1, 255


def group_fit(
    client: Client, folder: Path, loss: str, depth: int, n_rounds: int, *, on_disk: bool = False
) -> DaskGroupBoostClassifier:
    settings = GroupBoostClassifier(
        loss,
        engine="xgboost",
        n_estimators=n_rounds,
        learning_rate=LEARNING_RATE,
        trees=HistTrees(depth, max_bins=MAX_BINS),
        random_state=0,
    )
    many = DaskGroupBoostClassifier(settings, client=client, on_disk=on_disk)
    known = "own" if loss.startswith("proportions") else "label"  # shares of the rows' own classes
    rows = dd.read_parquet(folder)
    return many.fit(rows[[*_features(rows), known, "session"]], known, groups="session")


def _features(rows: Any) -> list[str]:
    return [column for column in rows.columns if column.startswith("x")]


class _Clock(xgb.callback.TrainingCallback):
    def before_training(self, model: Any) -> Any:
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return model

    def after_training(self, model: Any) -> Any:
        model.set_attr(
            wall=str(time.perf_counter() - self.wall), cpu=str(time.process_time() - self.cpu)
        )
        return model


def plain_fit(client: Client, folder: Path, depth: int, n_rounds: int) -> dict[str, float]:
    """XGBoost's own Dask interface with its own logistic loss of rows."""
    frame = dd.read_parquet(folder).persist()
    data = dxgb.DaskQuantileDMatrix(
        client, frame[_features(frame)], frame["label"], max_bin=MAX_BINS
    )
    params = {
        "objective": "binary:logistic",
        "tree_method": "hist",
        "base_score": 0.5,
        "learning_rate": LEARNING_RATE,
        "max_depth": depth,
        "min_child_weight": 1.0,
        "max_bin": MAX_BINS,
    }
    out = dxgb.train(client, params, data, num_boost_round=n_rounds, callbacks=[_Clock()])
    booster = out["booster"]
    return {"boosting": float(booster.attr("wall")), "boosting_cpu": float(booster.attr("cpu"))}
