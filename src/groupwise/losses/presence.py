"""Presence (multiple-instance) supervision: a group is positive if at least one row is."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.losses.base import AdditiveLoss, BoundLoss, GroupLoss, RowWeights, link
from groupwise.losses.layout import Block, GroupedLayout
from groupwise.losses.logistic import exp_limit, sigmoid, softplus
from groupwise.rules import Rule

__all__ = ["NoisyOrLoss", "SmoothMaxLoss"]

_LEAST_CURVATURE = 1e-16


class NoisyOrLoss(GroupLoss, name="presence"):
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
    default_rule: ClassVar[Rule | None] = None

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _NoisyOr(target_group, groups, weight_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        log_none = -groups.sum(softplus(score_row))
        return np.column_stack([np.exp(log_none), -np.expm1(log_none)])


class _NoisyOr(AdditiveLoss):
    def __init__(self, y_group: NDArray[np.intp], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        self.positive = y_group[self.layout.group_codes] == 1

    def init_score(self) -> NDArray[Any]:
        weight = self.communicator.allreduce_sum(
            np.bincount(self.positive, self.weight_group, 2)[::-1].copy()
        )
        if min(weight) == 0:  # no best constant: as far as a single row in all would go
            return np.array([np.log((weight[0] + 0.5) / (weight[1] + 0.5))])
        log_sizes = np.log(self.layout.sizes)

        def loss(score: float) -> float:
            by_group = _minus_log_likelihood(log_sizes + _log_softplus(score), self.positive)
            return self.communicator.allreduce_sum(float(self.weight_group @ by_group))

        best = minimize_scalar(
            loss, bounds=(-30.0, 30.0), method="bounded", options={"xatol": 1e-9}
        )
        return np.array([best.x])

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        log_softplus = _log_softplus(score)
        if self.part_row is not None:
            log_softplus += np.log(self.part_row[block.rows])
        log_a = block.layout.logsumexp(log_softplus)
        return _minus_log_likelihood(log_a, self.positive[block.groups])

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        layout, positive = block.layout, self.positive[block.groups]
        odds = np.exp(_within_exp_limit(score, layout))
        a = self._sum(np.log1p(odds), block)
        p = odds / (1.0 + odds)
        # of a row: gradient -slope p, curvature p (slope p + rest); in negative groups p and
        # p (1 - p), in positive ones slope = -phi'(A) and rest = slope (phi''/-phi' sum(p) - 1)
        proba = -np.expm1(-a)
        slope = np.where(positive, np.exp(-a) / proba, -1.0)
        rest = np.where(positive, slope * (self._sum(p, block) / proba - 1.0), 1.0)
        gradient = p * layout.spread(-slope, p.dtype)
        curvature = p * layout.spread(rest, p.dtype)
        p *= gradient
        curvature -= p
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        return self._scale(gradient, block), self._scale(curvature, block)


class SmoothMaxLoss(GroupLoss, name="presence_lse"):
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

    binary: ClassVar[bool] = True
    default_rule: ClassVar[Rule | None] = None

    def __init__(self, sharpness: float = 2.0):
        self.sharpness = sharpness

    def check_parameters(self) -> None:
        check_number("sharpness", self.sharpness, "(0, inf)")

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _SmoothMax(target_group, groups, weight_row, self.sharpness)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        layout = GroupedLayout(groups)
        log_sum = layout.logsumexp(self.sharpness * layout.to_sorted(score_row))
        score_group = np.empty(groups.n_groups)
        score_group[layout.group_codes] = (log_sum - np.log(layout.sizes)) / self.sharpness
        return link(score_group)


class _SmoothMax(AdditiveLoss):
    def __init__(
        self,
        y_group: NDArray[np.intp],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        sharpness: float,
    ):
        super().__init__(groups, weight_row)
        self.y_group = y_group[self.layout.group_codes]
        self.sharpness = sharpness

    def init_score(self) -> NDArray[Any]:
        weight = self.communicator.allreduce_sum(np.bincount(self.y_group, self.weight_group, 2))
        weight = np.maximum(weight, 1e-12 * weight.sum())
        return np.log(weight[1:] / weight[:1])

    def _terms(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The rows' terms of their group's sum, the sums, and the groups' scores S."""
        scaled = self.sharpness * score
        if self.part_row is not None:
            scaled += np.log(self.part_row[block.rows])
        term, top = block.layout.exp(scaled)
        total = block.layout.sum(term)
        score_group = (np.log(total / block.layout.sizes) + top) / self.sharpness
        return term, total, score_group

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        score_group = self._terms(score, block)[2]
        return softplus(np.where(self.y_group[block.groups] == 1, -score_group, score_group))

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        spread = partial(block.layout.spread, dtype=score.dtype)
        term, total, score_group = self._terms(score, block)
        proba, other = sigmoid(score_group)
        residual = proba - self.y_group[block.groups]
        excess = 2.0 * self.sharpness * np.maximum(residual, 0.0)
        # with q the share term / total: gradient residual q,
        # curvature q (p (1 - p) + excess (1 - q))
        weight = self.weight_group[block.groups] / total
        curvature = term * spread(-weight * excess / total)
        curvature += spread(weight * (proba * other + excess))
        curvature *= term
        np.maximum(curvature, _LEAST_CURVATURE, out=curvature)
        gradient = term * spread(weight * residual)
        return gradient, curvature


def _within_exp_limit(score: NDArray[Any], layout: GroupedLayout) -> NDArray[Any]:
    """Scores whose exp is a number, with the same derivatives of the noisy-or.

    Groups all of whose rows lie far below zero are moved up: what counts is each row's share of
    their sum.
    """
    limit = exp_limit(score.dtype)
    score = np.minimum(score, limit)
    if score.min() < -limit:
        score += layout.spread(np.maximum(-limit - layout.max(score), 0.0))
    return score


def _minus_log_likelihood(log_a: NDArray[Any], positive: NDArray[np.bool_]) -> NDArray[Any]:
    """-log(1 - exp(-A)) of positive groups, A of the others."""
    out = np.exp(np.where(positive, 0.0, log_a))
    out[positive] = -_log1mexp(log_a[positive])
    return out


def _log_softplus(score: Any) -> Any:
    """log(log(1 + exp(score))), finite for all finite scores."""
    return np.where(score < -35.0, score, np.log(softplus(np.maximum(score, -35.0))))


def _log1mexp(log_a: NDArray[Any]) -> NDArray[Any]:
    """log(1 - exp(-A)) from log A: log A - A / 2 for small A."""
    a = np.exp(np.maximum(log_a, -30.0))
    return np.where(log_a < -30.0, log_a, np.log(-np.expm1(-a)))
