"""Axis-parallel rectangles by iterated discrimination (Dietterich, Lathrop, Lozano-Perez 1997)."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from groupwise._typing import Rows
from groupwise.inputs import GroupedRows, check_number, dense
from groupwise.presence.bags import Bags
from groupwise.presence.base import BasePresenceClassifier

__all__ = ["APRClassifier"]


class APRClassifier(BasePresenceClassifier):
    r"""An axis-parallel rectangle that every positive group reaches into and no negative row does.

    Three steps, the first two in turn until the features repeat.

    - *Grow*: from a row of the smallest positive group, add the row of another positive group that
      widens the rectangle least, until all are in; after each, exchange the row of a group for
      another of its rows as long as that makes the rectangle smaller. Every row of the smallest
      group is a start; the rectangle with the fewest negative rows inside is kept, the smaller one
      of equals.
    - *Discriminate*: choose features one by one, each the one that strongly excludes most of the
      negative rows still inside: by at least ``margin``, or, where a row lies outside by less than
      that in all features, as the one in which it lies furthest outside.
    - *Expand*: widen each side until a kernel density estimate of the positive groups' rows inside
      leaves out ``epsilon`` of its mass.

    The score of a row is how far inside the rectangle it lies, in shares of the sides. Sparse rows
    are made dense.

    Parameters
    ----------
    margin : float, default=1.0
        How far outside a row must lie to be strongly excluded, in standard deviations of the
        feature. (The paper has 1 Angstrom, its features being distances of like scale.)
    tau : float, default=0.999
        The width of the kernel: one in the middle of a side has this share of its mass inside.
    epsilon : float, default=0.01
        Mass left out by the expanded rectangle, in each feature.
    max_iter : int, default=10
        Rounds of growing and discriminating.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    features_ : ndarray of shape (n_chosen,)
        The features that count.
    lower_, upper_ : ndarray of shape (n_chosen,)
        Sides of the rectangle.
    n_iter_ : int
        Rounds made.

    References
    ----------
    T. Dietterich, R. Lathrop and T. Lozano-Perez (1997). Solving the multiple instance problem with
    axis-parallel rectangles. Artificial Intelligence 89.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import APRClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = APRClassifier().fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.lower_ <= clf.upper_).all())
    True
    """

    def __init__(
        self,
        *,
        margin: float = 1.0,
        tau: float = 0.999,
        epsilon: float = 0.01,
        max_iter: int = 10,
        group_column: str | None = None,
    ):
        self.margin = margin
        self.tau = tau
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_number("margin", self.margin, "[0, inf)")
        check_number("tau", self.tau, "(0, 1)")
        check_number("epsilon", self.epsilon, "(0, 1)")
        check_number("max_iter", self.max_iter, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        values = dense(bags.X)
        deviation = values.std(axis=0)
        scaled = replace(bags, X=values / np.where(deviation > 0, deviation, 1.0))
        self.features_, chosen, self.n_iter_ = _iterate(scaled, self.margin, self.max_iter)
        low, high = _box(values[np.ix_(chosen, self.features_)])
        rows = values[np.ix_(bags.positive_row, self.features_)]
        inside = ((rows >= low) & (rows <= high)).all(axis=1)
        self.lower_, self.upper_ = _expand(rows[inside], low, high, self.tau, self.epsilon)

    def _score_rows(self, rows: Rows) -> NDArray[np.float64]:
        """How far inside the rectangle a row lies, in shares of its sides; negative outside."""
        values = dense(rows)[:, self.features_]
        side = np.maximum(self.upper_ - self.lower_, np.finfo(float).tiny)
        inside = np.minimum(values - self.lower_, self.upper_ - values) / side
        return np.clip(inside.min(axis=1), -30.0, 30.0)


def _iterate(
    bags: Bags, margin: float, max_iter: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Grow and discriminate in turn; the features, one row of each positive group, the rounds."""
    features, n_rounds, settled = np.arange(bags.X.shape[1]), 0, False
    while not settled and n_rounds < max_iter:
        n_rounds += 1
        chosen = _grow(bags, features)
        negative = bags.X[np.ix_(~bags.positive_row, features)]
        kept = _discriminate(negative, *_box(bags.X[np.ix_(chosen, features)]), margin)
        settled, features = len(kept) == len(features), features[kept]
    return features, chosen, n_rounds


