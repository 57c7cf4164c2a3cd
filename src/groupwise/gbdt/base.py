"""What the boosted classifier and the boosted regressor share."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState
from groupwise.base import GroupMixin
from groupwise.boosting import HistTrees
from groupwise.boosting.hist_trees import EngineOptions
from groupwise.exceptions import GroupDataError
from groupwise.gbdt.rounds import (
    ENGINES,
    Callback,
    GroupObjective,
    GroupTrees,
    Monitor,
    ValidationSet,
    boost,
    get_engine,
)
from groupwise.inputs import check_choice, check_flag, check_number, split_column
from groupwise.losses import GroupLoss
from groupwise.model_selection import hold_out_groups
from groupwise.targets import GroupTargets

__all__ = [
    "GroupBoostMixin",
    "check_parameters",
    "default_trees",
    "engine_options",
    "store_fit",
    "trees_to_continue",
]


class GroupBoostMixin(GroupMixin):
    """Gradient boosting on a group loss: everything but what ``y`` means.

    A subclass resolves its loss in :meth:`_resolve_loss` and checks its data in
    :meth:`_training_targets` and :meth:`_validation_targets`.
    """

    _splits_on_categories = True
    # trees compare values, they do not compute with them; XGBoost holds them in single precision
    _largest_value = float(np.finfo(np.float32).max)

    classes_: NDArray[Any]
    ensemble_: GroupTrees
    history_: dict[str, list[float]]
    loss_: GroupLoss
    n_features_in_: int
    n_iter_: int

    def __init__(
        self,
        *,
        trees: HistTrees | None,
        engine: str,
        n_estimators: int,
        learning_rate: float,
        early_stopping: bool,
        n_iter_no_change: int,
        validation_fraction: float,
        engine_params: dict[str, Any] | None,
        group_column: str | None,
        random_state: RandomState,
        verbose: int,
    ):
        self.trees = trees
        self.engine = engine
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.engine_params = engine_params
        self.group_column = group_column
        self.random_state = random_state
        self.verbose = verbose

    def _resolve_loss(self) -> GroupLoss:
        """A copy of the loss, with its parameters and those of the decision checked."""
        raise NotImplementedError

    def _training_targets(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        loss: GroupLoss,
    ) -> GroupTargets:
        raise NotImplementedError

    def _validation_targets(
        self, X: MatrixLike, y: ArrayLike | None, groups: Ids, loss: GroupLoss
    ) -> GroupTargets:
        raise NotImplementedError

    def _store(
        self, loss: GroupLoss, ensemble: GroupTrees, history: dict[str, list[float]]
    ) -> None:
        """Keep all that predictions need; later changes of parameters do not reach them."""
        self.loss_ = loss
        self.ensemble_ = ensemble
        self.history_ = history
        self.n_iter_ = ensemble.n_rounds

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        validation: tuple[MatrixLike | None, ArrayLike | None, Ids],
        init_model: "GroupBoostMixin | None",
        callbacks: Sequence[Callback] | None,
        exposures: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    ) -> None:
        """Check the data, boost, and take the trees over when nothing can fail any more."""
        trial = self._trial()
        trial._fit_anew(
            X, y, groups, sample_weight, validation, init_model, callbacks or (), exposures
        )
        self._take_over(trial)

    def _fit_anew(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        validation: tuple[MatrixLike | None, ArrayLike | None, Ids],
        init_model: "GroupBoostMixin | None",
        callbacks: Sequence[Callback],
        exposures: tuple[ArrayLike | None, ArrayLike | None],
    ) -> None:
        check_parameters(self)
        loss = self._resolve_loss()
        X, groups = self._groups_to_fit(X, groups)
        data = self._training_targets(X, y, groups, sample_weight, loss).exposed(exposures[0], loss)
        self._remember_groups(groups, data.groups)
        self.n_groups_ = data.n_groups
        if data.classes is not None:
            self.classes_ = data.classes
        X_val, y_val, groups_val = validation
        held = None
        if X_val is not None:
            X_val, groups_val = split_column(X_val, self.group_column, groups_val)
            held = self._validation_targets(X_val, y_val, groups_val, loss)
            held = held.exposed(exposures[1], loss)
        self._boost(data.with_weight(), held, loss, init_model, callbacks)

    def _boost(
        self,
        data: GroupTargets,
        held: GroupTargets | None,
        loss: GroupLoss,
        init_model: "GroupBoostMixin | None",
        callbacks: Sequence[Callback],
    ) -> None:
        engine = get_engine(self.engine)
        rng = check_random_state(self.random_state)
        if held is None and self.early_stopping:
            data, held = self._split(data, loss, rng)
        seed = int(rng.randint(2**31 - 1))
        options = engine_options(self, loss, seed, self._category_columns())
        bound = data.bind(loss)
        before = trees_to_continue(self, init_model) or GroupTrees(bound.init_score(), [])
        validation = None
        if held is not None:
            rows = engine.prepare(held.X, options)
            held_bound = held.bind(loss).follow(bound)
            validation = ValidationSet(rows, held_bound, before.score(held.X))
        monitor = Monitor(
            validation=validation,
            n_iter_no_change=self.n_iter_no_change if self.early_stopping else None,
            callbacks=tuple(callbacks),
            log_every=int(self.verbose),
        )
        run = engine.start(data.X, options, before.score(data.X))
        n_kept = boost(run, GroupObjective(bound, self.engine), self.n_estimators, monitor)
        ensemble = before.extended(run.model(n_kept))
        if loss.one_score:
            loss = bound.learned(loss, ensemble.score(data.X))
        self._store(loss, ensemble, monitor.history)

    def _split(
        self, data: GroupTargets, loss: GroupLoss, rng: np.random.RandomState
    ) -> tuple[GroupTargets, GroupTargets]:
        """Hold groups out."""
        if loss.target_kind == "several" and data.groups.n_groups < 2:
            raise GroupDataError(
                "early_stopping holds whole groups out, and no part of the rows is whole in all "
                "groupings: pass X_val, y_val and groups_val"
            )
        held_out = hold_out_groups(
            data.groups.n_groups, self.validation_fraction, rng, data.strata(loss)
        )
        in_held_out = data.groups.spread(held_out)
        return data.take(np.flatnonzero(~in_held_out)), data.take(np.flatnonzero(in_held_out))

    def _staged(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        rows, _ = self._checked(X, None)
        return self.ensemble_.staged_score(rows)

    @property
    def feature_importances_(self) -> NDArray[Any]:
        """Share of each feature in the total gain of all splits, (n_features,)."""
        check_is_fitted(self)
        return self.ensemble_.importances(self.n_features_in_)

    @property
    def booster_(self) -> Any:
        """The engine's own booster, for tools that know LightGBM or XGBoost.

        ``shap.TreeExplainer(model.booster_)`` explains the model's scores less the constant
        ``ensemble_.init_score``, which has no feature. A model that continues another has one per
        fit, in ``ensemble_.parts``.
        """
        check_is_fitted(self)
        if len(self.ensemble_.parts) != 1:
            raise AttributeError(
                f"this model has {len(self.ensemble_.parts)} boosters, in ensemble_.parts: each "
                "fit that continued another has one of its own"
            )
        part: Any = self.ensemble_.parts[0]
        return part.booster

    def shap_values(self, X: MatrixLike) -> NDArray[Any]:
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
        rows, _ = self._checked(X, None)
        values = self.ensemble_.contributions(rows)
        return values[:, 0] if values.shape[1] == 1 else np.moveaxis(values, 1, 2)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_parameters(model: GroupBoostMixin) -> None:
    """Refuse parameters of boosting that have no meaning; the loss checks its own."""
    check_choice("engine", model.engine, ENGINES)
    check_number("n_estimators", model.n_estimators, "[1, inf)", whole=True)
    check_number("learning_rate", model.learning_rate, "(0, inf)")
    check_flag("early_stopping", model.early_stopping)
    check_number("n_iter_no_change", model.n_iter_no_change, "[1, inf)", whole=True)
    check_number("validation_fraction", model.validation_fraction, "(0, 1)")
    check_number("verbose", int(model.verbose), "[0, inf)", whole=True)
    if model.trees is not None:
        if not isinstance(model.trees, HistTrees):
            raise TypeError(f"trees must be a HistTrees or None, got {model.trees!r}")
        model.trees.check()


def default_trees(loss: GroupLoss) -> HistTrees:
    """What ``trees=None`` stands for.

    Of survival times a group has one event at most, and ``HistTrees()`` overfits: it is no better
    than a linear Cox model on group means. Small trees on half of the rows each are, with 30 to
    900 groups (benchmarks/survival_trees.py).
    """
    return HistTrees(max_depth=2, subsample=0.5) if loss.target_kind == "time" else HistTrees()


def engine_options(
    model: GroupBoostMixin, loss: GroupLoss, seed: int, categories: Sequence[int] = ()
) -> EngineOptions:
    """How the engine is to grow trees for a model that knows its features.

    ``categories``: columns of a table that have become codes.
    """
    trees = default_trees(loss) if model.trees is None else model.trees
    names = getattr(model, "feature_names_in_", None)
    trees = trees.by_position(model.n_features_in_, None if names is None else list(names))
    trees = trees.with_categories(categories)
    return EngineOptions(
        trees=trees,
        learning_rate=model.learning_rate,
        seed=seed,
        extra=dict(model.engine_params or {}),
    )


def trees_to_continue(
    model: GroupBoostMixin, init_model: GroupBoostMixin | None
) -> GroupTrees | None:
    """The trees of ``init_model``, a fitted model of the same kind, features and classes."""
    if init_model is None:
        return None
    check_is_fitted(init_model)
    if type(init_model) is not type(model):
        raise ValueError(
            f"init_model must be a fitted {type(model).__name__}, got {type(init_model).__name__}"
        )
    if init_model.n_features_in_ != model.n_features_in_:
        raise ValueError(
            f"init_model was fitted on {init_model.n_features_in_} features, "
            f"X has {model.n_features_in_}"
        )
    before, now = (
        (list(getattr(each, "feature_names_in_", ())), getattr(each, "_categories", None))
        for each in (init_model, model)
    )
    if before != now:
        raise ValueError(
            "init_model was fitted on other features, in another order or with other categories: "
            "pass X with the same columns"
        )
    known, present = (np.asarray(getattr(each, "classes_", ())) for each in (init_model, model))
    if not np.array_equal(known, present):
        raise ValueError(
            f"init_model knows the classes {known.tolist()}, y holds {present.tolist()}"
        )
    return init_model.ensemble_


def store_fit(
    model: GroupBoostMixin,
    *,
    loss: GroupLoss,
    ensemble: GroupTrees,
    history: dict[str, list[float]],
    with_groups: bool,
) -> None:
    """Make a fitted model of one that was trained elsewhere.

    Parameters
    ----------
    model : GroupBoostClassifier or GroupBoostRegressor
        That knows its features, groups and classes.
    loss : GroupLoss
    ensemble : GroupTrees
    history : dict
    with_groups : bool
        Whether it was trained on groups, or each row on its own.
    """
    model._fitted_with_groups = with_groups
    model._store(loss, ensemble, history)
