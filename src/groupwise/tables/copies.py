"""Columns that say what is to be learned: the group or the label under another name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["copied_role", "counts_up", "telling_notes", "tells_apart"]

# Rows that settle most columns.
_FIRST_ROWS = 1000
# Of more different texts each may have one class by chance.
_MOST_TEXTS = 20


def copied_role(values: pd.Series, same_as: Mapping[str, Any]) -> str | None:
    """The role that a column merely renames.

    One to one; where a role is of measured numbers, of which every group may have its own, in their
    order or against it as well.

    Parameters
    ----------
    values : Series
        Of a column, one per row, none missing.
    same_as : mapping of str to array-like
        Values of roles, one per row: codes or names, or measured numbers, which are floats.

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
            number = pd.api.types.is_numeric_dtype(values.dtype)
            if known.dtype.kind != "f" or (number and _in_order(known, values)):
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


def tells_apart(values: pd.Series, codes: NDArray[np.intp]) -> bool:
    """Whether a column alone tells the classes of all rows apart.

    Numbers do if those of a class lie on a stretch of their own, a few texts if each goes with one
    class.

    Parameters
    ----------
    values : Series
        Numbers or texts, one per row.
    codes : ndarray of shape (n_rows,)
        Classes.

    Examples
    --------
    >>> codes = np.array([0, 0, 1, 1])
    >>> tells_apart(pd.Series([0.1, 0.2, 9.8, 9.9]), codes)
    True
    >>> tells_apart(pd.Series(list("abcc")), codes), tells_apart(pd.Series(list("abbc")), codes)
    (True, False)
    """
    if values.isna().any():
        return False
    if not pd.api.types.is_numeric_dtype(values.dtype):
        of_text = pd.Series(codes).groupby(values.to_numpy()).nunique()
        return len(of_text) <= _MOST_TEXTS and bool((of_text == 1).all())
    ends = values.groupby(codes).agg(["min", "max"]).sort_values("min").to_numpy()
    return len(ends) > 1 and bool((ends[:-1, 1] < ends[1:, 0]).all())


def telling_notes(
    features: pd.DataFrame, columns: Sequence[str], codes: NDArray[np.intp]
) -> list[str]:
    """Say which of the columns tell the label alone: they may have been made from it."""
    telling = [name for name in columns if tells_apart(features[name], codes)]
    if not telling:
        return []
    named = ", ".join(map(repr, telling[:5])) + (", ..." if len(telling) > 5 else "")
    alone, it_is, it = ("alone tells", "it is", "it")
    if len(telling) > 1:
        alone, it_is, it = ("each tell", "they are", "them")
    return [
        f"{named} {alone} the label of every row; if {it_is} known only after the label, "
        f"`ignored` leaves {it} out"
    ]
