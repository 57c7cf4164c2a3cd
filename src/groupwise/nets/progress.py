"""What is told of a training while it runs."""

from dataclasses import dataclass

__all__ = ["NetProgress"]


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
