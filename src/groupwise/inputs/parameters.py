"""Checks of constructor parameters, one line each in ``fit``.

>>> check_number("n_estimators", 0, "[1, inf)", whole=True)
Traceback (most recent call last):
    ...
ValueError: n_estimators must be a whole number in [1, inf), got 0
"""

import math
from collections.abc import Collection, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from groupwise.groups import show

__all__ = ["ClassWeight", "check_choice", "check_class_weight", "check_flag", "check_number"]

#: What ``class_weight`` may be.
ClassWeight = str | Mapping[Any, float] | None


def check_number(
    name: str, value: Any, interval: str, *, whole: bool = False, none: bool = False
) -> None:
    """Refuse what is no number of an interval, by name.

    Parameters
    ----------
    name : str
        Of the parameter, for the message.
    value : object
    interval : str
        In the usual notation: ``"[0, inf)"``, ``"(0, 1]"``. Infinity itself is allowed where the
        bracket is square.
    whole : bool, default=False
        Only integers.
    none : bool, default=False
        ``None`` is allowed as well.

    Raises
    ------
    ValueError
        For a value outside the interval, and for anything that is no number.
    """
    if value is None and none:
        return
    kind = Integral if whole else Real
    if (
        isinstance(value, kind)
        and not isinstance(value, bool | np.bool_)
        and _inside(float(value), interval)
    ):
        return
    what = "a whole number" if whole else "a number"
    raise ValueError(
        f"{name} must be {what} in {interval}{' or None' if none else ''}, got {value!r}"
    )


def check_choice(name: str, value: Any, choices: Collection[Any], *, none: bool = False) -> None:
    """Refuse what is not one of the choices, by name."""
    if value is None and none:
        return
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        shown = ", ".join(map(repr, choices))
        raise ValueError(
            f"{name} must be one of {shown}{' or None' if none else ''}, got {value!r}"
        )


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither true nor false, by name."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def _inside(value: float, interval: str) -> bool:
    low, high = (float(end) for end in interval[1:-1].split(","))
    if math.isnan(value):
        return False
    above = value >= low if interval[0] == "[" else value > low
    below = value <= high if interval[-1] == "]" else value < high
    return above and below


def check_class_weight(class_weight: ClassWeight) -> None:
    """Refuse what is neither ``None``, ``"balanced"`` nor a positive weight per class."""
    if isinstance(class_weight, Mapping):
        for label, weight in class_weight.items():
            check_number(f"class_weight of {show(label)}", weight, "(0, inf)")
    else:
        check_choice("class_weight", class_weight, ("balanced",), none=True)
