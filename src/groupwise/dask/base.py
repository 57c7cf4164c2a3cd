"""What the boosted classifier and the boosted regressor on Dask share."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Client, default_client
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.base import warn_lost
from groupwise.boosting import HistTrees
from groupwise.dask.checkpoint import Checkpoint, read_checkpoint
from groupwise.dask.cluster import run_on_workers
from groupwise.dask.groupings import PackedGroupings, check_on_cluster, pack_groupings
from groupwise.dask.inputs import DelayedRows, delayed_rows
from groupwise.dask.partitions import PartitionSpec
from groupwise.dask.placement import PreparedPartitions, place, prepare_partitions
from groupwise.dask.repartition import gather_groups
from groupwise.dask.training import Outcome, Plan
from groupwise.exceptions import GroupDataError
from groupwise.gbdt.base import (
    check_parameters,
    engine_options,
    store_fit,
    trees_to_continue,
)
from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses import GroupLoss, SeveralGroupings

__all__ = ["BaseDaskGroupBoost", "Model", "TargetReader", "on_machines"]

Model = Any  # a GroupBoostClassifier or a GroupBoostRegressor

#: ``y`` and the groups of a partition in; class codes, shares or numbers of its rows out.
TargetReader = Callable[[Any, Groups], NDArray[Any]]


class BaseDaskGroupBoost(BaseEstimator):
    """Boosting on a cluster: everything but what ``y`` means.

    A subclass names its :meth:`_default`, learns the classes in :meth:`_learn_targets`, gives the
    loss, and predicts.
    """

    estimator: Any
    client: Client | None
    repartition: bool
    on_disk: bool
    checkpoint: Any
    checkpoint_every: int
    estimator_: Model
    seconds_: dict[str, float]

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        groups_val: Any = None,
        init_model: Any = None,
    ) -> Any:
        """Fit to rows and what is known of their groups; the cluster works, the call waits.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_rows, n_features)
            Cut into partitions by rows.
        y : Dask Series, array, DataFrame, or str or list of str
            As in ``fit`` of the estimator, in partitions like those of ``X``; or names of columns
            of ``X``.
        groups : Dask Series, array or str, default=None
            Group ids; ``None``: the estimator's ``group_column``, or each row a group. With
            :class:`~groupwise.losses.SeveralGroupings` a DataFrame or array with a column of ids
            for each grouping, or their names; ``y`` then has a column for each, too, or is one
            vector for all.
        sample_weight : Dask Series, array or str, default=None
        X_val, y_val, groups_val : default=None
            Held-out rows. Without them ``early_stopping`` holds out the groups whose ids' hash,
            with ``random_state``, is among the lowest ``validation_fraction``.
        init_model : fitted estimator, default=None
            Of the kind of ``estimator_``: its trees are kept and added to.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        client = self._client()
        model = self._unfitted()
        rows = delayed_rows(X, y, groups, sample_weight, model.group_column)
        if rows.groups is None:
            warn_lost(f"{type(self).__name__}.fit got no groups and takes every row for one")
        held = None
        if X_val is not None:
            held = delayed_rows(X_val, y_val, groups_val, None, model.group_column)
        self._describe(model, rows)
        with client.as_current():
            loss = self._resolve_loss(model)
            packed = None
            if isinstance(loss, SeveralGroupings):
                rows, packed = self._pack(client, model, rows, loss, held)
                y_row: TargetReader = packed.read
            else:
                y_row = self._learn_targets(client, model, rows, loss)
            rows = gather_groups(client, rows, repartition=self.repartition)
            if held is not None:
                held = gather_groups(client, held, repartition=self.repartition)
            outcome = self._boost(client, model, loss, rows, held, y_row, init_model, packed)
        store_fit(
            model,
            loss=loss,
            ensemble=outcome.ensemble,
            history=outcome.history,
            with_groups=rows.groups is not None,
        )
        self.estimator_ = model
        self.seconds_ = outcome.seconds | {"all": time.perf_counter() - started}
        return self

    def _boost(
        self,
        client: Client,
        model: Model,
        loss: GroupLoss,
        rows: DelayedRows,
        held: DelayedRows | None,
        y_row: TargetReader,
        init_model: Model | None,
        packed: PackedGroupings | None = None,
    ) -> Outcome:
        """Prepare the partitions, place them on workers and train."""
        rng = check_random_state(model.random_state)
        fraction, split_seed = 0.0, 0
        if model.early_stopping and held is None:
            fraction, split_seed = model.validation_fraction, int(rng.randint(2**31 - 1))
        options = engine_options(model, loss, int(rng.randint(2**31 - 1)))
        keep = self.checkpoint is not None
        n_classes = self._n_classes(model)
        spec = PartitionSpec(loss, n_classes, y_row, fraction, split_seed, keep, packed)
        workers = sorted(client.nthreads())
        ready = prepare_partitions(client, rows, spec, workers)
        apart = None
        if held is not None:
            apart = prepare_partitions(client, held, replace(spec, fraction=0.0, seed=0), workers)
        self._check_rows(ready, apart, fraction)
        model.n_groups_ = ready.total("n_seen") + (0 if packed is None else packed.n_groups)
        plan = Plan(
            loss=loss,
            n_classes=spec.n_classes,
            n_features=len(rows.columns),
            options=options,
            n_rounds=model.n_estimators,
            before=trees_to_continue(model, init_model),
            n_iter_no_change=model.n_iter_no_change if model.early_stopping else None,
            with_validation=bool(fraction) or held is not None,
            log_every=int(model.verbose),
            on_disk=self.on_disk,
            checkpoint=self._checkpoint(model, ready, apart, options.seed),
            packed=packed,
        )
        return run_on_workers(client, place(client, ready, apart), plan)

    def _pack(
        self,
        client: Client,
        model: Model,
        rows: DelayedRows,
        loss: SeveralGroupings,
        held: DelayedRows | None,
    ) -> tuple[DelayedRows, PackedGroupings]:
        """Several groupings as numbers beside the rows, whose groups are those of the first."""
        if held is not None or model.early_stopping:
            raise ValueError("on a cluster several groupings have no held-out rows: no X_val")
        packed_rows, packed = pack_groupings(client, rows, loss, getattr(model, "target", "mean"))
        if packed.classes is not None:
            model.classes_ = packed.classes
        return packed_rows, packed

    def _client(self) -> Client:
        return default_client() if self.client is None else self.client

    def _unfitted(self) -> Model:
        """A copy of the estimator to fit, checked."""
        model = self._default() if self.estimator is None else clone(self.estimator)
        if not isinstance(model, type(self._default())):
            raise TypeError(
                f"estimator must be a {type(self._default()).__name__}, got {type(model).__name__}"
            )
        if model.engine != "xgboost":
            raise ValueError(
                f"on Dask the engine is 'xgboost', the estimator's is {model.engine!r}: LightGBM "
                "gives an objective no way to agree with the other workers"
            )
        if getattr(model, "class_weight", None) is not None:
            raise ValueError("on Dask there is no class_weight: pass sample_weight to fit")
        check_number("checkpoint_every", self.checkpoint_every, "[1, inf)", whole=True)
        check_parameters(model)
        return model

    def _describe(self, model: Model, rows: DelayedRows) -> None:
        """What the fitted model remembers of its features."""
        model.n_features_in_ = len(rows.columns)
        if all(isinstance(name, str) for name in rows.columns):
            model.feature_names_in_ = np.array(rows.columns, dtype=object)

    def _check_rows(
        self, ready: PreparedPartitions, held: PreparedPartitions | None, fraction: float
    ) -> None:
        if fraction and not ready.total_held("n_rows"):
            raise GroupDataError(
                f"early_stopping held none of {ready.total('n_seen')} groups out; there are too "
                "few of them for validation_fraction, pass X_val"
            )
        if held is not None and not held.total("n_rows"):
            raise GroupDataError("X_val holds no rows")

    def _checkpoint(
        self, model: Model, ready: PreparedPartitions, held: PreparedPartitions | None, seed: int
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = _settings(model)
        parts = [ready.summary, ready.held_summary, held.summary if held else []]
        data = {
            "data": [[part["digest"] for part in some] for some in parts],
            "rows": ready.total("n_rows"),
            "seed": seed,
        }
        fit = settings | data
        return Checkpoint(
            str(self.checkpoint),
            self.checkpoint_every,
            fit,
            read_checkpoint(self.checkpoint, fit),
        )

    def _default(self) -> Model:
        """The estimator of one machine, where no settings are given."""
        raise NotImplementedError  # classifier and regressor each write it

    def _resolve_loss(self, model: Model) -> GroupLoss:
        """A copy of the model's loss, checked."""
        raise NotImplementedError  # classifier and regressor each write it

    def _n_classes(self, model: Model) -> int:
        """How many classes the model has; 2 for numbers."""
        raise NotImplementedError  # classifier and regressor each write it

    def _learn_targets(
        self, client: Client, model: Model, rows: DelayedRows, loss: GroupLoss
    ) -> TargetReader:
        """Let the model know what y holds; the function that reads a partition's y."""
        raise NotImplementedError  # classifier and regressor each write it

    def _fitted(self) -> Model:
        check_is_fitted(self, "estimator_")
        return self.estimator_


def on_machines(loss: GroupLoss) -> GroupLoss:
    """The loss, if its groups may lie on several machines."""
    if isinstance(loss, SeveralGroupings):
        check_on_cluster(loss)
        return loss
    if not loss.on_machines:
        raise ValueError(f"{loss!r} needs all groups on one machine")
    return loss


def _settings(model: Model) -> dict[str, str]:
    """What makes a fit this one; the number of rounds and threads may change."""
    trees = HistTrees() if model.trees is None else model.trees
    params = {**model.get_params(), "trees": trees}
    params |= {f"trees__{name}": value for name, value in trees.get_params().items()}
    for name in ("n_estimators", "verbose", "trees", "trees__n_jobs"):
        del params[name]
    return {name: repr(value) for name, value in params.items()}
