"""The main job on a table: what is known of its groups, which methods apply, how good they are."""

from groupwise.jobs.auto import fit_auto
from groupwise.jobs.compare import Comparison
from groupwise.jobs.job import Job
from groupwise.jobs.leaderboard import leaderboard
from groupwise.jobs.model import TableModel
from groupwise.jobs.result import FoldResult, GroupResults, Result, RunInfo
from groupwise.jobs.supervision import KINDS, Supervision, make_supervision
from groupwise.methods import METHODS, Method, get_method, methods_for

__all__ = [
    "KINDS",
    "METHODS",
    "Comparison",
    "FoldResult",
    "GroupResults",
    "Job",
    "Method",
    "Result",
    "RunInfo",
    "Supervision",
    "TableModel",
    "fit_auto",
    "get_method",
    "leaderboard",
    "make_supervision",
    "methods_for",
]
