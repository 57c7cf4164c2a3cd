"""Pictures, as scikit-learn makes them: Display classes."""

from groupwise.plotting.rounds import RoundsDisplay

__all__ = ["RoundsDisplay"]
