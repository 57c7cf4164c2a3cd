"""Solvers of the library's convex problems; each returns a solution with a certificate.

Linear programs that grow by columns and rows (``live``), planes by a truncated Newton method
(``newton``), one-slack cutting planes (``cutting_planes``), an epsilon-insensitive loss by an
interior-point method (``interior``), and penalised least squares (``least_squares``).
"""

from groupwise.solvers.certificate import Certificate
from groupwise.solvers.cutting_planes import CutSolution, Oracle, Violation, minimise
from groupwise.solvers.interior import solve_l1
from groupwise.solvers.least_squares import GramSpectrum, solve_l2
from groupwise.solvers.live import LiveProgram, SolverError
from groupwise.solvers.newton import Plane, PlaneSolution, fit_plane
from groupwise.solvers.solution import KernelSolution, LinearSolution, Solution

__all__ = [
    "Certificate",
    "CutSolution",
    "GramSpectrum",
    "KernelSolution",
    "LinearSolution",
    "LiveProgram",
    "Oracle",
    "Plane",
    "PlaneSolution",
    "Solution",
    "SolverError",
    "Violation",
    "fit_plane",
    "minimise",
    "solve_l1",
    "solve_l2",
]
