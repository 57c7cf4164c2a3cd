"""Pictures, as scikit-learn makes them: Display classes."""

from groupwise.plotting.group_scores import GroupScoresDisplay
from groupwise.plotting.margins import MarginsDisplay
from groupwise.plotting.reliability import ReliabilityDisplay
from groupwise.plotting.rounds import RoundsDisplay
from groupwise.plotting.shares import SharesDisplay
from groupwise.plotting.source_rows import SourceRowsDisplay
from groupwise.plotting.source_weight import SourceWeightDisplay
from groupwise.plotting.timeline import TimelineDisplay

__all__ = [
    "GroupScoresDisplay",
    "MarginsDisplay",
    "ReliabilityDisplay",
    "RoundsDisplay",
    "SharesDisplay",
    "SourceRowsDisplay",
    "SourceWeightDisplay",
    "TimelineDisplay",
]
