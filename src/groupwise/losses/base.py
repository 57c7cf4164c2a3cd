"""What a group loss offers: a value with named parameters, and the loss bound to its data.

A bound loss computes on rows laid out group after group, see :class:`GroupedLayout`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit, softmax

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.logistic import exp_limit
from groupwise.recipes import Recipe
from groupwise.rules import MeanScore, Rule

__all__ = [
    "LOSSES",
    "AdditiveLoss",
    "Block",
    "BoundLoss",
    "Communicator",
    "GroupLoss",
    "GroupedLayout",
    "LocalOnly",
    "RowWeights",
    "TargetKind",
    "get_loss",
    "link",
]

#: What is known of a group: one class, several labels, the share of every class, what is reported
#: of a count, a number, or a time with a sign.
TargetKind = Literal["label", "labels", "share", "report", "number", "time"]

#: One weight per row, or all alike.
RowWeights: TypeAlias = NDArray[Any] | None

Reduced = TypeVar("Reduced", float, NDArray[Any])

#: The losses for classification by name.
LOSSES: dict[str, type["GroupLoss"]] = {}

_BLOCK = 32_768  # rows that are computed at a time


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


class GroupedLayout:
    """The groups of :class:`~groupwise.groups.Groups` as runs of neighbouring rows.

    Sums over runs are several times quicker than sums over scattered rows. Rows that already lie
    together are taken as they are, whatever the order of their groups; others are moved on the way
    in and back on the way out.

    Parameters
    ----------
    groups : Groups

    Attributes
    ----------
    sizes : ndarray of shape (n_groups,)
        Rows of each run, as floats.
    group_codes : ndarray of shape (n_groups,)
        The position of each run's group in ``groups.names``.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> layout = GroupedLayout(Groups(["b", "a", "b"]))
    >>> values = layout.to_sorted(np.array([1.0, 5.0, 2.0]))
    >>> values.tolist(), layout.sum(values).tolist()
    ([5.0, 1.0, 2.0], [5.0, 3.0])
    >>> layout.from_sorted(values).tolist()
    [1.0, 5.0, 2.0]
    """

    def __init__(self, groups: Groups):
        codes = groups.codes
        bounds = np.flatnonzero(codes[1:] != codes[:-1]) + 1
        self.order: NDArray[np.intp] | None = None
        if len(bounds) + 1 == groups.n_groups:
            self.group_codes = codes[np.concatenate([[0], bounds])]
        else:
            self.order = groups.order
            self.group_codes = np.arange(groups.n_groups)
        self._set_runs(groups.sizes[self.group_codes])

    def _set_runs(self, counts: NDArray[np.intp]) -> None:
        self.n_groups, self.n_rows = len(counts), int(counts.sum())
        self.starts = np.cumsum(counts) - counts
        self.sizes = counts.astype(float)
        self.singletons = self.n_groups == self.n_rows
        self._equal = int(counts[0]) if (counts == counts[0]).all() else None

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(self.n_groups), self.sizes.astype(np.intp))

    @cached_property
    def blocks(self) -> list["Block"]:
        """Whole runs, some ten thousand rows at a time: what is done to them stays in the cache."""
        ends = self.starts + self.sizes.astype(np.intp)
        cuts = np.flatnonzero(np.diff(ends // _BLOCK, prepend=0, append=ends[-1] // _BLOCK + 1))
        cuts = np.unique(np.clip(cuts, 0, self.n_groups))
        edges = np.unique(np.concatenate([[0], cuts, [self.n_groups]]))
        found = []
        for first, last in pairwise(edges.tolist()):
            part = GroupedLayout.__new__(GroupedLayout)
            part.order, part.group_codes = None, np.arange(last - first)
            part._set_runs(self.sizes[first:last].astype(np.intp))
            start = int(self.starts[first])
            found.append(Block(slice(start, start + part.n_rows), slice(first, last), part))
        return found

    def to_sorted(self, values: NDArray[Any], dtype: DTypeLike = np.float64) -> NDArray[Any]:
        """Rows in the order of the runs: (n_rows,), or (k, n_rows) for (n_rows, k).

        A view of the input where that is possible: not to be written to.
        """
        array = np.ascontiguousarray(values.T, dtype=dtype)
        return array if self.order is None else array.take(self.order, axis=-1)

    def from_sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Undo :meth:`to_sorted`: (n_rows,), or (n_rows, k) for (k, n_rows), in column order."""
        if self.order is None:
            return values.T
        out = np.empty_like(values)
        out[..., self.order] = values
        return out.T

    def sum(self, values: NDArray[Any]) -> NDArray[Any]:
        """Sum over each run along the last axis, in double precision."""
        if self.singletons:
            return values.astype(np.float64, copy=False)
        return np.add.reduceat(values, self.starts, axis=-1, dtype=np.float64)

    def mean(self, values: NDArray[Any]) -> NDArray[Any]:
        """Mean over each run along the last axis."""
        return self.sum(values) if self.singletons else self.sum(values) / self.sizes

    def max(self, values: NDArray[Any]) -> NDArray[Any]:
        """Largest value of each run along the last axis."""
        return values if self.singletons else np.maximum.reduceat(values, self.starts, axis=-1)

    def spread(self, values_group: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
        """Give every row of a run the run's value; (n_groups,) or (k, n_groups)."""
        if dtype is not None:
            values_group = values_group.astype(dtype, copy=False)
        if self.singletons:
            return values_group
        # mode: "raise" checks the bounds of indices that are known to be good
        return values_group.take(self._codes, axis=-1, mode="clip")

    def add(self, values: NDArray[Any], values_group: NDArray[Any]) -> None:
        """Add to every row its run's value, in place."""
        values_group = values_group.astype(values.dtype, copy=False)
        if self._equal is None:
            values += self.spread(values_group)
        else:
            table = values.reshape(*values.shape[:-1], self.n_groups, self._equal)
            table += values_group[..., None]

    def logsumexp(self, values: NDArray[Any]) -> NDArray[Any]:
        """``log(sum(exp(values)))`` over each run, finite for finite values."""
        if self.singletons:
            return values
        term, top = self.exp(values)
        return np.log(self.sum(term)) + top

    def exp(self, values: NDArray[Any]) -> tuple[NDArray[Any], Any]:
        """``exp(values - top)``, and what was taken off so that no run is lost.

        ``top`` is one number if that will do, or else one for each run. Reciprocals of sums over
        runs are numbers, and so are their squares.
        """
        top = values.max()
        if top - values.min() < exp_limit(values.dtype) / 2.0:
            term = values - top
        else:
            top = self.max(values)
            term = values - self.spread(top, values.dtype)
        return np.exp(term, out=term), top


@dataclass(frozen=True)
class Block:
    """Neighbouring runs: which rows and which runs they are of the whole, and their own layout."""

    rows: slice
    groups: slice
    layout: GroupedLayout


class Communicator(Protocol):
    """How machines that hold different groups of one data set agree on a number.

    Every machine calls the same methods in the same order and gets the same answer.
    """

    def allreduce_sum(self, values: Reduced) -> Reduced:
        """Sum over the machines of a float or an array of floats."""
        ...

    def allreduce_max(self, value: float) -> float:
        """The largest of the machines' numbers."""
        ...


class LocalOnly:
    """One machine that holds all groups: what it found is the answer."""

    def allreduce_sum(self, values: Reduced) -> Reduced:
        return values

    def allreduce_max(self, value: float) -> float:
        return value


class BoundLoss(ABC):
    r"""A loss as a function of the rows' scores, (n_rows,) or (n_rows, n_classes).

    A subclass writes :meth:`_value` and :meth:`_derivatives` for rows as
    :class:`GroupedLayout` sorts them, one line of scores per class; a sum
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

    def __init__(self, groups: Groups, weight_row: NDArray[Any] | None = None):
        self.layout = GroupedLayout(groups)
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
        if np.abs(part - 1.0).max() > 1e-12:
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
