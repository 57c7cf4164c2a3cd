"""Pictures, as scikit-learn makes them: Display classes."""

from groupwise.plotting.measures import GroupScoresDisplay
from groupwise.plotting.proportions import SharesDisplay
from groupwise.plotting.rounds import RoundsDisplay
from groupwise.plotting.transfer import SourceWeightDisplay

__all__ = ["GroupScoresDisplay", "RoundsDisplay", "SharesDisplay", "SourceWeightDisplay"]
