"""The distribution of a sum of independent yes-or-no rows, given what the sum came to."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from groupwise.losses.segments import Segments
from groupwise.losses.softplus import softplus
from groupwise.losses.tilting import tilt

__all__ = ["LARGEST_EXACT", "PoissonBinomial"]

#: Groups of more rows than this use the saddlepoint approximation.
LARGEST_EXACT = 128
_PADDED = np.array([1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, LARGEST_EXACT])
_CHUNK = 4_000_000  # numbers held at once by the dynamic program


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
        Whole numbers, in the order of the runs.
    segments : Segments
    largest_exact : int, default=128
        At most 128.

    References
    ----------
    S. X. Chen and J. S. Liu (1997). Statistical applications of the Poisson-binomial and
    conditional Bernoulli distributions. Statistica Sinica 7.
    """

    def __init__(
        self, count_group: NDArray[Any], segments: Segments, largest_exact: int = LARGEST_EXACT
    ):
        self.count = count_group
        self.segments = segments
        mixed = (count_group > 0) & (count_group < segments.sizes)
        self._large = mixed & (segments.sizes > largest_exact)
        self._chunks = list(_chunks(np.flatnonzero(mixed & ~self._large), segments))

    def log_loss_and_expectation(self, score: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Negative log-likelihood of each count, and of each row the expectation given it."""
        segments, count = self.segments, self.count
        # the exact groups need a rough shift only; the large ones rely on it
        shift = tilt(score, count, segments, tol=1e-10 if self._large.any() else 1e-3)
        expected = expit(score + segments.spread(shift))
        loss = self._exponent(score, shift)
        for groups, rows in self._chunks:
            loss[groups] -= _count_given(expected, rows, count[groups].astype(np.intp))
        if self._large.any():
            self._saddlepoint(loss, expected)
        return loss, expected

    def _exponent(self, score: NDArray[Any], shift: NDArray[Any]) -> NDArray[Any]:
        """The bracket: relative entropy of the shifted rows; for pure groups, all there is."""
        segments, count = self.segments, self.count
        none, all_ = count <= 0, count >= segments.sizes
        side = segments.spread(np.where(all_, -1.0, 1.0))
        pure = segments.sum(softplus(side * score))
        shifted = segments.sum(softplus(score + segments.spread(shift)))
        mixed = shift * count - shifted + segments.sum(softplus(score))
        return np.where(none | all_, pure, mixed)

    def _saddlepoint(self, loss: NDArray[Any], expected: NDArray[Any]) -> None:
        segments = self.segments
        bernoulli = expected * (1.0 - expected)
        variance = segments.sum(bernoulli)
        skew = segments.sum(bernoulli * (1.0 - 2.0 * expected))
        loss += np.where(self._large, 0.5 * np.log1p(2.0 * np.pi * variance), 0.0)
        factor = np.where(self._large, np.pi / (1.0 + 2.0 * np.pi * variance), 0.0)
        ratio = np.divide(skew, variance, out=np.zeros_like(skew), where=variance > 1e-300)
        correction = (1.0 - 2.0 * expected) - segments.spread(ratio)
        expected -= segments.spread(factor) * bernoulli * correction


def _chunks(
    groups: NDArray[np.intp], segments: Segments
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Groups of like size, not too many at once; their rows as (padded size, n), -1 for none."""
    sizes = segments.sizes[groups].astype(np.intp)
    kind = np.searchsorted(_PADDED, sizes)
    for label in np.unique(kind):
        padded = int(_PADDED[label])
        members = groups[kind == label]
        for part in np.array_split(members, -(-len(members) * (padded + 1) ** 2 // _CHUNK)):
            position = np.arange(padded)[:, None]
            rows = segments.starts[part] + position
            yield part, np.where(position < segments.sizes[part], rows, -1)


def _count_given(
    proba: NDArray[Any], rows: NDArray[np.intp], count: NDArray[np.intp]
) -> NDArray[Any]:
    """Replace ``proba`` of the rows by their expectations given the counts; log P(count).

    ``ahead[j, t]`` is the probability that the first j rows hold t positives, ``back[t]`` that the
    rows from j on supply what is then missing. A row that is padding is positive with probability
    0 and changes nothing.
    """
    padded, n_groups = rows.shape
    p = np.where(rows >= 0, proba.take(rows, mode="wrap"), 0.0)
    ahead = np.zeros((padded, padded + 1, n_groups))
    ahead[0, 0] = 1.0
    for j in range(padded - 1):
        ahead[j + 1] = ahead[j] * (1.0 - p[j])
        ahead[j + 1, 1:] += ahead[j, :-1] * p[j]
    back = np.zeros((padded + 1, n_groups))
    back[count, np.arange(n_groups)] = 1.0
    expected = np.empty_like(p)
    for j in range(padded - 1, -1, -1):
        expected[j] = p[j] * np.einsum("tg,tg->g", ahead[j, :-1], back[1:])
        back[:-1] = back[:-1] * (1.0 - p[j]) + back[1:] * p[j]
        back[-1] *= 1.0 - p[j]
    likelihood = back[0]
    real = rows >= 0
    proba[rows[real]] = (expected / likelihood)[real]
    return np.log(likelihood)
