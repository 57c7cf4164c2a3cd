"""The few numbers a loss needs of all groups, wherever the groups are."""

from typing import Any, Protocol

__all__ = ["Across", "Alone"]


class Across(Protocol):
    """How machines that hold different groups of one data set agree on a number.

    Every machine calls the same methods in the same order and gets the same answer.
    """

    def sum(self, values: Any) -> Any:
        """Sum over the machines of a float or an array of floats."""
        ...

    def max(self, value: float) -> float:
        """The largest of the machines' numbers."""
        ...


class Alone:
    """One machine that holds all groups: what it found is the answer."""

    def sum(self, values: Any) -> Any:
        return values

    def max(self, value: float) -> float:
        return value
