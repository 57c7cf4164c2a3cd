"""Error by boosting round."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["RoundsDisplay"]


class RoundsDisplay:
    """Group error after each boosting round, one line per method.

    Parameters
    ----------
    curves : dict of str to ndarray of shape (n_rounds,) or (n_runs, n_rounds)
        Error by round; of several runs the mean is drawn, with a band of one standard error.
    ylabel : str, default="share of groups predicted wrong"
        What the error is.

    Examples
    --------
    >>> from groupwise import SBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.plotting import RoundsDisplay
    >>> s = make_triangle_sessions(80, random_state=0)
    >>> clf = SBoostClassifier(n_estimators=5).fit(s.X, s.y, groups=s.groups)
    >>> display = RoundsDisplay.from_estimator(clf, s.X, s.y, groups=s.groups)
    >>> len(display.ax_.lines[0].get_xdata())
    5
    """

    def __init__(
        self, curves: dict[str, ArrayLike], *, ylabel: str = "share of groups predicted wrong"
    ):
        self.ylabel = ylabel
        self.curves: dict[str, NDArray[Any]] = {
            name: np.atleast_2d(np.asarray(curve, dtype=float)) for name, curve in curves.items()
        }

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        ax: Axes | None = None,
    ) -> "RoundsDisplay":
        """Draw the error of a fitted boosting model (one with ``staged_score``) on given groups."""
        errors = [1.0 - score for score in estimator.staged_score(X, y, groups=groups)]
        return cls({type(estimator).__name__: errors}).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, curves: dict[str, ArrayLike], *, ax: Axes | None = None
    ) -> "RoundsDisplay":
        """Draw errors that were computed before."""
        return cls(curves).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "RoundsDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(6, 4)
        for name, curve in self.curves.items():
            rounds = np.arange(1, curve.shape[1] + 1)
            mean = curve.mean(axis=0)
            (line,) = ax.plot(rounds, mean, label=name)
            if len(curve) > 1:
                error = curve.std(axis=0, ddof=1) / np.sqrt(len(curve))
                ax.fill_between(
                    rounds, mean - error, mean + error, color=line.get_color(), alpha=0.2, lw=0
                )
        ax.set(xlabel="boosting round", ylabel=self.ylabel)
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
