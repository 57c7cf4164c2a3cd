"""Gradient-boosted regression trees trained on means or totals of groups."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.boosting import HistTrees
from groupwise.gbdt.base import GroupBoostMixin
from groupwise.gbdt.groupings import check_groupings, check_several_targets, target_of_grouping
from groupwise.gbdt.rounds import Callback, GroupTrees
from groupwise.groups import Groups
from groupwise.inputs import check_choice
from groupwise.losses import GroupLoss, NumberLoss, SeveralGroupings, get_number_loss
from groupwise.targets import (
    GroupTargets,
    check_exposure,
    check_known_targets,
    check_number_targets,
    score_of_times,
)

__all__ = ["GroupBoostRegressor", "resolve_number_loss"]


class GroupBoostRegressor(GroupBoostMixin, BaseGroupRegressor):
    r"""Gradient boosting on known means, totals, counts or survival times of groups.

    Rows have numbers that nobody saw; of each group their mean or their total is known. The trees
    give every row a number, by squared error of the groups' means times the groups' sizes
    (:class:`~groupwise.losses.GroupMeanLoss`). A group of one row makes this ordinary boosting.

    Parameters
    ----------
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    loss : str or NumberLoss, default="squared_error"
        An object has parameters of its own, which searches reach by ``loss__delta``:

        - ``"squared_error"``: of means; ``GroupMeanLoss(delta=2.0)`` counts errors of a group's
          mean beyond 2 linearly (Huber's loss).
        - ``"absolute_error"``: of means or totals; ``GroupQuantileLoss(0.9)`` for a quantile
          (:class:`~groupwise.losses.GroupQuantileLoss`).
        - ``"poisson"``, ``"negative_binomial"``: totals of counts, with ``exposure`` where rows
          have one; :meth:`predict` gives rates (:class:`~groupwise.losses.PoissonTotalLoss`,
          :class:`~groupwise.losses.NegativeBinomialTotalLoss`).
        - ``"cox"``: ``y`` is the group's survival time, negative where it was last seen without
          the event; what is predicted is a log hazard ratio
          (:class:`~groupwise.losses.CoxLoss`).
        - :class:`~groupwise.losses.SeveralGroupings`: a loss for each of several groupings of the
          rows; ``groups`` is then a table of ids. ``target`` is one for all.
    trees : HistTrees, default=None
        ``None`` for :class:`~groupwise.boosting.HistTrees` as it is; for survival times
        ``HistTrees(max_depth=2, subsample=0.5)``, the rows of each tree drawn by ``random_state``.
        Its ``min_leaf_weight`` is the smallest sum of weights in a leaf; a row has 1. Of survival
        times it is the smallest number of expected events, of which a row has its part.
    engine : {"lightgbm", "xgboost"}, default="lightgbm"
    n_estimators : int, default=100
    learning_rate : float, default=0.1
    early_stopping : bool, default=False
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
    engine_params : dict, default=None
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        All as in :class:`GroupBoostClassifier`.

    Attributes
    ----------
    loss_ : NumberLoss
    target_ : str
        What :meth:`predict_groups` predicts.
    ensemble_ : GroupTrees
    n_iter_ : int
    history_ : dict
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

    loss_: NumberLoss

    def __init__(
        self,
        target: str = "mean",
        *,
        loss: str | NumberLoss = "squared_error",
        trees: HistTrees | None = None,
        engine: str = "lightgbm",
        n_estimators: int = 100,
        learning_rate: float = 0.1,
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
        self.target = target
        self.loss = loss

    def _resolve_loss(self) -> GroupLoss:
        return resolve_number_loss(self)

    def _training_targets(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        loss: GroupLoss,
    ) -> GroupTargets:
        if isinstance(loss, SeveralGroupings):
            return check_several_targets(
                self, X, y, groups, sample_weight, loss, target=self.target
            )
        return check_number_targets(self, X, y, groups, sample_weight, self.target, loss)

    def _validation_targets(
        self, X: MatrixLike, y: ArrayLike | None, groups: Ids, loss: GroupLoss
    ) -> GroupTargets:
        if isinstance(loss, SeveralGroupings):
            return check_several_targets(
                self, X, y, groups, None, loss, training=False, target=self.target
            )
        return check_known_targets(self, X, y, groups, loss, target=self.target)

    def _store(
        self, loss: GroupLoss, ensemble: GroupTrees, history: dict[str, list[float]]
    ) -> None:
        super()._store(loss, ensemble, history)
        self.target_ = self.target

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
        init_model: "GroupBoostRegressor | None" = None,
        callbacks: Sequence[Callback] | None = None,
        exposure: ArrayLike | None = None,
        exposure_val: ArrayLike | None = None,
    ) -> "GroupBoostRegressor":
        """Fit to rows and their groups' numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The group's mean or total, repeated on each of its rows; for means the rows' own
            values will do. Several groupings: a table with a column for each.
        groups : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None
        X_val, y_val, groups_val : default=None
        init_model : GroupBoostRegressor, default=None
        callbacks : list of callables, default=None
            All as in :meth:`GroupBoostClassifier.fit`.
        exposure, exposure_val : array-like of shape (n_rows,), default=None
            Of losses of counts: time under risk, people, beds; a row's expected count is its rate
            times its exposure.

        Returns
        -------
        self : GroupBoostRegressor
        """
        validation = (X_val, y_val, groups_val)
        exposures = (exposure, exposure_val)
        self._fit(X, y, groups, sample_weight, validation, init_model, callbacks, exposures)
        return self

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self.loss_.predict(self.ensemble_.score(rows))

    def _answer_groups(self, y_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return self.loss_.combine(y_row, groups, target=self.target_)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids = None,
        exposure: ArrayLike | None = None,
    ) -> float:
        """How well groups are predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), default=None
        exposure : array-like of shape (n_rows,), default=None
            All as in ``fit``.

        Returns
        -------
        score : float
            R squared over groups; of survival times the concordance
            (:func:`~groupwise.metrics.concordance`), which needs no calibration: 0.5 is chance.
            Several groupings: the mean of the scores of those in ``groups``, by the weights of
            the losses.
        """
        if isinstance(self.loss_, SeveralGroupings):
            return self._score_groupings(self.predict(X), y, groups, exposure, self.loss_)
        if exposure is None:
            return super().score(X, y, groups)
        rows, encoded = self._checked(X, groups, about_groups=True)
        y_row = self._exposed(self._predict_rows(rows, encoded), exposure, encoded)
        return self._judge(
            NumberPredictions(encoded, y_row, self._answer_groups(y_row, encoded)), y
        )

    def _exposed(
        self, rate_row: NDArray[Any], exposure: ArrayLike | None, groups: Groups
    ) -> NDArray[Any]:
        """Expected counts: rates times exposures, where there are any."""
        if exposure is None:
            return rate_row
        if not self.loss_.takes_exposure:
            raise ValueError(f"exposure is for losses of counts, not for {self.loss_!r}")
        return rate_row * check_exposure(exposure, groups)

    def _score_groupings(
        self,
        y_row: NDArray[Any],
        y: ArrayLike,
        groups: Ids,
        exposure: ArrayLike | None,
        loss: SeveralGroupings,
    ) -> float:
        groupings = check_groupings(groups, len(y_row), loss, some=True)
        y_row = self._exposed(y_row, exposure, Groups.singletons(len(y_row)))
        scores, weights = [], []
        for name, encoded in groupings.groups.items():
            inside = groupings.rows[name]
            if len(inside) == 0:
                continue
            found = self._answer_groups(y_row[inside], encoded)
            predictions = NumberPredictions(encoded, y_row[inside], found)
            scores.append(self._judge(predictions, target_of_grouping(y, name, groupings)))
            weights.append(loss.weight_of(name))
        return float(np.average(scores, weights=weights))

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        if self.loss_.target_kind != "time":
            return super()._judge(predictions, y)
        return score_of_times(y, predictions.groups, predictions.y_group)

    def staged_predict(self, X: MatrixLike) -> Iterator[NDArray[Any]]:
        """Predictions of the rows after each round."""
        for score_row in self._staged(X):
            yield self.loss_.predict(score_row)

    def staged_score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids = None,
        exposure: ArrayLike | None = None,
    ) -> Iterator[float]:
        """What :meth:`score` would be after each round."""
        if isinstance(self.loss_, SeveralGroupings):
            for y_row in self.staged_predict(X):
                yield self._score_groupings(y_row, y, groups, exposure, self.loss_)
            return
        rows, encoded = self._checked(X, groups, about_groups=True)
        for score_row in self.ensemble_.staged_score(rows):
            y_row = self._exposed(self.loss_.predict(score_row), exposure, encoded)
            y_group = self._answer_groups(y_row, encoded)
            yield self._judge(NumberPredictions(encoded, y_row, y_group), y)


def resolve_number_loss(model: GroupBoostRegressor) -> NumberLoss:
    """A copy of the loss, with its parameters and the target checked."""
    check_choice("target", model.target, ("mean", "total"))
    loss = get_number_loss(model.loss)
    loss.check_parameters()
    if isinstance(loss, SeveralGroupings) and not loss.of_numbers:
        raise ValueError(f"{loss!r} is of classes: use GroupBoostClassifier")
    if loss.target_kind == "time" and model.target != "mean":
        raise ValueError(f"{loss!r} is of times, which have no total; leave target as it is")
    return loss
