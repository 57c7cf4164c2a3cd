"""Grades of groups: ordered classes by cumulative odds of the group's score."""

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import BoundLoss, GroupLoss, RowWeights
from groupwise.losses.logistic import sigmoid, softplus
from groupwise.losses.pooling import Pooled, pool, pool_groups
from groupwise.rules import Rule

__all__ = ["OrdinalLoss"]

_MOST_STEPS = 50
_FAR = 1e9  # stands for the infinite thresholds below the first grade and above the last


class OrdinalLoss(GroupLoss, name="ordinal"):
    r"""Proportional odds of ordered classes, on each group's pooled score.

    With :math:`S_i` the mean of the group's scores, or their smooth maximum
    :math:`\frac1\tau \log \frac{1}{m_i} \sum_j e^{\tau s_{ij}}`, and thresholds
    :math:`\theta_1 < \dots < \theta_{K-1}`,

    .. math:: P(y_i \le k) = \sigma(\theta_k - S_i), \qquad
              \ell(s) = \min_\theta \sum_i w_i \cdot -\log P(y_i) .

    The thresholds are those that fit the present scores best: they are no parameters of the trees.
    One score per row, whatever the number of classes. The classes are grades in their sorted order.
    A group of one row gives McCullagh's proportional odds.

    Parameters
    ----------
    sharpness : float, default=0.0
        :math:`\tau`; 0 is the mean, for grades that the whole group has; more, for grades that its
        worst rows have.

    Attributes
    ----------
    thresholds_ : tuple of float
        Of the scores it was fitted to; a loss that has not been fitted has none.

    Notes
    -----
    At fixed thresholds a group's derivatives by its score are :math:`1 - \sigma(a) - \sigma(b)` and
    :math:`\sigma'(a) + \sigma'(b)`, with a and b the distances of the thresholds above and below
    its class. Their gradient is that of :math:`\ell` by the envelope theorem, and the Hessian of
    :math:`\ell` is theirs less a Schur complement, which is positive semi-definite as the
    likelihood is convex in scores and thresholds together: what majorises theirs (see
    :class:`~groupwise.losses.pooling.Pooled`) majorises that of :math:`\ell`.

    References
    ----------
    P. McCullagh (1980). Regression models for ordinal data. Journal of the Royal Statistical
    Society B 42.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = OrdinalLoss().bind(np.array([0, 1, 2]), Groups([0, 1, 2]), n_classes=3)
    >>> loss.gradient(np.zeros(3)).round(6).tolist()  # thresholds at odds of 1:2 and 2:1
    [0.666667, 0.0, -0.666667]
    """

    default_rule: ClassVar[Rule | None] = None
    one_score: ClassVar[bool] = True
    on_machines: ClassVar[bool] = False

    thresholds_: tuple[float, ...] = ()

    def __init__(self, sharpness: float = 0.0):
        self.sharpness = sharpness

    def check_parameters(self) -> None:
        check_number("sharpness", self.sharpness, "[0, inf)")

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Ordinal(target_group, groups, n_classes, weight_row, self.sharpness)

    def proba(self, score_row: NDArray[Any]) -> NDArray[Any]:
        at_most = sigmoid(np.array(self.thresholds_) - score_row[:, None])[0]
        edges = np.ones((len(score_row), 1))
        return np.diff(np.hstack([0.0 * edges, at_most, edges]), axis=1)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return self.proba(pool_groups(score_row, groups, self.sharpness))


