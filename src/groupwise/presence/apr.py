"""Axis-parallel rectangles by iterated discrimination (Dietterich, Lathrop, Lozano-Perez 1997)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from groupwise.presence._partner import Bags, BinaryPresenceClassifier

__all__ = ["APRClassifier"]

# Earlier choices are made again after so many new ones: after each it would be cubic in groups.
_BACKFIT_EVERY = 8


class APRClassifier(BinaryPresenceClassifier):
    r"""An axis-parallel rectangle that every positive group reaches into and no negative row does.

    Three steps, the first two in turn until the features repeat. *Grow*: from a row of the smallest
    positive group, add the row of another positive group that widens the rectangle least, until all
    are in, now and then choosing again the rows taken before. *Discriminate*: choose features one
    by one, each the one that excludes most of the negative rows still inside. *Expand*: widen each
    side until a kernel density estimate of the chosen rows leaves out ``epsilon`` of its mass.

    Parameters
    ----------
    tau : float, default=0.95
        Share of a value's own density that stays inside the tight side: the width of the estimate.
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
        tau: float = 0.95,
        epsilon: float = 0.01,
        max_iter: int = 10,
        group_column: str | None = None,
    ):
        self.tau = tau
        self.epsilon = epsilon
        self.max_iter = max_iter
        self.group_column = group_column

    def fit(self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None) -> "APRClassifier":
        """Fit to rows and their groups' labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
            A sparse matrix is made dense.
        y : array-like of shape (n_rows,)
            The group's label, repeated on each of its rows.
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : APRClassifier
        """
        if not (0 < self.tau < 1 and 0 < self.epsilon < 1):
            raise ValueError(
                f"tau and epsilon must be in (0, 1), got {self.tau!r} and {self.epsilon!r}"
            )
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1, got {self.max_iter!r}")
        bags = self._bags(X, y, groups)
        bags.X = np.asarray(bags.X.toarray() if issparse(bags.X) else bags.X, dtype=float)
        self.features_, chosen, self.n_iter_ = _iterate(bags, self.max_iter)
        values = bags.X[np.ix_(chosen, self.features_)]
        self.lower_, self.upper_ = _expand(values, self.tau, self.epsilon)
        return self

    def decision_function(self, X: Any) -> NDArray[Any]:
        """How far inside the rectangle a row lies, in shares of its sides; negative outside.

        Returns
        -------
        score : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        rows = self._rows(X)
        rows = (rows.toarray() if issparse(rows) else rows)[:, self.features_]
        side = np.maximum(self.upper_ - self.lower_, np.finfo(float).tiny)
        inside = np.minimum(rows - self.lower_, self.upper_ - rows) / side
        return np.clip(inside.min(axis=1), -30.0, 30.0)


def _iterate(bags: Bags, max_iter: int) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Grow and discriminate in turn; the features, one row of each positive group, the rounds."""
    features, n_rounds, settled = np.arange(bags.X.shape[1]), 0, False
    while not settled and n_rounds < max_iter:
        n_rounds += 1
        chosen = _grow(bags, features)
        kept = _discriminate(bags, features, chosen)
        settled, features = len(kept) == len(features), kept
    return features, chosen, n_rounds


def _grow(bags: Bags, features: NDArray[np.intp]) -> NDArray[np.intp]:
    """One row of every positive group such that few negative rows lie between them.

    Every row of the smallest positive group is a start; the rectangle with the fewest negative rows
    inside is kept, the smaller one of equals.
    """
    X = bags.X[:, features]
    spread = X.std(axis=0)
    X = X / np.where(spread > 0, spread, 1.0)
    sizes = np.where(bags.y_group == 1, bags.groups.sizes, bags.groups.n_rows + 1)
    seeds = np.flatnonzero(bags.groups.codes == sizes.argmin())
    negative = X[~bags.positive_row]

    def judge(chosen: NDArray[np.intp]) -> tuple[int, float]:
        low, high = X[chosen].min(axis=0), X[chosen].max(axis=0)
        inside = ((negative >= low) & (negative <= high)).all(axis=1)
        return int(inside.sum()), float((high - low).sum())

    return min((_grow_from(bags, X, int(seed)) for seed in seeds), key=judge)


def _grow_from(bags: Bags, X: NDArray[Any], seed: int) -> NDArray[np.intp]:
    """Greedy growth with backfitting, from one row."""
    rows = np.flatnonzero(bags.positive_row)
    codes = bags.groups.codes[rows]
    chosen = {int(bags.groups.codes[seed]): seed}
    n_positive = int((bags.y_group == 1).sum())
    while len(chosen) < n_positive:
        open_rows = rows[~np.isin(codes, list(chosen))]
        best = _cheapest(X, list(chosen.values()), open_rows)
        chosen[int(bags.groups.codes[best])] = best
        if len(chosen) % _BACKFIT_EVERY == 0 or len(chosen) == n_positive:
            _backfit(X, chosen, rows, codes)
    return np.array([chosen[group] for group in sorted(chosen)], dtype=np.intp)


def _cheapest(X: NDArray[Any], inside: list[int], candidates: NDArray[np.intp]) -> int:
    """The candidate that widens the rectangle of the rows inside least."""
    low, high = X[inside].min(axis=0), X[inside].max(axis=0)
    more = np.maximum(low - X[candidates], 0) + np.maximum(X[candidates] - high, 0)
    return int(candidates[int(more.sum(axis=1).argmin())])


def _backfit(
    X: NDArray[Any], chosen: dict[int, int], rows: NDArray[np.intp], codes: NDArray[np.intp]
) -> None:
    """Choose the rows of earlier groups again, given the others."""
    if len(chosen) < 3:
        return
    for group in list(chosen):
        others = [row for key, row in chosen.items() if key != group]
        chosen[group] = _cheapest(X, others, rows[codes == group])


def _discriminate(
    bags: Bags, features: NDArray[np.intp], chosen: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Features that exclude the negative rows, the most useful first, until none is left inside."""
    values = bags.X[np.ix_(chosen, features)]
    negative = bags.X[np.ix_(~bags.positive_row, features)]
    outside = (negative < values.min(axis=0)) | (negative > values.max(axis=0))
    left, kept = np.ones(len(negative), dtype=bool), []
    while left.any():
        gain = outside[left].sum(axis=0)
        best = int(gain.argmax())
        if gain[best] == 0:
            break
        kept.append(best)
        left &= ~outside[:, best]
    return features[np.sort(kept)] if kept else features


def _expand(values: NDArray[Any], tau: float, epsilon: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Sides that leave out the mass epsilon of a Gaussian density estimate, half on either side."""
    low, high = values.min(axis=0), values.max(axis=0)
    # a width at which a value in the middle keeps tau of its own mass inside the tight side
    quantile = float(ndtri(0.5 + 0.5 * tau))
    width = np.maximum((high - low) / (2.0 * quantile), 1e-9 * (1.0 + np.abs(high)))
    width = width / np.sqrt(len(values))
    reach = np.linspace(0.0, 6.0, 121)[:, None, None] * width
    below = ndtr((low - reach - values) / width).mean(axis=1)
    above = ndtr((values - high - reach) / width).mean(axis=1)
    steps = np.linspace(0.0, 6.0, 121)
    first_low = (below <= epsilon / 2).argmax(axis=0)
    first_high = (above <= epsilon / 2).argmax(axis=0)
    return low - steps[first_low] * width, high + steps[first_high] * width
