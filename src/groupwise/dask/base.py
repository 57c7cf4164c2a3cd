"""What the boosted classifier and the boosted regressor on Dask share."""

import time
from typing import Any

import numpy as np
from distributed import Client, default_client
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.dask.checkpoint import Checkpoint, read_checkpoint
from groupwise.dask.cluster import run_on_workers
from groupwise.dask.inputs import LazyRows, lazy_rows
from groupwise.dask.parts import Recipe
from groupwise.dask.placing import ReadyRows, make_rows_ready, place
from groupwise.dask.training import Outcome, Plan
from groupwise.dask.whole import with_whole_groups
from groupwise.exceptions import GroupDataError
from groupwise.losses import GroupLoss

__all__ = ["BaseDaskGroupBoost"]


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
    estimator_: Any
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
            Group ids; ``None``: the estimator's ``group_column``, or each row a group.
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
        rows = lazy_rows(X, y, groups, sample_weight, model.group_column)
        held = None
        if X_val is not None:
            held = lazy_rows(X_val, y_val, groups_val, None, model.group_column)
        self._describe(model, rows)
        with client.as_current():
            y_row = self._learn_targets(client, model, rows)
            rows = with_whole_groups(client, rows, repartition=self.repartition)
            if held is not None:
                held = with_whole_groups(client, held, repartition=self.repartition)
            outcome = self._boost(client, model, rows, held, y_row, init_model)
        model.trees_ = outcome.trees
        model.evals_result_ = outcome.history
        model.best_iteration_ = outcome.trees.n_rounds
        self.estimator_ = model
        self.seconds_ = outcome.seconds | {"all": time.perf_counter() - started}
        return self

    def _boost(
        self, client: Client, model: Any, rows: LazyRows, held: Any, y_row: Any, init_model: Any
    ) -> Outcome:
        """Make the partitions ready, share them out and train."""
        rng = check_random_state(model.random_state)
        fraction, split_seed = 0.0, 0
        if model.early_stopping and held is None:
            fraction, split_seed = model.validation_fraction, int(rng.randint(2**31 - 1))
        options = model._options(len(rows.columns), int(rng.randint(2**31 - 1)))
        loss, n_classes = self._loss_of(model)
        keep = self.checkpoint is not None
        recipe = Recipe(loss, n_classes, y_row, fraction, split_seed, keep)
        workers = sorted(client.nthreads())
        ready = make_rows_ready(client, rows, recipe, workers)
        apart = None
        if held is not None:
            apart = make_rows_ready(
                client, held, Recipe(loss, n_classes, y_row, 0.0, 0, keep), workers
            )
        self._check_rows(ready, apart, fraction)
        model.n_groups_ = ready.total("n_seen")
        plan = Plan(
            loss=loss,
            n_classes=n_classes,
            n_features=len(rows.columns),
            options=options,
            n_rounds=model.n_estimators,
            before=None if init_model is None else model._begin(init_model, None),
            patience=model.n_iter_no_change if model.early_stopping else None,
            watched=bool(fraction) or held is not None,
            every=int(model.verbose),
            on_disk=self.on_disk,
            checkpoint=self._checkpoint(model, ready, apart, options.seed),
        )
        return run_on_workers(client, place(client, ready, apart), plan)

    def _client(self) -> Client:
        return default_client() if self.client is None else self.client

    def _unfitted(self) -> Any:
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
        if self.checkpoint is not None and self.checkpoint_every < 1:
            raise ValueError(f"checkpoint_every must be at least 1, got {self.checkpoint_every!r}")
        model._check_boosting()
        return model

    def _describe(self, model: Any, rows: LazyRows) -> None:
        """What the fitted model remembers of its features."""
        model.n_features_in_ = len(rows.columns)
        if all(isinstance(name, str) for name in rows.columns):
            model.feature_names_in_ = np.array(rows.columns, dtype=object)
        model._fitted_with_groups = rows.groups is not None

    def _check_rows(self, ready: ReadyRows, held: ReadyRows | None, fraction: float) -> None:
        if fraction and not ready.total_held("n_rows"):
            raise GroupDataError(
                f"early_stopping held none of {ready.total('n_seen')} groups out; there are too "
                "few of them for validation_fraction, pass X_val"
            )
        if held is not None and not held.total("n_rows"):
            raise GroupDataError("X_val holds no rows")

    def _checkpoint(
        self, model: Any, ready: ReadyRows, held: ReadyRows | None, seed: int
    ) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        settings = {name: repr(value) for name, value in model.get_params().items()}
        for name in ("n_estimators", "n_threads", "verbose"):  # these may change
            del settings[name]
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

    def _default(self) -> Any:
        """The estimator of one machine, where no settings are given."""
        raise NotImplementedError  # classifier and regressor each write it

    def _loss_of(self, model: Any) -> tuple[GroupLoss, int]:
        """The loss of a model, and how many classes it has (1 for numbers)."""
        raise NotImplementedError  # classifier and regressor each write it

    def _learn_targets(self, client: Client, model: Any, rows: LazyRows) -> Any:
        """Let the model know what y holds; the function that reads a partition's y."""
        raise NotImplementedError  # classifier and regressor each write it

    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_
