"""Networks trained on means, totals or survival times of groups."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import BaseGroupRegressor, NumberPredictions
from groupwise.groups import Groups
from groupwise.inputs import check_choice
from groupwise.losses import GroupLoss, NumberLoss, get_number_loss
from groupwise.nets.answers import less_the_others
from groupwise.nets.base import GroupNetMixin, Prepared
from groupwise.nets.progress import Callback
from groupwise.targets import (
    GroupTargets,
    check_exposure,
    check_number_targets,
    score_of_times,
)

__all__ = ["GroupNetRegressor"]


class GroupNetRegressor(GroupNetMixin, BaseGroupRegressor):
    r"""An ensemble of networks trained on known means, totals or survival times of groups.

    Rows have numbers that nobody saw; of each group their mean or their total is known. Without
    ``pooling`` the networks give every row a number, by squared error of the groups' means times
    the groups' sizes. With one they give the group its mean, and groups count once each.

    Parameters
    ----------
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    loss : str or NumberLoss, default="squared_error"
        ``"squared_error"``, ``"absolute_error"``, ``"poisson"``, ``"negative_binomial"``,
        ``"cox"`` or an object with parameters, all as in
        :class:`~groupwise.gbdt.GroupBoostRegressor`. With a ``pooling`` a group's score is its
        mean, the log of its rate, or its log hazard ratio. ``"cox"`` compares groups with each
        other: every step takes all of them, and ``batch_groups`` must be ``None``.
    pooling : {"mean", "max", "mean_max", "attention", "set_transformer"}, default=None
    encoder : tuple of int or torch.nn.Module, default=(64, 64)
    n_bins : int, default=None
    n_members : int, default=5
    epochs : int, default=200
    batch_groups : int or float, default=None
    learning_rate : float, default=2e-3
    alpha : float, default=1e-2
    dropout : float, default=0.25
    max_norm : float, default=None
    early_stopping : bool, default=False
    n_iter_no_change : int, default=10
    validation_fraction : float, default=0.2
    half_precision : bool, default=False
    device : str, default=None
    checkpoint : str, default=None
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
    verbose : int, default=0
        All as in :class:`GroupNetClassifier`.

    Attributes
    ----------
    loss_ : NumberLoss
    target_ : str
    ensemble_ : NetEnsemble
    history_ : dict
    n_iter_ : int
    device_ : str
    row_shape_ : tuple of int
    n_groups_ : int
        All as in :class:`GroupNetClassifier`.

    Notes
    -----
    With a pooling f, a row's number is :math:`m f(G) - (m - 1) f(G \setminus j)`: the total of its
    group less the total of the others. For the mean of vectors and a linear head that is the number
    of the row by itself; the numbers of a group need not add up to its total for other poolings. A
    rate of counts is at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> from groupwise.nets import GroupNetRegressor
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(20), 3)
    >>> total = Groups(groups).spread(Groups(groups).sum(X[:, 0]))
    >>> reg = GroupNetRegressor("total", epochs=20, n_members=2, random_state=0)
    >>> reg = reg.fit(X, total, groups=groups)
    >>> reg.predict(X).shape, reg.predict_groups(X, groups=groups).shape
    ((60,), (20,))
    """

    loss_: NumberLoss
    unit_: float
    shift_: float

    def __init__(
        self,
        target: str = "mean",
        *,
        loss: str | NumberLoss = "squared_error",
        pooling: str | None = None,
        encoder: Any = (64, 64),
        n_bins: int | None = None,
        n_members: int = 5,
        epochs: int = 200,
        batch_groups: float | None = None,
        learning_rate: float = 2e-3,
        alpha: float = 1e-2,
        dropout: float = 0.25,
        max_norm: float | None = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 10,
        validation_fraction: float = 0.2,
        half_precision: bool = False,
        device: str | None = None,
        checkpoint: str | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ):
        super().__init__(
            pooling=pooling,
            encoder=encoder,
            n_bins=n_bins,
            n_members=n_members,
            epochs=epochs,
            batch_groups=batch_groups,
            learning_rate=learning_rate,
            alpha=alpha,
            dropout=dropout,
            max_norm=max_norm,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            validation_fraction=validation_fraction,
            half_precision=half_precision,
            device=device,
            checkpoint=checkpoint,
            group_column=group_column,
            random_state=random_state,
            verbose=verbose,
        )
        self.target = target
        self.loss = loss

    def _resolve_loss(self) -> GroupLoss:
        check_choice("target", self.target, ("mean", "total"))
        loss = get_number_loss(self.loss)
        loss.check_parameters()
        if loss.target_kind == "time" and self.target != "mean":
            raise ValueError(f"{loss!r} is of times, which have no total; leave target as it is")
        return loss

    def _targets(
        self, X: Any, y: ArrayLike, groups: Ids, sample_weight: ArrayLike | None, loss: GroupLoss
    ) -> GroupTargets:
        data = check_number_targets(self, X, y, groups, sample_weight, self.target, loss)
        data.with_weight().bind(loss)  # what the loss cannot take it says now
        return data

    def _in_units(self, prepared: Prepared) -> Prepared:
        """Measure means of groups from their mean, in units of their spread; no counts or times."""
        data, loss = prepared.data, prepared.loss
        if loss.target_kind == "time" or getattr(loss, "takes_exposure", False):
            return prepared
        known = data.y_row[data.groups.first_rows]
        middle, spread = float(known.mean()), float(known.std())
        unit = spread or abs(middle) or 1.0
        data = replace(data, y_row=(data.y_row - middle) / unit)
        return replace(prepared, data=data, shift=middle, unit=unit)

    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        sample_weight: ArrayLike | None = None,
        callbacks: Sequence[Callback] | None = None,
        X_unlabeled: MatrixLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> "GroupNetRegressor":
        """Fit to rows and their groups' numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame, FolderRows} of shape (n_rows, ...)
        y : array-like of shape (n_rows,)
            The group's mean or total, repeated on each of its rows; for means the rows' own
            values will do.
        groups : array-like of shape (n_rows,), default=None
        sample_weight : array-like of shape (n_rows,), default=None
        callbacks : list of callables, default=None
        X_unlabeled : {array-like, sparse matrix, DataFrame, FolderRows}, default=None
            All as in :meth:`GroupNetClassifier.fit`.
        exposure : array-like of shape (n_rows,), default=None
            Of losses of counts, as in :meth:`groupwise.gbdt.GroupBoostRegressor.fit`.

        Returns
        -------
        self : GroupNetRegressor
        """
        self._fit(X, y, groups, sample_weight, callbacks, X_unlabeled, exposure)
        return self

    def _store(self, prepared: Prepared, found: Any) -> None:
        super()._store(prepared, found)
        self.target_ = self.target
        self.shift_, self.unit_ = prepared.shift, prepared.unit

    def _numbers(self, score: NDArray[Any]) -> NDArray[Any]:
        """Scores in the units of ``y``; rates, where these are logarithms of them."""
        return self.loss_.predict(self.shift_ + self.unit_ * score[:, 0])

    def _answers(self, rows: Rows, groups: Groups) -> NumberPredictions:
        found, of_groups = self._scores(rows, groups)
        assert found is not None  # rows were asked about
        y_row = self._numbers(found)
        if of_groups is None:
            y_group = self.loss_.combine(y_row, groups, target=self.target_)
            return NumberPredictions(groups, y_row, y_group)
        mean = self._numbers(of_groups)
        y_row = less_the_others(mean, y_row, groups)
        if self.loss_.takes_exposure:
            y_row = np.maximum(y_row, 0.0)
        return NumberPredictions(
            groups, y_row, mean * groups.sizes if self.target_ == "total" else mean
        )

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._answers(rows, groups).y_row

    def _predictions(self, rows: Rows, groups: Groups) -> NumberPredictions:
        return self._answers(rows, groups)

    def _predict_groups(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return self._answers(rows, groups).y_group

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
        X : {array-like, sparse matrix, DataFrame, FolderRows} of shape (n_rows, ...)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), default=None
        exposure : array-like of shape (n_rows,), default=None
            All as in ``fit``.

        Returns
        -------
        score : float
            As :meth:`groupwise.gbdt.GroupBoostRegressor.score`.
        """
        if exposure is None:
            return super().score(X, y, groups)
        if not self.loss_.takes_exposure:
            raise ValueError(f"exposure is for losses of counts, not for {self.loss_!r}")
        rows, encoded = self._checked(X, groups, about_groups=True)
        exposure_row = check_exposure(exposure, encoded)
        found = self._answers(rows, encoded)
        if self.ensemble_.pooling is None:
            y_group = self.loss_.combine(found.y_row * exposure_row, encoded, target=self.target_)
        else:  # the group has a rate of its own
            y_group = found.y_group * encoded.mean(exposure_row)
        return self._judge(NumberPredictions(encoded, found.y_row * exposure_row, y_group), y)

    def _judge(self, predictions: NumberPredictions, y: ArrayLike) -> float:
        if self.loss_.target_kind != "time":
            return super()._judge(predictions, y)
        return score_of_times(y, predictions.groups, predictions.y_group)
