"""Pictures, as scikit-learn makes them: Display classes."""

from groupwise.plotting.margins import MarginsDisplay
from groupwise.plotting.measures import GroupScoresDisplay
from groupwise.plotting.proportions import SharesDisplay
from groupwise.plotting.reliability import ReliabilityDisplay
from groupwise.plotting.rounds import RoundsDisplay
from groupwise.plotting.source_rows import SourceRowsDisplay
from groupwise.plotting.timeline import TimelineDisplay
from groupwise.plotting.transfer import SourceWeightDisplay

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
