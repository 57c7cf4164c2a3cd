"""What a group loss offers: a recipe that can be printed, and the loss bound to its data."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.across import Across, Alone
from groupwise.losses.segments import Block, Segments

__all__ = ["AdditiveLoss", "BoundLoss", "GroupLoss"]


class GroupLoss(ABC):
    """A group loss before it has seen data: a small printable value.

    ``bind`` gives it data; what is left here is what a fitted model needs to predict: how scores
    become probabilities of rows and of groups.
    """

    #: What is known of a group: one class, the share of every class, or a number.
    target: ClassVar[Literal["label", "share", "number"]] = "label"
    #: Whether only two classes make sense.
    binary: ClassVar[bool] = False

    @abstractmethod
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
        """

    def proba(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Probability of each class for rows, (n_rows, n_classes)."""
        return link(score_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any] | None:
        """Probability of each class for groups; ``None`` leaves it to a decision rule."""
        return None


class BoundLoss(ABC):
    r"""A loss as a function of the rows' scores, (n_rows,) or (n_rows, n_classes).

    A subclass writes :meth:`_value` and :meth:`_derivatives` for rows in the order of the runs of
    :class:`~groupwise.losses.segments.Segments`, with one line of scores a class; a sum over groups
    is an :class:`AdditiveLoss`.

    Every loss is of the order of the number of rows (``n_rows`` for
    unit weights), so that learners may regularise all of them alike. ``curvature`` is a diagonal
    that majorises the Hessian :math:`\nabla^2 \ell`, :math:`d^\top \nabla^2 \ell\, d \le
    \sum_j c_j d_j^2` for every direction d: a group's rows may all move at once, which the
    Hessian's own diagonal does not account for. Each subclass says why this holds for it.

    The groups may be spread over machines, each with a bound loss of its own: :meth:`join` makes
    them one loss. Values and start scores then need sums over the machines, derivatives only where
    the loss is not a sum over groups.
    """

    def __init__(self, groups: Groups, weight_row: NDArray[Any] | None = None):
        self.segments = Segments(groups)
        self.part_row: NDArray[Any] | None = None  # weight inside the group, mean 1
        self.weight_group: NDArray[Any] = np.ones(groups.n_groups)
        self._weighted = weight_row is not None
        if weight_row is not None:
            self._set_weights(groups, weight_row)
        self.total_weight = float(self.weight_group @ self.segments.sizes)
        self.across: Across = Alone()

    def join(self, across: Across) -> "BoundLoss":
        """Make this the part of a loss whose other groups are on other machines."""
        self.across = across
        self.total_weight = across.sum(self.total_weight)
        return self

    def _set_weights(self, groups: Groups, weight_row: NDArray[Any]) -> None:
        bad = ~(np.isfinite(weight_row) & (weight_row > 0))
        if bad.any():
            row = int(np.argmax(bad))
            raise GroupDataError(
                f"weights must be positive and finite; group "
                f"{show(groups.names[groups.codes[row]])} holds {show(weight_row[row])}"
            )
        weight = self.segments.enter(weight_row)
        self.weight_group = self.segments.mean(weight)
        part = weight / self.segments.spread(self.weight_group)
        if np.abs(part - 1.0).max() > 1e-12:
            self.part_row = part

    def value(self, score_row: NDArray[Any]) -> float:
        """The loss."""
        return self._value(self.segments.enter(np.asarray(score_row)))

    def gradient_and_curvature(
        self, score_row: NDArray[Any], dtype: Any = np.float64
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """First derivatives and the diagonal majoriser of the second, shaped like the scores.

        Single precision in and out is computed in single precision, but for sums over groups.
        """
        score = np.asarray(score_row)
        single = score.dtype == np.float32 and np.dtype(dtype) == np.float32
        inside = self.segments.enter(score, np.float32 if single else np.float64)
        gradient, curvature = self._derivatives(inside, dtype)
        return self.segments.leave(gradient), self.segments.leave(curvature)

    def gradient(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """First derivatives."""
        return self.gradient_and_curvature(score_row)[0]

    def curvature(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Diagonal majoriser of the second derivatives."""
        return self.gradient_and_curvature(score_row)[1]

    @abstractmethod
    def init_score(self) -> NDArray[Any]:
        """The best constant score, (1,) or (n_classes,)."""

    @abstractmethod
    def _value(self, score: NDArray[Any]) -> float:
        """The loss over the groups of all machines."""

    @abstractmethod
    def _derivatives(self, score: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradient and curvature in arrays of their own, of type ``dtype``."""

    def _class_weights(self, y_group: NDArray[Any], n_classes: int) -> NDArray[Any]:
        """Weight of the rows in groups of each class, kept off zero."""
        weight = np.bincount(y_group, self.weight_group * self.segments.sizes, n_classes)
        return np.maximum(self.across.sum(weight), 1e-12 * self.total_weight)


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
        for block in self.segments.blocks:
            by_group = self._block_value(score[..., block.rows], block)
            value += float(self.weight_group[block.groups] @ by_group)
        return self.across.sum(value)

    def _derivatives(self, score: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = np.empty(score.shape, dtype), np.empty(score.shape, dtype)
        for block in self.segments.blocks:
            found = self._block_derivatives(score[..., block.rows], block)
            gradient[..., block.rows], curvature[..., block.rows] = found
        return gradient, curvature

    def _scale(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Multiply rows by their group's weight and their own part, in place."""
        if not self._weighted:
            return values
        values *= block.runs.spread(self.weight_group[block.groups])
        if self.part_row is not None:
            values *= self.part_row[block.rows]
        return values

    def _sum(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Sum over each group, rows weighted by their parts."""
        return block.runs.sum(
            values if self.part_row is None else values * self.part_row[block.rows]
        )

    def _mean(self, values: NDArray[Any], block: Block) -> NDArray[Any]:
        """Mean over each group, rows weighted by their parts."""
        return self._sum(values, block) / block.runs.sizes


def link(score: NDArray[Any]) -> NDArray[Any]:
    """Log-odds (n,) or softmax scores (n, n_classes) as probabilities (n, n_classes)."""
    if score.ndim == 1:
        return np.column_stack([expit(-score), expit(score)])
    return softmax(score, axis=1)
