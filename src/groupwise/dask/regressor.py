"""Numbers of rows from means or totals of groups, by boosted trees on a Dask cluster."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from groupwise.dask.base import BaseDaskGroupBoost, TargetReader, on_machines
from groupwise.dask.inputs import DelayedRows
from groupwise.dask.predict import by_group, by_row
from groupwise.exceptions import GroupDataError
from groupwise.gbdt import GroupBoostRegressor
from groupwise.gbdt.regressor import resolve_number_loss
from groupwise.groups import Groups, show
from groupwise.inputs import group_means, group_numbers, group_totals
from groupwise.losses import GroupLoss
from groupwise.targets import mean_of_rows

__all__ = ["DaskGroupBoostRegressor"]


class DaskGroupBoostRegressor(RegressorMixin, BaseDaskGroupBoost):
    """A :class:`~groupwise.gbdt.GroupBoostRegressor` fitted to rows on a Dask cluster.

    Parameters
    ----------
    estimator : GroupBoostRegressor, default=None
        The settings, with ``engine="xgboost"``; ``None`` for the default ones.
    client, repartition, on_disk, checkpoint, checkpoint_every
        As in :class:`DaskGroupBoostClassifier`.

    Attributes
    ----------
    estimator_ : GroupBoostRegressor
        The fitted model of one machine.

    See Also
    --------
    groupwise.gbdt.GroupBoostRegressor : The same on one machine.
    """

    def __init__(
        self,
        estimator: GroupBoostRegressor | None = None,
        *,
        client: Client | None = None,
        repartition: bool = True,
        on_disk: bool = False,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 10,
    ):
        self.estimator = estimator
        self.client = client
        self.repartition = repartition
        self.on_disk = on_disk
        self.checkpoint = checkpoint
        self.checkpoint_every = checkpoint_every

    def _default(self) -> GroupBoostRegressor:
        return GroupBoostRegressor(engine="xgboost")

    def _resolve_loss(self, model: GroupBoostRegressor) -> GroupLoss:
        return on_machines(resolve_number_loss(model))

    def _n_classes(self, model: GroupBoostRegressor) -> int:
        return 2  # one score, as two classes have

    def _learn_targets(
        self, client: Client, model: GroupBoostRegressor, rows: DelayedRows, loss: GroupLoss
    ) -> TargetReader:
        if rows.y_columns is not None:
            raise GroupDataError("y must hold one number per row, it is a table")
        return partial(_means, target=model.target)

    def predict(self, X: Any) -> Any:
        """Numbers of rows, lazy: a Dask Series for a DataFrame, an array for an array."""
        return by_row(X, self._fitted().predict, None, np.empty(0))

    def predict_groups(self, X: Any, groups: Any = None) -> Any:
        """Mean or total of each group, lazy: a Dask Series indexed by the group's id."""
        meta = pd.Series(np.empty(0), name="predicted")
        return self._on_groups(X, None, groups, partial(_number_lines, self._fitted()), meta)

    def evaluate_groups(self, X: Any, y: Any, groups: Any = None) -> Any:
        """How each group is predicted, lazy.

        Returns
        -------
        lines : Dask DataFrame
            Indexed by the group's id: ``rows``, ``truth`` and ``predicted``.
        """
        meta = pd.DataFrame(
            {"rows": np.empty(0, np.intp), "truth": np.empty(0), "predicted": np.empty(0)}
        )
        return self._on_groups(X, y, groups, partial(_truth_lines, self._fitted()), meta)

    def score(self, X: Any, y: Any, groups: Any = None) -> Any:
        """R squared over groups as a lazy scalar."""
        lines = self.evaluate_groups(X, y, groups)
        truth = lines["truth"]
        error = ((truth - lines["predicted"]) ** 2).sum()
        return 1.0 - error / ((truth - truth.mean()) ** 2).sum()

    def _on_groups(self, X: Any, y: Any, groups: Any, conclude: Any, meta: Any) -> Any:
        model = self._fitted()
        return by_group(
            self._client(),
            X,
            y,
            model.group_column if groups is None else groups,
            partial(_rows_and_truth, model),
            conclude,
            meta,
            n_numbers=1 if y is None else 2,
            repartition=self.repartition,
        )


def _means(y: Any, groups: Groups, target: str) -> NDArray[Any]:
    """The group's mean on each of its rows, finite."""
    number = np.asarray(y, dtype=np.float64)
    if not np.isfinite(number).all():
        row = int(np.argmin(np.isfinite(number)))
        raise GroupDataError(
            f"y must hold a finite number on every row; group "
            f"{show(groups.names[groups.codes[row]])} holds {show(number[row])}"
        )
    return mean_of_rows(number, groups, target)


def _rows_and_truth(model: GroupBoostRegressor, X: Any, y: Any) -> NDArray[Any]:
    predicted = model.predict(X)
    return predicted[:, None] if y is None else np.column_stack([predicted, np.asarray(y, float)])


def _number_lines(model: GroupBoostRegressor, numbers: NDArray[Any], groups: Groups) -> pd.Series:
    return pd.Series(_of_groups(numbers[:, 0], groups, model.target_), name="predicted")


def _truth_lines(model: GroupBoostRegressor, numbers: NDArray[Any], groups: Groups) -> pd.DataFrame:
    known = group_totals if model.target_ == "total" else group_means
    y_row = group_numbers(numbers[:, 1], groups, target=model.target_)
    return pd.DataFrame(
        {
            "rows": groups.sizes,
            "truth": known(y_row, groups, target=model.target_),
            "predicted": _of_groups(numbers[:, 0], groups, model.target_),
        }
    )


def _of_groups(y_row: NDArray[Any], groups: Groups, target: str) -> NDArray[Any]:
    return groups.sum(y_row) if target == "total" else groups.mean(y_row)
