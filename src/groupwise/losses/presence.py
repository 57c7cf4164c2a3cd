"""Presence (multiple-instance) supervision: a group is positive if at least one row is."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit

from groupwise.groups import Groups
from groupwise.losses.base import BoundLoss, GroupLoss, link
from groupwise.losses.segments import Segments
from groupwise.losses.softplus import softplus

__all__ = ["NoisyOrLoss", "SmoothMaxLoss"]

_LEAST_CURVATURE = 1e-16


@dataclass(frozen=True)
class NoisyOrLoss(GroupLoss):
    r"""Negative log-likelihood of groups under the noisy-or.

    With :math:`p_{ij} = 1 / (1 + e^{-s_{ij}})`, group i is positive with probability
    :math:`P_i = 1 - \prod_j (1 - p_{ij}) = 1 - e^{-A_i}`,
    :math:`A_i = \sum_j \log(1 + e^{s_{ij}})`, and

    .. math:: \ell(s) = \sum_i w_i \begin{cases} -\log(1 - e^{-A_i}) & y_i = 1 \\
                                                  A_i & y_i = 0 . \end{cases}

    A group of one row gives logistic regression. Two classes, the second positive.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian, but the loss is not convex, so a long step
    may still leave the bound. Negative groups: p (1 - p), exact. Positive ones: with
    :math:`\varphi(A) = -\log(1 - e^{-A})` the Hessian is
    :math:`\varphi'' p p^\top + \varphi'\, \mathrm{diag}(p (1 - p))`, and
    :math:`(\sum_j p_j d_j)^2 \le (\sum_k p_k) \sum_j p_j d_j^2` (Cauchy and Schwarz). For one row
    this is p (1 - p) again.

    References
    ----------
    P. Viola, J. Platt and C. Zhang (2006). Multiple instance boosting for object detection. NIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = NoisyOrLoss().bind(np.array([1, 0]), Groups([0, 0, 1]))
    >>> bool(np.isclose(loss.value(np.zeros(3)), -np.log(0.75) - np.log(0.5)))
    True
    """

    binary: ClassVar[bool] = True

    def bind(
        self,
        target_group: NDArray[Any],
        groups: Groups,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> BoundLoss:
        _check_two_classes(n_classes)
        return _NoisyOr(target_group, groups, weight_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        log_none = -groups.sum(softplus(score_row))
        return np.column_stack([np.exp(log_none), -np.expm1(log_none)])


class _NoisyOr(BoundLoss):
    def __init__(self, y_group: NDArray[np.intp], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        self.positive = y_group[self.segments.of_groups] == 1
        part = np.ones(groups.n_rows) if self.part_row is None else self.part_row
        self._log_part = np.log(part)

    def init_score(self) -> NDArray[Any]:
        weight = self.across.sum(np.bincount(self.positive, self.weight_group, 2)[::-1].copy())
        if min(weight) == 0:  # no best constant: as far as a single row in all would go
            return np.array([np.log((weight[0] + 0.5) / (weight[1] + 0.5))])

        def loss(score: float) -> float:
            return self.across.sum(self._loss(np.log(self.segments.sizes) + _log_softplus(score)))

        best = minimize_scalar(
            loss, bounds=(-30.0, 30.0), method="bounded", options={"xatol": 1e-9}
        )
        return np.array([best.x])

    def _loss(self, log_a: NDArray[Any]) -> float:
        positive = self.positive
        value = np.where(positive, 0.0, np.exp(np.where(positive, 0.0, log_a)))
        value[positive] = -_log1mexp(log_a[positive])
        return float(self.weight_group @ value)

    def _log_a(self, score: NDArray[Any]) -> NDArray[Any]:
        return self.segments.logsumexp(_log_softplus(score) + self._log_part)

    def _value(self, score: NDArray[Any]) -> float:
        return self._loss(self._log_a(score))

    def _derivatives(self, score: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        spread = self.segments.spread
        log_p = -softplus(-score)
        q = expit(-score)
        log_a = self._log_a(score)
        log_any = _log1mexp(log_a)  # log(1 - exp(-A))
        # of positive groups: -phi'(A) = 1 / expm1(A), and phi''(A) sum(p) over that
        log_slope = np.where(self.positive, -np.exp(log_a) - log_any, 0.0)
        log_sum = self.segments.logsumexp(log_p + self._log_part)
        ratio = np.where(self.positive, np.exp(log_sum - log_any), 0.0)
        positive = spread(self.positive)
        gradient = np.exp(log_p + spread(log_slope))
        curvature = gradient * np.where(positive, spread(ratio) - q, q)
        np.negative(gradient, out=gradient, where=positive)
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        return (
            self._scale_rows(gradient, self.weight_group),
            self._scale_rows(curvature, self.weight_group),
        )


@dataclass(frozen=True)
class SmoothMaxLoss(GroupLoss):
    r"""Logistic loss of each group's smooth largest score.

    .. math:: S_i = \frac1\tau \log \frac{1}{m_i} \sum_j e^{\tau s_{ij}}, \qquad
              \ell(s) = \sum_i w_i \log(1 + e^{-y_i S_i}) ,

    which lies between the mean (:math:`\tau \to 0`) and the largest score
    (:math:`\tau \to \infty`). A group of one row gives logistic regression. Two classes, the second
    positive.

    Parameters
    ----------
    sharpness : float, default=2.0
        :math:`\tau`.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian. With q the softmax of :math:`\tau s` in the
    group, the Hessian is :math:`P (1 - P) q q^\top + \tau (P - y)(\mathrm{diag}(q) - q q^\top)`;
    :math:`q q^\top \le \mathrm{diag}(q)` as q sums to one, the second term is dropped where P < y,
    and :math:`\mathrm{diag}(q) - q q^\top` is at most :math:`\mathrm{diag}(2 q (1 - q))` by its
    absolute row sums. For one row this is p (1 - p).

    References
    ----------
    J. Ramon and L. De Raedt (2000). Multi instance neural networks. ICML workshop.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = SmoothMaxLoss(sharpness=1e3).bind(np.array([1]), Groups([0, 0]))
    >>> loss.gradient(np.array([0.0, -5.0])).tolist()
    [-0.50017..., -0.0]
    """

    sharpness: float = 2.0

    binary: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not (np.isfinite(self.sharpness) and self.sharpness > 0):
            raise ValueError(f"sharpness must be a finite number > 0, got {self.sharpness!r}")

    def bind(
        self,
        target_group: NDArray[Any],
        groups: Groups,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> BoundLoss:
        _check_two_classes(n_classes)
        return _SmoothMax(target_group, groups, weight_row, self.sharpness)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        segments = Segments(groups)
        inside = segments.logsumexp(self.sharpness * segments.enter(score_row))
        score_group = np.empty(groups.n_groups)
        score_group[segments.of_groups] = (inside - np.log(segments.sizes)) / self.sharpness
        return link(score_group)


class _SmoothMax(BoundLoss):
    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        sharpness: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.segments.of_groups]
        self.sharpness = sharpness
        self._log_part: Any = 0.0 if self.part_row is None else np.log(self.part_row)

    def init_score(self) -> NDArray[Any]:
        weight = self.across.sum(np.bincount(self.y_group, self.weight_group, 2))
        weight = np.maximum(weight, 1e-12 * weight.sum())
        return np.log(weight[1:] / weight[:1])

    def _log_sum(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        scaled = self.sharpness * score + self._log_part
        return scaled, self.segments.logsumexp(scaled)

    def _value(self, score: NDArray[Any]) -> float:
        score_group = (self._log_sum(score)[1] - np.log(self.segments.sizes)) / self.sharpness
        loss = softplus(np.where(self.y_group == 1, -score_group, score_group))
        return float(self.weight_group @ loss)

    def _derivatives(self, score: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        spread, weight = self.segments.spread, self.weight_group
        scaled, log_sum = self._log_sum(score)
        share = np.exp(scaled - spread(log_sum))  # q
        proba = expit((log_sum - np.log(self.segments.sizes)) / self.sharpness)
        residual = proba - self.y_group
        bend = np.maximum(residual, 0.0) * self.sharpness
        curvature = spread(weight * bend) * (2.0 * (1.0 - share))
        curvature += spread(weight * proba * (1.0 - proba))
        curvature *= share
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        share *= spread(weight * residual)
        return share, curvature


def _check_two_classes(n_classes: int) -> None:
    if n_classes != 2:
        raise ValueError(
            "presence losses need two classes, groups without and with a positive row; got "
            f"{n_classes}. Fit one class against the rest"
        )


def _log_softplus(score: Any) -> Any:
    """log(log(1 + exp(score))), finite for all finite scores."""
    return np.where(score < -35.0, score, np.log(softplus(np.maximum(score, -35.0))))


def _log1mexp(log_a: NDArray[Any]) -> NDArray[Any]:
    """log(1 - exp(-A)) from log A: log A - A / 2 for small A."""
    a = np.exp(np.maximum(log_a, -30.0))
    return np.where(log_a < -30.0, log_a, np.log(-np.expm1(-a)))
