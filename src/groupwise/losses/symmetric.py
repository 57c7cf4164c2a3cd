r"""Elementary symmetric polynomials of odds by halves, and what each row has of them.

Of rows with odds :math:`o_j`, :math:`e_t = \sum_{|T| = t} \prod_{j \in T} o_j` is the weight of t
of them being positive. Those of a group are the product of those of its halves, and so on down to
the rows; with an odd number of rows, one is beside the halves. All halves of one depth are
multiplied in one call, of all groups of a table: a few dozen calls, and half the additions that
going row by row takes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["correlate_halves", "expect_rows"]


def expect_rows(
    odds: NDArray[Any], most: int, weigh: Callable[[NDArray[Any]], NDArray[Any]]
) -> None:
    r"""Replace odds by the rows' probabilities to be positive, given what is known of the counts.

    With :math:`w_t` the likelihood of t positives in a group and :math:`e^{(-j)}` the polynomials
    without row j, it is :math:`o_j \sum_t w_{t + 1} e^{(-j)}_t / \sum_t w_t e_t`. Going down, a
    half's weights are those of the whole seen through the other half,
    :math:`w'_t = \sum_u e_u(\text{other})\, w_{t + u}`, until each row has its own.

    Parameters
    ----------
    odds : ndarray of shape (size, n_groups)
        An even number of rows; 0 for those that a group does not have. Rows are contiguous.
    most : int
        No group has more positives: higher polynomials are not looked at. At least 1.
    weigh : callable
        Given the polynomials of the groups' halves, (degree + 1, 2 n_groups), all first halves
        before all second ones, finds the weights of their counts, of the same shape.

    Examples
    --------
    Two rows with odds of 1 and 3, of which one is positive:

    >>> import numpy as np
    >>> known = np.array([[0.0], [1.0], [0.0]])
    >>> odds = np.array([[1.0], [3.0]])
    >>> expect_rows(odds, 2, lambda halves: correlate_halves(known, halves))
    >>> odds.ravel().tolist()
    [0.25, 0.75]
    """
    n_groups = odds.shape[1]
    levels, halves = _multiply_up(odds, most)
    weight = weigh(halves)
    total = np.einsum("tn,tn->n", halves[:, :n_groups], weight[:, :n_groups])
    weight = weight[1:]  # of none there is nothing to expect
    for level in reversed(levels):
        weight = level.pass_down(weight)
    single = weight.reshape(-1, n_groups)
    odds[: len(single)] *= single
    odds *= np.reciprocal(total, out=total)


def correlate_halves(weight: NDArray[Any], halves: NDArray[Any]) -> NDArray[Any]:
    """Weights of the counts of halves, from those of the wholes.

    Parameters
    ----------
    weight : ndarray of shape (n_counts, n)
        Contiguous; those of larger counts are 0.
    halves : ndarray of shape (degree + 1, 2 n)

    Returns
    -------
    weight_halves : ndarray of shape (degree + 1, 2 n)
    """
    return _correlate(weight, halves, len(halves))


def _correlate(weight: NDArray[Any], halves: NDArray[Any], n_counts: int) -> NDArray[Any]:
    """Weights of so many counts of the halves, from the smallest on that has one in ``weight``."""
    n = weight.shape[1]
    n_terms = min(len(halves), len(weight))
    if n_counts == 1 and n_terms == 2:
        found = halves[1].reshape(2, n)[::-1] * weight[1]
        found += weight[0]
        return found.reshape(1, 2 * n)
    missing = n_counts + n_terms - 1 - len(weight)
    if missing > 0:
        weight = np.concatenate([weight, np.zeros((missing, n), weight.dtype)])
    found = np.empty((n_counts, 2 * n), weight.dtype)
    terms = _windows(weight, 0, (n_counts, n_terms), 1)
    np.einsum("tun,un->tn", terms, halves[:n_terms, n:], out=found[:, :n])
    np.einsum("tun,un->tn", terms, halves[:n_terms, :n], out=found[:, n:])
    return found


@dataclass(frozen=True)
class _Level:
    """Nodes of one depth, each of two halves and perhaps a row beside them.

    Attributes
    ----------
    halves : ndarray of shape (degree + 1, 2 n)
        Polynomials of all first halves, then of all second ones.
    both : ndarray of shape (n_counts, n)
        Their products.
    beside : ndarray of shape (n,), or None
        Odds of the rows beside the halves; become what is expected of them.
    """

    halves: NDArray[Any]
    both: NDArray[Any]
    beside: NDArray[Any] | None

    def pass_down(self, weight: NDArray[Any]) -> NDArray[Any]:
        """Weights of the halves' counts from 1 on, from those of the nodes', which are used up."""
        if self.beside is not None:
            n_common = min(len(weight), len(self.both))
            own = np.einsum("tn,tn->n", self.both[:n_common], weight[:n_common])
            weight[:-1] += weight[1:] * self.beside
            weight = weight[: len(self.both) - 1]
            self.beside[:] *= own
        return _correlate(weight, self.halves, len(self.halves) - 1)


def _multiply_up(odds: NDArray[Any], most: int) -> tuple[list[_Level], NDArray[Any]]:
    """Levels from the rows up to the groups' halves, and the polynomials of these."""
    size, n_groups = odds.shape
    depth = size.bit_length() - 1
    used = 1 << depth
    polynomial = np.ones((2, used * n_groups), odds.dtype)
    polynomial[1] = odds[:used].reshape(-1)
    levels = []
    for above in range(depth - 1, 0, -1):
        both = _product(polynomial, most)
        beside = None
        if size >> above & 1:
            beside = odds[used : used + (1 << above)].reshape(-1)
            used += 1 << above
        levels.append(_Level(polynomial, both, beside))
        polynomial = both if beside is None else _with_row(both, beside, most)
    return levels, polynomial


