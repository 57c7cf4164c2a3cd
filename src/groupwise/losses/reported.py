"""Counts of groups that are not exact: noise of a known law, rounding, suppressed cells, ranges."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import expit, gammaln, log_ndtr, logsumexp

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs.parameters import check_choice, check_number
from groupwise.losses.base import BoundLoss, GroupLoss, RowWeights, TargetKind
from groupwise.losses.layout import Communicator
from groupwise.losses.logistic import (
    exp_limit,
    log_softmax,
    logistic_derivatives,
    sigmoid,
    softplus,
)
from groupwise.losses.poisson_binomial import LARGEST_EXACT, Places, posterior_chunks
from groupwise.losses.tilting import tilt
from groupwise.recipes import Recipe
from groupwise.rules import Rule

__all__ = ["Reported", "ReportedCountLoss"]

NOISES = ("laplace", "geometric", "gaussian")
_LEAST_LOG = -1e5  # of a count that a report rules out: so unlikely that any other explains it
_NEGLIGIBLE = 50.0  # in logarithms: counts so much less likely than others are left out
_MOST_LOG = 600.0  # exp of which, times the rows of a group, is a number


class Reported(Recipe):
    r"""What was done to counts before they were told.

    To the true count k of a group noise may have been added; the sum may have been rounded, and
    small results may have been left out. The parts go together in this order. A report is a number,
    a range of numbers, or missing: :math:`P(\text{report} | k)` is what a likelihood needs to know.

    Parameters
    ----------
    noise : {"laplace", "geometric", "gaussian"}, default=None
        Its law. ``"geometric"`` is the two-sided one on whole numbers,
        :math:`P(d) \propto e^{-|d| / b}`.
    scale : float, default=1.0
        Of the noise: b of Laplace's :math:`e^{-|d| / b}` and of the geometric law (for a privacy
        budget epsilon it is 1 / epsilon), or the standard deviation.
    rounding : float, default=None
        Results are rounded to multiples of this; halfway ones may have gone either way.
    suppressed_below : float, default=None
        Results below this are missing. ``None``: a missing report says nothing.
    sampled : float, default=None
        The share of a group's rows that are here, drawn at random, where the count is of all of
        them (1 % of the people, and what the census published). The rows that are not here are
        positive at a rate of which nothing else is known:
        :math:`P(C | k) = \tfrac{m + 1}{N + 1} \binom{C}{k} \binom{N - C}{m - k} / \binom{N}{m}`,
        with C of all N rows and k of the m that are here.

    Examples
    --------
    >>> import numpy as np
    >>> small = Reported(suppressed_below=2)
    >>> np.exp(small.log_likelihood(np.nan, np.nan, np.arange(4.0))).round(6).tolist()
    [1.0, 1.0, 0.0, 0.0]
    >>> fives = Reported(rounding=5)
    >>> np.exp(fives.log_likelihood(5.0, 5.0, np.arange(0.0, 10.0, 2.0))).round(6).tolist()
    [0.0, 0.0, 1.0, 1.0, 0.0]
    """

    def __init__(
        self,
        noise: str | None = None,
        scale: float = 1.0,
        rounding: float | None = None,
        suppressed_below: float | None = None,
        sampled: float | None = None,
    ):
        self.noise = noise
        self.scale = scale
        self.rounding = rounding
        self.suppressed_below = suppressed_below
        self.sampled = sampled

    def check(self) -> None:
        """Refuse parameters that have no meaning."""
        check_choice("noise", self.noise, NOISES, none=True)
        check_number("scale", self.scale, "(0, inf)")
        check_number("rounding", self.rounding, "(0, inf)", none=True)
        check_number("suppressed_below", self.suppressed_below, "(0, inf)", none=True)
        check_number("sampled", self.sampled, "(0, 1]", none=True)

    def all_rows(self, size: NDArray[Any]) -> NDArray[Any]:
        """How many rows the groups have of which so many are here."""
        return size if self.sampled is None else np.rint(size / self.sampled)

    def log_likelihood_here(self, low: Any, high: Any, size: NDArray[np.intp]) -> NDArray[Any]:
        """The log of P(report | count here), of counts from 0 to the size, group after group.

        Parameters
        ----------
        low, high : ndarray of shape (n_groups,)
        size : ndarray of shape (n_groups,)
            Rows that are here.
        """
        if self.sampled is None:
            owner = np.repeat(np.arange(len(size)), size + 1)
            count = np.arange(len(owner)) - np.repeat(np.cumsum(size + 1) - size - 1, size + 1)
            return self.log_likelihood(low[owner], high[owner], count.astype(float))
        ends = zip(low, high, size, self.all_rows(size), strict=True)
        return np.concatenate([self._log_sampled(*each) for each in ends])

    def _log_sampled(self, low: float, high: float, here: int, everywhere: float) -> NDArray[Any]:
        """Over the counts of the whole group, of which few are likely."""
        if np.isnan(low) and self.suppressed_below is None:
            return np.zeros(here + 1)
        total = np.arange(everywhere + 1.0)
        log_report = self.log_likelihood(low, high, total)
        likely = log_report > log_report.max() - _NEGLIGIBLE
        total, log_report = total[likely], log_report[likely]
        count = np.arange(here + 1.0)[:, None]
        rest, left = everywhere - total, here - count
        with np.errstate(invalid="ignore"):
            given = _log_choose(total, count) + _log_choose(rest, left)
        given = np.where((count <= total) & (left <= rest), given, -np.inf)
        given -= _log_choose(everywhere, here) + np.log((everywhere + 1.0) / (here + 1.0))
        return np.maximum(logsumexp(given + log_report, axis=1), _LEAST_LOG)

    def log_likelihood(self, low: Any, high: Any, count: NDArray[Any]) -> NDArray[Any]:
        """The log of P(report | count), or of its density; at least -1e5.

        Parameters
        ----------
        low, high : float or ndarray
            The report's range; equal for a number, NaN where it is missing.
        count : ndarray
            Of the same shape as the result.
        """
        low, high = (np.broadcast_to(np.asarray(end, float), count.shape) for end in (low, high))
        missing = np.isnan(low)
        out = np.zeros(count.shape)
        if missing.any() and self.suppressed_below is not None:
            out[missing] = self._log_between(
                np.full(missing.sum(), -np.inf), self._end_below(), count[missing]
            )
        known = ~missing
        if known.any():
            out[known] = self._log_known(low[known], high[known], count[known])
        return np.maximum(out, _LEAST_LOG)

    def _end_below(self) -> float:
        """The end of what is suppressed: whole numbers below it, or all that round below it."""
        assert self.suppressed_below is not None
        if self.rounding is not None:
            steps = np.ceil(self.suppressed_below / self.rounding) - 1.0
            return float((steps + 0.5) * self.rounding)
        if self.noise in (None, "geometric"):
            return float(np.ceil(self.suppressed_below) - 0.5)
        return float(self.suppressed_below)

    def _log_known(
        self, low: NDArray[Any], high: NDArray[Any], count: NDArray[Any]
    ) -> NDArray[Any]:
        half = 0.0 if self.rounding is None else self.rounding / 2.0
        if half == 0.0 and self.noise in ("laplace", "gaussian"):
            exact = self._log_density(low - count)
            inside = self._log_between(low, high, count)
            return np.where(low == high, exact, inside)
        if half == 0.0:
            half = 0.5 - 1e-9  # whole numbers inside the range
        return self._log_between(low - half, high + half, count)

    def _log_density(self, distance: NDArray[Any]) -> NDArray[Any]:
        if self.noise == "laplace":
            return -np.abs(distance) / self.scale - np.log(2.0 * self.scale)
        return -0.5 * (distance / self.scale) ** 2 - np.log(self.scale * np.sqrt(2.0 * np.pi))

    def _log_between(self, low: Any, high: Any, count: NDArray[Any]) -> NDArray[Any]:
        """The log of the probability that the count with its noise lies between these."""
        low, high = low - count, high - count
        if self.noise is None:
            at_end = 0.5 * ((low == 0.0) | (high == 0.0))
            inside = np.where((low < 0.0) & (high > 0.0), 1.0, at_end)
            with np.errstate(divide="ignore"):
                return np.log(inside)
        if self.noise == "geometric":  # ends half-way between whole numbers belong to neither
            low, high = np.ceil(low - 1e-9) - 0.5, np.floor(high + 1e-9) + 0.5
        # from the side on which the tails are small
        turned = low + np.where(np.isinf(high), 0.0, high) > 0.0
        turned = turned | np.isposinf(high)
        near, far = np.where(turned, -low, high), np.where(turned, -high, low)
        above, below = self._log_distribution(near), self._log_distribution(far)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.log1p(-np.exp(np.minimum(below - above, 0.0)))
        return above + gap

    def _log_distribution(self, distance: NDArray[Any]) -> NDArray[Any]:
        """The log of P(noise < distance); of the geometric law at half numbers."""
        if self.noise == "gaussian":
            return log_ndtr(distance / self.scale)
        small, weight = -np.abs(distance) / self.scale, 0.5
        if self.noise == "geometric":
            # a tail sum from d + 1/2 on is a^(d + 1/2) times sqrt(a) / (1 + a), a = exp(-1 / b)
            weight = float(0.5 / np.cosh(0.5 / self.scale))
        tail = small + np.log(weight)
        return np.where(distance < 0.0, tail, np.log1p(-np.exp(np.minimum(tail, 0.0))))


def _log_choose(n: Any, k: Any) -> Any:
    return gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)


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
    was not reported in that group. Each class against the rest is a count as above, with the
    softmax probability of the class, and the loss is half the sum over classes: a composite
    likelihood, whose terms are each the likelihood of what is reported of one class (Varin, Reid
    and Firth 2011). Half, as with two classes each would say the same. A group of one row gives
    logistic regressions of each class against the rest, on softmax scores.

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
        wrong = (high < low) | (np.isnan(low) != np.isnan(high))
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
        return _ReportedClasses(target_group, groups, weight_row, reported)

    def shares(self, target_group: NDArray[Any], groups: Groups) -> NDArray[Any]:
        """Shares of the classes, from the middles of the reports; NaN where nothing is reported."""
        size = (self.reported or Reported()).all_rows(groups.sizes)
        if target_group.shape[1] > 2:
            return np.clip(target_group / size[:, None], 0.0, 1.0)
        share = np.clip(target_group.mean(axis=1) / size, 0.0, 1.0)
        return np.column_stack([1.0 - share, share])

    def proba_groups(self, score_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        return groups.mean(self.proba(score_row))


def _by_class(target_group: NDArray[Any], n_classes: int) -> list[NDArray[Any]]:
    """The ends of what is reported, of the second of two classes or of each."""
    if n_classes == 2:
        return [target_group.T]
    return [np.array([told, told]) for told in target_group.T]


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
        self._firsts = np.cumsum(self._lengths) - self._lengths
        self._owner = np.repeat(np.arange(len(size)), self._lengths)
        self._count = (np.arange(len(self._owner)) - self._firsts[self._owner]).astype(float)
        self.log_report = reported.log_likelihood_here(self.low, self.high, size)
        large = size > LARGEST_EXACT
        self._large = np.flatnonzero(large)
        # where all counts are as likely there is nothing to condition on
        flat = np.maximum.reduceat(self.log_report, self._firsts) == np.minimum.reduceat(
            self.log_report, self._firsts
        )
        self._flat = np.flatnonzero(flat)
        told = np.flatnonzero(~large & ~flat)
        self._chunks = list(posterior_chunks(told, self.layout, self.log_report, self._firsts))
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
        if self._weighted:
            weight_row = self.layout.spread(self.weight_group).astype(dtype, copy=False)
            gradient *= weight_row
            curvature *= weight_row
        return gradient, curvature

    def _expectation(self, score: NDArray[Any]) -> NDArray[Any]:
        """Of each row, the probability that it is positive given the report of its group.

        Where no sum of products of the rows' odds can leave the range of numbers, it is found from
        these, unshifted, in single precision where that is enough.
        """
        largest = max(float(score.max()), -float(score.min()))
        limit = exp_limit(np.float64)
        if len(self._large) or any(chunk.log_range(largest) > limit for chunk in self._chunks):
            return self._given(score.astype(np.float64, copy=False))[1]
        expected, outside = self._places.expectation(score, self._chunks), self._places.outside
        expected[outside] = sigmoid(score[outside])[0]
        return expected

    def _given(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Log-likelihood of each report, and the rows' expectations given it."""
        layout = self.layout
        proba, other = sigmoid(score)
        mean, variance = layout.sum(proba), layout.sum(proba * other)
        likely = self._likely_count(mean, variance)
        far = np.abs(likely - mean) > 3.0 * np.sqrt(variance) + 0.5
        far[self._large] = False
        shift = np.zeros(layout.n_groups)
        expected = proba
        if far.any():
            aim = np.clip(likely, 0.5, layout.sizes - 0.5)
            shift, tilted = tilt(score, np.where(far, aim, layout.sizes / 2.0), layout)
            shift[~far] = 0.0
            expected = np.where(layout.spread(far), tilted, proba)
        # P(k) is the shifted P(k) times exp(-shift k) times a constant
        owner, count = self._owner, self._count
        weight = self.log_report - shift[owner] * (count - likely[owner])
        level = weight[self._firsts + likely.astype(np.intp)]
        weight = np.exp(np.minimum(weight - level[owner], _MOST_LOG))
        log_likely = level - shift * likely
        log_likely += layout.sum(softplus(score + layout.spread(shift)) - softplus(score))
        log_likely[self._flat] = self.log_report[self._firsts[self._flat]]
        for chunk in self._chunks:
            log_likely[chunk.groups] += chunk.condition(expected, weight, self._firsts)
        if len(self._large):
            self._normal(log_likely, expected, mean, variance)
        return log_likely, expected

    def _likely_count(self, mean: NDArray[Any], variance: NDArray[Any]) -> NDArray[Any]:
        """The count that scores and report make likely together, by the normal distribution."""
        spread = variance + 1.0 / 12.0
        both = self.log_report - (self._count - mean[self._owner]) ** 2 / (
            2.0 * spread[self._owner]
        )
        top = np.maximum.reduceat(both, self._firsts)
        is_top = np.flatnonzero(both == top[self._owner])
        first = np.full(len(mean), -1, np.intp)
        first[self._owner[is_top[::-1]]] = is_top[::-1]
        return self._count[first]

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
            counts = slice(
                int(self._firsts[group]), int(self._firsts[group] + self._lengths[group])
            )
            spread = variance[group] + 1.0 / 12.0
            away = self._count[counts] - mean[group]
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


class _ReportedClasses(BoundLoss):
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
        told = report_group[self.layout.group_codes]
        self.classes = [
            _ReportedCounts(np.column_stack([each, each]), runs, weight, reported)
            for each in told.T
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
