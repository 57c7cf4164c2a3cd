"""Gradient boosting on the rows, by LightGBM's own objectives: the baseline to beat."""

from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting.lightgbm import PickledBooster, lightgbm_input, thread_count
from groupwise.boosting.votes import link
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import GroupedRows, check_choice, check_flag, check_number
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.metrics import MeasureLike

__all__ = ["BoostedRowsClassifier"]

# So many rows LightGBM ranks in one query.
_LARGEST_QUERY = 10_000


class BoostedRowsClassifier(BaseMeasureClassifier):
    r"""LightGBM on labelled rows: log-loss, or the order of each group's rows (lambdarank).

    Only ``"lambdarank"`` and ``balance_groups`` look at the groups in training.

    Parameters
    ----------
    loss : {"logistic", "lambdarank"}, default="logistic"
        ``"lambdarank"`` (two classes) raises the NDCG of each group. Its scores are an order and
        have no natural zero: for labels put it into a :class:`ThresholdTunedClassifier`.
    measure : str, GroupMeasure or callable, default="f1"
        What ``score`` reports; training does not see it.
    n_estimators : int, default=300
    learning_rate : float, default=0.05
    max_leaf_nodes : int, default=31
    min_samples_leaf : int, default=20
    max_features : float, default=0.5
        Share of the features that a tree may use.
    balance_groups : bool, default=False
        Weigh rows by 1/m, so that every group counts once.
    n_jobs : int, default=None
        Threads. ``None``: all cores, or one for small tables, where more would only wait.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    measure_ : GroupMeasure
    ensemble_ : PickledBooster
        ``ensemble_.booster`` is the booster.
    n_iter_ : int
        Rounds grown; fewer than ``n_estimators`` where no split is left.
    n_groups_ : int

    Notes
    -----
    ``predict_proba`` is the logistic function of the score (the softmax for more classes): class
    probabilities for ``"logistic"``, not for ``"lambdarank"``.

    References
    ----------
    C. Burges (2010). From RankNet to LambdaRank to LambdaMART: an overview.

    Examples
    --------
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import BoostedRowsClassifier
    >>> u = make_users(n_users=20, random_state=0)
    >>> clf = BoostedRowsClassifier(n_estimators=20).fit(u.X, u.y, groups=u.groups)
    >>> clf.predict(u.X).shape == u.y.shape
    True
    """

    _splits_on_categories = True
    _largest_value = np.inf  # trees compare values, they do not compute with them

    def __init__(
        self,
        loss: str = "logistic",
        *,
        measure: MeasureLike = "f1",
        n_estimators: int = 300,
        learning_rate: float = 0.05,
        max_leaf_nodes: int = 31,
        min_samples_leaf: int = 20,
        max_features: float = 0.5,
        balance_groups: bool = False,
        n_jobs: int | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.loss = loss
        self.measure = measure
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.balance_groups = balance_groups
        self.n_jobs = n_jobs
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        n_classes = len(data.classes)
        params = self._params(n_classes, thread_count(self.n_jobs, data.X))
        booster = lgb.train(params, self._dataset(data, params), self.n_estimators)
        self.n_iter_ = booster.current_iteration()
        self.ensemble_ = PickledBooster(booster.model_to_string(), self.n_iter_, self.n_jobs)

    @property
    def _learns_from_groups(self) -> bool:  # type: ignore[override]  # constant in others
        return self.loss == "lambdarank" or bool(self.balance_groups)

    def _check_parameters(self) -> None:
        check_choice("loss", self.loss, ("logistic", "lambdarank"))
        check_number("n_estimators", self.n_estimators, "[1, inf)", whole=True)
        check_number("learning_rate", self.learning_rate, "(0, inf)")
        check_number("max_leaf_nodes", self.max_leaf_nodes, "[2, inf)", whole=True)
        check_number("min_samples_leaf", self.min_samples_leaf, "[1, inf)", whole=True)
        check_number("max_features", self.max_features, "(0, 1]")
        check_flag("balance_groups", self.balance_groups)
        check_number("n_jobs", self.n_jobs, "[1, inf)", whole=True, none=True)

    def _params(self, n_classes: int, n_threads: int) -> dict[str, Any]:
        logistic = "binary" if n_classes == 2 else "multiclass"
        return {
            "objective": logistic if self.loss == "logistic" else "lambdarank",
            "num_class": 1 if n_classes == 2 else n_classes,
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaf_nodes,
            "min_data_in_leaf": self.min_samples_leaf,
            "feature_fraction": self.max_features,
            "seed": int(check_random_state(self.random_state).randint(2**31 - 1)),
            "deterministic": True,
            "force_col_wise": True,
            "num_threads": n_threads,
            "verbosity": -1,
        }

    def _dataset(self, data: GroupedRows, params: dict[str, Any]) -> lgb.Dataset:
        groups = data.groups
        ranks = self.loss == "lambdarank"
        # LightGBM wants the rows of a query side by side
        order = groups.order if ranks else np.arange(groups.n_rows)
        weight = None
        if self.balance_groups:  # one on average: LightGBM's least Hessian of a leaf is absolute
            weight = (groups.n_rows / groups.n_groups / groups.sizes)[groups.codes[order]]
        if ranks and groups.sizes.max() > _LARGEST_QUERY:
            largest = int(groups.sizes.argmax())
            raise GroupDataError(
                f"loss='lambdarank' takes groups of up to {_LARGEST_QUERY:,} rows; group "
                f"{show(groups.names[largest])} has {groups.sizes[largest]:,}"
            )
        return lgb.Dataset(
            lightgbm_input(data.X[order] if ranks else data.X),
            data.y_row[order],
            weight=weight,
            group=groups.sizes if ranks else None,
            categorical_feature=list(self._category_columns()) or "auto",
            params=params,
        )

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows)
        return score_row, link(score_row)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        ranks = isinstance(self.loss, str) and self.loss == "lambdarank"
        tags.classifier_tags.multi_class = not ranks
        return tags
