"""What the margins alone say of the cells: the method of bounds."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from groupwise.ecological.margins import Margins, check_margins, divide

__all__ = ["cell_bounds", "count_bounds"]


def cell_bounds(
    rows: ArrayLike, columns: ArrayLike, *, sizes: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Smallest and largest share of each row category that each column can have.

    Of the n_r people of a row category at least n_r + n_c - n and at most n_c are among the n_c of
    a column: the share lies in [max(0, n_r + n_c - n), min(n_r, n_c)] / n_r. No model is needed,
    and no method may leave these limits.

    Parameters
    ----------
    rows, columns : array-like of shape (n_units, n_categories) or (n_units,)
        As for :class:`EcologicalInference`.
    sizes : array-like of shape (n_units,), default=None

    Returns
    -------
    bounds : ndarray of shape (n_units, n_rows, n_columns, 2)
        Of a row category without people: 0 and 1.

    References
    ----------
    Duncan and Davis, An alternative to ecological correlation, American Sociological Review 18,
    1953.

    Examples
    --------
    Half of a unit is in the first row category, and 80 % in the first column:

    >>> from groupwise.ecological import cell_bounds
    >>> cell_bounds([0.5], [0.8])[0, 0].round(2)
    array([[0.6, 1. ],
           [0. , 0.4]])
    """
    margins = check_margins(rows, columns, sizes)
    low, high = count_bounds(margins)
    of_row = margins.rows[:, :, None]
    share = np.stack([divide(low, of_row), divide(high, of_row)], axis=-1)
    share[margins.rows == 0] = [0.0, 1.0]
    return np.clip(share, 0.0, 1.0)


def count_bounds(margins: Margins) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Smallest and largest number of people in each cell, each (n_units, n_rows, n_columns)."""
    row, column = margins.rows[:, :, None], margins.columns[:, None, :]
    low = np.maximum(0.0, row + column - margins.sizes[:, None, None])
    return low, np.maximum(low, np.minimum(row, column))
