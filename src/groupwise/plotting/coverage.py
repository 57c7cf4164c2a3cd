"""Coverage promised and held."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["CoverageDisplay"]


class CoverageDisplay:
    """How often sets or intervals held the truth, against how often they promised to.

    The band is what chance allows, 95 % of the time, to a promise that is kept.

    Parameters
    ----------
    promised, held : array-like of shape (n_levels,)
    n_groups : int
        That were asked about.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.plotting import CoverageDisplay
    >>> CoverageDisplay([0.8, 0.9], [0.82, 0.9], n_groups=100).plot().ax_.get_ylabel()
    'share of groups held'
    """

    def __init__(self, promised: ArrayLike, held: ArrayLike, n_groups: int):
        self.promised: NDArray[Any] = np.asarray(promised, dtype=float)
        self.held: NDArray[Any] = np.asarray(held, dtype=float)
        self.n_groups = n_groups
        if self.promised.shape != self.held.shape:
            raise ValueError("promised and held must hold one entry per level")

    def plot(self, ax: Axes | None = None) -> "CoverageDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(5, 5)
        half = 1.96 * np.sqrt(self.promised * (1 - self.promised) / self.n_groups)
        ax.fill_between(self.promised, self.promised - half, self.promised + half, alpha=0.2)
        ax.plot(self.promised, self.held, "o-", label=f"{self.n_groups:,} groups")
        ax.plot([0, 1], [0, 1], color="grey", linewidth=1, zorder=0)
        low = float(min(self.promised.min(), self.held.min())) - 0.05
        ax.set(xlabel="coverage promised", ylabel="share of groups held",
               xlim=(max(0.0, low), 1.01), ylim=(max(0.0, low), 1.01))  # fmt: skip
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
