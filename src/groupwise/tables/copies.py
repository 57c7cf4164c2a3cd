"""Columns that say what is to be learned: the group or the label under another name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["copied_role", "counts_up"]

# Numbers of fewer different values are compared one to one, as names of classes are.
_FEW_VALUES = 20
# Rows that settle most columns.
_FIRST_ROWS = 1000


def copied_role(values: pd.Series, same_as: Mapping[str, Any]) -> str | None:
    """The role that a column merely renames.

    One to one; where a role has more than a few different numbers, as every group may have its own,
    in their order or against it.

    Parameters
    ----------
    values : Series
        Of a column, one per row, none missing.
    same_as : mapping of str to array-like
        Values of roles, one per row: codes or names, or numbers.

    Examples
    --------
    >>> label = np.arange(30.0)
    >>> copied_role(pd.Series(label**2 - 5), {"label": label})
    'label'
    >>> copied_role(pd.Series(np.cos(label)), {"label": label}) is None
    True
    """
    for role, ids in same_as.items():
        known = np.asarray(ids)
        few = known[:_FIRST_ROWS], values.iloc[:_FIRST_ROWS]
        if _one_to_one(*few) and _one_to_one(known, values):
            if known.dtype.kind != "f" or len(pd.unique(known)) <= _FEW_VALUES:
                return role
            if pd.api.types.is_numeric_dtype(values.dtype) and _in_order(known, values):
                return role
    return None


def _one_to_one(known: NDArray[Any], values: pd.Series) -> bool:
    if len(pd.unique(known)) != values.nunique():
        return False
    pairs = pd.DataFrame({"a": known, "b": values.to_numpy()}).drop_duplicates()
    return bool(pairs["a"].is_unique and pairs["b"].is_unique)


def _in_order(known: NDArray[Any], values: pd.Series) -> bool:
    """Whether larger numbers always go with larger ones, or always with smaller."""
    steps = np.diff(values.to_numpy(dtype=float)[np.argsort(known, kind="stable")])
    return bool((steps >= 0).all() or (steps <= 0).all())


def counts_up(present: pd.Series) -> bool:
    """Whether the different numbers are equally far apart, as ids are."""
    steps = np.diff(np.unique(present.to_numpy(dtype=float)))
    return bool(len(steps)) and bool((steps == steps[0]).all())
