"""A linear support vector machine trained for a measure of many rows at once."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from groupwise._typing import Rows
from groupwise.boosting.votes import link
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_choice, check_number
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.measures.separation import (
    AccuracyOracle,
    GroupF1Oracle,
    PrecisionOracle,
    ROCOracle,
)
from groupwise.metrics import Accuracy, FBeta, GroupMeasure, PrecisionAtK, ROCArea
from groupwise.solvers.cutting_planes import Oracle, minimise

__all__ = ["SVMPerfClassifier"]

_TRAINED_FOR = ("accuracy", "f1", "group_f1", "precision_at_k", "roc_area")


class SVMPerfClassifier(BaseMeasureClassifier):
    r"""Joachims' support vector machine for multivariate measures.

    .. math:: \min_{w, \xi} \tfrac12 \|w\|^2 + C n \xi \quad\text{with}\quad
              w^T [\Psi(x, y) - \Psi(x, \bar y)] \ge \Delta(y, \bar y) - \xi
              \quad\text{for all labellings } \bar y

    where :math:`\Psi(x, y) = \frac{1}{2n} \sum_i y_i x_i` and :math:`\Delta` is one less the
    measure. The labelling that is violated most is found exactly, so that the duality gap is known.
    ``"group_f1"`` is our extension: :math:`\Delta` and :math:`\Psi` are means over groups of the
    same for each group's rows; the other measures do not look at groups. Two classes.

    Parameters
    ----------
    measure : {"accuracy", "f1", "group_f1", "precision_at_k", "roc_area"}, default="f1"
        All but ``"group_f1"`` judge all rows together, as the original does; ``score`` still
        reports the mean over groups. ``"accuracy"`` is the ordinary support vector machine with
        the plain hinge loss: the problem of ``LinearSVC(loss="hinge")`` with the same C, in some
        hundred products with ``X`` where liblinear passes over hundred thousands of rows for hours.
    C : float, default=0.1
        Cost of the loss, per row (accuracy) or per positive row (the others).
    cost : float, default=1.0
        For ``"accuracy"``: of an error on a positive row, against 1 for a negative one; others than
        1 make the cost-sensitive support vector machine.
    k : int, default=None
        Rows called positive for ``"precision_at_k"``; ``None``: as many as are positive, where
        precision and recall are the same.
    tol : float, default=1e-3
        Duality gap at which to stop, as a share of the objective.
    max_cuts : int, default=2000
        Largest number of constraints.
    group_column : str, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    coef_ : ndarray of shape (1, n_features)
    intercept_ : ndarray of shape (1,)
        Penalised like a weight, as in liblinear.
    objective_ : float
    gap_ : float
        Duality gap over the objective: no plane is better by more.
    n_iter_ : int
        Cuts made.
    measure_ : GroupMeasure
        What ``score`` reports of each group.
    n_groups_ : int

    Notes
    -----
    ``predict_proba`` is the logistic function of the score: above one half where it is positive,
    not calibrated.

    Scale the features first. ``"group_f1"`` wants large groups or clear ones: in small noisy groups
    the bound on each group's loss is so loose that the best plane is zero, and ``fit`` warns. For
    ``"f1"`` a turn costs one product with ``X``, the sort of the negatives above -1 and a binary
    search, :math:`O(P \log N)`.

    References
    ----------
    T. Joachims (2005). A support vector method for multivariate performance measures. ICML.
    T. Joachims (2006). Training linear SVMs in linear time. KDD.
    T. Joachims, T. Finley and C. Yu (2009). Cutting-plane training of structural SVMs.

    Examples
    --------
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import SVMPerfClassifier
    >>> u = make_users(n_users=20, random_state=0)
    >>> clf = SVMPerfClassifier().fit(u.X, u.y, groups=u.groups)
    >>> clf.gap_ <= 1e-3
    True
    """

    def __init__(
        self,
        measure: str = "f1",
        *,
        C: float = 0.1,
        cost: float = 1.0,
        k: int | None = None,
        tol: float = 1e-3,
        max_cuts: int = 2000,
        group_column: str | None = None,
    ):
        self.measure = measure
        self.C = C
        self.cost = cost
        self.k = k
        self.tol = tol
        self.max_cuts = max_cuts
        self.group_column = group_column

    @property
    def _learns_from_groups(self) -> bool:  # type: ignore[override]  # constant in others
        return self.measure == "group_f1"

    def _check_parameters(self) -> None:
        check_choice("measure", self.measure, _TRAINED_FOR)
        check_number("C", self.C, "(0, inf)")
        check_number("cost", self.cost, "(0, inf)")
        if self.cost != 1 and self.measure != "accuracy":
            raise ValueError(f"cost is for measure='accuracy', {self.measure!r} knows no cost")
        check_number("k", self.k, "[1, inf)", whole=True, none=True)
        check_number("tol", self.tol, "(0, inf)")
        check_number("max_cuts", self.max_cuts, "[1, inf)", whole=True)

    def _learn(self, data: GroupedRows) -> None:
        found = minimise(
            _with_ones(data.X), self._oracle(data), self.C, tol=self.tol, max_cuts=self.max_cuts
        )
        proof = found.certificate
        gap = proof.gap / max(proof.primal, 1e-300)
        if found.status != "optimal":
            warnings.warn(
                f"the duality gap is {gap:.2g} after {found.n_iter} cuts, not {self.tol:g}; "
                "scale the features, lower C or raise max_cuts",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif not found.coef.any():
            warnings.warn(
                "the optimum is the zero plane, which calls every row negative: the bound that is "
                "minimised is too loose for these rows or groups; measure='f1' judges all rows "
                "together, ExpectedMeasureClassifier decides group by group",
                ConvergenceWarning,
                stacklevel=4,
            )
        self.coef_ = found.coef[None, :-1]
        self.intercept_ = found.coef[-1:]
        self.objective_, self.gap_, self.n_iter_ = proof.primal, gap, found.n_iter

    def _oracle(self, data: GroupedRows) -> Oracle:
        positive = data.y_row == 1
        if self.measure == "accuracy":
            return AccuracyOracle(positive, float(self.cost))
        if self.measure == "roc_area":
            return ROCOracle(positive)
        if self.measure == "precision_at_k":
            k = int(positive.sum()) if self.k is None else self.k
            if not 1 <= k <= len(positive):
                raise ValueError(f"k must be between 1 and the {len(positive)} rows, got {k!r}")
            return PrecisionOracle(positive, k)
        together = Groups(np.zeros(len(positive), dtype=np.intp))
        return GroupF1Oracle(positive, together if self.measure == "f1" else data.groups)

    def _resolve_measure(self) -> GroupMeasure:
        """What ``score`` reports of each group."""
        by_name = {"accuracy": Accuracy(), "precision_at_k": PrecisionAtK(), "roc_area": ROCArea()}
        return by_name.get(str(self.measure), FBeta())

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = rows @ self.coef_[0] + self.intercept_[0]
        return score_row, link(score_row)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _with_ones(X: Rows) -> Rows:
    """The rows with a constant column for the intercept."""
    ones = np.ones((X.shape[0], 1))
    if issparse(X):
        return hstack([X, csr_matrix(ones)], format="csr")
    return np.hstack([X.astype(np.float64, copy=False), ones])
