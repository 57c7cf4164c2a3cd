"""The main job on a table: what is known of its groups, which methods apply, how good they are."""

# each enters its kinds, in this order
import groupwise.jobs.group_labels
import groupwise.jobs.proportions
import groupwise.jobs.row_labels
import groupwise.jobs.survival  # noqa: F401
from groupwise.jobs.answers import predict_table
from groupwise.jobs.auto import fit_auto
from groupwise.jobs.compare import Comparison
from groupwise.jobs.fit import fit_table
from groupwise.jobs.fold_result import FoldResult, GroupResults
from groupwise.jobs.job import Job
from groupwise.jobs.leaderboard import leaderboard
from groupwise.jobs.model import TableModel
from groupwise.jobs.options import JobOptions, read_tables
from groupwise.jobs.owners import coarser_ids
from groupwise.jobs.result import Result, RunInfo
from groupwise.jobs.supervision import KINDS, Supervision, make_supervision
from groupwise.methods import METHODS, Method, get_method, methods_for

__all__ = [
    "KINDS",
    "METHODS",
    "Comparison",
    "FoldResult",
    "GroupResults",
    "Job",
    "JobOptions",
    "Method",
    "Result",
    "RunInfo",
    "Supervision",
    "TableModel",
    "coarser_ids",
    "fit_auto",
    "fit_table",
    "get_method",
    "leaderboard",
    "make_supervision",
    "methods_for",
    "predict_table",
    "read_tables",
]
