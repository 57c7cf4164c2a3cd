"""Measures that count right and wrong labels: accuracy, F, balanced accuracy, Matthews."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.measures.measure import GroupMeasure

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
        if self.without_positives not in ("count", "skip"):
            raise ValueError(
                f"without_positives must be 'count' or 'skip', got {self.without_positives!r}"
            )

    def of_counts(self, both: Any, said: Any, true: Any, size: Any) -> Any:
        """Values from true positives, predicted positives, positives and rows; arrays broadcast."""
        value = self._binary(*np.broadcast_arrays(both, said, true, size))
        return np.where(true > 0, value, np.nan) if self.without_positives == "skip" else value

    def of(self, y_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        if score_row.ndim == 1:
            true, said = y_row > 0, score_row > 0
            n_both, n_said = _count(true & said, groups), _count(said, groups)
            return self.of_counts(n_both, n_said, _count(true, groups), groups.sizes)
        predicted, y_code = score_row.argmax(axis=1), y_row.astype(np.intp, copy=False)
        right = predicted == y_code
        shape = (groups.n_groups, score_row.shape[1])
        n_both = _count_cells(groups.codes[right], y_code[right], shape)
        n_said = _count_cells(groups.codes, predicted, shape)
        n_true = _count_cells(groups.codes, y_code, shape)
        return self._multiclass(n_both, n_said, n_true, groups.sizes)

    def _binary(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        raise NotImplementedError  # a subclass writes one formula a kind of label

    def _multiclass(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        raise NotImplementedError  # a subclass writes one formula a kind of label


def _count(rows: NDArray[np.bool_], groups: Groups) -> NDArray[np.intp]:
    """How many of each group's rows are meant; cheap where few are."""
    return np.bincount(groups.codes[rows], minlength=groups.n_groups)


def _count_cells(group: NDArray, code: NDArray, shape: tuple[int, int]) -> NDArray[np.intp]:
    """How many rows each group has of each class."""
    return np.bincount(group * shape[1] + code, minlength=shape[0] * shape[1]).reshape(shape)


def _ratio(above: NDArray, below: NDArray, otherwise: float) -> NDArray:
    """A quotient, and what 0/0 is."""
    return np.where(below > 0, above / np.maximum(below, 1e-300), otherwise)


@dataclass(frozen=True)
class Accuracy(CountMeasure):
    """Share of the group's rows predicted right; two classes or more.

    A group without positives counts like any other.

    Examples
    --------
    >>> Accuracy()([1, 0, 1], [0.5, -1.0, -2.0], ["a", "a", "b"]).tolist()
    [1.0, 0.0]
    """

    def _binary(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        return (size - true - said + 2 * both) / size

    def _multiclass(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        return both.sum(axis=1) / size


@dataclass(frozen=True)
class BalancedAccuracy(CountMeasure):
    """Mean over the classes that the group holds of the share of their rows predicted right.

    Two classes or more. A group without positives counts with the share of its negatives.
    """

    def _binary(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        recall = _ratio(both, true, 0.0)
        other = _ratio(size - true - said + both, size - true, 0.0)
        return (recall + other) / ((true > 0).astype(float) + (size > true))

    def _multiclass(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        return _ratio(both, true, 0.0).sum(axis=1) / (true > 0).sum(axis=1)


@dataclass(frozen=True)
class FBeta(CountMeasure):
    r"""The F measure, :math:`F_\beta = \frac{(1+\beta^2) TP}{(1+\beta^2) TP + \beta^2 FN + FP}`.

    A group without positives counts 1 if none of its rows is predicted positive, else 0. More than
    two classes: the mean over the classes that the group's rows or predictions hold.

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
        if not self.beta > 0:
            raise ValueError(f"beta must be a positive number, got {self.beta!r}")

    def _binary(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        square = self.beta**2
        return _ratio((1.0 + square) * both, square * true + said, 1.0)

    def _multiclass(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        held = (true + said) > 0
        return np.where(held, self._binary(both, said, true, size), 0.0).sum(1) / held.sum(axis=1)


@dataclass(frozen=True)
class Matthews(CountMeasure):
    """Matthews' correlation of labels and predictions, mapped to [0, 1]: (1 + MCC) / 2.

    Two classes or more (Gorodkin's R_K). Where labels or predictions are all of one class the
    correlation is 0/0 and counts as none, 0.5.
    """

    def _binary(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        covariance = both * size - said * true.astype(float)
        scale = np.sqrt(said * (size - said.astype(float)) * true * (size - true))
        return np.clip(0.5 + 0.5 * _ratio(covariance, scale, 0.0), 0.0, 1.0)

    def _multiclass(self, both: NDArray, said: NDArray, true: NDArray, size: NDArray) -> NDArray:
        rows = size.astype(float)
        covariance = both.sum(axis=1) * rows - (said * true).sum(axis=1)
        spread_said = rows**2 - (said**2).sum(axis=1)
        spread_true = rows**2 - (true**2).sum(axis=1)
        scale = np.sqrt(spread_said * spread_true)
        return np.clip(0.5 + 0.5 * _ratio(covariance, scale, 0.0), 0.0, 1.0)
