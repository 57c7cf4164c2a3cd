"""Histogram trees as weak learners: LightGBM bins the features once, then only grows."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.boosting.hist_tree_runs import BoundHistTrees
from groupwise.boosting.lightgbm import binned, thread_count
from groupwise.inputs.parameters import check_number
from groupwise.recipes import Recipe

__all__ = ["EngineOptions", "HistTrees", "Objective", "SoftTrees"]

#: Scores of the training rows and the engine's own data object in, gradient and curvature out.
Objective = Callable[[NDArray[Any], Any], tuple[NDArray[Any], NDArray[Any]]]


class HistTrees(Recipe):
    r"""Trees on binned features: what to grow, for every method that boosts trees.

    As a weak learner for two classes all trees of a run grow on one live LightGBM booster, so the
    features are binned once. The tree of a round minimises the weighted squared error to labels of
    -1 and +1, which for two classes is the Gini criterion; its vote is the sign of each leaf.

    Parameters
    ----------
    max_depth : int, default=3
    max_leaf_nodes : int, default=None
        Grow the best leaves first up to this number; ``None`` grows all to ``max_depth``.
    min_leaf_weight : float, default=1.0
        Smallest total weight of a leaf, where the mean weight of a row is 1.
    l2_regularization : float, default=None
        Added to the weight of a leaf, which shrinks its value and the gain of its split. ``None``:
        the learner's own default, 0 for votes of weak learners and 1 in gradient boosting.
    subsample : float, default=1.0
        Share of the rows that a tree is grown on, drawn anew for each.
    max_features : float, default=1.0
        Share of the features that a tree may use, drawn anew for each.
    max_bins : int, default=255
    categorical_features : sequence of int or str, default=None
        Columns that hold category codes (non-negative integers), by position or name.
    monotonic_cst : sequence of {-1, 0, 1} or dict of str to {-1, 0, 1}, default=None
        Per feature: the score may only fall, do as it likes, or only rise with it.
    n_jobs : int, default=None
        Threads. ``None``: all cores, or one for small tables, where more would only wait.

    Notes
    -----
    Missing values (NaN) go to the side of a split where they fit best. Features with up to
    ``max_bins`` distinct values are split exactly as by any other tree.

    Examples
    --------
    >>> from groupwise import HistTrees, SBoostClassifier
    >>> SBoostClassifier(HistTrees(max_depth=2))
    SBoostClassifier(estimator=HistTrees(max_depth=2))
    """

    #: Missing values need no filling.
    accepts_nan = True

    def __init__(
        self,
        max_depth: int = 3,
        *,
        max_leaf_nodes: int | None = None,
        min_leaf_weight: float = 1.0,
        l2_regularization: float | None = None,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Sequence[int | str] | None = None,
        monotonic_cst: Sequence[int] | Mapping[str, int] | None = None,
        n_jobs: int | None = None,
    ):
        self.max_depth = max_depth
        self.max_leaf_nodes = max_leaf_nodes
        self.min_leaf_weight = min_leaf_weight
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs

    def check(self) -> None:
        """Refuse parameters that no tree can have."""
        check_number("max_depth", self.max_depth, "[1, inf)", whole=True)
        check_number("max_leaf_nodes", self.max_leaf_nodes, "[2, inf)", whole=True, none=True)
        check_number("min_leaf_weight", self.min_leaf_weight, "[0, inf)")
        check_number("l2_regularization", self.l2_regularization, "[0, inf)", none=True)
        check_number("subsample", self.subsample, "(0, 1]")
        check_number("max_features", self.max_features, "(0, 1]")
        check_number("max_bins", self.max_bins, "[2, inf)", whole=True)
        check_number("n_jobs", self.n_jobs, "(-inf, inf)", whole=True, none=True)

    def by_position(
        self, n_features: int, feature_names: Sequence[str] | None = None
    ) -> "HistTrees":
        """The same trees with all columns given by position.

        Parameters
        ----------
        n_features : int
        feature_names : sequence of str of length n_features, default=None

        Returns
        -------
        trees : HistTrees

        Raises
        ------
        ValueError
            For a column that is not among the features, and for a wrong number of constraints.
        """
        names = [] if feature_names is None else list(feature_names)
        columns, constraints = self.categorical_features, self.monotonic_cst
        if columns is not None:
            columns = [
                _position(column, n_features, names, "categorical_features") for column in columns
            ]
        if isinstance(constraints, Mapping):
            by_column = {
                _position(column, n_features, names, "monotonic_cst"): int(sign)
                for column, sign in constraints.items()
            }
            constraints = [by_column.get(column, 0) for column in range(n_features)]
        elif constraints is not None and len(constraints) != n_features:
            raise ValueError(
                f"monotonic_cst must hold one entry per feature ({n_features}), "
                f"got {len(constraints)}"
            )
        trees = copy(self)
        trees.categorical_features, trees.monotonic_cst = columns, constraints
        return trees

    def with_categories(self, columns: Sequence[int]) -> "HistTrees":
        """The same trees, by position, with these columns as categories too."""
        trees = copy(self)
        known = {int(column) for column in (*(self.categorical_features or ()), *columns)}
        trees.categorical_features = sorted(known)
        return trees

    def soft(self) -> "SoftTrees":
        """The same trees, each leaf voting with its share of the classes."""
        return SoftTrees(self)

    def bind(self, X: Rows) -> BoundHistTrees:
        """Bin the features."""
        self.check()
        trees = self.by_position(X.shape[1])
        params = {**trees._engine_params(), "num_threads": thread_count(self.n_jobs, X)}
        dataset = binned(X, params, [int(column) for column in trees.categorical_features or ()])
        return BoundHistTrees(dataset, params)

    def _engine_params(self) -> dict[str, Any]:
        params = {
            "objective": "none",
            "metric": "none",
            "learning_rate": 1.0,
            "lambda_l2": self.l2_regularization or 0.0,
            "max_depth": self.max_depth,
            "num_leaves": self.max_leaf_nodes or 2 ** min(self.max_depth, 17),
            "min_data_in_leaf": 1,
            "min_data_in_bin": 1,
            "min_sum_hessian_in_leaf": max(self.min_leaf_weight, 1e-4),
            "bagging_fraction": self.subsample,
            "bagging_freq": 1 if self.subsample < 1.0 else 0,
            "feature_fraction": self.max_features,
            "cat_l2": 0.0,
            "cat_smooth": 0.0,
            "min_data_per_group": 1,
            "max_bin": self.max_bins,
            "feature_pre_filter": False,
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }
        if self.monotonic_cst is not None:
            params["monotone_constraints"] = list(self.monotonic_cst)
        return params


def _position(column: Any, n_features: int, names: Sequence[str], parameter: str) -> int:
    if isinstance(column, str):
        if column not in names:
            raise ValueError(f"{parameter} names {column!r}, columns are {list(names)}")
        return list(names).index(column)
    if not 0 <= column < n_features:
        raise ValueError(f"{parameter} holds column {column!r}, X has {n_features} columns")
    return int(column)


@dataclass(frozen=True)
class SoftTrees:
    """The trees of :class:`HistTrees` with values in [0, 1].

    A leaf's value in the booster is the weighted mean of the labels -1 and +1, twice the share of
    the second class less one.
    """

    trees: HistTrees
    accepts_nan = True

    def bind(self, X: Rows) -> BoundHistTrees:
        return replace(self.trees.bind(X), is_soft=True)

    def soft(self) -> "SoftTrees":
        return self


@dataclass(frozen=True)
class EngineOptions:
    """How an engine grows trees.

    Attributes
    ----------
    trees : HistTrees
        Columns by position.
    learning_rate : float
    seed : int
        Of the draws of rows and features.
    extra : dict
        In the engine's own words; overrides the rest.
    """

    trees: HistTrees
    learning_rate: float = 0.1
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def l2(self) -> float:
        """L2 penalty on leaf values, 1 unless the trees have their own."""
        given = self.trees.l2_regularization
        return 1.0 if given is None else given

    @property
    def categorical(self) -> list[int]:
        """Positions of the columns that hold category codes."""
        return [int(column) for column in self.trees.categorical_features or ()]

    @property
    def monotonic(self) -> list[int] | None:
        """One sign per feature, or ``None``."""
        signs = self.trees.monotonic_cst
        return None if signs is None else [int(sign) for sign in signs]
