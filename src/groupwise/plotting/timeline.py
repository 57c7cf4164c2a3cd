"""The rows of one group in their order: what each is taken for, and how much it weighs."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike
from groupwise.groups import show
from groupwise.metrics import ask
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["TimelineDisplay"]


class TimelineDisplay:
    """One bar per row of a group, coloured by the predicted class, as high as the row's weight.

    Parameters
    ----------
    predicted : array-like of shape (n_rows,)
        Classes of the group's rows, in order.
    weight : array-like of shape (n_rows,), default=None
        ``None``: all bars are equally high.
    classes : sequence, default=None
        All classes, so that colours mean the same for every group.
    name : optional
        Of the group, for the title.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise import SBoostClassifier
    >>> from groupwise.datasets import make_triangle_sessions
    >>> from groupwise.plotting import TimelineDisplay
    >>> s = make_triangle_sessions(80, random_state=0)
    >>> clf = SBoostClassifier(n_estimators=5).fit(s.X, s.y, groups=s.groups)
    >>> display = TimelineDisplay.from_estimator(clf, s.X, groups=s.groups, group=3)
    >>> len(display.ax_.patches), display.ax_.get_title()
    (10, 'group 3')
    """

    def __init__(
        self,
        predicted: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        classes: Any = None,
        name: Any = None,
    ):
        self.predicted = np.asarray(predicted)
        self.weight: NDArray[Any] = (
            np.ones(len(self.predicted)) if weight is None else np.asarray(weight, dtype=float)
        )
        if self.weight.shape != self.predicted.shape:
            raise ValueError(
                f"expected one weight per row ({len(self.predicted)}), "
                f"got shape {self.weight.shape}"
            )
        self.weighted = weight is not None
        self.classes = np.unique(self.predicted) if classes is None else np.asarray(classes)
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        *,
        groups: Ids,
        group: Any,
        ax: Axes | None = None,
    ) -> "TimelineDisplay":
        """Draw what a fitted classifier says of one group's rows.

        A row weighs its probability of the group's predicted class, as a share of the group's sum.

        Parameters
        ----------
        estimator : fitted group classifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,)
        group : id
            One of ``groups``.
        ax : Axes, default=None
        """
        predicted = ask(estimator, X, groups)
        encoded = predicted.groups
        code = [position for position, name in enumerate(encoded.names) if name == group]
        if not code:
            raise ValueError(f"there is no group {show(group)}")
        rows = np.flatnonzero(encoded.codes == code[0])
        weight = predicted.proba_row[rows, predicted.proba_group[code[0]].argmax()]
        return cls(
            predicted.y_row[rows], weight / weight.sum(), classes=predicted.classes, name=group
        ).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        predicted: ArrayLike,
        weight: ArrayLike | None = None,
        *,
        classes: Any = None,
        name: Any = None,
        ax: Axes | None = None,
    ) -> "TimelineDisplay":
        """Draw predictions that were made before."""
        return cls(predicted, weight, classes=classes, name=name).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "TimelineDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(7, 2.2)
        position = np.arange(len(self.predicted))
        for number, label in enumerate(self.classes):
            here = self.predicted == label
            if here.any():
                ax.bar(position[here], self.weight[here], 0.9, color=f"C{number}", label=str(label))
        ax.set(xlabel="row of the group", ylabel="weight" if self.weighted else "")
        if not self.weighted:
            ax.set_yticks([])
        if self.name is not None:
            ax.set_title(f"group {self.name}")
        ax.legend(title="predicted", frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
