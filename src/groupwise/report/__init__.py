"""One HTML page about a result: leaderboard, pictures, every group, and how to repeat it."""

from groupwise.report.page import render

__all__ = ["render"]
