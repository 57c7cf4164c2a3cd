"""Proportion supervision: how many rows of each class a group holds is known, not which."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import logsumexp

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.base import AdditiveLoss, BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.layout import Block
from groupwise.losses.logistic import log_softmax, logistic_derivatives, sigmoid
from groupwise.losses.poisson_binomial import PoissonBinomial
from groupwise.losses.tilting import tilt_classes
from groupwise.rules import Rule

__all__ = ["CountLikelihoodLoss", "RelativeEntropy", "ShareLoss", "counts_of_shares"]


class CountLikelihoodLoss(GroupLoss, name="proportions"):
    r"""Negative log-likelihood of each group's class counts.

    Two classes: the rows are independent, positive with probability :math:`p_{ij} =
    \sigma(s_{ij})`, and the count has a Poisson-binomial distribution. The gradient is
    :math:`p_{ij} - E[y_{ij} | c_i]`. Exact for groups of up to 128 rows, a saddlepoint
    approximation above: see :class:`~groupwise.losses.poisson_binomial.PoissonBinomial`.

    More classes: the exact likelihood needs a table of all counts per group, so its exponent is
    used, the least relative entropy of row distributions Q that add up to the counts,

    .. math:: \ell(s) = \sum_i w_i \min_Q \Big\{ \sum_j KL(Q_j \| p_{ij}) :
              \sum_j Q_{jk} = c_{ik} \Big\} ,

    which is the saddlepoint approximation without its factor (of the order of log m);
    :class:`ExactCountLoss` has the table where it is small. Its gradient
    is :math:`p_{ij} - Q_{ij}` by the envelope theorem. The form is ours.

    A group of one row gives logistic regression, for any number of classes.

    Notes
    -----
    The curvature, p (1 - p) (twice that for three or more classes, as for every softmax), is a
    proven majoriser: the Hessian is the covariance of the rows under p less their covariance given
    the counts (for the relative entropy: less a Schur complement of their covariance under Q),
    which is positive semi-definite. In groups beyond 128 rows the approximation's factor adds a
    term of the order of 1 / m that is not accounted for. The likelihood is not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> shares = np.array([[0.5, 0.5]])
    >>> loss = CountLikelihoodLoss().bind(shares, Groups(["a", "a"]))
    >>> loss.value(np.zeros(2)).__round__(6), loss.gradient(np.zeros(2)).round(12).tolist()
    (0.693147, [0.0, 0.0])
    """

    target_kind: ClassVar[TargetKind] = "share"
    default_rule: ClassVar[Rule | None] = None

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        counts = counts_of_shares(target_group, groups)
        if n_classes > 2:
            _check_totals(counts, groups)
        if weight_row is not None:
            part = weight_row / groups.spread(groups.mean(weight_row))
            if np.abs(part - 1.0).max() > 1e-12:
                raise GroupDataError(
                    "the likelihood of counts needs whole rows: sample_weight must be the same on "
                    "all rows of a group (loss='proportions_squared' takes any)"
                )

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        count_group = counts_of_shares(target_group, groups)
        kind = _CountLikelihood if n_classes == 2 else RelativeEntropy
        return kind(count_group, groups, weight_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(self.proba(score_row))


def counts_of_shares(share_group: NDArray[Any], groups: Groups) -> NDArray[Any]:
    """Counts from shares that may be rounded to two decimals."""
    counts = share_group * groups.sizes[:, None]
    whole = np.rint(counts)
    not_whole = np.abs(counts - whole).max(axis=1) > 0.0051 * groups.sizes
    if not_whole.any():
        group = int(np.argmax(not_whole))
        raise GroupDataError(
            f"the likelihood of counts needs shares that give whole rows; group "
            f"{show(groups.names[group])} of {groups.sizes[group]} rows would hold "
            f"{counts[group].round(3).tolist()} (loss='proportions_squared' takes any shares)"
        )
    return whole


class _CountLikelihood(BoundLoss):
    def __init__(self, count_group: NDArray[Any], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        self.count_group = count_group[self.layout.group_codes, 1]
        self._sums = PoissonBinomial(self.count_group, self.layout)

    def init_score(self) -> NDArray[Any]:
        positive = self.communicator.allreduce_sum(float(self.weight_group @ self.count_group))
        floor = 1e-12 * self.total_weight
        odds = max(positive, floor) / max(self.total_weight - positive, floor)
        return np.array([np.log(odds)])

    def _value(self, score: NDArray[Any]) -> float:
        return self.communicator.allreduce_sum(
            float(self.weight_group @ self._sums.log_loss(score))
        )

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        expected = self._sums.expectation(score)
        gradient, curvature = logistic_derivatives(score, expected, dtype)
        return self._weighted_rows(gradient), self._weighted_rows(curvature)


class RelativeEntropy(AdditiveLoss):
    """Of row distributions that add up to the counts of several classes."""

    def __init__(self, count_group: NDArray[Any], groups: Groups, weight_row: NDArray[Any] | None):
        super().__init__(groups, weight_row)
        self.count_group = np.ascontiguousarray(count_group[self.layout.group_codes].T)

    def init_score(self) -> NDArray[Any]:
        weight = self.communicator.allreduce_sum(self.count_group @ self.weight_group)
        return np.log(np.maximum(weight / weight.sum(), 1e-12))

    def _tilted(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Log-probabilities of the rows, the shifts, and the shifted rows' scores."""
        log_p = log_softmax(score.astype(np.float64, copy=False))
        shift = tilt_classes(log_p, self.count_group[:, block.groups], block.layout)
        return log_p, shift, log_p + block.layout.spread(shift)

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        # by the dual, which errors of the shifts change in second order only
        _, shift, moved = self._tilted(score, block)
        count = self.count_group[:, block.groups]
        gain = (np.where(count > 0, shift, 0.0) * count).sum(axis=0)
        return gain - block.layout.sum(logsumexp(moved, axis=0))

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        log_p, _, moved = self._tilted(score, block)
        p = np.exp(log_p)
        gradient = p - np.exp(log_softmax(moved))
        p *= 2.0 * (1.0 - p)
        return self._scale(gradient, block), self._scale(p, block)


