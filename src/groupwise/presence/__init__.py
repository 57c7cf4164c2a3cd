"""Presence: a group has a class if at least one of its rows has (multiple-instance learning)."""

from groupwise.presence.balls import Balls
from groupwise.presence.dpboost import DPBoostClassifier
from groupwise.presence.fixed_pool import FixedPool
from groupwise.presence.lpboost import LPBoostClassifier
from groupwise.presence.rule import Presence
from groupwise.presence.stumps import Stumps

__all__ = [
    "Balls",
    "DPBoostClassifier",
    "FixedPool",
    "LPBoostClassifier",
    "Presence",
    "Stumps",
]
