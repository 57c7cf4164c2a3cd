"""Who groups belong to: users with several sessions, whom folds of sessions would divide."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from groupwise.groups import Groups
from groupwise.tables.columns import column_kind

__all__ = ["coarser_ids", "coarser_notes"]

# Who groups belong to, by the name of the column.
_OWNER = re.compile(
    r"user|person|patient|subject|volunteer|customer|client|owner|member|author|sender|student|"
    r"speaker|driver|device|sensor|site|hospital|school|family|household|account|uid|"
    r"(^|[_\W])ids?$",
    re.IGNORECASE,
)


def coarser_ids(frame: pd.DataFrame, groups: Groups, columns: Sequence[str]) -> dict[str, int]:
    """Columns that may say who groups belong to, and how many of their values have several groups.

    Such a column has one value in each group, fewer values than there are groups, and is called
    like an owner or is text with many values that have two groups each or more.

    Parameters
    ----------
    frame : DataFrame
    groups : Groups
    columns : sequence of str

    Examples
    --------
    >>> frame = pd.DataFrame({"user": ["a", "a", "b", "b", "c"], "x": [1, 2, 3, 4, 5]})
    >>> coarser_ids(frame, Groups([1, 2, 3, 4, 5]), ["user", "x"])
    {'user': 2}
    """
    found = {}
    for column in columns:
        values = frame[column]
        if pd.api.types.is_float_dtype(values.dtype) or column_kind(values) in ("date", "nested"):
            continue
        codes, different = pd.factorize(values)
        owner = bool(_OWNER.search(column))
        many = column_kind(values) == "category" and 8 <= len(different) <= groups.n_groups / 2
        if not (owner or many) or not 1 < len(different) < groups.n_groups or (codes < 0).any():
            continue
        first = codes[groups.first_rows]
        if (codes == first[groups.codes]).all():
            found[column] = int((np.bincount(first) > 1).sum())
    return found


def coarser_notes(found: dict[str, int]) -> tuple[str, ...]:
    """What :func:`coarser_ids` mean for a score."""
    return tuple(
        f"every group has one {column!r}, and {n:,} of them have several groups. If they are who "
        "the groups belong to, folds of groups learn from one and judge the same one, and the "
        f"score is not that of new ones: say `keep_whole` {column}"
        for column, n in found.items()
        if n
    )
