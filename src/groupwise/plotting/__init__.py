"""Pictures, as scikit-learn makes them: Display classes."""

from groupwise.plotting.contributions import ContributionsDisplay
from groupwise.plotting.coverage import CoverageDisplay
from groupwise.plotting.group_scores import GroupScoresDisplay
from groupwise.plotting.importance import ImportanceDisplay
from groupwise.plotting.margins import MarginsDisplay
from groupwise.plotting.reliability import ReliabilityDisplay
from groupwise.plotting.removal import RemovalDisplay
from groupwise.plotting.rounds import RoundsDisplay
from groupwise.plotting.shares import SharesDisplay
from groupwise.plotting.source_rows import SourceRowsDisplay
from groupwise.plotting.source_weight import SourceWeightDisplay
from groupwise.plotting.timeline import TimelineDisplay

__all__ = [
    "ContributionsDisplay",
    "CoverageDisplay",
    "GroupScoresDisplay",
    "ImportanceDisplay",
    "MarginsDisplay",
    "ReliabilityDisplay",
    "RemovalDisplay",
    "RoundsDisplay",
    "SharesDisplay",
    "SourceRowsDisplay",
    "SourceWeightDisplay",
    "TimelineDisplay",
]
