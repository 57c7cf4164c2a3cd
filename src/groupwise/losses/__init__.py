"""Group losses: functions of the rows' scores that know nothing of any learner."""

from groupwise.losses.session import SessionLoss

__all__ = ["SessionLoss"]
