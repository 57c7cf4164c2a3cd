"""The distribution of a sum of independent yes-or-no rows, given what the sum came to."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups
from groupwise.losses.count_chunks import Places, count_chunks
from groupwise.losses.layout import GroupedLayout
from groupwise.losses.logistic import exp_limit, softplus
from groupwise.losses.tilting import tilt

__all__ = ["LARGEST_EXACT", "PoissonBinomial"]

#: Groups of more rows than this use the saddlepoint approximation.
LARGEST_EXACT = 128


class PoissonBinomial:
    r"""Likelihood of each group's count, and the rows' expectations given it.

    The rows of group i are independent, positive with probability :math:`\sigma(s_{ij})`, and
    :math:`c_i` of them are. Shifting a group's log-odds by any :math:`\lambda_i` leaves
    :math:`E[y_{ij} | c_i]` as it is; the shift that makes :math:`c_i` the expected count (see
    :func:`~groupwise.losses.tilting.tilt`) also makes it a likely one, so that nothing underflows
    however extreme the scores are:

    .. math:: -\log P(c_i) = \Big[\lambda_i c_i - \sum_j \log\frac{1 + e^{s_{ij} + \lambda_i}}
                                                              {1 + e^{s_{ij}}}\Big]
                             - \log \tilde P(c_i) .

    - Groups of up to 128 rows: :math:`\tilde P` by dynamic programming over the rows, forward and
      backward, exact. Groups of like size are worked on together.
    - Larger groups: the saddlepoint approximation
      :math:`-\log \tilde P \approx \tfrac12 \log(1 + 2 \pi V)`, V the variance of the count under
      the shifted probabilities, and its derivative. Time and memory are linear in the rows. A row's
      expectation is off by at most 0.05 / V^2 and the logarithm by 0.1 / V (measured, and held by
      the tests); where rows are certain and V goes to 0, both become exact again.

    Parameters
    ----------
    count_group : ndarray of shape (n_groups,)
        Whole numbers, in the order of the layout.
    layout : GroupedLayout
    largest_exact : int, default=128
        At most 128.

    References
    ----------
    S. X. Chen and J. S. Liu (1997). Statistical applications of the Poisson-binomial and
    conditional Bernoulli distributions. Statistica Sinica 7.
    """

    def __init__(
        self, count_group: NDArray[Any], layout: GroupedLayout, largest_exact: int = LARGEST_EXACT
    ):
        self.count = count_group
        self.layout = layout
        self.largest_exact = largest_exact
        mixed = (count_group > 0) & (count_group < layout.sizes)
        self._large = mixed & (layout.sizes > largest_exact)
        self._chunks = list(count_chunks(np.flatnonzero(mixed & ~self._large), count_group, layout))

    def expectation(self, score: NDArray[Any]) -> NDArray[Any]:
        """Of each row, the probability that it is positive given the count of its group.

        Where no sum of products of the rows' odds can leave the range of numbers, it is found from
        these, unshifted (:mod:`groupwise.losses.symmetric`), in single precision where that is
        enough: less than half of the work.
        """
        if not self._chunks or not self._is_moderate(score):
            return self._given(score.astype(np.float64, copy=False))[2]
        expected = self._places.expectation(score, self._chunks)
        if self._large.any():
            rows, of_large = self._of_large
            expected[rows] = of_large._given(score[rows].astype(np.float64, copy=False))[2]
        return expected

    def _is_moderate(self, score: NDArray[Any]) -> bool:
        largest = max(float(score.max()), -float(score.min()))
        return all(chunk.log_range(largest) < exp_limit(np.float64) for chunk in self._chunks)

    @cached_property
    def _of_large(self) -> tuple[NDArray[np.intp], "PoissonBinomial"]:
        """Rows of the large groups, and these groups alone: the others need not wait for them."""
        rows = np.flatnonzero(self.layout.spread(self._large))
        alone = GroupedLayout(Groups.of_sizes(self.layout.sizes[self._large].astype(np.intp)))
        return rows, PoissonBinomial(self.count[self._large], alone, self.largest_exact)

    @cached_property
    def _places(self) -> Places:
        """Rows of groups that are all of one kind have the expectations 0 and 1."""
        places = Places(self._chunks, self.layout.n_rows)
        full = self.layout.spread(self.count >= self.layout.sizes)
        places.of_row[places.outside] += full[places.outside]
        return places

    def log_loss(self, score: NDArray[Any]) -> NDArray[Any]:
        """Negative log-likelihood of each count."""
        shift, log_likely, _ = self._given(score)
        return self._exponent(score, shift) - log_likely

    def _given(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The shifts, log-probabilities of the counts after them, and the rows' expectations."""
        # the exact groups need a rough shift only; the large ones rely on it
        shift, proba = tilt(score, self.count, self.layout, near=~self._large)
        log_likely = np.zeros(self.layout.n_groups)
        for chunk in self._chunks:
            log_likely[chunk.groups] = chunk.condition(proba)
        if self._large.any():
            self._saddlepoint(log_likely, proba)
        return shift, log_likely, proba

    def _exponent(self, score: NDArray[Any], shift: NDArray[Any]) -> NDArray[Any]:
        """The bracket: relative entropy of the shifted rows; for pure groups, all there is."""
        layout, count = self.layout, self.count
        is_empty, is_full = count <= 0, count >= layout.sizes
        side = layout.spread(np.where(is_full, -1.0, 1.0))
        pure = layout.sum(softplus(side * score))
        shifted = layout.sum(softplus(score + layout.spread(shift)))
        mixed = shift * count - shifted + layout.sum(softplus(score))
        return np.where(is_empty | is_full, pure, mixed)

    def _saddlepoint(self, log_likely: NDArray[Any], expected: NDArray[Any]) -> None:
        layout = self.layout
        bernoulli = expected * (1.0 - expected)
        variance = layout.sum(bernoulli)
        skew = layout.sum(bernoulli * (1.0 - 2.0 * expected))
        log_likely -= np.where(self._large, 0.5 * np.log1p(2.0 * np.pi * variance), 0.0)
        factor = np.where(self._large, np.pi / (1.0 + 2.0 * np.pi * variance), 0.0)
        ratio = np.divide(skew, variance, out=np.zeros_like(skew), where=variance > 1e-300)
        correction = (1.0 - 2.0 * expected) - layout.spread(ratio)
        expected -= layout.spread(factor) * bernoulli * correction
