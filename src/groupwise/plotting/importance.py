"""Importance of features, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["ImportanceDisplay"]


class ImportanceDisplay:
    """What held-out groups lose without each feature, the largest on top.

    Parameters
    ----------
    names : sequence of str
    importance, low, high : array-like of shape (n_features,)
        Means and the ends of their intervals, as in the ``table`` of
        :func:`groupwise.explain.group_permutation_importance`.
    n_shown : int, default=15

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.plotting import ImportanceDisplay
    >>> display = ImportanceDisplay(["a", "b"], [0.1, 0.3], [0.0, 0.2], [0.2, 0.4]).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['a', 'b']
    """

    def __init__(
        self,
        names: Sequence[str],
        importance: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        n_shown: int = 15,
    ):
        self.names = [str(name) for name in names]
        self.importance: NDArray[Any] = np.asarray(importance, dtype=float)
        self.low: NDArray[Any] = np.asarray(low, dtype=float)
        self.high: NDArray[Any] = np.asarray(high, dtype=float)
        self.n_shown = n_shown
        if not self.importance.shape == self.low.shape == self.high.shape == (len(self.names),):
            raise ValueError("importance, low and high must hold one number per name")

    def plot(self, ax: Axes | None = None) -> "ImportanceDisplay":
        """Draw on the given axes, or on a new figure."""
        order = np.argsort(-self.importance, kind="stable")[: self.n_shown][::-1]
        if ax is None:
            ax = new_axes(6, 1 + 0.3 * len(order))
        mean = self.importance[order]
        bars = np.maximum([mean - self.low[order], self.high[order] - mean], 0.0)
        ax.errorbar(mean, range(len(order)), xerr=bars, fmt="o", capsize=2)
        ax.set_yticks(range(len(order)), [self.names[place] for place in order])
        ax.axvline(0.0, color="grey", linewidth=1)
        ax.set(xlabel="what groups lose when the feature is shuffled")
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