def _product(halves: NDArray[Any], most: int) -> NDArray[Any]:
    """Polynomials of the wholes, (degree + 1, n), up to the degree ``most``."""
    degree, n = len(halves) - 1, halves.shape[1] // 2
    highest = min(2 * degree, most)
    left, right = halves[:, :n], halves[:, n:]
    both = np.empty((highest + 1, n), halves.dtype)
    both[0] = 1.0
    np.add(left[1:], right[1:], out=both[1 : degree + 1])
    if highest == 1:
        return both
    if degree == 1:
        np.multiply(left[1], right[1], out=both[2])
        return both
    # beside what one half has, what both have a part in: counts from 2 on
    n_left = min(degree, highest - 1)
    padded = np.zeros((highest + degree - 2, n), halves.dtype)
    padded[degree - 1 : degree - 1 + n_left] = left[1 : n_left + 1]
    terms = _windows(padded, degree - 1, (highest - 1, degree), -1)
    mixed = np.einsum("tun,un->tn", terms, right[1:])
    both[2 : degree + 1] += mixed[: degree - 1]
    both[degree + 1 :] = mixed[degree - 1 :]
    return both


def _with_row(polynomial: NDArray[Any], odds: NDArray[Any], most: int) -> NDArray[Any]:
    """The polynomials with one more row."""
    highest = min(len(polynomial), most)
    found = np.empty((highest + 1, polynomial.shape[1]), polynomial.dtype)
    found[0] = 1.0
    np.multiply(polynomial[:highest], odds, out=found[1:])
    found[1 : len(polynomial)] += polynomial[1:]
    return found


def _windows(
    table: NDArray[Any], first: int, shape: tuple[int, int], direction: int
) -> NDArray[Any]:
    """A view whose line (t, u) is line ``first + t + direction * u`` of the contiguous table."""
    line, number = table.strides
    return np.ndarray(
        (*shape, table.shape[1]),
        table.dtype,
        table,
        first * line,
        (line, direction * line, number),
    )
