"""Gradient-boosted trees trained on what is known of groups."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from groupwise.base import BaseGroupClassifier
from groupwise.gbdt.base import BaseGroupBoost
from groupwise.gbdt.door import check_held_out, check_targets
from groupwise.gbdt.rounds import Progress
from groupwise.gbdt.targets import group_target, known_codes
from groupwise.groups import Groups
from groupwise.losses import GroupLoss, get_loss
from groupwise.rules import Rule, get_rule

__all__ = ["GroupBoostClassifier"]


class GroupBoostClassifier(BaseGroupBoost, BaseGroupClassifier):
    r"""Gradient boosting on a group loss, inside LightGBM or XGBoost.

    The trees score rows; the loss sees the scores group by group, and each round the engine grows a
    tree on its gradient and a curvature that majorises its Hessian.

    Parameters
    ----------
    loss : str or GroupLoss, default="majority"
        What ``y`` says of a group, and how a wrong score costs:

        - ``"majority"``, ``"majority_softmax"``: the class most rows have; SBoost's exponential
          loss or cross-entropy of rows and mean scores (:class:`~groupwise.losses.MajorityLoss`,
          :class:`~groupwise.losses.SessionSoftmaxLoss`).
        - ``"presence"``, ``"presence_lse"``: the second class if at least one row has it; noisy-or
          or a smooth largest score (:class:`~groupwise.losses.NoisyOrLoss`,
          :class:`~groupwise.losses.SmoothMaxLoss`). Two classes.
        - ``"proportions"``, ``"proportions_squared"``: how many rows each class has; likelihood of
          the counts or squared error of the shares
          (:class:`~groupwise.losses.CountLikelihoodLoss`, :class:`~groupwise.losses.ShareLoss`).
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
        XGBoost is an optional extra. To it, entries that a sparse matrix does not store are
        missing; to LightGBM they are zeros.
    n_estimators : int, default=100
        Rounds; with three or more classes each grows one tree per class.
    learning_rate : float, default=0.1
    max_depth : int, default=3
    max_leaves : int, default=None
        Grow the best leaves first up to this number; ``None`` grows all to ``max_depth``.
    min_leaf_weight : float, default=1.0
        Smallest sum of curvature in a leaf; a row has about 1/4 at the start.
    reg_lambda : float, default=1.0
        L2 penalty on leaf values.
    subsample, feature_fraction : float, default=1.0
        Share of rows per round and of features per tree.
    max_bins : int, default=255
    gamma : float, default=4.0
        Weight of the session's error in the majority losses; others have no use for it.
    rule : {"majority", "mean", "score", "any"} or rule, default=None
        How rows decide for their group. ``None``: by their mean score, which the majority losses
        train (on sessions of cmc, german and WISDM it errs less than the vote); for presence the
        loss's own group probability, for proportions the mean probability (the predicted share).
    categorical_features : list of int or str, default=None
        Columns (positions or names) that hold category codes, non-negative integers.
    monotone_constraints : list of {-1, 0, 1}, one per feature, default=None
    early_stopping : bool, default=False
        Hold groups out (or take ``X_val``) and stop when their loss no longer falls; the rounds up
        to the best are kept.
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
        Share of the groups to hold out.
    n_threads : int, default=None
        ``None``: all cores, or one for small tables, where more would only wait.
    engine_params : dict, default=None
        Anything else, in the engine's own words; overrides the rest.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        Log the losses every so many rounds, to the logger ``groupwise.gbdt``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    trees_ : GroupTrees
        The start score and the trees; ``trees_.parts[0].booster`` is the engine's booster.
    best_iteration_ : int
        Rounds kept, those of a continued model included.
    evals_result_ : dict
        Loss over weight after each round, ``"train"`` and ``"valid"``; empty without held-out
        groups, callbacks or ``verbose``.
    feature_importances_ : ndarray of shape (n_features,)
    n_groups_ : int

    Examples
    --------
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.gbdt import GroupBoostClassifier
    >>> s = make_triangle_sessions(n_sessions=80, random_state=0)
    >>> clf = GroupBoostClassifier(n_estimators=30).fit(s.X, s.y, groups=s.groups)
    >>> clf.predict_groups(s.X, groups=s.groups).shape
    (80,)
    """

    __metadata_request__fit = {"groups": True}  # noqa: RUF012  # scikit-learn reads a plain dict

    def __init__(
        self,
        loss: str | GroupLoss = "majority",
        *,
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
        gamma: float = 4.0,
        rule: str | Rule | None = None,
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
        self.loss = loss
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
        self.gamma = gamma
        self.rule = rule
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

    def _loss(self) -> GroupLoss:
        return get_loss(self.loss, gamma=self.gamma)

    def _rule(self) -> Rule:
        return get_rule("score" if self.rule is None else self.rule)

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
        init_model: "GroupBoostClassifier | None" = None,
        callbacks: Sequence[Callable[[Progress], Any]] | None = None,
    ) -> "GroupBoostClassifier":
        """Fit to rows and what is known of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            Majority and presence: the group's label on each of its rows. Proportions: labels of
            rows, of which only the number per group is used; or a table of the classes' shares or
            counts in the group, repeated on its rows (a DataFrame names the classes).
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group, which makes every loss its classical parent.
        sample_weight : array-like of shape (n_rows,), default=None
            Its mean over a group weighs the group, its ratio to that mean a row inside the group.
            Rows of weight 0 are left out.
        X_val, y_val, groups_val : default=None
            Held-out rows, for ``evals_result_`` and early stopping.
        init_model : GroupBoostClassifier, default=None
            A fitted model to continue: ``n_estimators`` rounds are added to a copy of its trees.
        callbacks : list of callables, default=None
            Each gets a :class:`~groupwise.gbdt.Progress` after each round; ``True`` stops.

        Returns
        -------
        self : GroupBoostClassifier
        """
        self._check_boosting()
        self._rule()
        loss = self._loss()
        data = check_targets(self, X, y, groups, sample_weight, loss)
        held = None
        if X_val is not None:
            held = check_held_out(self, X_val, y_val, groups_val, loss)
        self._fit(data, held, loss, len(self.classes_), init_model, callbacks)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score of each row: log-odds for two classes, softmax scores for more.

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        rows = self._checked(X)
        return self.trees_.score(rows)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities of each row.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        return self._loss().proba(self.decision_function(X))

    def predict_groups_proba(
        self, X: Any, groups: ArrayLike | Groups | None = None
    ) -> NDArray[Any]:
        """Probability of each class for each group; for proportions, the predicted shares.

        Returns
        -------
        proba : ndarray of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        return self._combine(self.decision_function(X), self._groups_of(X, groups))

    def _combine(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        loss = self._loss()
        own = loss.proba_groups(score_row, groups) if self.rule is None else None
        return self._rule().combine(loss.proba(score_row), groups) if own is None else own

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores of the rows after each round."""
        return self._staged(X)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Classes of the rows after each round."""
        for score in self._staged(X):
            yield self.classes_[self._loss().proba(score).argmax(axis=1)]

    def staged_score(
        self, X: Any, y: ArrayLike, groups: ArrayLike | None = None
    ) -> Iterator[float]:
        """What :meth:`score` would be after each round."""
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        target = self._true_groups(y, encoded)
        for score in self._staged(X):
            yield self._judge(self._combine(score, encoded), target)

    def score(self, X: Any, y: ArrayLike, groups: ArrayLike | Groups | None = None) -> float:
        r"""How well groups are predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            As in ``fit``.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
            Majority and presence: share of groups whose class is predicted right. Proportions: one
            less the mean over groups of the total variation distance
            :math:`\tfrac12 \sum_k |\hat t_k - t_k|` between predicted and true shares (for two
            classes, one less the mean absolute error); 1 is perfect.
        """
        check_is_fitted(self)
        encoded = self._groups_of(X, groups)
        target = self._true_groups(y, encoded)
        return self._judge(self.predict_groups_proba(X, encoded), target)

    def _true_groups(self, y: Any, groups: Groups) -> NDArray[Any]:
        loss = self._loss()
        y_row = known_codes(y, groups, loss, self.classes_)
        return group_target(loss, y_row, groups, len(self.classes_))

    def _judge(self, proba_group: NDArray[Any], target: NDArray[Any]) -> float:
        if target.ndim == 2:
            return float(1.0 - 0.5 * np.abs(proba_group - target).sum(axis=1).mean())
        return float(np.mean(proba_group.argmax(axis=1) == target))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        presence = str(self.loss).startswith("presence")
        tags.classifier_tags.multi_class = not getattr(self.loss, "binary", presence)
        return tags
