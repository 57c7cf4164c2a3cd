"""Histogram trees as weak learners: LightGBM bins the features once, then only grows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import lightgbm as lgb
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from groupwise.boosting.protocol import resample_counts
from groupwise.inputs.parameters import check_number
from groupwise.recipes import Recipe

__all__ = ["HistTreeEnsemble", "HistTrees", "lightgbm_input", "thread_count", "training_scores"]

# A leaf this close to a tie votes for the first class. Far above the rounding of summed scores, far
# below any vote that matters, so that rows and leaves always agree on the sign.
_TIE = 1e-9


def lightgbm_input(X: Any) -> Any:
    """LightGBM reads scipy's sparse matrices in silence, but not its sparse arrays."""
    return csr_matrix(X) if issparse(X) else X


def thread_count(n_jobs: int | None, X: Any) -> int:
    """Threads to ask an engine for; 0 is all cores.

    On small tables threads spend more time waiting for each other than they save, and on a busy
    machine a hundred times more.
    """
    if n_jobs is None:
        return 1 if X.shape[0] * X.shape[1] < 500_000 else 0
    return n_jobs


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
        given = self.get_params(deep=False)
        return HistTrees(**{**given, "categorical_features": columns, "monotonic_cst": constraints})

    def bind(self, X: Any) -> "_BoundHistTrees":
        """Bin the features."""
        self.check()
        trees = self.by_position(X.shape[1])
        params = {**trees._engine_params(), "num_threads": thread_count(self.n_jobs, X)}
        dataset = lgb.Dataset(
            lightgbm_input(X),
            label=np.zeros(X.shape[0], dtype=np.float32),
            categorical_feature=[int(c) for c in trees.categorical_features or ()] or "auto",
            params=params,
        )
        return _BoundHistTrees(dataset.construct(), params)

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


class _BoundHistTrees:
    def __init__(self, dataset: lgb.Dataset, params: dict[str, Any]):
        self.dataset = dataset
        self.params = params

    def start(self, n_classes: int, rng: np.random.RandomState, *, resample: bool) -> "HistTreeRun":
        if n_classes != 2:
            raise ValueError(
                f"HistTrees vote between two classes, not {n_classes}; boost one class against the "
                "rest, or pass a scikit-learn classifier as estimator"
            )
        # LightGBM refuses to train where every feature is constant
        booster = lgb.Booster(self.params, self.dataset) if self._splittable() else None
        return HistTreeRun(booster, rng if resample else None)

    def _splittable(self) -> bool:
        columns = range(self.dataset.num_feature())
        return any(self.dataset.feature_num_bin(column) > 1 for column in columns)


class HistTreeRun:
    """Trees grown on one live booster, for one weighting of the rows after another."""

    def __init__(self, booster: lgb.Booster | None, rng: np.random.RandomState | None):
        self.booster = booster
        self.rng = rng
        # Of each round: its tree's position in the booster, or the sign of a vote without a tree.
        self.rounds: list[tuple[int | None, float]] = []
        self._raw: NDArray[Any] | float = 0.0

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[np.intp]:
        if self.rng is not None:
            weight = resample_counts(weight, self.rng).astype(float)
        hess = (weight * (len(weight) / weight.sum())).astype(np.float32)
        grad = np.where(target == 1, -hess, hess)  # the step -grad/hess is the label, -1 or +1
        # update() says whether it got stuck, for want of a split
        if self.booster is None or self.booster.update(fobj=lambda _scores, _data: (grad, hess)):
            vote = float(grad.sum() < 0)  # the heavier class everywhere
            self.rounds.append((None, 2.0 * vote - 1.0))
            return np.full(len(target), int(vote), dtype=np.intp)
        self.rounds.append((self.booster.num_trees() - 1, 0.0))
        raw = training_scores(self.booster)
        leaf_row = raw - self._raw
        self._raw = raw
        return (leaf_row > _TIE).astype(np.intp)

    def combine(self, weights: Sequence[float]) -> "HistTreeEnsemble":
        """Write each vote's weight into the leaves, so that the booster's sum is the ensemble's."""
        grown = self.booster if any(tree is not None for tree, _ in self.rounds) else None
        info = grown.dump_model()["tree_info"] if grown else []
        bias = 0.0
        rounds: list[tuple[int | None, float]] = []
        for weight, (tree, vote) in zip(weights, self.rounds, strict=False):
            if tree is None or grown is None:
                bias += weight * vote
                rounds.append((None, weight * vote))
                continue
            rounds.append((tree, 0.0))
            for leaf in range(info[tree]["num_leaves"]):
                positive = grown.get_leaf_output(tree, leaf) > _TIE
                grown.set_leaf_output(tree, leaf, weight if positive else -weight)
        n_trees = 1 + max((tree for tree, _ in rounds if tree is not None), default=-1)
        text = grown.model_to_string(num_iteration=n_trees) if grown and n_trees else None
        return HistTreeEnsemble(text, bias, rounds)


def training_scores(booster: lgb.Booster) -> NDArray[Any]:
    """The booster's running scores of its training rows, which it keeps: no pass over the trees."""
    seen = []

    def keep(scores: NDArray[Any], _data: lgb.Dataset) -> tuple[str, float, bool]:
        seen.append(scores.copy())
        return "scores", 0.0, False

    booster.eval_train(keep)
    return seen[0]


class HistTreeEnsemble:
    """Weighted histogram trees: one pass over one booster.

    Attributes
    ----------
    model_text : str or None
        The booster in LightGBM's own text format; ``None`` if no round found a split.
    bias : float
        The sum of the votes without a tree.
    """

    def __init__(self, model_text: str | None, bias: float, rounds: list[tuple[int | None, float]]):
        self.model_text = model_text
        self.bias = bias
        self.rounds = rounds
        self._booster: lgb.Booster | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_booster": None}

    @property
    def booster(self) -> lgb.Booster:
        """The live LightGBM booster."""
        if self._booster is None:
            self._booster = lgb.Booster(model_str=self.model_text)
        return self._booster

    def score(self, X: Any) -> NDArray[Any]:
        X = lightgbm_input(X)
        score = np.full(X.shape[0], self.bias)
        if self.model_text is not None:
            threads = thread_count(None, X)
            score += self.booster.predict(X, raw_score=True, num_threads=threads)
        return score

    def staged_score(self, X: Any) -> Iterator[NDArray[Any]]:
        X = lightgbm_input(X)
        threads = thread_count(None, X)
        score = np.zeros(X.shape[0])
        for tree, vote in self.rounds:
            if tree is None:
                score = score + vote
            else:
                score = score + self.booster.predict(
                    X, raw_score=True, start_iteration=tree, num_iteration=1, num_threads=threads
                )
            yield score
