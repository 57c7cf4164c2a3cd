"""A group's probability while rows are taken away, or put in."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["RemovalDisplay"]


class RemovalDisplay:
    """Mean probability of groups against the share of rows that are gone (or there).

    Parameters
    ----------
    fraction : array-like of shape (n_steps,)
    curves : dict of str to array-like of shape (n_groups, n_steps)
        By the order in which rows go: ``{"shares": curves.deletion, "at random": ...}``.
    inserting : bool, default=False
        Whether rows are put in.

    Attributes
    ----------
    area_ : dict of str to float
        Mean of each curve.
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.plotting import RemovalDisplay
    >>> display = RemovalDisplay([0.0, 0.5], {"shares": [[0.9, 0.1]], "random": [[0.9, 0.7]]})
    >>> display.plot().area_["shares"]
    0.5
    """

    def __init__(
        self, fraction: ArrayLike, curves: Mapping[str, ArrayLike], *, inserting: bool = False
    ):
        self.fraction: NDArray[Any] = np.asarray(fraction, dtype=float)
        self.curves = {name: np.asarray(curve, dtype=float) for name, curve in curves.items()}
        self.inserting = inserting
        for name, curve in self.curves.items():
            if curve.ndim != 2 or curve.shape[1] != len(self.fraction):
                raise ValueError(
                    f"curve {name!r} must hold {len(self.fraction)} steps per group, got shape "
                    f"{curve.shape}"
                )

    def plot(self, ax: Axes | None = None) -> "RemovalDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(6, 4)
        self.area_ = {name: float(curve.mean()) for name, curve in self.curves.items()}
        for name, curve in self.curves.items():
            mean, error = curve.mean(axis=0), curve.std(axis=0) / np.sqrt(len(curve))
            line = ax.plot(self.fraction, mean, "o-", label=f"{name} ({self.area_[name]:.3f})")
            ax.fill_between(self.fraction, mean - error, mean + error, alpha=0.2,
                            color=line[0].get_color())  # fmt: skip
        gone = "put in" if self.inserting else "taken away"
        ax.set(xlabel=f"share of the group's rows {gone}", ylabel="mean probability of groups")
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
