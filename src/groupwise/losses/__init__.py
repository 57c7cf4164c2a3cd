"""Group losses: functions of the rows' scores that know nothing of any learner."""

from groupwise.losses.base import AdditiveLoss, BoundLoss, Communicator, GroupLoss
from groupwise.losses.majority import MajorityLoss, SessionLoss
from groupwise.losses.presence import NoisyOrLoss, SmoothMaxLoss
from groupwise.losses.proportions import CountLikelihoodLoss, ShareLoss
from groupwise.losses.regression import GroupMeanLoss
from groupwise.losses.session_softmax import SessionSoftmaxLoss

__all__ = [
    "LOSSES",
    "AdditiveLoss",
    "BoundLoss",
    "Communicator",
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

#: The losses for classification by name.
LOSSES: dict[str, type[GroupLoss]] = {
    "majority": MajorityLoss,
    "majority_softmax": SessionSoftmaxLoss,
    "presence": NoisyOrLoss,
    "presence_lse": SmoothMaxLoss,
    "proportions": CountLikelihoodLoss,
    "proportions_squared": ShareLoss,
}


def get_loss(loss: str | GroupLoss) -> GroupLoss:
    """Look a classification loss up by name, or take the object as it is.

    Parameters
    ----------
    loss : str or GroupLoss
        A name stands for the loss with its default parameters.

    Examples
    --------
    >>> get_loss("majority") == MajorityLoss(gamma=4.0)
    True
    """
    if isinstance(loss, GroupLoss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]()
    raise ValueError(f"loss must be one of {list(LOSSES)} or a GroupLoss, got {loss!r}")
