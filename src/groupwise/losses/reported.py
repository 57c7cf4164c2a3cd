"""What was done to counts before they were published: noise, rounding, small cells left out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, log_ndtr, logsumexp

from groupwise.inputs.parameters import check_choice, check_number
from groupwise.recipes import Recipe

__all__ = ["NOISES", "Reported"]

NOISES = ("laplace", "geometric", "gaussian")
_LEAST_LOG = -1e5  # of a count that a report rules out: so unlikely that any other explains it
_NEGLIGIBLE = 50.0  # in logarithms: counts so much less likely than others are left out


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

    def largest_suppressed(self) -> float:
        """The largest count that is left out, but for noise."""
        return float(np.ceil(self._end_below()) - 1.0)

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
