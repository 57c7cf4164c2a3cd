"""Measures that count right and wrong labels: accuracy, F, balanced accuracy, Matthews."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_choice, check_number
from groupwise.metrics.measure import GroupMeasure

__all__ = ["Accuracy", "BalancedAccuracy", "CountMeasure", "FBeta", "Matthews"]


@dataclass(frozen=True)
class CountMeasure(GroupMeasure):
    """Base of the measures that depend on counts of rows alone.

    Parameters
    ----------
    without_positives : {"count", "skip"}, default="count"
        What a group without positive rows gets (two classes only): ``"count"`` is the value the
        measure's docstring states, ``"skip"`` leaves the group out (NaN).
    """

    without_positives: str = "count"

    multiclass = True

    def __post_init__(self) -> None:
        check_choice("without_positives", self.without_positives, ("count", "skip"))

    def of_counts(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        """Values from true positives, predicted positives, positives and rows; arrays broadcast."""
        value = self._binary(*np.broadcast_arrays(tp, pred, pos, size))
        return np.where(pos > 0, value, np.nan) if self.without_positives == "skip" else value

    def of(self, y_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        if score_row.ndim == 1:
            pos, pred = y_row > 0, score_row > 0
            n_tp, n_pred = _count(pos & pred, groups), _count(pred, groups)
            return self.of_counts(n_tp, n_pred, _count(pos, groups), groups.sizes)
        predicted, y_code = score_row.argmax(axis=1), y_row.astype(np.intp, copy=False)
        right = predicted == y_code
        shape = (groups.n_groups, score_row.shape[1])
        n_tp = _count_cells(groups.codes[right], y_code[right], shape)
        n_pred = _count_cells(groups.codes, predicted, shape)
        n_pos = _count_cells(groups.codes, y_code, shape)
        return self._multiclass(n_tp, n_pred, n_pos, groups.sizes)

    @abstractmethod
    def _binary(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        """Two classes: arrays of any one shape."""

    @abstractmethod
    def _multiclass(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        """More: counts of shape (n_groups, n_classes), sizes (n_groups,)."""


def _count(rows: NDArray[np.bool_], groups: Groups) -> NDArray[np.intp]:
    """How many of each group's rows are meant; cheap where few are."""
    return np.bincount(groups.codes[rows], minlength=groups.n_groups)


def _count_cells(
    group: NDArray[Any], code: NDArray[Any], shape: tuple[int, int]
) -> NDArray[np.intp]:
    """How many rows each group has of each class."""
    return np.bincount(group * shape[1] + code, minlength=shape[0] * shape[1]).reshape(shape)


def _ratio(above: NDArray[Any], below: NDArray[Any], otherwise: float) -> NDArray[Any]:
    """A quotient, and what 0/0 is."""
    return np.where(below > 0, above / np.maximum(below, 1e-300), otherwise)


@dataclass(frozen=True)
class Accuracy(CountMeasure, name="accuracy"):
    """Share of the group's rows predicted right; two classes or more.

    A group without positives counts like any other.

    Examples
    --------
    >>> Accuracy()([1, 0, 1], [0.5, -1.0, -2.0], ["a", "a", "b"]).tolist()
    [1.0, 0.0]
    """

    def _binary(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        return (size - pos - pred + 2 * tp) / size

    def _multiclass(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        return tp.sum(axis=1) / size


@dataclass(frozen=True)
class BalancedAccuracy(CountMeasure, name="balanced_accuracy"):
    """Mean over the classes that the group holds of the share of their rows predicted right.

    Two classes or more. A group without positives counts with the share of its negatives.
    """

    def _binary(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        recall = _ratio(tp, pos, 0.0)
        other = _ratio(size - pos - pred + tp, size - pos, 0.0)
        return (recall + other) / ((pos > 0).astype(float) + (size > pos))

    def _multiclass(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        return _ratio(tp, pos, 0.0).sum(axis=1) / (pos > 0).sum(axis=1)


@dataclass(frozen=True)
class FBeta(CountMeasure, name="f1"):
    r"""The F measure, :math:`F_\beta = \frac{(1+\beta^2) TP}{(1+\beta^2) TP + \beta^2 FN + FP}`.

    Two classes: the F measure of the positive one. A group without positives counts 1 if none of
    its rows is predicted positive, else 0. More than two: the mean over the classes that the
    group's rows or predictions hold.

    Parameters
    ----------
    without_positives : {"count", "skip"}, default="count"
    beta : float, default=1.0
        How much more recall counts than precision.

    Examples
    --------
    >>> y, predicted = [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]
    >>> FBeta()(y, predicted, ["a", "a", "a", "b", "b"]).round(3).tolist()
    [0.667, 1.0]
    >>> FBeta(without_positives="skip")(y, predicted, ["a", "a", "a", "b", "b"]).round(3).tolist()
    [0.667, nan]
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("beta", self.beta, "(0, inf)")

    def _binary(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        square = self.beta**2
        return _ratio((1.0 + square) * tp, square * pos + pred, 1.0)

    def _multiclass(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        held = (pos + pred) > 0
        return np.where(held, self._binary(tp, pred, pos, size), 0.0).sum(1) / held.sum(axis=1)


@dataclass(frozen=True)
class Matthews(CountMeasure, name="matthews"):
    """Matthews' correlation of labels and predictions, mapped to [0, 1]: (1 + MCC) / 2.

    Two classes or more (Gorodkin's R_K). Where labels or predictions are all of one class the
    correlation is 0/0 and counts as none, 0.5.
    """

    def _binary(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        covariance = tp * size - pred * pos.astype(float)
        scale = np.sqrt(pred * (size - pred.astype(float)) * pos * (size - pos))
        return np.clip(0.5 + 0.5 * _ratio(covariance, scale, 0.0), 0.0, 1.0)

    def _multiclass(
        self, tp: NDArray[Any], pred: NDArray[Any], pos: NDArray[Any], size: NDArray[Any]
    ) -> NDArray[Any]:
        rows = size.astype(float)
        covariance = tp.sum(axis=1) * rows - (pred * pos).sum(axis=1)
        spread_pred = rows**2 - (pred**2).sum(axis=1)
        spread_pos = rows**2 - (pos**2).sum(axis=1)
        scale = np.sqrt(spread_pred * spread_pos)
        return np.clip(0.5 + 0.5 * _ratio(covariance, scale, 0.0), 0.0, 1.0)
