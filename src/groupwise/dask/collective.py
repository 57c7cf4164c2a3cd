"""Workers that agree on a number, by XGBoost's own collective."""

from typing import Any

import numpy as np
from xgboost import collective

__all__ = ["Collective"]


class Collective:
    """Sums and maxima over the workers of one fit; see :class:`groupwise.losses.across.Across`.

    Attributes
    ----------
    n_calls : int
        How often the workers have agreed on something.
    """

    def __init__(self) -> None:
        self.n_calls = 0

    def sum(self, values: Any) -> Any:
        return self._reduced(values, collective.Op.SUM)

    def max(self, value: float) -> float:
        return self._reduced(value, collective.Op.MAX)

    def _reduced(self, values: Any, how: collective.Op) -> Any:
        self.n_calls += 1
        array = np.asarray(values, dtype=np.float64)
        found = collective.allreduce(np.atleast_1d(array), how)
        return float(found[0]) if array.ndim == 0 else found.reshape(array.shape)
