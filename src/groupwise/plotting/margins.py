"""How sure a boosted model grows of single rows, round by round."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike
from groupwise.inputs import check_groups
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["MarginsDisplay"]


class MarginsDisplay:
    """Margin of each row after each round: its score towards the true label, one line per row.

    Rows that end below zero are those the model takes for the other class; under majority and
    presence supervision that is how the foreign rows of a group show.

    Parameters
    ----------
    margins : dict of str to array-like of shape (n_rows, n_rounds)
        Lines by group.
    step : int, default=1
        Rounds between two points.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise import SBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.plotting import MarginsDisplay
    >>> s = make_triangle_sessions(80, random_state=0)
    >>> y = s.y == s.y[0]
    >>> clf = SBoostClassifier(n_estimators=5).fit(s.X, y, groups=s.groups)
    >>> d = MarginsDisplay.from_estimator(clf, s.X, y, groups=s.groups, which=[0, 1])
    >>> len(d.ax_.lines)
    21
    """

    def __init__(self, margins: dict[str, ArrayLike], *, step: int = 1):
        self.margins: dict[str, NDArray[Any]] = {
            name: np.atleast_2d(np.asarray(lines, dtype=float)) for name, lines in margins.items()
        }
        self.step = step

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids,
        which: Any,
        ax: Axes | None = None,
    ) -> "MarginsDisplay":
        """Draw a fitted model of two classes that has ``staged_decision_function``.

        Parameters
        ----------
        estimator : fitted classifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,)
        which : sequence of ids
            The groups whose rows are drawn.
        ax : Axes, default=None
        """
        if len(estimator.classes_) != 2:
            raise ValueError(f"margins are for two classes, there are {len(estimator.classes_)}")
        encoded = check_groups(groups, len(np.asarray(y)))
        sign = np.where(np.asarray(y) == estimator.classes_[1], 1.0, -1.0)
        stages = np.array(list(estimator.staged_decision_function(X))) * sign
        row_name = encoded.names[encoded.codes]
        return cls({str(name): stages[:, row_name == name].T for name in which}).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, margins: dict[str, ArrayLike], *, step: int = 1, ax: Axes | None = None
    ) -> "MarginsDisplay":
        """Draw margins that were computed before."""
        return cls(margins, step=step).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "MarginsDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(6, 4)
        for number, (name, lines) in enumerate(self.margins.items()):
            rounds = 1 + self.step * np.arange(lines.shape[1])
            drawn = ax.plot(rounds, lines.T, color=f"C{number}", alpha=0.7, linewidth=1)
            if drawn:
                drawn[0].set_label(f"rows of group {name}")
        ax.axhline(0.0, color="grey", linewidth=1, zorder=0)
        ax.set(xlabel="boosting round", ylabel="score towards the true label")
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
