"""The likelihood of counts as they were published, of which it is known what was done to them."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit, logsumexp

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.losses.base import BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.count_chunks import Places, posterior_chunks
from groupwise.losses.layout import Communicator
from groupwise.losses.logistic import (
    exp_limit,
    log_softmax,
    logistic_derivatives,
    sigmoid,
    softplus,
)
from groupwise.losses.poisson_binomial import LARGEST_EXACT
from groupwise.losses.reported import Reported
from groupwise.losses.tilting import is_possible, tilt
from groupwise.rules import Rule

__all__ = ["ReportedClasses", "ReportedCountLoss", "ends_of_classes"]

_MOST_LOG = 600.0  # exp of which, times the rows of a group, is a number


class ReportedCountLoss(GroupLoss, name="reported_counts"):
    r"""Negative log-likelihood of what was reported of the groups' counts.

    .. math:: \ell(s) = \sum_i w_i \cdot -\log \sum_k P(k | s_i)\, P(\text{report}_i | k) ,

    with :math:`P(k | s)` the distribution of the number of positive rows, each positive with
    probability :math:`p_{ij} = \sigma(s_{ij})` on its own: exact in groups of up to 128 rows, the
    normal one above. ``y`` is the report, repeated on the group's rows: a number, missing where
    there is none, or two columns with the ends of a range. Two classes, 0 and 1; the counts are of
    the second. Reports that are exact make it
    :class:`~groupwise.losses.CountLikelihoodLoss`.

    Three and more classes: ``y`` is a table with a report of each class, missing where the class
    was not reported in that group; of ranges its columns have two levels, the class and its two
    ends (or it is an array of shape (n_rows, n_classes, 2)). Each class against the rest is a count
    as above, with the softmax probability of the class, and the loss is half the sum over classes:
    a composite likelihood, whose terms are each the likelihood of what is reported of one class
    (Varin, Reid and Firth 2011). Half, as with two classes each would say the same. A group of one
    row gives logistic regressions of each class against the rest, on softmax scores.

    Parameters
    ----------
    reported : Reported, default=None
        ``None``: nothing was done to the counts.

    Notes
    -----
    The gradient is :math:`p_{ij} - E[y_{ij} | \text{report}]`, from the same forward and backward
    vectors as for exact counts; backward starts from :math:`P(\text{report} | k)` in place of the
    one count. The curvature, p (1 - p), is a proven majoriser in groups of up to 128 rows: the
    Hessian is the covariance of the rows under p less that given the report. The normal
    approximation is used with the variance of the count plus 1/12, as its values are whole; there
    the bound is not proven.

    More classes: a row's log-odds of class k are :math:`\theta_k = s_k -
    \log \sum_{l \ne k} e^{s_l}`, whose gradient is :math:`e_k - q`, q the shares of the other
    classes, and whose Hessian is :math:`-(\mathrm{diag}(q) - q q^\top)`. With r the gradient and
    c the curvature by :math:`\theta_k`, the first adds at most
    :math:`c\, (d_k - q^\top d)^2 \le 2 c\, (d_k^2 + \sum_l q_l d_l^2)`, by convexity, the
    second at most :math:`\max(-r, 0) \sum_l q_l d_l^2`.

    References
    ----------
    C. Varin, N. Reid and D. Firth (2011). An overview of composite likelihood methods. Statistica
    Sinica 21.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> loss = ReportedCountLoss(Reported(suppressed_below=2))
    >>> report = np.full((1, 2), np.nan)
    >>> bound = loss.bind(report, Groups(["a", "a"]))  # not both
    >>> round(bound.value(np.zeros(2)), 6), bound.gradient(np.zeros(2)).round(6).tolist()
    (0.287682, [0.166667, 0.166667])
    """

    target_kind: ClassVar[TargetKind] = "report"
    default_rule: ClassVar[Rule | None] = None

    def __init__(self, reported: Reported | None = None):
        self.reported = reported

    def check_parameters(self) -> None:
        if self.reported is None:
            return
        if not isinstance(self.reported, Reported):
            raise ValueError(f"reported must be a Reported or None, got {self.reported!r}")
        self.reported.check()

    def _check_targets(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> None:
        for low, high in _by_class(target_group, n_classes):
            self._check_ends(low, high, groups)
        if weight_row is not None and not np.allclose(
            weight_row, groups.spread(groups.mean(weight_row)), rtol=1e-12
        ):
            raise GroupDataError(
                "the likelihood of counts needs whole rows: sample_weight must be the same on all "
                "rows of a group"
            )

    def _check_ends(self, low: NDArray[Any], high: NDArray[Any], groups: Groups) -> None:
        reported = self.reported or Reported()
        size = reported.all_rows(groups.sizes)
        wrong = (high < low) | (np.isnan(low) != np.isnan(high)) | np.isinf(low) & (low == high)
        if reported.noise is None:
            half = (reported.rounding or 0.0) / 2.0
            wrong |= (high < -half) | (low > size + half)
            if reported.rounding is None:
                wrong |= np.floor(high) < np.ceil(low)
        if wrong.any():
            group = int(np.argmax(wrong))
            raise GroupDataError(
                f"no count of {size[group]:g} rows makes what is reported of group "
                f"{show(groups.names[group])}: {low[group]:g} to {high[group]:g}"
            )

    def _bind(
        self, target_group: NDArray[Any], groups: Groups, n_classes: int, weight_row: RowWeights
    ) -> BoundLoss:
        reported = self.reported or Reported()
        if n_classes == 2:
            return _ReportedCounts(target_group, groups, weight_row, reported)
        return ReportedClasses(target_group, groups, weight_row, reported)

    def shares(self, target_group: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Shares of the classes, from the middles of the reports; NaN where nothing is known.

        A count that was left out because it is small is a range from 0 to the largest such count:
        without these groups, what is judged would be those with large counts only.
        """
        reported = self.reported or Reported()
        size = reported.all_rows(groups.sizes)[:, None]
        if target_group.shape[1] == 2:
            middle = target_group.mean(axis=1, keepdims=True)
        else:
            middle = target_group if target_group.ndim == 2 else target_group.mean(axis=2)
        if reported.suppressed_below is not None:
            most = reported.largest_suppressed()
            middle = np.where(np.isnan(middle) & (most < size), most / 2.0, middle)
        share = np.clip(middle / size, 0.0, 1.0)
        return share if share.shape[1] > 1 else np.hstack([1.0 - share, share])

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(self.proba(score_row))


def _by_class(target_group: NDArray[Any], n_classes: int) -> list[NDArray[Any]]:
    """The ends of what is reported, of the second of two classes or of each."""
    if n_classes == 2:
        return [target_group.T]
    return list(ends_of_classes(target_group).transpose(1, 2, 0))


def ends_of_classes(target_group: NDArray[Any]) -> NDArray[Any]:
    """Of each class, (n_groups, n_classes, 2): a number is a range with equal ends."""
    return target_group if target_group.ndim == 3 else np.stack([target_group] * 2, axis=-1)


class _ReportedCounts(BoundLoss):
    def __init__(
        self,
        report_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        reported: Reported,
    ):
        super().__init__(groups, weight_row)
        self.low, self.high = report_group[self.layout.group_codes].T
        self.reported = reported
        size = self.layout.sizes.astype(np.intp)
        # one entry per group and count, a group's counts together
        self._lengths = size + 1
        self.firsts = np.cumsum(self._lengths) - self._lengths
        self._owner = np.repeat(np.arange(len(size)), self._lengths)
        self.count = (np.arange(len(self._owner)) - self.firsts[self._owner]).astype(float)
        self.log_report = reported.log_likelihood_here(self.low, self.high, size)
        large = size > LARGEST_EXACT
        self._large = np.flatnonzero(large)
        # where all counts are as likely there is nothing to condition on
        flat = np.maximum.reduceat(self.log_report, self.firsts) == np.minimum.reduceat(
            self.log_report, self.firsts
        )
        self._flat = np.flatnonzero(flat)
        told = np.flatnonzero(~large & ~flat)
        self._chunks = list(posterior_chunks(told, self.layout, self.log_report, self.firsts))
        self._places = Places(self._chunks, self.layout.n_rows)

    def init_score(self) -> NDArray[Any]:
        """The log-odds of the middles of the reports; near the best constant."""
        size = self.reported.all_rows(self.layout.sizes)
        middle = np.clip((self.low + self.high) / 2.0, 0.0, size)
        below = self.reported.suppressed_below
        if below is not None:
            middle = np.where(np.isnan(middle), np.minimum(below, size) / 2.0, middle)
        known = np.isfinite(middle)
        weight = (self.weight_group * self.layout.sizes)[known]
        positive, total = self.communicator.allreduce_sum(
            np.array([weight @ (middle / size)[known], weight.sum()])
        )
        if total == 0.0:
            return np.zeros(1)
        share = np.clip(positive / total, 1e-3, 1.0 - 1e-3)
        return np.array([np.log(share / (1.0 - share))])

    def _value(self, score: NDArray[Any]) -> float:
        log_likely, _ = self._given(score)
        return self.communicator.allreduce_sum(float(-self.weight_group @ log_likely))

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        expected = self._expectation(score)
        gradient, curvature = logistic_derivatives(score, expected, dtype)
        return self._weighted_rows(gradient), self._weighted_rows(curvature)

    def _expectation(self, score: NDArray[Any]) -> NDArray[Any]:
        """Of each row, the probability that it is positive given the report of its group.

        Where no sum of products of the rows' odds can leave the range of numbers, it is found from
        these, unshifted, in single precision where that is enough.
        """
        largest = max(float(score.max()), -float(score.min()))
        limit = exp_limit(np.float64)
        if not self._chunks or any(chunk.log_range(largest) > limit for chunk in self._chunks):
            return self._given(score.astype(np.float64, copy=False))[1]
        expected, outside = self._places.expectation(score, self._chunks), self._places.outside
        expected[outside] = sigmoid(score[outside])[0]
        if len(self._large):
            proba, other = sigmoid(score.astype(np.float64, copy=False))
            mean, variance = self.layout.sum(proba), self.layout.sum(proba * other)
            self._normal(np.zeros(len(mean)), expected, mean, variance)
        return expected

    def _given(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Log-likelihood of each report, and the rows' expectations given it."""
        layout = self.layout
        proba, other = sigmoid(score)
        mean, variance = layout.sum(proba), layout.sum(proba * other)
        likely = self._likely_count(mean, variance)
        far = np.abs(likely - mean) > 3.0 * np.sqrt(variance) + 0.5
        far |= ~is_possible(likely, proba, layout)
        far[self._large] = False
        shift = np.zeros(layout.n_groups)
        expected = proba
        if far.any():
            aim = np.clip(likely, 0.5, layout.sizes - 0.5)
            shift, tilted = tilt(score, np.where(far, aim, layout.sizes / 2.0), layout)
            shift[~far] = 0.0
            expected = np.where(layout.spread(far), tilted, proba)
        # P(k) is the shifted P(k) times exp(-shift k) times a constant
        owner, count = self._owner, self.count
        weight = self.log_report - shift[owner] * (count - likely[owner])
        level = weight[self.firsts + likely.astype(np.intp)]
        weight = np.exp(np.minimum(weight - level[owner], _MOST_LOG))
        log_likely = level - shift * likely
        log_likely += layout.sum(softplus(score + layout.spread(shift)) - softplus(score))
        log_likely[self._flat] = self.log_report[self.firsts[self._flat]]
        for chunk in self._chunks:
            log_likely[chunk.groups] += chunk.condition(expected, weight, self.firsts)
        if len(self._large):
            self._normal(log_likely, expected, mean, variance)
        return log_likely, expected

    def _likely_count(self, mean: NDArray[Any], variance: NDArray[Any]) -> NDArray[Any]:
        """The count that scores and report make likely together, by the normal distribution."""
        spread = variance + 1.0 / 12.0
        both = self.log_report - (self.count - mean[self._owner]) ** 2 / (2.0 * spread[self._owner])
        top = np.maximum.reduceat(both, self.firsts)
        is_top = np.flatnonzero(both == top[self._owner])
        first = np.full(len(mean), -1, np.intp)
        first[self._owner[is_top[::-1]]] = is_top[::-1]
        return self.count[first]

    def _normal(
        self,
        log_likely: NDArray[Any],
        expected: NDArray[Any],
        mean: NDArray[Any],
        variance: NDArray[Any],
    ) -> None:
        for group in self._large:
            rows = slice(
                int(self.layout.starts[group]),
                int(self.layout.starts[group] + self.layout.sizes[group]),
            )
            counts = slice(int(self.firsts[group]), int(self.firsts[group] + self._lengths[group]))
            spread = variance[group] + 1.0 / 12.0
            away = self.count[counts] - mean[group]
            log_count = -0.5 * away**2 / spread
            log_all = logsumexp(log_count)  # over the counts there are
            both = log_count + self.log_report[counts]
            total = logsumexp(both)
            log_likely[group] = total - log_all
            after, before = np.exp(both - total), np.exp(log_count - log_all)
            by_mean = (after - before) @ away / spread
            by_variance = 0.5 * (after - before) @ away**2 / spread**2
            p = expected[rows]
            p += p * (1.0 - p) * (by_mean + by_variance * (1.0 - 2.0 * p))


class ReportedClasses(BoundLoss):
    """Each class against the rest."""

    def __init__(
        self,
        report_group: NDArray[Any],
        groups: Groups,
        weight_row: NDArray[Any] | None,
        reported: Reported,
    ):
        super().__init__(groups, weight_row)
        runs = Groups.of_sizes(self.layout.sizes.astype(np.intp))
        weight = None if weight_row is None else self.layout.to_sorted(weight_row)
        told = ends_of_classes(report_group[self.layout.group_codes])
        self.classes = [
            _ReportedCounts(each, runs, weight, reported) for each in told.swapaxes(0, 1)
        ]

    def connect(self, communicator: Communicator) -> BoundLoss:
        for each in self.classes:
            each.connect(communicator)
        return super().connect(communicator)

    def init_score(self) -> NDArray[Any]:
        share = expit(np.concatenate([each.init_score() for each in self.classes]))
        return np.log(share / share.sum())

    def _value(self, score: NDArray[Any]) -> float:
        return 0.5 * sum(
            each.value(_against_rest(score, k)[0]) for k, each in enumerate(self.classes)
        )

    def _derivatives(
        self, score: NDArray[Any], dtype: DTypeLike
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        score = score.astype(np.float64, copy=False)
        gradient, curvature = np.zeros(score.shape), np.full(score.shape, 1e-16)
        for k, each in enumerate(self.classes):
            odds, others = _against_rest(score, k)
            first, second = each.gradient_and_curvature(odds)
            gradient[k] += 0.5 * first
            curvature[k] += second
            gradient -= 0.5 * first * others
            curvature += (second + 0.5 * np.maximum(-first, 0.0)) * others
        return gradient.astype(dtype), curvature.astype(dtype)


def _against_rest(score: NDArray[Any], k: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Log-odds of class k, and the shares of the others among themselves (0 for k)."""
    rest = np.delete(score, k, axis=0)
    shares = np.exp(log_softmax(rest))
    top = rest.max(axis=0)
    log_sum = np.log(np.exp(rest - top).sum(axis=0)) + top
    return score[k] - log_sum, np.insert(shares, k, 0.0, axis=0)
