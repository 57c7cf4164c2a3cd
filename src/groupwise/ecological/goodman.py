"""Goodman's regression: the same rates in every unit."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from groupwise.ecological.margins import check_margins, divide
from groupwise.exceptions import GroupDataError

__all__ = ["GoodmanRegression"]


class GoodmanRegression(BaseEstimator):
    """Shares of the columns, regressed on shares of the rows.

    If each row category had the same rates b in all units, a unit's share of column c would be
    sum_r x_r b_rc, so b is found by least squares, each unit weighed by its size. Rates can leave
    0 to 1, and do where they differ between units along with the shares of the rows.

    Attributes
    ----------
    district_ : ndarray of shape (n_rows, n_columns)
        Rates; their sum over columns is one.
    standard_error_ : ndarray of shape (n_rows, n_columns)
        By the jackknife over units, in closed form (HC3): rates need not scatter alike everywhere.
    row_names_, column_names_ : ndarray

    References
    ----------
    Goodman, Some alternatives to ecological correlation, American Journal of Sociology 64, 1959.

    Examples
    --------
    >>> from groupwise.ecological import GoodmanRegression
    >>> GoodmanRegression().fit([0.0, 0.5, 1.0], [0.2, 0.5, 0.8]).district_.round(2)
    array([[0.8, 0.2],
           [0.2, 0.8]])
    """

    def fit(self, rows: ArrayLike, columns: ArrayLike, *, sizes: ArrayLike | None = None) -> Self:
        """Fit the rates.

        Parameters
        ----------
        rows, columns : array-like of shape (n_units, n_categories) or (n_units,)
            As for :class:`EcologicalInference`.
        sizes : array-like of shape (n_units,), default=None

        Raises
        ------
        GroupDataError
            If the row shares of the units do not tell the rates apart.
        """
        margins = check_margins(rows, columns, sizes)
        size = margins.sizes[:, None]
        root = np.sqrt(size / size.mean())
        x, t = root * divide(margins.rows, size), root * divide(margins.columns, size)
        rank, n_rows = np.linalg.matrix_rank(x), x.shape[1]
        if rank < n_rows:
            raise GroupDataError(
                f"the rates of {n_rows} row categories need as many units with different shares of "
                f"them; the row shares of these {len(x)} units have rank {rank}"
            )
        inverse = np.linalg.pinv(x)
        self.district_ = inverse @ t
        left = 1 - np.einsum("ur,ru->u", x, inverse)
        residual = divide(t - x @ self.district_, np.where(left > 1e-12, left, 0.0)[:, None])
        self.standard_error_ = np.sqrt(inverse**2 @ residual**2)
        self.row_names_, self.column_names_ = margins.row_names, margins.column_names
        return self
