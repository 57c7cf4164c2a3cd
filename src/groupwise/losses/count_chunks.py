"""Small groups worked on together: what rows are expected to be, given what is known of a count.

Groups of up to 128 rows, of like size, in tables of one column per group, exact: by symmetric
polynomials of the odds where these are moderate, or else by a dynamic program over the rows,
forward and backward.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.losses.layout import GroupedLayout
from groupwise.losses.logistic import exp_limit
from groupwise.losses.symmetric import correlate_halves, expect_rows

__all__ = ["CountChunk", "Places", "PosteriorChunk", "count_chunks", "posterior_chunks"]

# Even: a group is two halves.
_PADDED = np.array([2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 112, 128])
_CHUNK = 32_768  # rows worked on at once, in the processor's cache
_LEAST_GROUPS = 256  # but as many groups as make a call of numpy worth its while


@dataclass(frozen=True)
class _Chunk(ABC):
    """Groups of like size.

    Attributes
    ----------
    groups : ndarray of shape (n,)
    rows : ndarray of shape (padded size, n)
        A group's rows; where it has fewer, ``real`` is false and the row is any.
    real : ndarray of shape (padded size, n), or None
        ``None`` where all rows are real.
    rare : ndarray of shape (n,)
        1 where positives are counted, 0 where negatives are: those of which there can be fewer.
    """

    groups: NDArray[np.intp]
    rows: NDArray[np.intp]
    real: NDArray[np.bool_] | None
    rare: NDArray[np.float64]

    @property
    @abstractmethod
    def most(self) -> int:
        """The largest count of the rarer kind that is possible, or 1."""

    def log_range(self, largest: float) -> float:
        """A bound of the logarithms of sums of products of odds, for scores up to ``largest``."""
        return self.most * largest + len(self.rows) * np.log(2.0)

    def expect(self, score: NDArray[Any], largest: float, out: NDArray[Any]) -> None:
        """The expectations of the rows given what is known, for scores that are moderate.

        As :meth:`condition`, with odds in place of probabilities (a common factor of the group goes
        out), in double precision where single would not do.

        Parameters
        ----------
        score : ndarray of shape (n_rows,)
        largest : float
            No score is further from 0.
        out : ndarray of shape (padded size, n)
            Takes the expectations of positives.
        """
        # "raise" checks indices that are known to be good
        score.take(self.rows, out=out, mode="clip")
        odds = out
        if self.log_range(largest) > exp_limit(out.dtype):
            odds = out.astype(np.float64)
        if not self._all_rare:
            odds *= self._sign
        np.exp(odds, out=odds)
        if self._empty is not None:
            odds.reshape(-1)[self._empty] = 0.0
        expect_rows(odds, self.most, self._weigh)
        if not self._all_rare:
            odds *= self._sign
            odds += self._other
        if odds is not out:
            out[:] = odds

    @abstractmethod
    def _weigh(self, halves: NDArray[Any]) -> NDArray[Any]:
        """Weights of the counts of halves, see :func:`~groupwise.losses.symmetric.expect_rows`."""

    @cached_property
    def _all_rare(self) -> bool:
        return bool(self.rare.all())

    @cached_property
    def _sign(self) -> NDArray[np.float32]:
        return (2.0 * self.rare - 1.0).astype(np.float32)

    @cached_property
    def _other(self) -> NDArray[np.float32]:
        return (1.0 - self.rare).astype(np.float32)

    @cached_property
    def _empty(self) -> NDArray[np.intp] | None:
        """Places of the table that no row has."""
        return None if self.real is None else np.flatnonzero(~self.real)


@dataclass(frozen=True)
class CountChunk(_Chunk):
    """Groups of like size and count.

    Attributes
    ----------
    count : ndarray of shape (n,)
        Of the rarer kind, ascending.
    """

    count: NDArray[np.intp]

    @property
    def most(self) -> int:
        return int(self.count[-1])

    @cached_property
    def _runs(self) -> list[tuple[int, slice]]:
        """The different counts, and the groups that have each."""
        count, first = np.unique(self.count, return_index=True)
        ends = [*first[1:].tolist(), len(self.count)]
        runs = zip(count.tolist(), first.tolist(), ends, strict=True)
        return [(c, slice(start, end)) for c, start, end in runs]

    def _weigh(self, halves: NDArray[Any]) -> NDArray[Any]:
        """What one half lacks of the count, the other must have."""
        degree = len(halves) - 1
        other = halves.reshape(degree + 1, 2, -1)[:, ::-1]
        weight = np.zeros(other.shape, halves.dtype)
        for count, groups in self._runs:
            least, most = max(0, count - degree), min(degree, count)
            weight[least : most + 1, :, groups] = other[least : most + 1, :, groups][::-1]
        return weight.reshape(halves.shape)

    def condition(self, proba: NDArray[Any]) -> NDArray[Any]:
        """Replace ``proba`` of the rows by their expectations given the counts; log P(count).

        A row that is padding is never of the rarer kind and changes nothing.
        """
        sign, other = 2.0 * self.rare - 1.0, 1.0 - self.rare
        p = proba[self.rows]
        p *= sign
        p += other
        if self.real is not None:
            p *= self.real
        back = np.zeros((int(self.count.max()) + 1, p.shape[1]))
        back[self.count, np.arange(p.shape[1])] = 1.0
        _condition(p, back)
        p -= other
        p *= sign
        if self.real is None:
            proba[self.rows] = p
        else:
            proba[self.rows[self.real]] = p[self.real]
        return np.log(back[0])


@dataclass(frozen=True)
class PosteriorChunk(_Chunk):
    """Groups of like size of whose count a likelihood is known, not the count itself.

    Attributes
    ----------
    likelihood : ndarray of shape (most + 1, n)
        Of each count of the rarer kind up to the most that is possible; the largest of a group's is
        1.
    """

    likelihood: NDArray[np.float64]

    @cached_property
    def _single(self) -> NDArray[np.float32]:
        """In single precision, where no odds can make up for what then is nothing."""
        return self.likelihood.astype(np.float32)

    @property
    def most(self) -> int:
        return max(1, len(self.likelihood) - 1)

    def _weigh(self, halves: NDArray[Any]) -> NDArray[Any]:
        single = halves.dtype == np.float32
        return correlate_halves(self._single if single else self.likelihood, halves)

    def condition(
        self, proba: NDArray[Any], weight: NDArray[Any], firsts: NDArray[np.intp]
    ) -> NDArray[Any]:
        """Replace ``proba`` of the rows by their expectations given the likelihoods.

        Parameters
        ----------
        proba : ndarray of shape (n_rows,)
        weight : ndarray
            The likelihood of each group's counts from 0 to its size, group after group.
        firsts : ndarray of shape (n_groups,)
            Where a group's likelihoods begin.

        Returns
        -------
        log_likely : ndarray of shape (n,)
            Logarithm of the sum over counts of their probability times their likelihood.
        """
        real = np.ones(self.rows.shape, bool) if self.real is None else self.real
        p = proba[self.rows] * real
        size = real.sum(axis=0)
        count = np.arange(len(p) + 1)[:, None]
        back = np.where(count <= size, weight[firsts[self.groups] + np.minimum(count, size)], 0.0)
        _condition(p, back)
        proba[self.rows[real]] = p[real]
        return np.log(back[0])


def _condition(p: NDArray[Any], back: NDArray[Any]) -> None:
    """Make probabilities (padded size, n) expectations given what is known of the counts.

    ``back`` (most + 1, n) comes as the likelihood of each count, and its first line goes as that of
    all. ``ahead[j, t]`` is the probability that the first j rows hold t, ``back[t]`` that the rows
    from j on supply what is then missing; t beyond the most matters to neither.
    """
    q = 1.0 - p
    ahead = np.zeros((len(p), *back.shape))
    ahead[0, 0] = 1.0
    for j in range(len(p) - 1):
        np.multiply(ahead[j], q[j], out=ahead[j + 1])
        ahead[j + 1, 1:] += ahead[j, :-1] * p[j]
    for j in range(len(p) - 1, -1, -1):
        supplied = back[1:] * p[j]
        back *= q[j]
        back[:-1] += supplied
        supplied *= ahead[j, :-1]
        np.add.reduce(supplied, axis=0, out=p[j])
    p /= back[0]


class Places:
    """Where in the tables of chunks, put behind each other, the rows are found.

    One look-up of all rows is several times quicker than writing each chunk's rows.

    Parameters
    ----------
    chunks : sequence
    n_rows : int

    Attributes
    ----------
    of_row : ndarray of shape (n_rows,)
        The first of two places behind all tables, which hold 0 and 1, for rows of no chunk.
    outside : ndarray
        Rows of no chunk.
    """

    def __init__(self, chunks: "Sequence[CountChunk | PosteriorChunk]", n_rows: int):
        self.size = sum(chunk.rows.size for chunk in chunks)
        self.of_row = np.full(n_rows, self.size, np.intp)
        first = 0
        for chunk in chunks:
            real = np.ones(chunk.rows.shape, bool) if chunk.real is None else chunk.real
            self.of_row[chunk.rows[real]] = first + np.flatnonzero(real)
            first += chunk.rows.size
        self.outside = np.flatnonzero(self.of_row == self.size)

    def expectation(
        self, score: NDArray[Any], chunks: "Sequence[CountChunk | PosteriorChunk]"
    ) -> NDArray[Any]:
        """Of all rows, as the chunks find them; 0 or 1 by ``of_row`` for the others."""
        tables = np.empty(self.size + 2, score.dtype)
        tables[self.size :] = 0.0, 1.0
        largest = max(float(score.max()), -float(score.min()))
        first = 0
        for chunk in chunks:
            last = first + chunk.rows.size
            chunk.expect(score, largest, tables[first:last].reshape(chunk.rows.shape))
            first = last
        return tables.take(self.of_row, mode="clip")


def posterior_chunks(
    groups: NDArray[np.intp],
    layout: GroupedLayout,
    log_likelihood: NDArray[Any],
    firsts: NDArray[np.intp],
) -> Iterator[PosteriorChunk]:
    """Groups of like size, of at most 128 rows, and like most counts, not too many at once.

    Parameters
    ----------
    groups : ndarray
        Positions in the layout.
    layout : GroupedLayout
    log_likelihood : ndarray
        Of each group's counts from 0 to its size, group after group.
    firsts : ndarray of shape (n_groups,)
        Where a group's begin.
    """
    size = layout.sizes[groups].astype(np.intp)
    kind = np.searchsorted(_PADDED, size)
    for label in np.unique(kind):
        padded = int(_PADDED[label])
        members = np.flatnonzero(kind == label)
        count = np.arange(padded + 1)[:, None]
        place = firsts[groups[members]] + np.minimum(count, size[members])
        likely = np.where(count <= size[members], log_likelihood[place], -np.inf)
        likely = np.exp(likely - likely.max(axis=0))
        first, last = _ends(likely)
        rare = size[members] - first >= last
        likely[:, ~rare] = _turned(likely[:, ~rare], size[members][~rare])
        last = _ends(likely)[1]
        order = np.argsort(last, kind="stable")
        at_once = max(_LEAST_GROUPS, _CHUNK // padded)
        for part in np.array_split(order, -(-len(order) // at_once)):
            position, chosen = np.arange(padded)[:, None], members[part]
            real = position < size[chosen]
            yield PosteriorChunk(
                groups[chosen],
                layout.starts[groups[chosen]] + np.where(real, position, 0),
                None if real.all() else real,
                rare[part].astype(float),
                np.ascontiguousarray(likely[: int(last[part].max()) + 1, part]),
            )


def _ends(likely: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The smallest and the largest count that is possible, of each group."""
    possible = likely > 0.0
    return possible.argmax(axis=0), len(likely) - 1 - possible[::-1].argmax(axis=0)


