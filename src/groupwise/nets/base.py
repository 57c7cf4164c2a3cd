"""What the classifier and the regressor of networks share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.base import GroupMixin
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import check_choice, check_flag, check_number, dense, split_column
from groupwise.losses import BoundLoss, GroupLoss
from groupwise.model_selection import hold_out_groups
from groupwise.nets.answers import NetEnsemble
from groupwise.nets.passes import N_HEADS, POOLINGS
from groupwise.nets.progress import Callback
from groupwise.nets.rows import is_raw, raw_rows, row_shape
from groupwise.targets import GroupTargets, group_target

__all__ = ["GroupNetMixin", "Prepared"]


@dataclass(frozen=True)
class Prepared:
    """Checked training data of networks.

    Attributes
    ----------
    X : array with rows first, or FolderRows
    data : GroupTargets
        Its ``X`` is a stand-in where rows are taken as they are; its numbers are in the units of
        training.
    loss : GroupLoss
    shift, unit : float
        What numbers are measured from and in while training; 0 and 1 for others.
    X_unlabeled : array with rows first, FolderRows or None
        Rows that features are standardised by, too.
    """

    X: Any
    data: GroupTargets
    loss: GroupLoss
    shift: float = 0.0
    unit: float = 1.0
    X_unlabeled: Any = None

    @property
    def target(self) -> NDArray[Any]:
        """What is known of each group, in the units of training."""
        data = self.data
        return group_target(self.loss, data.y_row, data.groups, data.n_classes)

    @property
    def n_outputs(self) -> int:
        return 1 if self.loss.one_score or self.data.n_classes == 2 else self.data.n_classes

    def rows_of(self, line: NDArray[Any]) -> NDArray[np.intp]:
        """Positions of the rows of some groups, 1 or 0 for each."""
        return np.flatnonzero(line[self.data.groups.codes] > 0)

    def bind(self, line: NDArray[Any]) -> BoundLoss:
        """The loss of some groups."""
        data = self.data if line.all() else self.data.take(self.rows_of(line))
        return data.bind(self.loss)


class GroupNetMixin(GroupMixin):
    """Networks on a group loss: everything but what ``y`` means.

    A subclass writes :meth:`_targets` and :meth:`_resolve_loss`.
    """

    __metadata_request__fit = {"X_unlabeled": True}  # noqa: RUF012

    classes_: NDArray[Any]
    ensemble_: Any
    history_: dict[str, list[float]]
    loss_: GroupLoss
    n_features_in_: int
    n_iter_: int
    device_: str
    row_shape_: tuple[int, ...]

    def __init__(
        self,
        *,
        pooling: str | None,
        encoder: Any,
        n_bins: int | None,
        n_members: int,
        epochs: int,
        batch_groups: float | None,
        learning_rate: float,
        alpha: float,
        dropout: float,
        max_norm: float | None,
        early_stopping: bool,
        n_iter_no_change: int,
        validation_fraction: float,
        half_precision: bool,
        device: str | None,
        checkpoint: str | None,
        group_column: str | None,
        random_state: RandomState,
        verbose: int,
    ):
        self.pooling = pooling
        self.encoder = encoder
        self.n_bins = n_bins
        self.n_members = n_members
        self.epochs = epochs
        self.batch_groups = batch_groups
        self.learning_rate = learning_rate
        self.alpha = alpha
        self.dropout = dropout
        self.max_norm = max_norm
        self.early_stopping = early_stopping
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.half_precision = half_precision
        self.device = device
        self.checkpoint = checkpoint
        self.group_column = group_column
        self.random_state = random_state
        self.verbose = verbose

    def _resolve_loss(self) -> GroupLoss:
        """A copy of the loss, with its parameters checked."""
        raise NotImplementedError

    def _targets(
        self, X: Any, y: ArrayLike, groups: Ids, sample_weight: ArrayLike | None, loss: GroupLoss
    ) -> GroupTargets:
        """Checked rows and what is known of their groups."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_choice("pooling", self.pooling, (None, *POOLINGS))
        check_number("n_bins", self.n_bins, "[2, inf)", whole=True, none=True)
        check_number("n_members", self.n_members, "[1, inf)", whole=True)
        check_number("epochs", self.epochs, "[1, inf)", whole=True)
        if not (isinstance(self.batch_groups, float) and 0.0 < self.batch_groups < 1.0):
            check_number("batch_groups", self.batch_groups, "[1, inf)", whole=True, none=True)
        check_number("learning_rate", self.learning_rate, "(0, inf)")
        check_number("alpha", self.alpha, "[0, inf)")
        check_number("dropout", self.dropout, "[0, 1)")
        check_number("max_norm", self.max_norm, "(0, inf)", none=True)
        check_flag("early_stopping", self.early_stopping)
        check_number("n_iter_no_change", self.n_iter_no_change, "[1, inf)", whole=True)
        check_number("validation_fraction", self.validation_fraction, "(0, 1)")
        check_flag("half_precision", self.half_precision)
        check_number("verbose", int(self.verbose), "[0, inf)", whole=True)
        if isinstance(self.encoder, tuple | list):
            for size in self.encoder:
                check_number("encoder", size, "[1, inf)", whole=True)
            if self.pooling == "set_transformer" and (
                not self.encoder or self.encoder[-1] % N_HEADS
            ):
                raise ValueError(
                    f"the set transformer has {N_HEADS} heads: the last size of encoder must be a "
                    f"multiple of {N_HEADS}, got {self.encoder!r}"
                )

    def _fit(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        callbacks: Sequence[Callback] | None,
        X_unlabeled: MatrixLike | None,
        exposure: ArrayLike | None = None,
    ) -> None:
        """Check the data, train, and store arrays."""
        from groupwise.nets.fitting import fit_networks

        prepared = self._prepare(X, y, groups, sample_weight, X_unlabeled, exposure)
        rng = check_random_state(self.random_state)
        n_groups = prepared.data.groups.n_groups
        train, valid = np.ones((1, n_groups)), None
        if self.early_stopping:
            train, valid = self._split(prepared, rng)
        (found,) = fit_networks(self, prepared, train, valid, rng, callbacks or ())
        self._store(prepared, found)

    def _prepare(
        self,
        X: MatrixLike,
        y: ArrayLike,
        groups: Ids,
        sample_weight: ArrayLike | None,
        X_unlabeled: MatrixLike | None = None,
        exposure: ArrayLike | None = None,
    ) -> Prepared:
        self._check_parameters()
        loss = self._resolve_loss()
        if self.batch_groups is not None and (loss.one_score or loss.target_kind == "time"):
            raise ValueError(
                f"{loss!r} compares all groups with each other, so that every step takes all of "
                "them: batch_groups must be None"
            )
        X, groups = self._groups_to_fit(X, groups)
        if is_raw(X):
            rows = raw_rows(X)
            # labels, groups and weights are checked beside a column of nothing
            data = self._targets(np.zeros((len(rows), 1)), y, groups, sample_weight, loss)
            data = data.exposed(exposure, loss)
            if data.weight_row is not None and not (data.weight_row > 0).all():
                raise GroupDataError(
                    "sample_weight must be positive where X is memory-mapped, a folder or no "
                    "table: leave rows out of X instead"
                )
            self.row_shape_ = row_shape(rows)
            self.n_features_in_ = int(np.prod(self.row_shape_))
        else:
            data = self._targets(X, y, groups, sample_weight, loss)
            data = data.exposed(exposure, loss).with_weight()
            rows = dense(data.X)
            self.row_shape_ = row_shape(rows)
        self._remember_groups(groups, data.groups)
        if data.classes is not None:
            self.classes_ = data.classes
        more = None if X_unlabeled is None else self._rows_without_labels(X_unlabeled)
        return self._in_units(Prepared(rows, data, loss, X_unlabeled=more))

    def _rows_without_labels(self, X_unlabeled: MatrixLike) -> Any:
        if not isinstance(self.encoder, tuple | list):
            raise ValueError(
                "X_unlabeled is what features are standardised by, and a module as encoder takes "
                "rows as they are"
            )
        X_unlabeled, _ = split_column(X_unlabeled, self.group_column, None, required=False)
        rows: Any = self._check_rows(X_unlabeled)
        return rows if is_raw(rows) else dense(rows)

    def _in_units(self, prepared: Prepared) -> Prepared:
        return prepared

    def _split(
        self, prepared: Prepared, rng: np.random.RandomState
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Hold groups out: 1 for each to train on, and 1 for each of the others."""
        data = prepared.data
        held_out = hold_out_groups(
            data.groups.n_groups, self.validation_fraction, rng, data.strata(prepared.loss)
        )
        valid = held_out[None].astype(float)
        return 1.0 - valid, valid

    def _store(self, prepared: Prepared, found: Any) -> None:
        """Keep all that predictions need; later changes of parameters do not reach them."""
        self.ensemble_ = found.ensemble
        self.device_ = found.device
        self.loss_ = prepared.loss
        if prepared.loss.one_score:
            self.loss_ = self._with_thresholds(prepared, found.train_group)
        self.history_ = found.history
        self.n_iter_ = found.n_iter
        self._decides_per_group = self.ensemble_.pooling is not None

    def _with_thresholds(self, prepared: Prepared, line: NDArray[Any]) -> GroupLoss:
        """The loss with the thresholds that fit the averaged scores of training groups best."""
        data, loss = prepared.data, prepared.loss
        score_row, score_group = self._scores(
            prepared.X, data.groups, asked=self.ensemble_.pooling is None
        )
        if score_group is None:
            assert score_row is not None  # there is no pooling
            return prepared.bind(line).learned(loss, score_row[prepared.rows_of(line), 0])
        kept = np.flatnonzero(line > 0)
        weight = None if data.weight_row is None else data.groups.mean(data.weight_row)[kept]
        alone = Groups.singletons(len(kept))
        bound = loss.bind(prepared.target[kept], alone, n_classes=data.n_classes, weight_row=weight)
        return bound.learned(loss, score_group[kept, 0])

    def _check_rows(self, X: MatrixLike) -> Rows:
        if is_raw(X):
            rows: Any = raw_rows(X, self.row_shape_)
            return rows
        if len(self.row_shape_) > 1:
            raise GroupDataError(
                f"X must be an array with rows of shape {self.row_shape_}; got "
                f"{type(X).__name__} of another kind"
            )
        return super()._check_rows(X)

    def _scores(
        self, rows: Rows, groups: Groups, *, asked: bool = True
    ) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
        """Scores of rows (of groups without them, where there is a pooling) and of groups."""
        table: Any = rows if is_raw(rows) else dense(rows)
        if isinstance(self.ensemble_, NetEnsemble) and self.device_ != "cpu":
            from groupwise.nets.torch_answers import scores_on

            return scores_on(self.ensemble_, self.device_, table, groups, rows=asked)
        found: tuple[NDArray[Any] | None, NDArray[Any] | None]
        found = self.ensemble_.scores(table, groups, rows=asked)
        return found
