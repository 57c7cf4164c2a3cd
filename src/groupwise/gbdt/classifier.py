"""Gradient-boosted trees trained on what is known of groups."""

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Tags

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupClassifier, Predictions
from groupwise.boosting import HistTrees
from groupwise.gbdt.base import GroupBoostMixin
from groupwise.gbdt.groupings import check_groupings, check_several_targets, target_of_grouping
from groupwise.gbdt.rounds import Callback, GroupTrees
from groupwise.groups import Groups
from groupwise.inputs import ClassWeight, check_class_weight
from groupwise.losses import LOSSES, GroupLoss, SeveralGroupings, get_loss
from groupwise.rules import Rule
from groupwise.targets import (
    GroupTargets,
    check_class_targets,
    check_known_targets,
    combine_scores,
    group_truth,
    known_codes,
    mean_of_known,
    resolve_rule,
    score_by_group,
)

__all__ = ["GroupBoostClassifier"]


class GroupBoostClassifier(GroupBoostMixin, BaseGroupClassifier):
    r"""Gradient boosting on a group loss, inside LightGBM or XGBoost.

    The trees score rows; the loss sees the scores group by group, and each round the engine grows a
    tree on its gradient and a curvature that majorises its Hessian.

    Parameters
    ----------
    loss : str or GroupLoss, default="majority"
        What ``y`` says of a group, and how a wrong score costs. A name stands for the loss with
        its default parameters; an object has its own (``MajorityLoss(gamma=16)``), which searches
        reach by ``loss__gamma``:

        - ``"majority"``, ``"majority_softmax"``: the class most rows have; SBoost's exponential
          loss or cross-entropy of rows and mean scores (:class:`~groupwise.losses.MajorityLoss`,
          :class:`~groupwise.losses.SessionSoftmaxLoss`).
        - ``"presence"``, ``"presence_lse"``: the second class if at least one row has it; noisy-or
          or a smooth largest score (:class:`~groupwise.losses.NoisyOrLoss`,
          :class:`~groupwise.losses.SmoothMaxLoss`). Two classes.
        - ``"proportions"``, ``"proportions_squared"``: how many rows each class has; likelihood of
          the counts or squared error of the shares
          (:class:`~groupwise.losses.CountLikelihoodLoss`, :class:`~groupwise.losses.ShareLoss`).
        - ``"reported_counts"``: how many rows have the second class, as it was reported: with
          noise, rounded, left out where small, or as a range
          (:class:`~groupwise.losses.ReportedCountLoss`). The classes are 0 and 1; of three and
          more classes ``y`` has a column each, named after them (two each for ranges);
          ``"reported_counts_exact"`` takes them together in small groups
          (:class:`~groupwise.losses.ExactReportedLoss`).
        - ``"ordinal"``: the group's grade, classes in their sorted order; proportional odds of the
          mean score or, ``OrdinalLoss(sharpness=2)``, of a smooth largest one
          (:class:`~groupwise.losses.OrdinalLoss`). Rows have one score, however many grades.
        - :class:`~groupwise.losses.SeveralGroupings`: a loss for each of several groupings of the
          rows; ``groups`` is then a table of ids.
    trees : HistTrees, default=None
        How deep, how large and on which part of the data trees are grown; ``None`` for
        :class:`~groupwise.boosting.HistTrees` as it is. Searches reach into it by
        ``trees__max_depth``. Its ``l2_regularization=None`` is 1 here, and its
        ``min_leaf_weight`` the smallest sum of curvature in a leaf (a row has about 1/4 at the
        start).
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
        XGBoost is an optional extra. To it, entries that a sparse matrix does not store are
        missing; to LightGBM they are zeros.
    n_estimators : int, default=100
        Rounds; with three or more classes each grows one tree per class.
    learning_rate : float, default=0.1
    rule : {"majority", "mean", "score", "any"} or rule, default=None
        How rows decide for their group. ``None``: by their mean score, which the majority losses
        train (on sessions of cmc, german and WISDM it errs less than the vote); for presence the
        loss's own group probability, for proportions the mean probability (the predicted share).
    class_weight : {"balanced", None} or dict, default=None
        Of groups by their label, for losses of one label per group; ``"balanced"``: all classes
        have the same total over groups. Multiplies ``sample_weight``; not for held-out groups that
        are passed as ``X_val``.
    early_stopping : bool, default=False
        Hold groups out (or take ``X_val``) and stop when their loss no longer falls; the rounds up
        to the best are kept.
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
        Share of the groups to hold out.
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
    loss_ : GroupLoss
    rule_ : rule or None
        ``None`` where the loss has a group probability of its own.
    ensemble_ : GroupTrees
        The start score and the trees; ``ensemble_.parts[0].booster`` is the engine's booster.
    n_iter_ : int
        Rounds kept, those of a continued model included.
    history_ : dict
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

    rule_: Rule | None  # type: ignore[assignment]  # None: the loss decides

    def __init__(
        self,
        loss: str | GroupLoss = "majority",
        *,
        trees: HistTrees | None = None,
        engine: str = "lightgbm",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        rule: str | Rule | None = None,
        class_weight: ClassWeight = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.2,
        engine_params: dict[str, Any] | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        super().__init__(
            trees=trees,
            engine=engine,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            validation_fraction=validation_fraction,
            engine_params=engine_params,
            group_column=group_column,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss
        self.rule = rule
        self.class_weight = class_weight

    def _resolve_loss(self) -> GroupLoss:
        loss = copy(get_loss(self.loss))
        if loss.target_kind == "labels":
            raise ValueError(
                f"{loss!r} is of several labels per group: use GroupBoostMultilabelClassifier"
            )
        loss.check_parameters()
        resolve_rule(self.rule, loss)
        check_class_weight(self.class_weight)
        if self.class_weight is not None and loss.target_kind != "label":
            raise ValueError(
                f"class_weight weighs groups by their label, and {loss!r} has none: pass "
                "sample_weight to fit"
            )
        if isinstance(loss, SeveralGroupings):
            if loss.of_numbers:
                raise ValueError(f"{loss!r} is of numbers: use GroupBoostRegressor")
            if self.rule is not None:
                raise ValueError("with several groupings each loss decides for groups: no rule")
        return loss

    def _training_targets(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        loss: GroupLoss,
    ) -> GroupTargets:
        if isinstance(loss, SeveralGroupings):
            return check_several_targets(self, X, y, groups, sample_weight, loss)
        data = check_class_targets(self, X, y, groups, sample_weight, loss)
        return data.class_weighted(self.class_weight)

    def _validation_targets(
        self, X: MatrixLike, y: ArrayLike | None, groups: Ids, loss: GroupLoss
    ) -> GroupTargets:
        if isinstance(loss, SeveralGroupings):
            known = self.classes_
            return check_several_targets(
                self, X, y, groups, None, loss, training=False, classes=known
            )
        return check_known_targets(self, X, y, groups, loss, classes=self.classes_)

    def _store(
        self, loss: GroupLoss, ensemble: GroupTrees, history: dict[str, list[float]]
    ) -> None:
        super()._store(loss, ensemble, history)
        self.rule_ = resolve_rule(self.rule, loss)

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        sample_weight: ArrayLike | None = None,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        groups_val: Ids = None,
        init_model: "GroupBoostClassifier | None" = None,
        callbacks: Sequence[Callback] | None = None,
    ) -> "GroupBoostClassifier":
        """Fit to rows and what is known of their groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            Majority and presence: the group's label on each of its rows. Proportions: labels of
            rows, of which only the number per group is used; or a table of the classes' shares or
            counts in the group, repeated on its rows (a DataFrame names the classes). Reported
            counts: the number, NaN where there is none, or two columns with the ends of a range.
            Several groupings: a DataFrame with a column for each (two levels of columns where one
            is a table), or a mapping.
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is a group, which makes every loss its classical parent. Several
            groupings: a table with a column of ids for each; rows without an id are in no group.
        sample_weight : array-like of shape (n_rows,), default=None
            Its mean over a group weighs the group, its ratio to that mean a row inside the group.
            Rows of weight 0 are left out.
        X_val, y_val, groups_val : default=None
            Held-out rows, for ``history_`` and early stopping.
        init_model : GroupBoostClassifier, default=None
            A fitted model to continue: ``n_estimators`` rounds are added to a copy of its trees.
        callbacks : list of callables, default=None
            Each gets a :class:`~groupwise.gbdt.Progress` after each round; ``True`` stops.

        Returns
        -------
        self : GroupBoostClassifier
        """
        validation = (X_val, y_val, groups_val)
        self._fit(X, y, groups, sample_weight, validation, init_model, callbacks)
        return self

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self.ensemble_.score(rows)
        return score_row, self.loss_.proba(score_row)

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        return combine_scores(score_row, groups, self.loss_, self.rule_)

    def staged_decision_function(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Scores of the rows after each round."""
        return self._staged(X)

    def staged_predict(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Classes of the rows after each round."""
        for score in self._staged(X):
            yield self.classes_[self.loss_.proba(score).argmax(axis=1)]

    def staged_score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> Iterator[float]:
        """What :meth:`score` would be after each round."""
        if isinstance(self.loss_, SeveralGroupings):
            for score_row in self._staged(X):
                yield self._score_groupings(score_row, y, groups, self.loss_)
            return
        rows, encoded = self._checked(X, groups, about_groups=True)
        target = self._true_groups(y, encoded)
        for score_row in self.ensemble_.staged_score(rows):
            proba_group = combine_scores(score_row, encoded, self.loss_, self.rule_)
            yield mean_of_known(score_by_group(proba_group, target))

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
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
            classes, one less the mean absolute error); 1 is perfect. Reported counts: the same
            against the middle of what is reported, or of what was left out as small, over the
            groups of which something is known. Several groupings: the mean of the scores of those
            in ``groups``, by the weights of the losses.
        """
        if isinstance(self.loss_, SeveralGroupings):
            return self._score_groupings(self.decision_function(X), y, groups, self.loss_)
        return super().score(X, y, groups)

    def _score_groupings(
        self, score_row: NDArray[Any], y: ArrayLike, groups: Ids, loss: SeveralGroupings
    ) -> float:
        groupings = check_groupings(groups, len(score_row), loss, some=True)
        losses = loss.each()
        scores, weights = [], []
        for name, encoded in groupings.groups.items():
            inside, each = groupings.rows[name], losses[name]
            if len(inside) == 0:
                continue
            target = self._true_groups(target_of_grouping(y, name, groupings), encoded, each)
            proba_group = combine_scores(score_row[inside], encoded, each, each.default_rule)
            scores.append(mean_of_known(score_by_group(proba_group, target)))
            weights.append(loss.weight_of(name))
        return float(np.average(scores, weights=weights))

    def _judge(self, predictions: Predictions, y: ArrayLike) -> float:
        target = self._true_groups(y, predictions.groups)
        return mean_of_known(score_by_group(predictions.proba_group, target))

    def _true_groups(
        self, y: ArrayLike, groups: Groups, loss: GroupLoss | None = None
    ) -> NDArray[Any]:
        loss = self.loss_ if loss is None else loss
        y_row = known_codes(y, groups, loss, self.classes_)
        return group_truth(loss, y_row, groups, len(self.classes_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        loss = LOSSES.get(self.loss) if isinstance(self.loss, str) else self.loss
        tags.classifier_tags.multi_class = not getattr(loss, "binary", False)
        return tags
