"""Predicted against known shares of groups."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _num_samples

from groupwise._typing import Ids, MatrixLike
from groupwise.groups import Groups
from groupwise.inputs import check_groups, class_shares
from groupwise.metrics import ask
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["SharesDisplay"]


class SharesDisplay:
    """Predicted against known share, one dot per group and class.

    Parameters
    ----------
    known, predicted : array-like of shape (n_groups, n_classes)
    classes : array-like of shape (n_classes,)
    sizes : array-like of shape (n_groups,), default=None
        Rows of each group; larger groups get larger dots.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.plotting.shares import SharesDisplay
    >>> from groupwise.proportions import ManifoldAOCClassifier
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> d = make_aggregates(X, y, size=5, random_state=0)
    >>> clf = ManifoldAOCClassifier().fit(d.X, d.y, groups=d.groups)
    >>> display = SharesDisplay.from_estimator(clf, d.X, d.y, groups=d.groups)
    >>> len(display.ax_.collections)
    3
    """

    def __init__(
        self,
        known: ArrayLike,
        predicted: ArrayLike,
        classes: ArrayLike,
        sizes: ArrayLike | None = None,
    ):
        self.known: NDArray[Any] = np.asarray(known, dtype=float)
        self.predicted: NDArray[Any] = np.asarray(predicted, dtype=float)
        self.classes = np.asarray(classes)
        self.sizes = np.ones(len(self.known)) if sizes is None else np.asarray(sizes, dtype=float)
        if self.known.shape != self.predicted.shape:
            raise ValueError(
                f"known and predicted shares must have one shape, got {self.known.shape} and "
                f"{self.predicted.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: MatrixLike,
        *,
        groups: Ids = None,
        ax: Axes | None = None,
    ) -> "SharesDisplay":
        """Draw the shares that a fitted model predicts for given groups."""
        predicted = ask(estimator, X, groups, rule="mean")
        return cls.from_predictions(
            y, predicted.proba_group, groups=predicted.groups, classes=predicted.classes, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y: MatrixLike,
        proba_group: ArrayLike,
        *,
        groups: Ids,
        classes: ArrayLike,
        ax: Axes | None = None,
    ) -> "SharesDisplay":
        """Draw shares that were predicted before.

        Parameters
        ----------
        y : array-like of shape (n_rows,) or (n_rows, n_classes)
            Labels, or shares or counts repeated on the rows.
        proba_group : array-like of shape (n_groups, n_classes)
        groups : array-like of shape (n_rows,)
        classes : array-like of shape (n_classes,)
        ax : Axes, default=None
        """
        encoded: Groups = check_groups(groups, _num_samples(y))
        known, names = class_shares(y, encoded, classes=classes)
        return cls(known, proba_group, names, encoded.sizes).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "SharesDisplay":
        """Draw on the given axes, or on a new figure; two classes need the second only."""
        if ax is None:
            ax = new_axes(5, 5)
        first = 1 if len(self.classes) == 2 else 0
        area = 20.0 * self.sizes / self.sizes.mean()
        for column in range(first, len(self.classes)):
            ax.scatter(
                self.known[:, column],
                self.predicted[:, column],
                s=area,
                alpha=0.6,
                label=str(self.classes[column]),
            )
        ax.plot([0, 1], [0, 1], color="grey", linewidth=1, zorder=0)
        ax.set(xlabel="known share of the group", ylabel="predicted share")
        ax.legend(title="class")
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
