"""A linear support vector machine that also looks at rows without labels."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from groupwise._typing import Rows
from groupwise.boosting.linear import LinearEnsemble
from groupwise.boosting.votes import decide, link
from groupwise.exceptions import GroupDataError
from groupwise.inputs import DomainRows, check_choice, check_number
from groupwise.solvers.newton import Plane, fit_plane
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.density_ratio import stack
from groupwise.transfer.transduction import Labelling, Transduction

__all__ = ["TransductiveSVC"]


class TransductiveSVC(BaseTransferClassifier):
    r"""Transductive support vector machine, linear, for dense and sparse rows.

    The labels :math:`\hat y_j` of the unlabelled rows are variables like the plane:

    .. math:: \min_{w, b, \hat y} \tfrac12 \|w\|^2 + C \sum_i d_i\, \xi_i^2 + C^* \sum_j \xi_j^2,
              \quad \xi = \max(0, 1 - y f(x)), \quad
              \tfrac1u \#\{\hat y_j = 1\} = r,

    so that the plane prefers to pass where there are few rows. Each fit is a primal Newton method
    started from the last plane, and each step of the search moves many labels.

    Parameters
    ----------
    C : float, default=0.1
        Cost of the labelled rows, whose weights d have mean 1. With squared slack a small one
        lets labels change sides for longer.
    unlabeled_cost : float, default=None
        :math:`C^*`; ``None``: as ``C``.
    positive_fraction : float or "estimate", default=None
        Share r of the second class among the unlabelled rows. ``None``: the (weighted) share among
        the labelled rows, as in SVMlight. ``"estimate"``: start from that and move to where
        the unlabelled rows' scores part, while their labels are still easily changed.
    method : {"switching", "annealing"}, default="switching"
        Label switching (Joachims 1999) or deterministic annealing (Sindhwani et al. 2006).
    target_domain : domain id, default=None
        Used by ``score``; in ``fit`` labelled rows of all domains count alike.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    tol : float, default=1e-3
        Of the last fit.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
    transduction_ : ndarray of shape (n_unlabeled,)
        The labels given to ``X_unlabeled``.
    positive_fraction_ : float
        Their share of the second class.
    objective_ : float

    Notes
    -----
    The slack is squared where Joachims' is not; the rule of switching is the same, as
    :math:`\xi_i + \xi_j > 2` for a pair of opposite labels lowers the sum of either. Without
    ``X_unlabeled`` this is a linear support vector machine. Few labelled rows may send the search
    to a solution with the classes swapped: compare several starts, or give it source rows too.

    References
    ----------
    T. Joachims (1999). Transductive inference for text classification using support vector
    machines. ICML. V. Sindhwani, S. Keerthi and O. Chapelle (2006). Deterministic annealing for
    semi-supervised kernel machines. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from groupwise.transfer import TransductiveSVC
    >>> X, y = np.array([[-1.0], [0.6]]), np.array(["a", "b"])
    >>> crowd = np.array([[-1.2], [-0.9], [-0.3], [0.1], [1.0], [1.1], [1.3], [0.9]])
    >>> clf = TransductiveSVC(C=1.0).fit(X, y, X_unlabeled=crowd)
    >>> clf.predict([[0.2]]).item()
    'a'
    """

    # labelled rows of all domains count alike
    _learns_from_domains = False
    _needs_target = False

    def __init__(
        self,
        *,
        C: float = 0.1,
        unlabeled_cost: float | None = None,
        positive_fraction: float | str | None = None,
        method: str = "switching",
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        tol: float = 1e-3,
    ):
        self.C = C
        self.unlabeled_cost = unlabeled_cost
        self.positive_fraction = positive_fraction
        self.method = method
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.tol = tol

    def _learn(self, data: DomainRows) -> None:
        if len(data.classes) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass."
            )
        cost = data.weight_row * (self.C * len(data.weight_row) / data.weight_row.sum())
        sign = np.where(data.y_row == 1, 1.0, -1.0)
        if data.X_unlabeled is None:
            plane = fit_plane(data.X, sign, cost, tol=self.tol).plane
            self.transduction_ = data.classes[:0]
        else:
            found = self._search(self._problem(data.X, data.X_unlabeled), sign, cost)
            plane = found.plane
            self.transduction_ = data.classes[(found.sign > 0).astype(np.intp)]
            self.positive_fraction_ = float(np.mean(found.sign > 0))
            self.objective_ = found.objective
        self.coef_, self.intercept_ = plane.coef[None, :], np.array([plane.intercept])

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")
        check_number("unlabeled_cost", self.unlabeled_cost, "(0, inf)", none=True)
        check_number("tol", self.tol, "(0, inf)")
        check_choice("method", self.method, ("switching", "annealing"))
        if isinstance(self.positive_fraction, str):
            check_choice("positive_fraction", self.positive_fraction, ("estimate",))
        else:
            check_number("positive_fraction", self.positive_fraction, "(0, 1)", none=True)

    def _problem(self, X: Rows, X_unlabeled: Rows) -> Transduction:
        level = self.C if self.unlabeled_cost is None else self.unlabeled_cost
        return Transduction(stack(X, X_unlabeled), X.shape[0], level, self.tol)

    def _search(
        self,
        problem: Transduction,
        sign: NDArray[Any],
        cost: NDArray[Any],
        last: Labelling | None = None,
    ) -> Labelling:
        return problem.search(
            sign,
            cost,
            self._fraction(sign, cost),
            soft=self.method == "annealing",
            estimate=self.positive_fraction == "estimate",
            last=last,
        )

    def _fraction(self, sign: NDArray[Any], cost: NDArray[Any]) -> float:
        if isinstance(self.positive_fraction, int | float):
            return float(self.positive_fraction)
        return float(cost[sign > 0].sum() / cost.sum())

    def _score_rows(self, rows: Rows) -> NDArray[Any]:
        """The signed distance :math:`w^T x + b`, up to the length of w."""
        return rows @ self.coef_[0] + self.intercept_[0]

    def with_unlabeled(self, X_unlabeled: Rows) -> "_TransductiveLearner":
        """A weak learner for boosting: every round starts from the last round's labels."""
        self._check_parameters()
        return _TransductiveLearner(self, X_unlabeled)

    def _allows_nan(self) -> bool:
        return False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True)
