"""From rows to groups where a group has the class that some row of it has."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.groups import Groups

__all__ = ["Presence"]


@dataclass(frozen=True)
class Presence:
    r"""A group has a class if a row has it, and the background class if all rows do.

    .. math:: P_i(c) \propto \max_j p_{ij}(c), \qquad P_i(b) \propto \min_j p_{ij}(b)

    With two classes, the first one in the background, this is the rule ``"any"``.

    Parameters
    ----------
    background : int or None
        Position of the background class; ``None``: no class is one.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise import Groups
    >>> p = np.array([[0.9, 0.1], [0.3, 0.7]])
    >>> Presence(0).combine(p, Groups(["a", "a"])).tolist()
    [[0.3, 0.7]]
    """

    background: int | None

    def combine(self, proba_row: NDArray[Any], groups: Groups) -> NDArray[Any]:
        top = groups.max(proba_row)
        if self.background is not None:
            top[:, self.background] = -groups.max(-proba_row[:, self.background])
        total = top.sum(axis=1, keepdims=True)
        return np.divide(top, total, out=np.full_like(top, 1.0 / top.shape[1]), where=total > 0)
