"""The proof that a solution is optimal: its value, and a bound that no solution can pass."""

from dataclasses import dataclass

__all__ = ["Certificate"]


@dataclass(frozen=True)
class Certificate:
    """Primal and dual value of a minimisation.

    Attributes
    ----------
    primal : float
        Objective of the solution.
    dual : float
        Objective of a dual point: no solution has a lower one.
    residual : float, default=0.0
        Largest violation of a constraint by either point; both values hold up to it.

    Examples
    --------
    >>> from groupwise.solvers import Certificate
    >>> proof = Certificate(primal=20.0, dual=19.0)
    >>> proof.gap, proof.relative_gap, proof.is_optimal(0.1)
    (1.0, 0.05, True)
    """

    primal: float
    dual: float
    residual: float = 0.0

    @property
    def gap(self) -> float:
        """Primal less dual value: no solution is better by more."""
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        """The gap over the primal value, or over one where that is smaller."""
        return self.gap / max(1.0, abs(self.primal))

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether relative gap and residual prove the solution optimal to this accuracy."""
        return max(abs(self.relative_gap), self.residual) <= tol
