"""Several groupings of the same rows at once: sessions in users, counts by age and by county."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groupings, Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import LOSSES, BoundLoss, GroupLoss, RowWeights, get_loss
from groupwise.losses.regression import NUMBER_LOSSES, NumberLoss, get_number_loss

__all__ = ["SeveralGroupings", "naming"]

_LEAST_CURVATURE = 1e-16


class SeveralGroupings(NumberLoss):
    r"""The sum of a loss for each of several groupings of the same rows.

    .. math:: \ell(s) = \sum_v \lambda_v\, \ell_v(s_{R_v}) ,

    with :math:`R_v` the rows that are in a group of grouping v. The groupings may be nested
    (sessions in users), cross each other (counts by age, by county and by education), and leave
    rows out. One grouping with weight 1 is its own loss.

    Parameters
    ----------
    losses : dict
        The name of each grouping, a column of ``groups``, with its loss: a name or an object, of
        classes (``"majority"``, ``"presence"``, ``"proportions"``, ``"reported_counts"``, ...) or
        of numbers (``"squared_error"``, ``"poisson"``, ...) for all of them. The first says how
        groups are predicted.
    weights : dict, default=None
        :math:`\lambda_v` by name; 1 for those it does not name.

    Notes
    -----
    Gradients add, and so do diagonals that majorise the Hessians. Where a row is in no group its
    gradient is 0 and its curvature 1e-16, as engines divide by it. Boosting starts from the mean of
    the losses' best constants, weighted as the losses are.

    On Dask the groups of the first grouping are brought together, as those of one grouping are.
    Rows of the other groupings stay where they are: their losses must be functions of sums over a
    group's rows, which the workers add up (``"proportions_squared"``, ``"squared_error"``,
    ``"poisson"``, ``"negative_binomial"``); others are refused.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groupings
    >>> loss = SeveralGroupings({"user": "presence", "county": "proportions"}, {"county": 0.5})
    >>> rows = Groupings({"user": ["a", "a", "b"], "county": [1, 2, None]})
    >>> known = {"user": np.array([1, 0]), "county": np.array([[0.0, 1.0], [1.0, 0.0]])}
    >>> bound = loss.bind(known, rows)
    >>> bits = bound.value(np.zeros(3)) / np.log(2)  # -log(3/4), one row, half of two rows
    >>> float(bits.round(6))
    2.415037
    """

    target_kind = "several"

    def __init__(self, losses: dict[Any, str | GroupLoss], weights: dict[Any, float] | None = None):
        self.losses = losses
        self.weights = weights

    def each(self) -> dict[Any, GroupLoss]:
        """The losses as objects, by the name of their grouping."""
        return {name: _resolved(loss) for name, loss in self.losses.items()}

    def weight_of(self, name: Any) -> float:
        """Of a grouping."""
        return float((self.weights or {}).get(name, 1.0))

    @property
    def first(self) -> GroupLoss:
        """The loss of the first grouping."""
        return _resolved(next(iter(self.losses.values())))

    @property
    def of_numbers(self) -> bool:
        """Whether the losses are of numbers, not of classes."""
        return isinstance(self.first, NumberLoss)

    # ignored: what others have for all of their kind depends on the losses here
    @property
    def default_rule(self) -> Any:  # type: ignore[override]
        """That of the first loss."""
        return self.first.default_rule

    @property
    def binary(self) -> bool:  # type: ignore[override]
        """Whether one of the losses is for two classes."""
        return any(loss.binary for loss in self.each().values())

    @property
    def takes_exposure(self) -> bool:  # type: ignore[override]
        """Whether all of the losses do."""
        return all(getattr(loss, "takes_exposure", False) for loss in self.each().values())

    def check_parameters(self) -> None:
        if not isinstance(self.losses, Mapping) or not self.losses:
            raise ValueError(f"losses must be a dict of groupings and losses, got {self.losses!r}")
        kinds = {}
        for name, loss in self.each().items():
            loss.check_parameters()
            if loss.target_kind in ("labels", "time", "several") or loss.one_score:
                raise ValueError(f"{loss!r} (grouping {name!r}) does not add up with other losses")
            kinds[name] = type(loss).predict if isinstance(loss, NumberLoss) else type(loss).proba
        if len(set(kinds.values())) > 1:
            raise ValueError(
                "the losses must take scores for the same thing (all classes, all numbers, or all "
                f"rates); got {self.losses!r}"
            )
        for name in self.weights or {}:
            if name not in self.losses:
                raise ValueError(f"weights names {name!r}; the groupings are {list(self.losses)}")
            check_number(f"weights[{name!r}]", self.weight_of(name), "(0, inf)")

    def check(
        self,
        target_group: Any,
        groups: Any,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> None:
        """Refuse what :meth:`bind` cannot take."""
        self.check_parameters()
        self.check_names(groups)
        for name, loss in self.each().items():
            rows, encoded = groups.rows[name], groups.groups[name]
            weight = None if weight_row is None else weight_row[rows]
            if len(rows):
                with naming(name):
                    loss.check(target_group[name], encoded, n_classes=n_classes, weight_row=weight)

    def check_names(self, groups: Groupings) -> None:
        """Refuse groupings other than those that there are losses for."""
        if set(groups.ids) != set(self.losses):
            raise GroupDataError(
                f"groups must have a column of ids for each of {list(self.losses)}; it has "
                f"{list(groups.ids)}"
            )

    def bind(
        self,
        target_group: Any,
        groups: Any,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> BoundLoss:
        """Give the losses their data.

        Parameters
        ----------
        target_group : dict
            By the name of the grouping, what its loss takes.
        groups : Groupings
        n_classes : int, default=2
        weight_row : ndarray of shape (n_rows,), default=None

        Returns
        -------
        loss : BoundLoss
        """
        return super().bind(target_group, groups, n_classes=n_classes, weight_row=weight_row)

    def _bind(
        self, target_group: Any, groups: Any, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        parts: dict[Any, tuple[NDArray[np.intp], BoundLoss | None]] = {}
        for name, loss in self.each().items():
            rows, bound = groups.rows[name], None
            if len(rows):
                bound = loss.bind(
                    target_group[name],
                    groups.groups[name],
                    n_classes=n_classes,
                    weight_row=None if weight_row is None else weight_row[rows],
                )
            parts[name] = rows, bound
        return self.joined(parts, groups.n_rows, n_classes)

    def joined(
        self,
        bound: Mapping[Any, tuple[NDArray[np.intp], BoundLoss | None]],
        n_rows: int,
        n_classes: int,
    ) -> BoundLoss:
        """The sum of losses that are bound to their rows, by the name of their grouping."""
        parts = [
            _Part(rows, part, self.weight_of(name), n_rows) for name, (rows, part) in bound.items()
        ]
        return _Several(parts, n_rows, 1 if n_classes == 2 else n_classes)

    def proba(self, score_row: NDArray[Any]) -> NDArray[Any]:
        return self.first.proba(score_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return self.first.proba_groups(score_row, groups)

    def predict(self, score_row: NDArray[Any]) -> NDArray[Any]:
        return _of_numbers(self.first).predict(score_row)

    def combine(self, y_row: NDArray[Any], groups: Groups, *, target: str) -> NDArray[Any]:
        return _of_numbers(self.first).combine(y_row, groups, target=target)


@contextmanager
def naming(name: Any) -> Iterator[None]:
    """Say in errors which grouping they are about."""
    try:
        yield
    except GroupDataError as error:
        raise GroupDataError(f"grouping {name!r}: {error}") from error


def _resolved(loss: Any) -> GroupLoss:
    if isinstance(loss, str) and loss in NUMBER_LOSSES:
        return get_number_loss(loss)
    if isinstance(loss, GroupLoss) or (isinstance(loss, str) and loss in LOSSES):
        return get_loss(loss)
    raise ValueError(
        f"a grouping's loss must be one of {[*LOSSES, *NUMBER_LOSSES]} or a GroupLoss, got {loss!r}"
    )


def _of_numbers(loss: GroupLoss) -> NumberLoss:
    if not isinstance(loss, NumberLoss):
        raise ValueError(f"{loss!r} is of classes, not of numbers")
    return loss


class _Part:
    """The loss of one grouping; none where no row is in a group of it."""

    def __init__(self, rows: NDArray[np.intp], bound: BoundLoss | None, weight: float, n_rows: int):
        # all rows as they are: a view, not a copy
        self.rows: NDArray[np.intp] | slice = slice(None) if len(rows) == n_rows else rows
        self.bound = bound
        self.weight = weight

    @property
    def total_weight(self) -> float:
        return 0.0 if self.bound is None else self.weight * self.bound.total_weight


class _Several(BoundLoss):
    """Rows stay as they are; each part puts its own into order."""

    def __init__(self, parts: list[_Part], n_rows: int, n_scores: int):
        super().__init__(Groups.singletons(n_rows))
        self.parts = parts
        self.n_scores = n_scores
        self.total_weight = sum(part.total_weight for part in parts)
        outside = np.ones(n_rows, bool)
        for part in parts:
            outside[part.rows] = False
        self._outside = np.flatnonzero(outside)

    def with_offset(self, offset_row: NDArray[Any]) -> "BoundLoss":
        for part in self.parts:
            if part.bound is not None:
                part.bound.with_offset(offset_row[part.rows])
        return self

    def follow(self, training: Any) -> "BoundLoss":
        for mine, other in zip(self.parts, training.parts, strict=True):
            if mine.bound is not None and other.bound is not None:
                mine.bound.follow(other.bound)
        return self

    def init_score(self) -> NDArray[Any]:
        start = np.zeros(self.n_scores)
        for part in self.parts:
            if part.bound is not None:
                start += part.total_weight / self.total_weight * part.bound.init_score()
        return start

    def _value(self, score: NDArray[Any]) -> float:
        return sum(
            part.weight * part.bound.value(score[..., part.rows].T)
            for part in self.parts
            if part.bound is not None
        )

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = np.zeros(score.shape, dtype), np.zeros(score.shape, dtype)
        curvature[..., self._outside] = _LEAST_CURVATURE
        for part in self.parts:
            if part.bound is None:
                continue
            found = part.bound.gradient_and_curvature(score[..., part.rows].T, dtype)
            for total, each in zip((gradient, curvature), found, strict=True):
                total[..., part.rows] += part.weight * each.T
        return gradient, curvature
