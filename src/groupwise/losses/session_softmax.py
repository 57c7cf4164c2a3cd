"""Majority supervision by cross-entropy: of the rows, and of the group's mean score."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from groupwise.groups import Groups
from groupwise.losses.base import BoundLoss, GroupLoss
from groupwise.losses.softplus import softplus

__all__ = ["SessionSoftmaxLoss"]


@dataclass(frozen=True)
class SessionSoftmaxLoss(GroupLoss):
    r"""Cross-entropy of rows and of sessions, mixed.

    .. math:: \ell(s) = \frac{1}{1 + \gamma} \sum_i w_i \Big[\sum_j -\log \sigma_{y_i}(s_{ij})
                        + \gamma\, m_i \cdot -\log \sigma_{y_i}(\bar s_i) \Big] ,

    with :math:`\sigma` the softmax (for two classes the logistic function of one score). gamma = 0
    is logistic regression on the naive labels, an infinite gamma looks at the sessions' mean scores
    only. A group of one row gives logistic regression whatever gamma is. Where SBoost multiplies
    exponential errors of session and rows, this adds logistic ones: hopeless rows and groups get
    bounded weights. The form is ours, for any number of classes.

    Parameters
    ----------
    gamma : float, default=4.0
        May be ``inf``.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian: the session term's is
    :math:`m_i Q(\bar d_i) \le \sum_j Q(d_{ij})` for the quadratic form Q of the softmax at
    :math:`\bar s_i` (Jensen), and :math:`Q = \mathrm{diag}(p) - p p^\top` is at most
    :math:`\mathrm{diag}(2 p (1 - p))` by its absolute row sums; for two classes with one score it
    is p (1 - p) itself.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = SessionSoftmaxLoss(np.inf).bind(np.array([1, 0]), Groups([0, 0, 1]))
    >>> loss.gradient(np.array([3.0, -3.0, 0.0])).tolist()
    [-0.5, -0.5, 0.5]
    """

    gamma: float = 4.0

    def __post_init__(self) -> None:
        if not self.gamma >= 0:
            raise ValueError(f"gamma must be a number >= 0, got {self.gamma!r}")

    def bind(
        self,
        target_group: NDArray[Any],
        groups: Groups,
        *,
        n_classes: int = 2,
        weight_row: NDArray[Any] | None = None,
    ) -> BoundLoss:
        return _Bound(target_group, groups, n_classes, weight_row, self.gamma)


class _Bound(BoundLoss):
    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        n_classes: int,
        weight_row: NDArray[Any] | None,
        gamma: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.segments.of_groups]
        self.y_row = self.segments.spread(self.y_group)
        self.n_classes = n_classes
        self.session_share = 1.0 if np.isinf(gamma) else gamma / (1.0 + gamma)

    def init_score(self) -> NDArray[Any]:
        weight = self._class_weights(self.y_group, self.n_classes)
        if self.n_classes == 2:
            return np.log(weight[1:] / weight[:1])
        return np.log(weight / weight.sum())

    def _value(self, score: NDArray[Any]) -> float:
        row = _cross_entropy(score, self.y_row)
        by_group = self.segments.sum(row if self.part_row is None else row * self.part_row)
        session = self.segments.sizes * _cross_entropy(self._mean_score(score), self.y_group)
        share = self.session_share
        return float(self.weight_group @ ((1.0 - share) * by_group + share * session))

    def _derivatives(self, score: NDArray[Any], dtype: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        gradient, curvature = _cross_entropy_derivatives(score, self.y_row)
        session = _cross_entropy_derivatives(self._mean_score(score), self.y_group)
        for row, group in zip((gradient, curvature), session, strict=True):
            row *= 1.0 - self.session_share
            row += self.segments.spread(group * self.session_share)
            self._scale_rows(row, self.weight_group)
        return gradient, curvature


def _cross_entropy(score: NDArray[Any], y: NDArray[np.intp]) -> NDArray[Any]:
    if score.ndim == 1:
        return softplus(np.where(y == 1, -score, score))
    own = np.take_along_axis(score, y[None, :], axis=0)[0]
    return logsumexp(score, axis=0) - own


def _cross_entropy_derivatives(
    score: NDArray[Any], y: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[Any]]:
    if score.ndim == 1:
        proba = expit(score)
        return proba - y, proba * (1.0 - proba)
    proba = np.exp(score - logsumexp(score, axis=0))
    curvature = 2.0 * proba * (1.0 - proba)
    proba[y, np.arange(len(y))] -= 1.0
    return proba, curvature
