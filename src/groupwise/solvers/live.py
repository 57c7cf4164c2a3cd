"""One live HiGHS model: columns and rows are added, bounds are moved, the basis stays."""

import logging
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array

from groupwise.solvers.certificate import Certificate
from groupwise.solvers.solution import LinearSolution

__all__ = ["LiveProgram", "SolverError"]

logger = logging.getLogger(__name__)

_STATUS = highspy.HighsModelStatus
_STOPPED = {
    _STATUS.kOptimal: "optimal",
    _STATUS.kTimeLimit: "time limit",
    _STATUS.kIterationLimit: "iteration limit",
}
_PRIMAL_SIMPLEX, _DUAL_SIMPLEX = 4, 1


class SolverError(RuntimeError):
    """A linear program that has no optimum, or that no method could solve."""


class LiveProgram:
    r"""A growing program :math:`\min c'x,\ l \le Ax \le u,\ \underline x \le x \le \bar x`.

    Every solve starts from the basis of the last one. New columns leave that basis primal feasible
    and new rows or moved row bounds leave it dual feasible, so the caller names the simplex method
    to start with. A method that passes ``iteration_limit`` hands over to the next: primal or dual
    simplex, the other one, then interior point from scratch.

    Parameters
    ----------
    iteration_limit : int, default=20_000
        Simplex iterations before the next method takes over.

    Examples
    --------
    >>> from groupwise.solvers import LiveProgram
    >>> program = LiveProgram()
    >>> x = program.add_columns([1.0, 2.0])
    >>> row = program.add_rows([[1.0, 1.0]], lower=[3.0])
    >>> program.solve().objective
    3.0
    >>> y = program.add_columns([0.5], entries=[[1.0]])
    >>> solution = program.solve("primal")
    >>> solution.objective, solution.certificate.is_optimal()
    (1.5, True)
    """

    def __init__(self, iteration_limit: int = 20_000):
        self.iteration_limit = iteration_limit
        self._highs: Any = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("random_seed", 0)):
            self._highs.setOptionValue(option, value)
        self.n_columns = self.n_rows = 0
        self._cost = np.empty(0)
        self._lower, self._upper = np.empty(0), np.empty(0)
        self._row_lower, self._row_upper = np.empty(0), np.empty(0)

    def add_columns(
        self,
        cost: ArrayLike,
        *,
        lower: ArrayLike = 0.0,
        upper: ArrayLike = np.inf,
        entries: Any = None,
    ) -> NDArray[np.int32]:
        """Append columns; ``entries`` is (n_rows, n_new). Returns their positions."""
        cost = np.array(cost, dtype=float, ndmin=1)
        n_new = len(cost)
        low, high = np.broadcast_to(lower, n_new).astype(float), np.broadcast_to(upper, n_new)
        high = high.astype(float)
        matrix = csc_array((self.n_rows, n_new)) if entries is None else csc_array(entries)
        _check_shape(matrix.shape, (self.n_rows, n_new))
        self._highs.addCols(
            n_new,
            cost,
            low,
            high,
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(float),
        )
        self._cost = np.concatenate([self._cost, cost])
        self._lower = np.concatenate([self._lower, low])
        self._upper = np.concatenate([self._upper, high])
        self.n_columns += n_new
        return np.arange(self.n_columns - n_new, self.n_columns, dtype=np.int32)

    def add_rows(
        self, entries: Any, *, lower: ArrayLike = -np.inf, upper: ArrayLike = np.inf
    ) -> NDArray[np.int32]:
        """Append rows; ``entries`` is (n_new, n_columns). Returns their positions."""
        matrix = csr_array(entries)
        n_new = matrix.shape[0]
        _check_shape(matrix.shape, (n_new, self.n_columns))
        low = np.broadcast_to(lower, n_new).astype(float)
        high = np.broadcast_to(upper, n_new).astype(float)
        self._highs.addRows(
            n_new,
            low,
            high,
            matrix.nnz,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data.astype(float),
        )
        self._row_lower = np.concatenate([self._row_lower, low])
        self._row_upper = np.concatenate([self._row_upper, high])
        self.n_rows += n_new
        return np.arange(self.n_rows - n_new, self.n_rows, dtype=np.int32)

    def set_row_lower(self, rows: ArrayLike, lower: ArrayLike) -> None:
        """Move lower bounds of rows; ``-inf`` switches a row without upper bound off."""
        rows = np.array(rows, dtype=np.int32, ndmin=1)
        self._row_lower[rows] = lower
        for row in rows.tolist():  # highspy 1.12 has no call for many of them
            self._highs.changeRowBounds(row, self._row_lower[row], self._row_upper[row])

    def set_costs(self, columns: ArrayLike, cost: ArrayLike) -> None:
        """Change the cost of columns."""
        columns = np.array(columns, dtype=np.int32, ndmin=1)
        self._cost[columns] = cost
        self._highs.changeColsCost(len(columns), columns, self._cost[columns])

    def set_upper(self, columns: ArrayLike, upper: ArrayLike) -> None:
        """Move upper bounds of columns."""
        columns = np.array(columns, dtype=np.int32, ndmin=1)
        self._upper[columns] = upper
        self._highs.changeColsBounds(
            len(columns), columns, self._lower[columns], self._upper[columns]
        )

    def solve(
        self, method: str = "dual", *, fresh: bool = False, time_limit: float = np.inf
    ) -> LinearSolution:
        """Solve from the last basis.

        Parameters
        ----------
        method : {"primal", "dual", "interior"}, default="dual"
            The method to begin with.
        fresh : bool, default=False
            Forget the last basis and let HiGHS simplify the model first: quicker where most costs
            have changed.
        time_limit : float, default=inf
            Seconds.

        Returns
        -------
        solution : LinearSolution

        Raises
        ------
        SolverError
            If the program is infeasible or unbounded, or if every method failed.
        """
        if method not in ("primal", "dual", "interior"):
            raise ValueError(f"method must be 'primal', 'dual' or 'interior', got {method!r}")
        chain = {"primal": ("primal", "dual", "interior"), "dual": ("dual", "primal", "interior")}
        if fresh:
            self._highs.clearSolver()
        stopped = _STATUS.kNotset
        for name in chain.get(method, ("interior",)):
            stopped = self._run(name, time_limit)
            if stopped in (_STATUS.kOptimal, _STATUS.kTimeLimit):
                return self._solution(name, _STOPPED[stopped])
            if stopped in (_STATUS.kInfeasible, _STATUS.kUnbounded):
                break
            logger.info("%s simplex gave up (%s): next method", name, stopped)
        if stopped in _STOPPED:
            return self._solution(name, _STOPPED[stopped])
        raise SolverError(
            f"a linear program of {self.n_rows} rows and {self.n_columns} columns ended as "
            f"{self._highs.modelStatusToString(stopped)!r}"
        )

    def _run(self, method: str, time_limit: float) -> Any:
        highs = self._highs
        if method == "interior":
            highs.clearSolver()
            highs.setOptionValue("solver", "ipm")
        else:
            highs.setOptionValue("solver", "simplex")
            strategy = _PRIMAL_SIMPLEX if method == "primal" else _DUAL_SIMPLEX
            highs.setOptionValue("simplex_strategy", strategy)
            highs.setOptionValue("simplex_iteration_limit", self.iteration_limit)
        # HiGHS counts the time of all runs of a model together
        limit = highs.getRunTime() + time_limit if np.isfinite(time_limit) else np.inf
        highs.setOptionValue("time_limit", limit)
        highs.run()
        return highs.getModelStatus()

    def _solution(self, method: str, status: str) -> LinearSolution:
        found, info = self._highs.getSolution(), self._highs.getInfo()
        x, row_value = np.array(found.col_value), np.array(found.row_value)
        row_dual, reduced = np.array(found.row_dual), np.array(found.col_dual)
        iterations = info.simplex_iteration_count + info.ipm_iteration_count
        dual_row, loose_row = _dual_value(row_dual, self._row_lower, self._row_upper)
        dual_col, loose_col = _dual_value(reduced, self._lower, self._upper)
        outside = np.concatenate(
            [
                self._row_lower - row_value,
                row_value - self._row_upper,
                self._lower - x,
                x - self._upper,
            ]
        )
        residual = max(float(outside.max(initial=0.0)), loose_row, loose_col)
        return LinearSolution(
            certificate=Certificate(float(self._cost @ x), dual_row + dual_col, residual),
            n_iter=int(iterations),
            status=status,
            x=x,
            row_dual=row_dual,
            reduced_cost=reduced,
            method=method,
        )

    def recompute(self, solution: LinearSolution) -> tuple[float, float]:
        """Residuals of rows and of reduced costs, from the model's own matrix: slow, for tests."""
        lp = self._highs.getLp()
        a = lp.a_matrix_
        shape = (self.n_rows, self.n_columns)
        parts = (np.array(a.value_), np.array(a.index_), np.array(a.start_))
        colwise = a.format_ == highspy.MatrixFormat.kColwise
        matrix = csc_array(parts, shape=shape) if colwise else csr_array(parts, shape=shape)
        value = matrix @ solution.x
        outside = np.concatenate([self._row_lower - value, value - self._row_upper])
        reduced = self._cost - matrix.T @ solution.row_dual
        return (
            float(outside.max(initial=0.0)),
            float(np.abs(reduced - solution.reduced_cost).max(initial=0.0)),
        )


def _dual_value(
    dual: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any]
) -> tuple[float, float]:
    """Value of the duals at the bounds they push against, and the largest that pushes at none."""
    bound = np.where(dual > 0, lower, upper)
    pushes = np.isfinite(bound)
    value = float(dual[pushes] @ bound[pushes])
    return value, float(np.abs(dual[~pushes]).max(initial=0.0))


def _check_shape(got: tuple[int, ...], expected: tuple[int, int]) -> None:
    if got != expected:
        raise ValueError(f"entries must have shape {expected}, got {got}")
