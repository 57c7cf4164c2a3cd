"""Intervals of the classes' shares in groups, and of their counts."""

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Ids, MatrixLike
from groupwise.base import Predictions
from groupwise.exceptions import GroupDataError
from groupwise.uncertainty.base import ClassifierWrapperMixin, ConformalMixin
from groupwise.uncertainty.quantiles import poisson_binomial_spread

__all__ = ["ShareIntervalsMixin", "whole_bounds"]


class ShareIntervalsMixin(ClassifierWrapperMixin, ConformalMixin):
    """Bounds of shares from what the models of the folds say."""

    kind_: str

    def predict_group_intervals(
        self,
        X: MatrixLike,
        groups: Ids = None,
        *,
        coverage: float | None = None,
        counts: bool = False,
    ) -> NDArray[np.float64]:
        """Lower and upper bound of each class's share in each group, all classes at once.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.
        counts : bool, default=False
            Numbers of rows instead of shares.

        Returns
        -------
        bounds : ndarray of shape (n_groups, n_classes, 2)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        if self.kind_ != "proportions":
            raise GroupDataError(
                f"intervals are of shares, kind='proportions'; this is kind={self.kind_!r}"
            )
        wanted = self._wanted(coverage)
        found = [self._asked(model, rows, encoded) for model in self.models_]
        bounds = np.empty((encoded.n_groups, len(self.classes_), 2))
        for code in range(len(self.classes_)):
            centre = np.stack([each.proba_group[:, code] for each in found])
            spread = np.stack([self._spread(each)[:, code] for each in found])
            bounds[:, code, 1] = self.calibration_.upper(centre, spread, wanted)
            bounds[:, code, 0] = -self.calibration_.upper(-centre, spread, wanted)
        bounds = np.clip(bounds, 0.0, 1.0)
        return whole_bounds(bounds, encoded.sizes) if counts else bounds

    def _spread(self, found: Predictions) -> NDArray[np.float64]:
        """What errors of shares are measured in."""
        groups = found.groups
        # before fit has stored it, the parameter; afterwards what fit was given
        if getattr(self, "conformity_", self.conformity) == "plain":
            return np.ones((groups.n_groups, len(self.classes_)))
        return poisson_binomial_spread(found.proba_row, groups.codes, groups.sizes)


def whole_bounds(bounds: NDArray[np.float64], sizes: NDArray[np.intp]) -> NDArray[np.float64]:
    """Counts inside bounds of shares; where there is none, the one nearest their middle.

    Examples
    --------
    >>> whole_bounds(np.array([[[0.21, 0.69]], [[0.21, 0.29]]]), np.array([10, 3])).tolist()
    [[[3.0, 6.0]], [[1.0, 1.0]]]
    """
    of_rows = bounds * sizes[:, None, None]
    low, high = np.ceil(of_rows[..., 0] - 1e-9), np.floor(of_rows[..., 1] + 1e-9)
    middle = np.rint(of_rows.mean(axis=-1))
    empty = low > high
    return np.stack([np.where(empty, middle, low), np.where(empty, middle, high)], axis=-1)
