"""A table with one line per group, spread to the rows of the groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups, show
from groupwise.inputs import as_counts

__all__ = ["broadcast"]


def broadcast(
    table: pd.DataFrame | pd.Series | Mapping[Any, float], groups: ArrayLike | Groups
) -> pd.DataFrame | NDArray[Any]:
    """Spread a table with one line per group to the rows of the groups.

    Parameters
    ----------
    table : DataFrame, Series or dict
        By group id (the index, or the keys). A DataFrame has one column per class and holds shares
        or counts; a Series or dict one number per group, such as a total for regression.
    groups : array-like of shape (n_rows,)

    Returns
    -------
    values_row : DataFrame of shape (n_rows, n_classes) or ndarray of shape (n_rows,)
        What ``fit`` takes as ``y``.

    Raises
    ------
    GroupDataError
        If a group has no line or a line no group, if an id has two lines, or if counts do not add
        up to the size of their group; the message names the groups.

    Examples
    --------
    >>> import pandas as pd
    >>> from groupwise.proportions import broadcast
    >>> table = pd.DataFrame({"no": [1, 0], "yes": [1, 1]}, index=["north", "south"])
    >>> broadcast(table, ["south", "north", "north"]).to_numpy().tolist()
    [[0, 1], [1, 1], [1, 1]]
    """
    frame = pd.Series(table) if isinstance(table, Mapping) else table
    if not isinstance(frame, pd.Series | pd.DataFrame):
        raise GroupDataError(
            f"table must be a DataFrame, Series or dict by group id, got {type(table).__name__}"
        )
    encoded = groups if isinstance(groups, Groups) else Groups(groups)
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        raise GroupDataError(f"the table has more than one line for {_some(twice)}")
    line = frame.index.get_indexer(pd.Index(encoded.names))
    if (line < 0).any():
        raise GroupDataError(
            f"the table has no line for the groups {_some(encoded.names[line < 0])}"
        )
    if len(frame) > encoded.n_groups:
        extra = np.delete(np.asarray(frame.index, dtype=object), line)
        raise GroupDataError(f"the table has lines without rows: {_some(extra)}")
    if isinstance(frame, pd.Series):
        return frame.to_numpy()[line][encoded.codes]
    as_counts(frame.to_numpy(dtype=float)[line], encoded)
    return frame.iloc[line[encoded.codes]].reset_index(drop=True)


def _some(names: Sequence[Any] | NDArray[Any] | pd.Index) -> str:
    shown = [show(name) for name in list(names)[:5]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
