"""Group losses: functions of the rows' scores that know nothing of any learner."""

from groupwise.losses.base import LOSSES, AdditiveLoss, BoundLoss, GroupLoss, get_loss
from groupwise.losses.exact_counts import ExactCountLoss
from groupwise.losses.exact_reports import ExactReportedLoss
from groupwise.losses.layout import Communicator
from groupwise.losses.majority import MajorityLoss, SessionLoss
from groupwise.losses.ordinal import OrdinalLoss
from groupwise.losses.presence import NoisyOrLoss, SmoothMaxLoss
from groupwise.losses.presence_labels import PresenceLabelsLoss
from groupwise.losses.proportions import CountLikelihoodLoss, ShareLoss
from groupwise.losses.quantile import GroupQuantileLoss
from groupwise.losses.regression import (
    NUMBER_LOSSES,
    GroupMeanLoss,
    NumberLoss,
    get_number_loss,
)
from groupwise.losses.reported import Reported
from groupwise.losses.reported_counts import ReportedCountLoss
from groupwise.losses.session_softmax import SessionSoftmaxLoss
from groupwise.losses.several import SeveralGroupings
from groupwise.losses.survival import CoxLoss
from groupwise.losses.totals import NegativeBinomialTotalLoss, PoissonTotalLoss

__all__ = [
    "LOSSES",
    "NUMBER_LOSSES",
    "AdditiveLoss",
    "BoundLoss",
    "Communicator",
    "CountLikelihoodLoss",
    "CoxLoss",
    "ExactCountLoss",
    "ExactReportedLoss",
    "GroupLoss",
    "GroupMeanLoss",
    "GroupQuantileLoss",
    "MajorityLoss",
    "NegativeBinomialTotalLoss",
    "NoisyOrLoss",
    "NumberLoss",
    "OrdinalLoss",
    "PoissonTotalLoss",
    "PresenceLabelsLoss",
    "Reported",
    "ReportedCountLoss",
    "SessionLoss",
    "SessionSoftmaxLoss",
    "SeveralGroupings",
    "ShareLoss",
    "SmoothMaxLoss",
    "get_loss",
    "get_number_loss",
]
