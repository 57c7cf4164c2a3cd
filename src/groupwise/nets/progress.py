"""What is told of a training while it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Callback", "NetProgress"]


@dataclass(frozen=True)
class NetProgress:
    """What callbacks get after each epoch.

    Attributes
    ----------
    epoch : int
        Epochs that are done.
    epochs : int
        Epochs in all.
    train, valid : float
        Loss over the weight, averaged over the networks; ``valid`` is NaN without held-out groups.
    """

    epoch: int
    epochs: int
    train: float
    valid: float


#: Called after each epoch; ``True`` stops the training.
Callback = Callable[[NetProgress], Any]