class _TransductiveLearner:
    svc: TransductiveSVC
    X_unlabeled: Rows
    is_soft: bool = False
    accepts_nan = False

    def soft(self) -> "_TransductiveLearner":
        return replace(self, is_soft=True)

    def bind(self, X: Rows) -> "_BoundTransductive":
        problem = self.svc._problem(X, self.X_unlabeled)
        return _BoundTransductive(self.svc, problem, self.is_soft)


@dataclass(frozen=True)
class _BoundTransductive:
    svc: TransductiveSVC
    problem: Transduction
    is_soft: bool

    def start(
        self, n_classes: int, rng: np.random.RandomState, *, resample: bool
    ) -> "_TransductiveRun":
        if n_classes != 2:
            raise GroupDataError(f"TransductiveSVC tells two classes apart, not {n_classes}")
        return _TransductiveRun(self.svc, self.problem, self.is_soft)


@dataclass
class _TransductiveRun:
    svc: TransductiveSVC
    problem: Transduction
    is_soft: bool
    last: Labelling | None = None
    planes: list[Plane] = field(default_factory=list)

    def fit(self, target: NDArray[np.intp], weight: NDArray[Any]) -> NDArray[Any]:
        cost = weight * (self.svc.C * len(weight) / weight.sum())
        sign = np.where(target == 1, 1.0, -1.0)
        self.last = self.svc._search(self.problem, sign, cost, self.last)
        self.planes.append(self.last.plane)
        score = self.last.plane.score(self.problem.X)[: len(target)]
        return link(score) if self.is_soft else decide(score)

    def combine(self, weights: Sequence[float]) -> LinearEnsemble:
        planes = self.planes[: len(weights)]
        coef = np.array([plane.coef[None, :] for plane in planes])
        intercept = np.array([[plane.intercept] for plane in planes])
        return LinearEnsemble(coef, intercept, list(weights), 2, self.is_soft)
