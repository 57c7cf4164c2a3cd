"""Which source rows still count when transfer boosting ends."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from groupwise.groups import show
from groupwise.inputs import check_groups
from groupwise.plotting.axes import figure_of, new_axes

__all__ = ["SourceRowsDisplay"]


class SourceRowsDisplay:
    """Final weights of rows, largest first, one line per domain.

    Parameters
    ----------
    weights : dict of str to array-like of shape (n_rows_of_the_domain,)
        A weight of 1 is the mean over all rows.

    Attributes
    ----------
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.plotting import SourceRowsDisplay
    >>> from groupwise.transfer import TrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TrAdaBoostClassifier(n_estimators=5, target_domain="target")
    >>> clf = clf.fit(d.X, d.y, domains=d.domains)
    >>> SourceRowsDisplay.from_estimator(clf, domains=d.domains).ax_.get_ylabel()
    'weight, in means of all rows'
    """

    def __init__(self, weights: dict[str, ArrayLike]):
        self.weights: dict[str, NDArray[Any]] = {
            name: np.sort(np.asarray(weight, dtype=float))[::-1] for name, weight in weights.items()
        }

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, *, domains: ArrayLike, ax: Axes | None = None
    ) -> "SourceRowsDisplay":
        """Draw a fitted model that has ``row_weights_``.

        Parameters
        ----------
        estimator : fitted transfer classifier
        domains : array-like of shape (n_rows,)
            As they were given to ``fit``.
        ax : Axes, default=None
        """
        weight = np.asarray(estimator.row_weights_)
        encoded = check_groups(domains, len(weight), name="domains")
        relative = weight / weight.mean()
        return cls(
            {str(name): relative[encoded.codes == code] for code, name in enumerate(encoded.names)}
        ).plot(ax=ax)

    @classmethod
    def from_predictions(
        cls, weights: dict[str, ArrayLike], *, ax: Axes | None = None
    ) -> "SourceRowsDisplay":
        """Draw weights that were computed before."""
        return cls(weights).plot(ax=ax)

    def plot(self, ax: Axes | None = None) -> "SourceRowsDisplay":
        """Draw on the given axes, or on a new figure."""
        if ax is None:
            ax = new_axes(6, 4)
        for name, weight in self.weights.items():
            if not len(weight):
                raise ValueError(f"domain {show(name)} has no rows")
            share = (np.arange(len(weight)) + 1) / len(weight)
            ax.step(share, weight, where="pre", label=f"{name} ({len(weight)} rows)")
        ax.set(
            xlabel="share of the domain's rows, heaviest first",
            ylabel="weight, in means of all rows",
            yscale="symlog",
        )
        ax.set_ylim(bottom=0)
        ax.legend(frameon=False)
        self.ax_ = ax
        self.figure_ = figure_of(ax)
        return self
