"""Gradient-boosted regression trees trained on means or totals of groups."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d, validate_data

from groupwise.gbdt.base import BaseGroupBoost
from groupwise.gbdt.door import check_weights
from groupwise.gbdt.rounds import Progress
from groupwise.gbdt.targets import GroupTargets
from groupwise.groups import Groups
from groupwise.losses import GroupMeanLoss
from groupwise.validation import check_groups, check_rows, split_group_column

__all__ = ["GroupBoostRegressor"]


class GroupBoostRegressor(BaseGroupBoost, RegressorMixin, BaseEstimator):
    r"""Gradient boosting on known means or totals of groups.

    Rows have numbers that nobody saw; of each group their mean or their total is known. The trees
    give every row a number, by squared error of the groups' means times the groups' sizes
    (:class:`~groupwise.losses.GroupMeanLoss`). A group of one row makes this ordinary boosting.

    Parameters
    ----------
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    huber_delta : float, default=None
        Errors of a group's mean beyond this count linearly (Huber's loss).
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
    n_estimators : int, default=100
    learning_rate : float, default=0.1
    max_depth : int, default=3
    max_leaves : int, default=None
    min_leaf_weight : float, default=1.0
        Smallest sum of weights in a leaf; a row has 1.
    reg_lambda : float, default=1.0
    subsample, feature_fraction : float, default=1.0
    max_bins : int, default=255
    categorical_features : list of int or str, default=None
    monotone_constraints : list of {-1, 0, 1}, default=None
    early_stopping : bool, default=False
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
    n_threads : int, default=None
    engine_params : dict, default=None
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        All as in :class:`GroupBoostClassifier`.

    Attributes
    ----------
    trees_ : GroupTrees
    best_iteration_ : int
    evals_result_ : dict
    feature_importances_ : ndarray of shape (n_features,)
    n_groups_ : int

    Notes
    -----
    Where groups were formed by sorting on the number itself, slopes come out too steep; groups
    formed at random do not have this.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> from groupwise.gbdt import GroupBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(600, 2)), np.repeat(np.arange(200), 3)
    >>> encoded = Groups(groups)
    >>> total = encoded.spread(encoded.sum(X[:, 0]))
    >>> reg = GroupBoostRegressor("total").fit(X, total, groups=groups)
    >>> reg.predict(X).shape, reg.predict_groups(X, groups=groups).shape
    ((600,), (200,))
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  # scikit-learn reads a plain dict
    __metadata_request__score = {"groups": True}  # noqa: RUF012

    def __init__(
        self,
        target: str = "mean",
        *,
        huber_delta: float | None = None,
        engine: str = "lightgbm",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int = 3,
        max_leaves: int | None = None,
        min_leaf_weight: float = 1.0,
        reg_lambda: float = 1.0,
        subsample: float = 1.0,
        feature_fraction: float = 1.0,
        max_bins: int = 255,
        categorical_features: Sequence[int | str] | None = None,
        monotone_constraints: Sequence[int] | None = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.2,
        n_threads: int | None = None,
        engine_params: dict[str, Any] | None = None,
        group_column: str | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ):
        self.target = target
        self.huber_delta = huber_delta
        self.engine = engine
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.max_leaves = max_leaves
        self.min_leaf_weight = min_leaf_weight
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.feature_fraction = feature_fraction
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotone_constraints = monotone_constraints
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.n_threads = n_threads
        self.engine_params = engine_params
        self.group_column = group_column
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        groups_val: ArrayLike | None = None,
        init_model: "GroupBoostRegressor | None" = None,
        callbacks: Sequence[Callable[[Progress], Any]] | None = None,
    ) -> "GroupBoostRegressor":
        """Fit to rows and their groups' numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's mean or total, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None
        X_val, y_val, groups_val : default=None
        init_model : GroupBoostRegressor, default=None
        callbacks : list of callables, default=None
            All as in :meth:`GroupBoostClassifier.fit`.

        Returns
        -------
        self : GroupBoostRegressor
        """
        self._check_boosting()
        if self.target not in ("mean", "total"):
            raise ValueError(f"target must be 'mean' or 'total', got {self.target!r}")
        X, groups = split_group_column(X, self.group_column, groups)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite="allow-nan",
            y_numeric=True,
        )
        encoded = check_groups(groups, _num_samples(X))
        self.n_groups_ = encoded.n_groups
        weight = check_weights(sample_weight, X)
        data = GroupTargets(X, self._means(y, encoded), encoded, weight).without_weightless()
        held = None
        if X_val is not None:
            X_val, groups_val = split_group_column(X_val, self.group_column, groups_val)
            X_val = check_rows(self, X_val)
            encoded = check_groups(groups_val, _num_samples(X_val), name="groups_val")
            held = GroupTargets(X_val, self._means(y_val, encoded), encoded, None)
        self._fit(data, held, GroupMeanLoss(self.huber_delta), 2, init_model, callbacks)
        return self

    def _means(self, y: Any, groups: Groups) -> NDArray[Any]:
        """The group's mean, on each of its rows."""
        if y is None:
            raise ValueError("X_val needs y_val")
        number = column_or_1d(y, dtype=np.float64)
        groups.one_per_group(number)
        return number / groups.sizes[groups.codes] if self.target == "total" else number

    def _features(self, X: Any) -> Any:
        return split_group_column(X, self.group_column, None, required=False)[0]

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the number of each row.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        X = self._checked(X)
        return self.trees_.score(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predictions of the rows after each round."""
        return self._staged(X)

    def predict_groups(self, X: Any, groups: ArrayLike | Groups | None = None) -> NDArray[Any]:
        """Predict the mean or total of each group.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        y_group : ndarray of shape (n_groups,)
            In the order of ``np.unique(groups)``.
        """
        check_is_fitted(self)
        return self._of_groups(self.predict(X), self._groups_of(X, groups))

    def _groups_of(self, X: Any, groups: Any) -> Groups:
        return check_groups(split_group_column(X, self.group_column, groups)[1], _num_samples(X))

    def _of_groups(self, predicted_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.sum(predicted_row) if self.target == "total" else groups.mean(predicted_row)

    def score(self, X: Any, y: ArrayLike, groups: ArrayLike | Groups | None = None) -> float:
        """Coefficient of determination R² over groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's mean or total, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        r2 : float
        """
        encoded = self._groups_of(X, groups)
        return float(r2_score(encoded.one_per_group(y), self.predict_groups(X, encoded)))

    def staged_score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[float]:
        """What :meth:`score` would be after each round."""
        encoded = self._groups_of(X, groups)
        y_group = encoded.one_per_group(y)
        for predicted_row in self._staged(X):
            yield float(r2_score(y_group, self._of_groups(predicted_row, encoded)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
