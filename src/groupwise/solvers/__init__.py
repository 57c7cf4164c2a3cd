"""Linear programs that grow by columns and rows on one live HiGHS model."""

from groupwise.solvers.live import LiveProgram, SolverError
from groupwise.solvers.solution import Solution

__all__ = ["LiveProgram", "Solution", "SolverError"]
