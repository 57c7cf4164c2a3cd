"""How often rows are right that a model is this sure of."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike
from groupwise.metrics import ask
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["ReliabilityDisplay"]


class ReliabilityDisplay:
    """Share of rows predicted right against the probability of the predicted class.

    Rows fall into bins of equal width by the probability of their predicted class. The bars are 95
    % intervals (Wilson) as if rows were independent; rows of a group seldom are, so they are
    narrower than the truth.

    Parameters
    ----------
    n : array-like of shape (n_bins,)
        Rows in each bin, of equal width over [0, 1].
    sure : array-like of shape (n_bins,)
        Sum of their probabilities.
    right : array-like of shape (n_bins,)
        How many of them are right.
    what : {"rows", "groups"}, default="rows"
        What was counted.

    Attributes
    ----------
    error_ : float
        Expected calibration error: the mean distance to the diagonal, weighted by rows.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.plotting import ReliabilityDisplay
    >>> d = ReliabilityDisplay.from_predictions([1, 1, 0, 1], [[0.2, 0.8]] * 4, classes=[0, 1])
    >>> round(d.error_, 3)
    0.05
    """

    def __init__(self, n: ArrayLike, sure: ArrayLike, right: ArrayLike, *, what: str = "rows"):
        self.what = what
        self.n: NDArray[Any] = np.asarray(n, dtype=float)
        self.sure: NDArray[Any] = np.asarray(sure, dtype=float)
        self.right: NDArray[Any] = np.asarray(right, dtype=float)
        if not self.n.shape == self.sure.shape == self.right.shape:
            raise ValueError("n, sure and right must hold one entry per bin")
        if not self.n.sum():
            raise ValueError(f"there are no {self.what}")
        self.error_ = float(np.abs(self.sure - self.right).sum() / self.n.sum())

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        n_bins: int = 10,
        ax: Axes | None = None,
    ) -> "ReliabilityDisplay":
        """Draw a fitted classifier on rows whose labels are known.

        Parameters
        ----------
        estimator : fitted classifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), default=None
            For models whose probabilities of rows depend on them.
        n_bins : int, default=10
        ax : Axes, default=None
        """
        predicted = ask(estimator, X, groups)
        return cls.from_predictions(
            y, predicted.proba_row, classes=predicted.classes, n_bins=n_bins, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        proba_row: ArrayLike,
        *,
        classes: ArrayLike,
        n_bins: int = 10,
        ax: Axes | None = None,
    ) -> "ReliabilityDisplay":
        """Draw probabilities that were predicted before."""
        proba = np.asarray(proba_row, dtype=float)
        top = proba.max(axis=1)
        hit = np.asarray(classes)[proba.argmax(axis=1)] == np.asarray(y)
        place = np.minimum((top * n_bins).astype(int), n_bins - 1)
        n, sure, right = (np.bincount(place, w, minlength=n_bins) for w in (None, top, hit))
        return cls(n, sure, right).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "ReliabilityDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(5, 5)
        used = self.n > 0
        n, share = self.n[used], self.right[used] / self.n[used]
        low, high = _wilson(share, n)
        bars = np.maximum(np.stack([share - low, high - share]), 0.0)
        ax.errorbar(
            self.sure[used] / n, share, yerr=bars, fmt="o-", capsize=2,
            label=f"{self.what} (calibration error {self.error_:.3f})",
        )  # fmt: skip
        ax.plot([0, 1], [0, 1], color="grey", linewidth=1, zorder=0)
        ax.set(
            xlabel="probability of the predicted class",
            ylabel=f"share of {self.what} predicted right",
            xlim=(0, 1.02),
            ylim=(0, 1.02),
        )
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self


def _wilson(share: NDArray[Any], n: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Wilson's 95 % interval of a share of n."""
    z2 = 1.96**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = 1.96 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return centre - half, centre + half
