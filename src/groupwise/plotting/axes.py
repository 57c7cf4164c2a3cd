"""What displays draw on."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["figure_of", "new_axes"]


def new_axes(width: float, height: float) -> Axes:
    """Axes on a figure of their own, which no window manager knows."""
    return Figure(figsize=(width, height), layout="constrained").subplots()


def figure_of(ax: Axes) -> Figure:
    """The figure that can be saved, also of axes on a part of it."""
    return ax.figure if isinstance(ax.figure, Figure) else ax.figure.figure
