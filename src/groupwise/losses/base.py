"""What a group loss offers: a value with named parameters, and the loss bound to its data.

A bound loss computes on rows laid out group after group, see :mod:`groupwise.losses.layout`.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit, softmax

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.layout import Block, Communicator, LocalOnly, layout_of
from groupwise.recipes import Recipe
from groupwise.rules import MeanScore, Rule

__all__ = [
    "LOSSES",
    "AdditiveLoss",
    "BoundLoss",
    "GroupLoss",
    "RowWeights",
    "TargetKind",
    "get_loss",
    "link",
]

#: What is known of a group: one class, several labels, the share of every class, what is reported
#: of a count, a number, a time with a sign, or something of the groups of several groupings.
TargetKind = Literal["label", "labels", "share", "report", "number", "time", "several"]

#: One weight per row, or all alike.
RowWeights: TypeAlias = NDArray[Any] | None

#: The losses for classification by name.
LOSSES: dict[str, type["GroupLoss"]] = {}


class GroupLoss(Recipe, ABC):
    """A group loss before it has seen data: its parameters, which can be printed and searched.

    :meth:`bind` gives it data; what is left here is what a fitted model needs to predict: how
    scores become probabilities of rows and of groups. A subclass writes :meth:`_bind`, and
    :meth:`check_parameters` and :meth:`_check_targets` where it cannot take all of them.
    ``class FocalLoss(GroupLoss, name="focal")`` is known to :func:`get_loss` as ``"focal"``, with
    its defaults.
    """

    #: What is known of a group.
    target_kind: ClassVar[TargetKind] = "label"
    #: Whether only two classes make sense.
    binary: ClassVar[bool] = False
    #: The rule by which rows decide for their group; ``None``: :meth:`proba_groups` does.
    default_rule: ClassVar[Rule | None] = MeanScore()
    #: Whether rows have one score however many classes there are.
    one_score: ClassVar[bool] = False
    #: Whether its groups may lie on several machines.
    on_machines: ClassVar[bool] = True
    #: Whether sums over a group's rows are enough, so that parts of it may lie on several machines.
    by_sums: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            LOSSES[name] = cls

    def bind(
        self,
        target_group: NDArray[Any],
        groups: Groups,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> "BoundLoss":
        """Give the loss its data.

        Parameters
        ----------
        target_group : ndarray of shape (n_groups,) or (n_groups, n_classes)
            In the order of ``groups.names``: class codes, a table of shares, or numbers.
        groups : Groups
        n_classes : int, default=2
        weight_row : ndarray of shape (n_rows,), default=None
            The mean over a group weighs the group; how the rows of a group differ from it says how
            many rows each one counts for inside. Positive numbers.

        Returns
        -------
        loss : BoundLoss
        """
        self.check(target_group, groups, n_classes=n_classes, weight_row=weight_row)
        return self._bind(target_group, groups, n_classes, weight_row)

    @abstractmethod
    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> "BoundLoss":
        """The loss of data that were checked."""

    def check(
        self,
        target_group: NDArray[Any],
        groups: Groups,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> None:
        """Refuse what :meth:`bind` cannot take.

        Raises
        ------
        ValueError
            For a parameter of the loss, or too many classes.
        GroupDataError
            For targets or weights; the message names the group.
        """
        self.check_parameters()
        if self.binary and n_classes != 2:
            raise ValueError(
                f"{self!r} needs two classes, groups without and with a positive row; got "
                f"{n_classes}. Fit one class against the rest"
            )
        if weight_row is not None:
            bad = ~(np.isfinite(weight_row) & (weight_row > 0))
            if bad.any():
                row = int(np.argmax(bad))
                raise GroupDataError(
                    f"weights must be positive and finite; group "
                    f"{show(groups.names[groups.codes[row]])} holds {show(weight_row[row])}"
                )
        self._check_targets(target_group, groups, n_classes, weight_row)

    def check_parameters(self) -> None:  # most have none to refuse
        """Refuse parameters that have no meaning."""

    def _check_targets(  # most take any
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        """Refuse targets, by the group."""

    def proba(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Probability of each class for rows, (n_rows, n_classes)."""
        return link(score_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Probability of each class for groups, where ``default_rule`` is ``None``."""
        raise NotImplementedError(f"{type(self).__name__} leaves groups to a decision rule")


def get_loss(loss: str | GroupLoss) -> GroupLoss:
    """Look a classification loss up by name, or take the object as it is.

    Parameters
    ----------
    loss : str or GroupLoss
        A name stands for the loss with its default parameters.

    Examples
    --------
    >>> from groupwise.losses import MajorityLoss, get_loss
    >>> get_loss("majority") == MajorityLoss(gamma=4.0)
    True
    """
    if isinstance(loss, GroupLoss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    raise ValueError(f"loss must be one of {list(LOSSES)} or a GroupLoss, got {loss!r}")


class BoundLoss(ABC):
    r"""A loss as a function of the rows' scores, (n_rows,) or (n_rows, n_classes).

    A subclass writes :meth:`_value` and :meth:`_derivatives` for rows as
    :class:`~groupwise.losses.layout.GroupedLayout` sorts them, one line of scores per class; a sum
    over groups is an :class:`AdditiveLoss`.

    Every loss is of the order of the number of rows (``n_rows`` for
    unit weights), so that learners may regularise all of them alike. ``curvature`` is a diagonal
    that majorises the Hessian :math:`\nabla^2 \ell`, :math:`d^\top \nabla^2 \ell\, d \le
    \sum_j c_j d_j^2` for every direction d: a group's rows may all move at once, which the
    Hessian's own diagonal does not account for. Each subclass says why this holds for it.

    The groups may be spread over machines, each with a bound loss of its own: :meth:`connect` makes
    them one loss. Values and start scores then need sums over the machines, derivatives only where
    the loss is not a sum over groups.
    """

    @property
    def unit(self) -> float:
        """What learners multiply the loss by, so that a row's curvature is of the order of 1.

        Of a loss whose curvature is that of no other unit of the targets; penalties and the least
        weight of a leaf would count for more the larger the numbers are.
        """
        return 1.0

    def __init__(self, groups: Groups, weight_row: NDArray[Any] | None = None):
        self.layout = layout_of(groups)
        self.part_row: NDArray[Any] | None = None  # weight inside the group, mean 1
        self.weight_group: NDArray[Any] = np.ones(groups.n_groups)
        self._weighted = weight_row is not None
        if weight_row is not None:
            self._set_weights(weight_row)
        self.total_weight = float(self.weight_group @ self.layout.sizes)
        self.communicator: Communicator = LocalOnly()
        self.offset: NDArray[Any] | None = None

    def with_offset(self, offset_row: NDArray[Any]) -> "BoundLoss":
        """Add known numbers, one per row, to all scores from now on (the log of an exposure)."""
        self.offset = self.layout.to_sorted(offset_row)
        return self

    def connect(self, communicator: Communicator) -> "BoundLoss":
        """Make this the part of a loss whose other groups are on other machines."""
        self.communicator = communicator
        self.total_weight = communicator.allreduce_sum(self.total_weight)
        return self

    def _set_weights(self, weight_row: NDArray[Any]) -> None:
        weight = self.layout.to_sorted(weight_row)
        self.weight_group = self.layout.mean(weight)
        part = weight / self.layout.spread(self.weight_group)
        if np.abs(part - 1.0).max(initial=0.0) > 1e-12:
            self.part_row = part

    def value(self, score_row: NDArray[Any]) -> float:
        """The loss."""
        return self._value(self._ordered(np.asarray(score_row)))

    def _ordered(self, score_row: NDArray[Any], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Scores in the order of the runs, offsets put in."""
        ordered = self.layout.to_sorted(score_row, dtype)
        return ordered if self.offset is None else ordered + self.offset.astype(dtype, copy=False)

    def gradient_and_curvature(
        self, score_row: NDArray[Any], dtype: DTypeLike = np.float64
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """First derivatives and the diagonal majoriser of the second, shaped like the scores.

        Single precision in and out is computed in single precision, but for sums over groups.
        """
        score = np.asarray(score_row)
        single = score.dtype == np.float32 and np.dtype(dtype) == np.float32
        ordered = self._ordered(score, np.float32 if single else np.float64)
        gradient, curvature = self._derivatives(ordered, dtype)
        return self.layout.from_sorted(gradient), self.layout.from_sorted(curvature)

    def gradient(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """First derivatives."""
        return self.gradient_and_curvature(score_row)[0]

    def curvature(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Diagonal majoriser of the second derivatives."""
        return self.gradient_and_curvature(score_row)[1]

    def follow(self, training: Any) -> "BoundLoss":
        """Take what the loss of the training groups learns beside the scores; most learn nothing.

        Parameters
        ----------
        training : BoundLoss
            Of the same kind, asked for its value before this one.
        """
        return self

    def learned(self, loss: GroupLoss, score_row: NDArray[Any]) -> GroupLoss:
        """The loss with what it learnt beside these scores, to predict with; most learn nothing."""
        return loss

    @abstractmethod
    def init_score(self) -> NDArray[Any]:
        """The best constant score, (1,) or (n_classes,)."""

    @abstractmethod
    def _value(self, score: NDArray[Any]) -> float:
        """The loss over the groups of all machines."""

    @abstractmethod
    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradient and curvature in arrays of their own, of type ``dtype``."""

    def _weighted_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """Multiply rows by their group's weight, in place."""
        if self._weighted:
            values *= self.layout.spread(self.weight_group).astype(values.dtype, copy=False)
        return values

    def _class_weights(self, y_group: NDArray[Any], n_classes: int) -> NDArray[Any]:
        """Weight of the rows in groups of each class, kept off zero."""
        weight = np.bincount(y_group, self.weight_group * self.layout.sizes, n_classes)
        return np.maximum(self.communicator.allreduce_sum(weight), 1e-12 * self.total_weight)


class AdditiveLoss(BoundLoss):
    """A weighted sum over groups, computed for a block of whole groups at a time.

    What is done to a block stays in the processor's cache, which makes most losses several times
    quicker than whole columns of temporaries would be.
    """

    @abstractmethod
    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        """The loss of each group of the block, before its weight."""

    @abstractmethod
    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradient and curvature of its rows, weights put in."""

    def _value(self, score: NDArray[Any]) -> float:
        value = 0.0
        for block in self.layout.blocks:
            by_group = self._block_value(score[..., block.rows], block)
            value += float(self.weight_group[block.groups] @ by_group)
        return self.communicator.allreduce_sum(value)

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = np.empty(score.shape, dtype), np.empty(score.shape, dtype)
        for block in self.layout.blocks:
            found = self._block_derivatives(score[..., block.rows], block)
            gradient[..., block.rows], curvature[..., block.rows] = found
        return gradient, curvature

    def _scale(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Multiply rows by their group's weight and their own part, in place."""
        if not self._weighted:
            return values
        values *= block.layout.spread(self.weight_group[block.groups])
        if self.part_row is not None:
            values *= self.part_row[block.rows]
        return values

    def _sum(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Sum over each group, rows weighted by their parts."""
        return block.layout.sum(
            values if self.part_row is None else values * self.part_row[block.rows]
        )

    def _mean(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Mean over each group, rows weighted by their parts."""
        return self._sum(values, block) / block.layout.sizes


def link(score: NDArray[Any]) -> NDArray[Any]:
    """Log-odds (n,) or softmax scores (n, n_classes) as probabilities (n, n_classes)."""
    if score.ndim == 1:
        return np.column_stack([expit(-score), expit(score)])
    return softmax(score, axis=1)