def _turned(likely: NDArray[Any], size: NDArray[np.intp]) -> NDArray[Any]:
    """Likelihoods of the number of negatives from those of the number of positives."""
    count = np.arange(len(likely))[:, None]
    other = np.take_along_axis(likely, np.maximum(size - count, 0), axis=0)
    return np.where(count <= size, other, 0.0)


def count_chunks(
    groups: NDArray[np.intp], count_group: NDArray[Any], layout: GroupedLayout
) -> Iterator[CountChunk]:
    """Groups of like size and count, not too many at once."""
    size = layout.sizes[groups]
    fewer = np.minimum(count_group[groups], size - count_group[groups]).astype(np.intp)
    kind = np.searchsorted(_PADDED, size)
    for label in np.unique(kind):
        padded = int(_PADDED[label])
        members = np.flatnonzero(kind == label)
        members = members[np.argsort(fewer[members], kind="stable")]
        at_once = max(_LEAST_GROUPS, _CHUNK // padded)
        for part in np.array_split(members, -(-len(members) // at_once)):
            position = np.arange(padded)[:, None]
            real = position < size[part]
            rows = layout.starts[groups[part]] + np.where(real, position, 0)
            rare = (fewer[part] == count_group[groups[part]]).astype(float)
            yield CountChunk(groups[part], rows, None if real.all() else real, rare, fewer[part])
