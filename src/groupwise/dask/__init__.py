"""The group losses beyond one machine: rows on a Dask cluster, trees by XGBoost."""

from groupwise.dask.classifier import DaskGroupBoostClassifier
from groupwise.dask.cluster import WorkerLostError
from groupwise.dask.regressor import DaskGroupBoostRegressor

__all__ = ["DaskGroupBoostClassifier", "DaskGroupBoostRegressor", "WorkerLostError"]
