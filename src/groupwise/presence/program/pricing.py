r"""The price of every hypothesis: how much the dual would pay for it.

.. math:: S(k) = \sum_r u_r G_{rk} + \sum_c d_c \max_{l \in c} (U G)_{lk}

The u form the first line of a matrix over margins, the lines U of each maximum c follow.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from groupwise.presence.program.disjunctions import Disjunctions
from groupwise.presence.program.pool import Pool

__all__ = ["Columns", "DualLines", "price_columns"]


@dataclass(frozen=True)
class Columns:
    """Chosen hypotheses: number in the pool, sign and output of each."""

    number: NDArray[np.intp]
    sign: NDArray[np.float64]
    output: NDArray[np.intp]

    @classmethod
    def none(cls) -> "Columns":
        return cls(np.empty(0, np.intp), np.empty(0), np.empty(0, np.intp))

    def __len__(self) -> int:
        return len(self.number)

    def __getitem__(self, chosen: NDArray[np.intp]) -> "Columns":
        return Columns(self.number[chosen], self.sign[chosen], self.output[chosen])

    def then(self, other: "Columns") -> "Columns":
        return Columns(
            np.concatenate([self.number, other.number]),
            np.concatenate([self.sign, other.sign]),
            np.concatenate([self.output, other.output]),
        )


@dataclass(frozen=True)
class DualLines:
    """The dual values that price a column.

    Attributes
    ----------
    lines : sparse array of shape (1 + n_lines, n_margins)
        u, then U.
    bounds : ndarray of shape (n_maxima + 1,)
        Where the lines of each maximum begin, the first line not counted.
    dual : ndarray of shape (n_maxima,)
        d.
    """

    lines: csr_array
    bounds: NDArray[np.intp]
    dual: NDArray[np.float64]

    def of_largest(self, margin: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights of margins with each maximum replaced by its largest line at given margins.

        The price of any hypothesis is at least its sum with these weights; a weak learner that
        only knows linear weights is asked for those.
        """
        total = self.lines[[0]].toarray()[0]
        if len(self.dual):
            starts = self.bounds[:-1]
            value = self.lines[1:] @ margin
            top = np.repeat(np.maximum.reduceat(value, starts), np.diff(self.bounds))
            where = np.where(value == top, np.arange(len(value)), len(value))
            total += self.dual @ self.lines[1 + np.minimum.reduceat(where, starts)]
        return total


def price_columns(
    problem: Disjunctions,
    pool: Pool,
    duals: DualLines,
    margin: NDArray[np.float64],
    *,
    tol: float,
    n_new: int,
) -> tuple[float, Columns]:
    """Largest price, and of the columns above one the best, one of each family.

    A pool that is not complete is first asked for a hypothesis at these dual values.

    Parameters
    ----------
    problem : Disjunctions
    pool : Pool
    duals : DualLines
    margin : ndarray of shape (n_margins,)
        Margins of the present weights.
    tol : float
    n_new : int
        Columns at most.
    """
    if not pool.is_complete:
        total = duals.of_largest(margin)
        for to_rows in problem.to_rows:
            pool.ask(total @ to_rows)
    lines, bounds, dual = duals.lines, duals.bounds, duals.dual
    top, found, prices = 0.0, Columns.none(), [np.empty(0)]
    for output, to_rows in enumerate(problem.to_rows):
        for number, score in pool.blocks(csr_array(lines @ to_rows)):
            for sign in (1.0, -1.0):
                price = sign * score[0]
                if len(dual):
                    inside = np.maximum.reduceat(sign * score[1:], bounds[:-1], axis=0)
                    price = price + dual @ inside
                top = max(top, float(price.max()))
                at = np.flatnonzero(price > 1.0 + tol)
                if len(at) > 4 * n_new:
                    at = at[np.argpartition(-price[at], 4 * n_new)[: 4 * n_new]]
                same = np.full(len(at), sign), np.full(len(at), output)
                found = found.then(Columns(number[at], *same))
                prices.append(price[at])
    order = np.argsort(-np.concatenate(prices), kind="stable")
    family = pool.family(found.number[order]) * (2 * problem.n_outputs)
    family += found.output[order] * 2 + (found.sign[order] > 0)
    first = np.sort(np.unique(family, return_index=True)[1])
    return top, found[order[first[:n_new]]]