def _check_totals(count_group: NDArray[Any], groups: Groups) -> None:
    total = count_group.sum(axis=1)
    wrong = total != groups.sizes
    if wrong.any():
        group = int(np.argmax(wrong))
        raise GroupDataError(
            f"the counts of the classes must add up to the group's rows; in group "
            f"{show(groups.names[group])} of {groups.sizes[group]} rows they make "
            f"{int(total[group])}"
        )


class ShareLoss(GroupLoss, name="proportions_squared"):
    r"""Squared error of the mean probability against the known share, times the group's size.

    .. math:: \ell(s) = \tfrac12 \sum_i w_i m_i \sum_k (\bar p_{ik} - t_{ik})^2 ,

    with one term for two classes (k the second). A group of one row gives the squared error of its
    probability (Brier's score). Takes any shares, and shares of groups of which only some rows are
    here.

    Notes
    -----
    The curvature is a proven majoriser of the Hessian, which for two classes is
    :math:`(w_i / m_i) v v^\top + w_i e_i\, \mathrm{diag}(v (1 - 2p))` with v = p (1 - p) and e the
    error of the share: :math:`(\sum_j v_j d_j)^2 \le (\sum_k v_k) \sum_j v_j d_j^2`, and the second
    term's negative part is dropped. More classes: with :math:`g_l = p_l (e_l - \sum_k e_k p_k)` the
    gradient of a row, the second derivatives of the mean probabilities are bounded by their
    absolute row sums, and :math:`|p_k' d|^2 \le (\sum_l |\partial_l p_k|) \sum_l |\partial_l p_k|
    d_l^2`. The loss is not convex.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = ShareLoss().bind(np.array([[0.25, 0.75]]), Groups(["a", "a"]))
    >>> loss.value(np.zeros(2)), loss.gradient(np.zeros(2)).tolist()
    (0.0625, [-0.0625, -0.0625])
    """

    target_kind: ClassVar[TargetKind] = "share"
    default_rule: ClassVar[Rule | None] = None
    by_sums: ClassVar[bool] = True

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        return _Shares(target_group, groups, n_classes, weight_row)

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(self.proba(score_row))


class _Shares(AdditiveLoss):
    def __init__(
        self,
        share_group: NDArray[Any],
        groups: Groups,
        n_classes: int,
        weight_row: NDArray[Any] | None,
    ):
        super().__init__(groups, weight_row)
        self.n_classes = n_classes
        share = share_group[self.layout.group_codes].T
        self.share_group = np.ascontiguousarray(share[1] if n_classes == 2 else share)

    def init_score(self) -> NDArray[Any]:
        weight = self.weight_group * self.layout.sizes
        total = self.communicator.allreduce_sum(self.share_group @ weight)
        share = np.clip(total / self.total_weight, 1e-12, 1.0 - 1e-12)
        if self.n_classes == 2:
            return np.array([np.log(share / (1.0 - share))])
        return np.log(share)

    def _block_value(self, score: NDArray[Any], block: Block) -> NDArray[Any]:
        proba = sigmoid(score)[0] if score.ndim == 1 else np.exp(log_softmax(score))
        square = (self._mean(proba, block) - self.share_group[..., block.groups]) ** 2
        return 0.5 * block.layout.sizes * (square if score.ndim == 1 else square.sum(axis=0))

    def _block_derivatives(
        self, score: NDArray[Any], block: Block
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        find = self._two_classes if score.ndim == 1 else self._many_classes
        gradient, curvature = find(score, block)
        np.maximum(curvature, 1e-16, out=curvature)
        return self._scale(gradient, block), self._scale(curvature, block)

    def _error(self, proba: NDArray[Any], block: Block) -> NDArray[Any]:
        """Of each row, how far its group's mean probability is off."""
        error = self._mean(proba, block) - self.share_group[..., block.groups]
        return block.layout.spread(error, proba.dtype)

    def _two_classes(self, score: NDArray[Any], block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        proba, slope = sigmoid(score)
        error = self._error(proba, block)
        second = slope - proba  # 1 - 2p, the slope's own derivative over the slope
        slope *= proba
        gradient = slope * error
        second *= error
        curvature = np.maximum(second, 0.0, out=second)
        curvature += block.layout.spread(self._mean(slope, block), slope.dtype)
        curvature *= slope
        return gradient, curvature

    def _many_classes(self, score: NDArray[Any], block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        """Sums of |dp_k/ds_l| are 2 p_k (1 - p_k)."""
        proba = np.exp(log_softmax(score))
        error = self._error(proba, block)
        centred = error - (error * proba).sum(axis=0)
        gradient = proba * centred
        # d/ds_l of gradient_k at fixed error: [k = l] g_k - p_k g_l - g_k p_l
        size = np.abs(gradient)
        curvature = proba * size.sum(axis=0) + size
        diagonal = gradient * (1.0 - 2.0 * proba)
        curvature += np.maximum(diagonal, 0.0) - 2.0 * proba * size  # the diagonal as it is
        row_sum = 2.0 * proba * (1.0 - proba)
        spread = block.layout.spread(self._mean(row_sum, block), row_sum.dtype)
        # sum over k of row_sum_k |dp_k/ds_l|, with |dp_k/ds_l| = p_k p_l off the diagonal
        curvature += proba * (spread * proba).sum(axis=0) + spread * proba * (1.0 - 2.0 * proba)
        return gradient, curvature
