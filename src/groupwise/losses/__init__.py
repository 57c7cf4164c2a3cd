"""Group losses: functions of the rows' scores that know nothing of any learner."""

from groupwise.losses.base import (
    LOSSES,
    AdditiveLoss,
    BoundLoss,
    Communicator,
    GroupLoss,
    get_loss,
)
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
