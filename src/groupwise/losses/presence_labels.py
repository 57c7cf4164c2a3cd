"""Several labels of presence: which of K findings are somewhere in the group."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.base import BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.presence import NoisyOrLoss
from groupwise.rules import Rule

__all__ = ["PresenceLabelsLoss"]

_LEAST_CURVATURE = 1e-16


class PresenceLabelsLoss(GroupLoss):
    r"""One noisy-or per label; labels that are missing in a group cost nothing there.

    Rows have a score per label, :math:`s_{ijk}`; a group has label k if at least one row does:

    .. math:: \ell(s) = \sum_k \sum_{i : y_{ik} \text{ known}}
                        w_i\, \ell_\vee(s_{i \cdot k}, y_{ik})

    with :math:`\ell_\vee` the cost of :class:`~groupwise.losses.NoisyOrLoss`. A group of one row
    gives K logistic regressions. The target is a table (n_groups, n_labels) of 0, 1 and NaN. For
    :class:`groupwise.gbdt.GroupBoostMultilabelClassifier` and :func:`groupwise.gbdt.objective`.

    Notes
    -----
    The labels have scores of their own, so that the Hessian has a block per label and the curvature
    of each noisy-or majorises its block. Where a label is missing the loss is flat, and the
    curvature 1e-16: engines divide by it.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> found = np.array([[1.0, np.nan], [0.0, 1.0]])
    >>> loss = PresenceLabelsLoss().bind(found, Groups([0, 1]), n_classes=2)
    >>> loss.gradient(np.zeros((2, 2))).tolist()
    [[-0.5, 0.0], [0.5, -0.5]]
    """

    target_kind: ClassVar[TargetKind] = "labels"
    default_rule: ClassVar[Rule | None] = None
    on_machines: ClassVar[bool] = False

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        wrong = ~(np.isnan(target_group) | (target_group == 0) | (target_group == 1)).all(axis=1)
        if wrong.any():
            group = int(np.argmax(wrong))
            raise GroupDataError(
                f"labels must be 0, 1 or missing; group {show(groups.names[group])} holds "
                f"{target_group[group].tolist()}"
            )

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Labels(target_group, groups, weight_row)

    def proba(self, score_row: NDArray[Any]) -> NDArray[Any]:
        """Probability of each label for rows, (n_rows, n_labels); they need not sum to one."""
        return expit(score_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Probability of each label for groups, (n_groups, n_labels)."""
        one = NoisyOrLoss()
        return np.column_stack([one.proba_groups(score, groups)[:, 1] for score in score_row.T])


class _Labels(BoundLoss):
    def __init__(self, target_group: NDArray[Any], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        code_row = self.layout.spread(self.layout.group_codes)
        weight = None if weight_row is None else self.layout.to_sorted(weight_row)
        self._parts: list[tuple[NDArray[np.intp], BoundLoss | None]] = []
        for label in target_group.T:
            known = ~np.isnan(label)
            rows = np.flatnonzero(known[code_row])
            part = None
            if len(rows):
                part = NoisyOrLoss().bind(
                    label[known].astype(np.intp),
                    Groups(code_row[rows]),
                    weight_row=None if weight is None else weight[rows],
                )
            self._parts.append((rows, part))

    def init_score(self) -> NDArray[Any]:
        # of a label that is not known anywhere: as likely as not in a group of average size
        even = np.log(np.expm1(np.log(2.0) / self.layout.sizes.mean(keepdims=True)))
        starts = [even if part is None else part.init_score() for _, part in self._parts]
        return np.concatenate(starts)

    def _value(self, score: NDArray[Any]) -> float:
        lines = np.atleast_2d(score)
        return sum(
            part.value(line[rows])
            for line, (rows, part) in zip(lines, self._parts, strict=True)
            if part is not None
        )

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient = np.zeros(score.shape, dtype)
        curvature = np.full(score.shape, _LEAST_CURVATURE, dtype)
        lines = (np.atleast_2d(values) for values in (score, gradient, curvature))
        for line, first, second, (rows, part) in zip(*lines, self._parts, strict=True):
            if part is not None:
                first[rows], second[rows] = part.gradient_and_curvature(line[rows], dtype)
        return gradient, curvature
