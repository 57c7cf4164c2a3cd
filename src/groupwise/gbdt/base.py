"""What the boosted classifier and the boosted regressor share."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise.gbdt.engine import Engine, TreeOptions, get_engine
from groupwise.gbdt.ensemble import GroupTrees
from groupwise.gbdt.objective import GroupObjective
from groupwise.gbdt.rounds import HeldOut, Watch, boost
from groupwise.gbdt.targets import GroupTargets, group_target
from groupwise.losses import BoundLoss, GroupLoss
from groupwise.model_selection import WholeGroupShuffleSplit
from groupwise.validation import check_rows

__all__ = ["BaseGroupBoost"]

logger = logging.getLogger("groupwise.gbdt")


class BaseGroupBoost:
    """Gradient boosting on a group loss: everything but what ``y`` means.

    A subclass has the constructor parameters named here, checks its data in ``fit`` and hands over
    to :meth:`_fit`.
    """

    engine: str
    n_estimators: int
    learning_rate: float
    max_depth: int
    max_leaves: int | None
    min_leaf_weight: float
    reg_lambda: float
    subsample: float
    feature_fraction: float
    max_bins: int
    categorical_features: Any
    monotone_constraints: Any
    early_stopping: bool
    n_iter_no_change: int
    validation_fraction: float
    n_threads: int | None
    engine_params: dict[str, Any] | None
    random_state: Any
    verbose: int

    _features: Callable[[Any], Any]  # without the column of group ids

    trees_: GroupTrees
    evals_result_: dict[str, list[float]]
    best_iteration_: int
    n_features_in_: int

    def _fit(
        self,
        data: GroupTargets,
        held: GroupTargets | None,
        loss: GroupLoss,
        n_classes: int,
        init_model: Any,
        callbacks: Any,
    ) -> None:
        """Boost on checked data and store the trees."""
        engine = get_engine(self.engine)
        rng = check_random_state(self.random_state)
        if held is None and self.early_stopping:
            data, held = self._split(data, loss, rng)
        options = self._options(data.X.shape[1], int(rng.randint(2**31 - 1)))
        bound = _bind(loss, data, n_classes)
        before = self._begin(init_model, bound)
        watch = Watch(
            held_out=None
            if held is None
            else _hold(held, loss, n_classes, before, engine, options),
            patience=self.n_iter_no_change if self.early_stopping else None,
            callbacks=tuple(callbacks or ()),
            every=int(self.verbose),
        )
        run = engine.start(data.X, options, before.score(data.X))
        n_kept = boost(run, GroupObjective(bound, self.engine), self.n_estimators, watch)
        self.trees_ = before.extended(run.model(n_kept))
        self.evals_result_ = watch.history
        self.best_iteration_ = before.n_rounds + n_kept

    def _split(
        self, data: GroupTargets, loss: GroupLoss, rng: np.random.RandomState
    ) -> tuple[GroupTargets, GroupTargets]:
        """Hold groups out, stratified by their label where they have one."""
        splitter = WholeGroupShuffleSplit(
            1,
            test_size=self.validation_fraction,
            stratify=loss.target == "label",
            random_state=rng.randint(2**31 - 1),
        )
        train, test = next(splitter.split(data.y_row, data.y_row, data.groups.codes))
        return data.take(train), data.take(test)

    def _begin(self, init_model: Any, bound: BoundLoss) -> GroupTrees:
        if init_model is None:
            return GroupTrees(bound.init_score(), [])
        check_is_fitted(init_model)
        if type(init_model) is not type(self):
            raise ValueError(
                f"init_model must be a fitted {type(self).__name__}, "
                f"got {type(init_model).__name__}"
            )
        if init_model.n_features_in_ != self.n_features_in_:
            raise ValueError(
                f"init_model was fitted on {init_model.n_features_in_} features, "
                f"X has {self.n_features_in_}"
            )
        known, present = (
            np.asarray(getattr(model, "classes_", ())) for model in (init_model, self)
        )
        if not np.array_equal(known, present):
            raise ValueError(
                f"init_model knows the classes {known.tolist()}, y holds {present.tolist()}"
            )
        return init_model.trees_

    def _options(self, n_features: int, seed: int) -> TreeOptions:
        constraints = self.monotone_constraints
        if constraints is not None and len(constraints) != n_features:
            raise ValueError(
                f"monotone_constraints must hold one entry per feature ({n_features}), "
                f"got {len(constraints)}"
            )
        return TreeOptions(
            learning_rate=self.learning_rate,
            max_depth=self.max_depth,
            max_leaves=self.max_leaves,
            min_leaf_weight=self.min_leaf_weight,
            reg_lambda=self.reg_lambda,
            subsample=self.subsample,
            feature_fraction=self.feature_fraction,
            max_bins=self.max_bins,
            categorical_features=self._categorical_columns(n_features),
            monotone_constraints=None if constraints is None else tuple(map(int, constraints)),
            n_threads=self.n_threads,
            seed=seed,
            extra=dict(self.engine_params or {}),
        )

    def _categorical_columns(self, n_features: int) -> tuple[int, ...]:
        """Positions of the categorical columns, given as positions or names."""
        names = list(getattr(self, "feature_names_in_", []))
        columns = []
        for column in () if self.categorical_features is None else self.categorical_features:
            if isinstance(column, str):
                if column not in names:
                    raise ValueError(f"categorical_features names {column!r}, columns are {names}")
                columns.append(names.index(column))
            elif 0 <= column < n_features:
                columns.append(int(column))
            else:
                raise ValueError(
                    f"categorical_features holds column {column!r}, X has {n_features} columns"
                )
        return tuple(columns)

    def _check_boosting(self) -> None:
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate!r}")
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction must be between 0 and 1, got {self.validation_fraction!r}"
            )
        get_engine(self.engine)

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_rows(self, self._features(X))

    def _staged(self, X: Any) -> Iterator[NDArray[Any]]:
        rows = self._checked(X)
        return self.trees_.staged_score(rows)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Share of each feature in the total gain of all splits, (n_features,)."""
        check_is_fitted(self)
        return self.trees_.importances(self.n_features_in_)

    def shap_values(self, X: Any) -> NDArray[Any]:
        """How much each feature adds to each row's score, by the engine's own tree SHAP.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        values : ndarray of shape (n_rows, n_features + 1[, n_classes])
            The last column is the expected score; the columns of a row sum to its score. With a
            third axis for three or more classes.
        """
        rows = self._checked(X)
        values = self.trees_.contributions(rows)
        return values[:, 0] if values.shape[1] == 1 else np.moveaxis(values, 1, 2)


def _bind(loss: GroupLoss, data: GroupTargets, n_classes: int) -> BoundLoss:
    target = group_target(loss, data.y_row, data.groups, n_classes)
    return loss.bind(target, data.groups, n_classes=n_classes, weight_row=data.weight_row)


def _hold(
    held: GroupTargets,
    loss: GroupLoss,
    n_classes: int,
    before: GroupTrees,
    engine: Engine,
    options: TreeOptions,
) -> HeldOut:
    rows = engine.prepare(held.X, options)
    return HeldOut(rows, _bind(loss, held, n_classes), before.score(held.X))
