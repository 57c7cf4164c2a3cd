"""The main job on a table: what is known of its groups, which methods apply, how good they are."""

from groupwise.jobs.compare import Comparison
from groupwise.jobs.job import Job
from groupwise.jobs.leaderboard import leaderboard
from groupwise.jobs.method import Method
from groupwise.jobs.methods import METHODS, get_method, methods_for
from groupwise.jobs.model import TableModel
from groupwise.jobs.result import Result
from groupwise.jobs.supervision import KINDS, Supervision, make_supervision

__all__ = [
    "KINDS",
    "METHODS",
    "Comparison",
    "Job",
    "Method",
    "Result",
    "Supervision",
    "TableModel",
    "get_method",
    "leaderboard",
    "make_supervision",
    "methods_for",
]
