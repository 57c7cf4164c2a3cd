"""Group losses: functions of the rows' scores that know nothing of any learner."""

from groupwise.losses.base import AdditiveLoss, BoundLoss, GroupLoss
from groupwise.losses.majority import MajorityLoss
from groupwise.losses.presence import NoisyOrLoss, SmoothMaxLoss
from groupwise.losses.proportions import CountLikelihoodLoss, ShareLoss
from groupwise.losses.regression import GroupMeanLoss
from groupwise.losses.session import SessionLoss
from groupwise.losses.session_softmax import SessionSoftmaxLoss

__all__ = [
    "LOSS_NAMES",
    "AdditiveLoss",
    "BoundLoss",
    "CountLikelihoodLoss",
    "GroupLoss",
    "GroupMeanLoss",
    "MajorityLoss",
    "NoisyOrLoss",
    "SessionLoss",
    "SessionSoftmaxLoss",
    "ShareLoss",
    "SmoothMaxLoss",
    "get_loss",
]

#: The names that :func:`get_loss` knows.
LOSS_NAMES = (
    "majority",
    "majority_softmax",
    "presence",
    "presence_lse",
    "proportions",
    "proportions_squared",
)


def get_loss(loss: str | GroupLoss, *, gamma: float = 4.0) -> GroupLoss:
    """Look a classification loss up by name, or take the object as it is.

    Parameters
    ----------
    loss : str or GroupLoss
    gamma : float, default=4.0
        Of the two majority losses; an object has its own.

    Examples
    --------
    >>> get_loss("majority", gamma=16.0)
    MajorityLoss(gamma=16.0)
    """
    match loss:
        case GroupLoss():
            return loss
        case "majority":
            return MajorityLoss(gamma)
        case "majority_softmax":
            return SessionSoftmaxLoss(gamma)
        case "presence":
            return NoisyOrLoss()
        case "presence_lse":
            return SmoothMaxLoss()
        case "proportions":
            return CountLikelihoodLoss()
        case "proportions_squared":
            return ShareLoss()
    raise ValueError(f"loss must be one of {list(LOSS_NAMES)} or a GroupLoss, got {loss!r}")
