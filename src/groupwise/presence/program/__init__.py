"""The disjunctive linear program of LPBoost and DPBoost, and how it is solved from both sides.

Files in the order of the data's walk: ``disjunctions`` (what is asked), ``pool`` (where hypotheses
come from), ``pricing`` (which one pays), ``master`` (the linear program over their weights),
``cuts`` and ``lifted`` (two relaxations, bounds from below), ``witness`` (models, bounds from
above), ``branch`` (closing the gap), ``solve`` (all of it), ``ensemble`` (the model that is left).
"""

from groupwise.presence.program.branch import branch_and_bound
from groupwise.presence.program.cuts import CutSettings, relax_by_cuts
from groupwise.presence.program.disjunctions import (
    Disjunctions,
    example_cost,
    labelled_rows,
    present_rows,
)
from groupwise.presence.program.ensemble import ProgramEnsemble, margin_proba, used_hypotheses
from groupwise.presence.program.lifted import relax_lifted
from groupwise.presence.program.master import Master
from groupwise.presence.program.pool import LearnerPool, Pool, WholePool, bind_pool
from groupwise.presence.program.solve import ProgramSettings, SolvedProgram, solve_program
from groupwise.presence.program.witness import Incumbent, alternate, witnesses_at

__all__ = [
    "CutSettings",
    "Disjunctions",
    "Incumbent",
    "LearnerPool",
    "Master",
    "Pool",
    "ProgramEnsemble",
    "ProgramSettings",
    "SolvedProgram",
    "WholePool",
    "alternate",
    "bind_pool",
    "branch_and_bound",
    "example_cost",
    "labelled_rows",
    "margin_proba",
    "present_rows",
    "relax_by_cuts",
    "relax_lifted",
    "solve_program",
    "used_hypotheses",
    "witnesses_at",
]
