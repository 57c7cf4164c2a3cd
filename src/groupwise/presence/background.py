"""The class that a group has only if all of its rows have it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.exceptions import GroupDataError
from groupwise.groups import show

__all__ = ["find_background"]


def find_background(background: object, classes: NDArray[Any]) -> int | None:
    """Position of the background class among the classes, if there is one.

    Parameters
    ----------
    background : "auto", None or class
        ``"auto"``: the first of two classes, none of more.
    classes : ndarray of shape (n_classes,)
    """
    if isinstance(background, str) and background == "auto":
        return 0 if len(classes) == 2 else None
    if background is None:
        return None
    at = np.flatnonzero(classes == background)
    if not len(at):
        raise GroupDataError(
            f"background must be 'auto', None or one of the classes {classes.tolist()}, "
            f"got {show(background)}"
        )
    return int(at[0])
