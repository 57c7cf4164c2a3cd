"""What a group measure is: labels and scores of rows in, one number in [0, 1] per group out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import check_groups

__all__ = ["MEASURES", "CallableMeasure", "GroupMeasure", "MeasureLike", "get_measure"]

#: Every named measure; a subclass of :class:`GroupMeasure` with a ``name`` adds itself.
MEASURES: dict[str, type["GroupMeasure"]] = {}


class GroupMeasure(ABC):
    """A score in [0, 1] of each group's rows, for all groups at once.

    A measure is a small printable value. Call it with labels, scores and groups; it gives one
    number per group in the order of ``np.unique(groups)``, and NaN for a group it leaves out.

    Two classes: ``score_row`` has shape (n_rows,), a row is predicted positive where its score is
    above zero (so predicted labels 0/1 serve too, and ``proba - 0.5``), and labels are 0/1 or
    -1/+1. Two columns (``predict_proba``) are taken as the second less the first. More classes:
    ``score_row`` has shape (n_rows, n_classes), the largest score is the prediction (the first of
    equals), and labels are the columns' positions.

    A NaN among the scores is an error that names the group: it is neither positive nor negative
    and has no place in an order. Infinite scores are fine.

    A subclass writes :meth:`of`; the attributes say what it takes. ``class Recall(GroupMeasure,
    name="recall")`` is known to :func:`get_measure` as ``"recall"``, with its defaults.

    Attributes
    ----------
    multiclass : bool
        Whether it takes scores of shape (n_rows, n_classes).
    graded : bool
        Whether labels may be any number >= 0 (grades of relevance).
    """

    multiclass: ClassVar[bool] = False
    graded: ClassVar[bool] = False

    def __init_subclass__(cls, *, name: str | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if name is not None:
            MEASURES[name] = cls

    @abstractmethod
    def of(self, y_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """The values of checked input: what a training loop calls."""

    def __call__(self, y_row: ArrayLike, score_row: ArrayLike, groups: Ids) -> NDArray[Any]:
        """Check the input, then score each group.

        Parameters
        ----------
        y_row : array-like of shape (n_rows,)
        score_row : array-like of shape (n_rows,) or (n_rows, n_classes)
        groups : array-like of shape (n_rows,) or None
            ``None``: every row is its own group.

        Returns
        -------
        value_group : ndarray of shape (n_groups,)
        """
        y, score = np.asarray(y_row), np.asarray(score_row)
        if score.dtype.kind in "biu":  # of which differences may leave the type
            score = score.astype(float)
        if y.ndim != 1 or len(score) != len(y):
            raise ValueError(
                f"expected one label and one score per row, got labels of shape {y.shape} and "
                f"scores of shape {score.shape}"
            )
        encoded = check_groups(groups, len(y))
        _refuse_missing(score, encoded)
        if score.ndim == 2 and score.shape[1] == 2:
            score = score[:, 1] - score[:, 0]
        elif score.ndim == 2 and not self.multiclass:
            raise ValueError(f"{self!r} is for two classes: scores must have shape (n_rows,)")
        self._check_labels(y, score, encoded)
        return self.of(y, score, encoded)

    def _check_labels(self, y: NDArray[Any], score: NDArray[Any], groups: Groups) -> None:
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"labels must be numbers (0/1, -1/+1 or class positions), got {y.dtype}; "
                "score_groups takes any labels"
            )
        if score.ndim == 2:
            known, expected = (y >= 0) & (y < score.shape[1]), f"0 to {score.shape[1] - 1}"
        elif self.graded:
            known, expected = y >= 0, "grades of relevance >= 0"
        else:
            known = (y == 1) | (y == (-1 if (y == -1).any() else 0))
            expected = "0 and 1, or -1 and +1"
        if not known.all():
            row = int(np.argmin(known))
            raise GroupDataError(
                f"labels must be {expected}; group {_group_of(row, groups)} holds {show(y[row])}"
            )


#: What a parameter ``measure`` takes.
MeasureLike: TypeAlias = str | GroupMeasure | Callable[..., Any]


@dataclass(frozen=True)
class CallableMeasure(GroupMeasure):
    """A measure of your own.

    Parameters
    ----------
    function : callable
        ``function(y_row, score_row, groups) -> value_group`` with ``groups`` a
        :class:`groupwise.Groups`, whose ``sum``, ``mean`` and ``max`` work on all groups at once.
        NaN leaves a group out. Any other value outside [0, 1] is an error that names the group:
        boosting weights would not be what the theory says.

    Examples
    --------
    >>> def recall(y, score, groups):
    ...     return groups.sum(y * (score > 0)) / groups.sum(y)
    >>> CallableMeasure(recall)([1, 1, 1, 0], [0.3, -0.1, 0.2, 0.9], ["a", "a", "b", "b"]).tolist()
    [0.5, 1.0]
    """

    function: Callable[[NDArray[Any], NDArray[Any], Groups], NDArray[Any]]

    multiclass = True

    def __repr__(self) -> str:
        return f"CallableMeasure({getattr(self.function, '__name__', repr(self.function))})"

    def of(self, y_row: NDArray[Any], score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        value = np.asarray(self.function(y_row, score_row, groups), dtype=float)
        if value.shape != (groups.n_groups,):
            raise ValueError(
                f"{self!r} must give one number per group ({groups.n_groups}), got shape "
                f"{value.shape}"
            )
        outside = (value < 0.0) | (value > 1.0)
        if outside.any():
            group = int(np.argmax(outside))
            raise ValueError(
                f"{self!r} must stay in [0, 1]; it gives {value[group]:g} in group "
                f"{show(groups.names[group])}"
            )
        return value


def get_measure(measure: MeasureLike) -> GroupMeasure:
    """Look a measure up by name, take the object as it is, or wrap a function.

    ``"f1"`` is the F1 of the positive class where there are two, and the mean over classes where
    there are more; it means this everywhere in the library.

    Parameters
    ----------
    measure : str, GroupMeasure or callable
        ``"accuracy"``, ``"balanced_accuracy"``, ``"f1"``, ``"matthews"``, ``"precision_at_k"``,
        ``"average_precision"``, ``"ndcg"`` or ``"roc_area"``; a function as in
        :class:`CallableMeasure`.

    Returns
    -------
    measure : GroupMeasure

    Examples
    --------
    >>> get_measure("f1")
    FBeta(without_positives='count', beta=1.0)
    """
    if isinstance(measure, GroupMeasure):
        return measure
    if isinstance(measure, str) and measure in MEASURES:
        return MEASURES[measure]()
    if callable(measure):
        return CallableMeasure(measure)
    raise ValueError(
        f"measure must be one of {sorted(MEASURES)}, a GroupMeasure or a function, got {measure!r}"
    )


def _refuse_missing(score: NDArray[Any], groups: Groups) -> None:
    missing = np.isnan(score) if score.ndim == 1 else np.isnan(score).any(axis=1)
    if missing.any():
        row = int(np.argmax(missing))
        raise GroupDataError(
            f"scores must be numbers; {int(missing.sum())} rows have NaN, the first in group "
            f"{_group_of(row, groups)}"
        )


def _group_of(row: int, groups: Groups) -> str:
    return show(groups.names[groups.codes[row]])
