"""The group losses beyond one machine: rows on a Dask cluster, trees by XGBoost."""

from groupwise.dask.classifier import DaskGroupBoostClassifier
from groupwise.dask.regressor import DaskGroupBoostRegressor
from groupwise.dask.wait import WorkerLostError

__all__ = ["DaskGroupBoostClassifier", "DaskGroupBoostRegressor", "WorkerLostError"]
