"""What features add to a row, or rows to a group."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["ContributionsDisplay"]


class ContributionsDisplay:
    """The largest contributions to one answer, as bars; those left out are one bar.

    For a row, a line of ``explain_rows(...).values`` with the features' names; for a group, the
    ``share_row`` of its rows in ``explain_groups(...)`` with what rows are called.

    Parameters
    ----------
    values : array-like of shape (n,)
    names : sequence of str
    what : str, default="contribution"
        What they add up to, for the axis.
    n_shown : int, default=10

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.plotting import ContributionsDisplay
    >>> display = ContributionsDisplay([0.3, -0.1, 0.2], ["a", "b", "c"], n_shown=2).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['1 other', 'c', 'a']
    """

    def __init__(
        self,
        values: ArrayLike,
        names: Sequence[str],
        *,
        what: str = "contribution",
        n_shown: int = 10,
    ):
        self.values: NDArray[Any] = np.asarray(values, dtype=float)
        self.names = [str(name) for name in names]
        self.what = what
        self.n_shown = n_shown
        if self.values.shape != (len(self.names),):
            raise ValueError(
                f"values must hold one number for each of {len(self.names)} names, got shape "
                f"{self.values.shape}"
            )

    def plot(self, ax: Axes | None = None) -> "ContributionsDisplay":
        """Draw on the given axes, or on a new figure."""
        order = np.argsort(-np.abs(self.values), kind="stable")
        shown, rest = order[: self.n_shown], order[self.n_shown :]
        values = self.values[shown].tolist()
        names = [self.names[place] for place in shown]
        if len(rest):
            values.append(float(self.values[rest].sum()))
            names.append(f"{len(rest)} other" + ("s" if len(rest) > 1 else ""))
        if ax is None:
            ax = new_axes(6, 1 + 0.3 * len(names))
        colors = ["tab:blue" if value >= 0 else "tab:red" for value in values]
        ax.barh(range(len(names))[::-1], values, color=colors)
        ax.set_yticks(range(len(names)), names[::-1])
        ax.axvline(0.0, color="grey", linewidth=1)
        ax.set(xlabel=self.what)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
