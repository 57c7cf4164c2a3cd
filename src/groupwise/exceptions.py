"""Errors and warnings that callers may want to catch by name."""

import inspect
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

__all__ = ["EqualSharesWarning", "GroupDataError", "GroupsLostWarning", "UnpromisedWarning"]

_PACKAGE = os.path.dirname(__file__) + os.sep


class GroupDataError(ValueError):
    """The rows, labels or group ids do not fit together; the message names the group."""


class GroupsLostWarning(UserWarning):
    """Groups (or domains, in transfer) were probably lost on the way to ``fit`` or ``score``.

    scikit-learn's ``GridSearchCV.fit(X, y, groups=g)``, ``cross_validate(..., groups=g)`` and
    wrappers such as ``CalibratedClassifierCV`` hand ``groups`` to the splitter only, unless
    metadata routing is on. Three ways out:

    - :func:`groupwise.model_selection.cross_validate`, which hands them to everyone;
    - ``sklearn.set_config(enable_metadata_routing=True)``: ``groups`` is requested by default;
    - ``group_column="name"``: the ids travel as a column of the table ``X``.

    ``groups=np.arange(len(X))`` says that every row is meant to be a group of its own. Of domains
    the last two serve (``domain_column``), and ``domains=["target"] * len(X)`` says that all rows
    are meant to be of one.
    """


class EqualSharesWarning(UserWarning):
    """All groups have the same shares of the classes: they say nothing about single rows."""


class UnpromisedWarning(UserWarning):
    """There are too few groups to promise anything: every set is the whole set."""


@contextmanager
def solving() -> Iterator[None]:
    """Say in words that rounding has left equations without a solution."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise GroupDataError(
            "X makes equations that cannot be solved in double precision: centre and scale its "
            f"columns ({error})"
        ) from error


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn about the line that called into the package, however deep inside it this is found."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