class _Ordinal(BoundLoss):
    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
        weight_row: NDArray[Any] | None,
        sharpness: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.layout.group_codes]
        self.n_classes = n_classes
        self.sharpness = sharpness
        self.thresholds: NDArray[Any] | None = None  # the last that were found
        # groups class after class
        self._order = np.argsort(self.y_group, kind="stable")
        self._cuts = np.cumsum(np.bincount(self.y_group, minlength=n_classes))[:-1]
        self._weights = np.split(self.weight_group[self._order], self._cuts)
        self._training: _Ordinal | None = None

    def follow(self, training: "_Ordinal") -> "BoundLoss":
        self._training = training
        return self

    def learned(self, loss: GroupLoss, score_row: NDArray[Any]) -> GroupLoss:
        fitted = copy(loss)
        found = self._fit(self._pool(self._ordered(score_row)).score_group)
        fitted.thresholds_ = tuple(found.tolist())
        return fitted

    def init_score(self) -> NDArray[Any]:
        return np.zeros(1)  # any constant is as good: the thresholds move with it

    def _pool(self, score: NDArray[Any]) -> Pooled:
        return pool(score, self.layout, self.sharpness, self.part_row)

    def _value(self, score: NDArray[Any]) -> float:
        score_group = self._pool(score).score_group
        training = self._training
        if training is None:
            thresholds = self._fit(score_group)
        elif training.thresholds is None:
            raise RuntimeError("the loss of the training groups must be asked first")
        else:
            thresholds = training.thresholds
        return self._cost(score_group, thresholds)

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        pooled = self._pool(score)
        above, below = self._sides(pooled.score_group, self._fit(pooled.score_group))
        (up, up_other), (low, low_other) = sigmoid(above), sigmoid(below)
        first = self.weight_group * (up_other - low)
        second = self.weight_group * (up * up_other + low * low_other)
        return pooled.derivatives(first, second, dtype)

    def _sides(
        self, score_group: NDArray[Any], thresholds: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """How far each score lies below the threshold above its class, and the one below it."""
        edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
        above, below = edges[self.y_group + 1] - score_group, edges[self.y_group] - score_group
        return np.minimum(above, _FAR), np.maximum(below, -_FAR)

    def _cost(self, score_group: NDArray[Any], thresholds: NDArray[Any]) -> float:
        above, below = self._sides(score_group, thresholds)
        log_width = np.log(-np.expm1(-np.maximum(above - below, 1e-300)))
        return _dot(self.weight_group, softplus(-above) + softplus(below) - log_width)

    def _fit(self, score_group: NDArray[Any]) -> NDArray[Any]:
        """The best thresholds, by Newton steps from the last ones or from rough ones."""
        by_class = np.split(score_group[self._order], self._cuts)
        found, following = self.thresholds, None
        if found is not None:
            following = self._step(by_class, found)
        if found is None or following is None or following[1] > 1e-2 * self.total_weight:
            starts = [self._rough_thresholds(score_group)] + ([] if found is None else [found])
            found = min(starts, key=lambda start: self._cost(score_group, start))
            following = self._step(by_class, found)
        for _ in range(_MOST_STEPS):
            step, decrement = following
            near = decrement <= 1e-4 * self.total_weight and (np.diff(found - step) > 0.0).all()
            if near:  # where a full step squares the error
                found = found - step
            else:
                shorter = self._shortened(score_group, found, step, decrement)
                if shorter is None:
                    break
                found = shorter
            if decrement <= 1e-12 * self.total_weight:
                break
            following = self._step(by_class, found)
        self.thresholds = found
        return found

    def _step(
        self, score_class: Sequence[NDArray[Any]], thresholds: NDArray[Any]
    ) -> tuple[NDArray[Any], float]:
        """Newton's step, and how much it promises."""
        gradient, hessian = self._threshold_derivatives(score_class, thresholds)
        step = np.linalg.solve(hessian, gradient)
        return step, float(gradient @ step)

    def _shortened(
        self,
        score_group: NDArray[Any],
        found: NDArray[Any],
        step: NDArray[Any],
        decrement: float,
    ) -> NDArray[Any] | None:
        """As much of the step as lowers the cost and keeps the order; none if nothing does."""
        cost = self._cost(score_group, found)
        length = 1.0
        while length > 1e-6:
            trial = found - length * step
            ordered = (np.diff(trial) > 0.0).all()
            if ordered and self._cost(score_group, trial) <= cost - 0.1 * length * decrement:
                return trial
            length /= 2.0
        return None

    def _rough_thresholds(self, score_group: NDArray[Any]) -> NDArray[Any]:
        """Log-odds of the grades up to each, wider as the scores are."""
        weight = np.bincount(self.y_group, self.weight_group, self.n_classes)
        if (weight == 0).any():
            raise GroupDataError(
                f"every class needs a group that has it; number {int(np.argmin(weight))} of "
                f"{self.n_classes} has none"
            )
        up_to = np.cumsum(weight)
        total = up_to[-1]
        mean = _dot(self.weight_group, score_group) / total
        variance = _dot(self.weight_group, (score_group - mean) ** 2) / total
        odds = np.log(up_to[:-1] / (total - up_to[:-1]))
        return mean + odds * np.sqrt(1.0 + 0.35 * variance)  # a logistic plus a normal spread

    def _threshold_derivatives(
        self, score_class: Sequence[NDArray[Any]], thresholds: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Gradient and Hessian, from the scores of each class's groups."""
        gap = np.clip(np.diff(thresholds), 1e-150, 600.0)
        of_class = np.array([weight.sum() for weight in self._weights[1:-1]])
        narrow = of_class / np.expm1(gap)  # the outer classes have no width
        bend = of_class * np.exp(-gap) / np.expm1(-gap) ** 2
        gradient, diagonal = np.zeros(len(thresholds)), np.zeros(len(thresholds))
        gradient[:-1] += narrow
        gradient[1:] -= narrow
        diagonal[:-1] += bend
        diagonal[1:] += bend
        for k, threshold in enumerate(thresholds):  # above the class k, below the next
            up, up_other = sigmoid(threshold - score_class[k])
            low, low_other = sigmoid(threshold - score_class[k + 1])
            gradient[k] += _dot(self._weights[k + 1], low) - _dot(self._weights[k], up_other)
            diagonal[k] += _dot(self._weights[k], up * up_other)
            diagonal[k] += _dot(self._weights[k + 1], low * low_other)
        hessian = np.diag(diagonal + 1e-12 * self.total_weight)
        between = np.arange(len(gap))
        hessian[between, between + 1] = hessian[between + 1, between] = -bend
        return gradient, hessian


def _dot(weight: NDArray[Any], values: NDArray[Any]) -> float:
    """Without BLAS, whose threads wait for each other in every one of many short products."""
    return float(np.einsum("i,i->", weight, values))