def _box(rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return rows.min(axis=0), rows.max(axis=0)


def _grow(bags: Bags, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """One row of every positive group such that few negative rows lie between them."""
    rows = np.flatnonzero(bags.positive_row)
    rows = rows[np.argsort(bags.groups.codes[rows], kind="stable")]
    _, group = np.unique(bags.groups.codes[rows], return_inverse=True)
    X = bags.X[np.ix_(rows, features)]
    negative = bags.X[np.ix_(~bags.positive_row, features)]

    def judge(chosen: NDArray[np.intp]) -> tuple[int, float]:
        low, high = _box(X[chosen])
        inside = ((negative >= low) & (negative <= high)).all(axis=1)
        return int(inside.sum()), float((high - low).sum())

    starts = np.flatnonzero(group == np.bincount(group).argmin())
    return rows[min((_grow_from(int(start), X, group) for start in starts), key=judge)]


def _grow_from(start: int, X: NDArray[np.float64], group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Greedy growth with exchanges, from one row; rows lie group after group."""
    first = np.flatnonzero(np.diff(group, prepend=-1))
    chosen = np.full(len(first), -1)
    chosen[group[start]] = start
    while True:
        taken = chosen >= 0
        low, high = _boxes_of_others(X, chosen)
        cost = np.maximum(low[group] - X, 0).sum(axis=1) + np.maximum(X - high[group], 0).sum(
            axis=1
        )
        if taken.sum() > 1:
            gain = np.where(taken, cost[chosen] - np.minimum.reduceat(cost, first), 0.0)
            most = int(gain.argmax())
            if gain[most] > 1e-9 * cost[chosen[most]]:
                members = np.flatnonzero(group == most)
                chosen[most] = members[cost[members].argmin()]
                continue
        if taken.all():
            return chosen
        best = int(np.where(taken[group], np.inf, cost).argmin())
        chosen[group[best]] = best


def _boxes_of_others(
    X: NDArray[np.float64], chosen: NDArray[np.intp]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """For every group the rectangle around the rows chosen for the others."""
    taken = np.flatnonzero(chosen >= 0)
    inside = X[chosen[taken]]
    low, high = (np.tile(side, (len(chosen), 1)) for side in _box(inside))
    if len(taken) > 1:
        column = np.arange(X.shape[1])
        order = np.argsort(inside, axis=0)
        low[taken[order[0]], column] = inside[order[1], column]
        high[taken[order[-1]], column] = inside[order[-2], column]
    return low, high


def _discriminate(
    negative: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    margin: float,
) -> NDArray[np.intp]:
    """Features that strongly exclude the negative rows, until none is left that can be excluded."""
    beyond = np.maximum(np.maximum(low - negative, negative - high), 0.0)
    furthest = beyond.max(axis=1)
    strong = (beyond >= np.minimum(margin, furthest)[:, None]) & (beyond > 0)
    left, kept = furthest > 0, []
    while left.any():
        best = int(strong[left].sum(axis=0).argmax())
        kept.append(best)
        left &= ~strong[:, best]
    return np.sort(kept).astype(np.intp) if kept else np.arange(len(low))


def _expand(
    rows: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    tau: float,
    epsilon: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sides that leave out the mass epsilon of a Gaussian density estimate, half on either side."""
    least = 1e-9 * (1.0 + np.maximum(np.abs(low), np.abs(high)))
    width = np.maximum((high - low) / 2.0 / float(ndtri(0.5 + 0.5 * tau)), least)
    near, far = np.zeros(len(low)), np.full(len(low), 8.0)  # in kernel widths
    reach = np.array([near, near]), np.array([far, far])
    for _ in range(40):
        middle = (reach[0] + reach[1]) / 2.0
        below = ndtr((low - rows) / width - middle[0]).mean(axis=0)
        above = ndtr((rows - high) / width - middle[1]).mean(axis=0)
        too_near = np.array([below, above]) > epsilon / 2.0
        reach = np.where(too_near, middle, reach[0]), np.where(too_near, reach[1], middle)
    return low - reach[1][0] * width, high + reach[1][1] * width
