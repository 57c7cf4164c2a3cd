"""How the groups' scores are spread, and which group is worst."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from groupwise._typing import Ids, MatrixLike
from groupwise.metrics import MeasureLike, ask, score_groups
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["GroupScoresDisplay"]


class GroupScoresDisplay:
    """Share of groups below each score, one line per method, the worst groups named.

    Parameters
    ----------
    values : dict of str to Series
        One value per group, indexed by the group's name; NaN leaves a group out.
    n_named : int, default=1
        How many of the worst groups of each method are named.

    Examples
    --------
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import FocusedAdaBoostClassifier
    >>> from groupwise.plotting.group_scores import GroupScoresDisplay
    >>> u = make_users(n_users=20, random_state=0)
    >>> clf = FocusedAdaBoostClassifier(n_estimators=5).fit(u.X, u.y, groups=u.groups)
    >>> display = GroupScoresDisplay.from_estimator(clf, u.X, u.y, groups=u.groups)
    >>> display.ax_.get_xlabel()
    'measure of a group'
    """

    def __init__(self, values: dict[str, ArrayLike], *, n_named: int = 1):
        self.n_named = n_named
        self.values: dict[str, Any] = {
            name: pd.Series(value).dropna() for name, value in values.items()
        }

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: MatrixLike,
        y: ArrayLike,
        *,
        groups: Ids = None,
        measure: MeasureLike = "f1",
        ax: Axes | None = None,
    ) -> "GroupScoresDisplay":
        """Draw the groups' scores of a fitted classifier, which is told the groups.

        Parameters
        ----------
        estimator : fitted classifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The rows' labels.
        groups : array-like of shape (n_rows,), default=None
        measure : str, GroupMeasure or callable, default="f1"
        ax : Axes, default=None
        """
        predicted = ask(estimator, X, groups)
        return cls.from_predictions(
            y,
            {type(estimator).__name__: predicted.score_row},
            groups=predicted.groups,
            measure=measure,
            classes=predicted.classes,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        score_row: dict[str, ArrayLike],
        *,
        groups: Ids = None,
        measure: MeasureLike = "f1",
        classes: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> "GroupScoresDisplay":
        """Draw the groups' scores of one or more methods' row scores."""
        values = {
            name: score_groups(y, score, groups, measure=measure, classes=classes).table["value"]
            for name, score in score_row.items()
        }
        return cls.from_values(values, ax=ax)

    @classmethod
    def from_values(
        cls, values: dict[str, Any], *, n_named: int = 1, ax: Axes | None = None
    ) -> "GroupScoresDisplay":
        """Draw values that were computed before."""
        return cls(values, n_named=n_named).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "GroupScoresDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(6, 4)
        for number, (name, value) in enumerate(self.values.items()):
            ordered = value.sort_values(kind="stable")
            share = np.arange(1, len(ordered) + 1) / len(ordered)
            worst = ", ".join(str(name) for name in ordered.index[: self.n_named])
            label = f"{name} (mean {ordered.mean():.3f})"
            if self.n_named > 1:  # several names find no room beside the line
                label = f"{label[:-1]}; worst: {worst})"
            (line,) = ax.step(ordered, share, where="post", label=label)
            ax.plot(ordered.iloc[:1], share[:1], "o", color=line.get_color(), ms=4)
            if self.n_named == 1:
                self._name(ax, f"worst: {worst}", (ordered.iloc[0], share[0]), number, line)
        ax.set(
            xlabel="measure of a group", ylabel="share of groups at or below", xlim=(-0.02, 1.02)
        )
        ax.set_ylim(0, 1.02)
        if self.n_named > 1:
            ax.legend(
                frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14)
            )
        else:
            ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self

    @staticmethod
    def _name(ax: Any, text: str, point: Any, number: int, line: Any) -> None:
        ax.annotate(
            text,
            point,
            xytext=(4, 4 + 11 * number),
            textcoords="offset points",
            fontsize="small",
            color=line.get_color(),
        )
