"""What happens to the source's weight, and to the error on the target, round by round."""

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import matplotlib.figure
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike, NDArray

from groupwise._typing import Ids, MatrixLike
from groupwise.plotting.axes import figure_of
from groupwise.transfer.staged import StagedTransferMixin

__all__ = ["SourceWeightDisplay"]


class SourceWeightDisplay:
    """Each domain's share of the weight by round, and the error on the target below it.

    Parameters
    ----------
    mass : ndarray of shape (n_rounds + 1, n_domains)
        Shares before the first and after every round.
    names : sequence of length n_domains
    errors : ndarray of shape (n_rounds,), default=None
        Error on the target's rows had the run ended after each round.

    Attributes
    ----------
    axes_ : ndarray of Axes
    figure_ : Figure

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.plotting.source_weight import SourceWeightDisplay
    >>> from groupwise.transfer import TrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = TrAdaBoostClassifier(n_estimators=5, target_domain="target")
    >>> clf = clf.fit(d.X, d.y, domains=d.domains)
    >>> display = SourceWeightDisplay.from_estimator(clf, d.X, d.y, domains=d.domains)
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['share of the weight', 'error on the target']
    """

    def __init__(self, mass: ArrayLike, names: Iterable[Hashable], errors: ArrayLike | None = None):
        self.mass: NDArray[Any] = np.asarray(mass, dtype=float)
        self.names = list(names)
        self.errors = None if errors is None else np.asarray(errors, dtype=float)
        if self.mass.ndim != 2 or self.mass.shape[1] != len(self.names):
            raise ValueError(
                f"mass must have one column per name ({len(self.names)}), got shape "
                f"{self.mass.shape}"
            )

    @classmethod
    def from_estimator(
        cls,
        estimator: StagedTransferMixin,
        X: MatrixLike | None = None,
        y: ArrayLike | None = None,
        *,
        domains: Ids = None,
        axes: Sequence[Axes] | None = None,
    ) -> "SourceWeightDisplay":
        """Draw the domains' shares of a fitted model; with ``X`` and ``y`` its errors as well.

        Parameters
        ----------
        estimator : fitted TrAdaBoostClassifier or MultiSourceTrAdaBoostClassifier
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features), default=None
        y : array-like of shape (n_rows,), default=None
        domains : array-like of shape (n_rows,), default=None
            Only rows of the target domain count; without ``domains`` all do.
        axes : array of Axes, default=None
        """
        errors = None
        if X is not None:
            if y is None:
                raise ValueError("y must be passed with X: errors need both")
            errors = [1.0 - score for score in estimator.staged_score(X, y, domains)]
        names = estimator.domain_names_.tolist()
        return cls(estimator.history_["domain_mass"], names, errors).plot(axes=axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> "SourceWeightDisplay":
        """Draw on the given axes (two with errors, one without), or on a new figure."""
        n_axes = 1 if self.errors is None else 2
        if axes is None:
            figure = matplotlib.figure.Figure(figsize=(6, 2.7 * n_axes), layout="constrained")
            axes = figure.subplots(n_axes, sharex=True)
        self.axes_ = np.atleast_1d(np.asarray(axes, dtype=object))
        if len(self.axes_) != n_axes:
            raise ValueError(f"expected {n_axes} axes, got {len(self.axes_)}")
        for name, share in zip(self.names, self.mass.T, strict=True):
            self.axes_[0].plot(np.arange(len(share)), share, label=str(name))
        self.axes_[0].set(ylabel="share of the weight", ylim=(0, 1))
        self.axes_[0].legend(frameon=False)
        if self.errors is not None:
            self.axes_[1].plot(np.arange(1, len(self.errors) + 1), self.errors, color="black")
            self.axes_[1].set(ylabel="error on the target")
            self.axes_[1].set_ylim(bottom=0)
        self.axes_[-1].set_xlabel("round")
        self.figure_ = figure_of(self.axes_[0])
        return self
