"""MILES: groups described by their similarity to every training row (Chen, Bi and Wang 2006)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number
from groupwise.kernels import Kernel, fit_kernel
from groupwise.kernels.sets import largest_similarity
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin

__all__ = ["MILESClassifier"]


class MILESClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""A sparse linear machine on the similarities of a group to all training rows.

    .. math:: m_k(A) = \max_{x \in A} \exp\!\big(-|x - x_k|^2 / 2\sigma^2\big), \qquad
              f(A) = \sum_k w_k m_k(A) + b,

    with a 1-norm penalty on w, which chooses the rows that matter.

    Parameters
    ----------
    C : float, default=1.0
        Cost of an error against the 1-norm of w.
    width : float, default=0.5
        The Gaussian's standard deviation over the median distance between rows.
    n_rows : int, default=None
        Training rows to describe groups by, spread evenly; ``None``: all.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    rows_ : array of shape (n_chosen, n_features)
        The rows with a weight.
    coef_ : ndarray of shape (n_chosen,)
    intercept_ : float

    Notes
    -----
    The paper's machine has the plain hinge loss; scikit-learn's (liblinear) has its square, which
    solves quickly at any number of rows.

    References
    ----------
    Y. Chen, J. Bi and J. Wang (2006). MILES: multiple-instance learning via embedded instance
    selection. IEEE TPAMI 28.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import MILESClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = MILESClassifier().fit(d.X, d.y, groups=d.groups)
    >>> 0 < len(clf.coef_) < len(d.X)
    True
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        width: float = 0.5,
        n_rows: int | None = None,
        group_column: str | None = None,
    ):
        self.C = C
        self.width = width
        self.n_rows = n_rows
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")
        check_number("n_rows", self.n_rows, "[1, inf)", whole=True, none=True)

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        self.kernel_: Kernel = fit_kernel("rbf", self.width, bags.X)
        n = bags.X.shape[0] if self.n_rows is None else min(self.n_rows, bags.X.shape[0])
        rows = bags.X[np.linspace(0, bags.X.shape[0] - 1, n).astype(np.intp)]
        features = largest_similarity(self.kernel_, bags.X, bags.groups, rows)
        machine = LinearSVC(
            penalty="l1", dual=False, C=self.C, tol=1e-3, max_iter=5000, random_state=0
        )
        machine.fit(features, bags.y_group)
        kept = np.flatnonzero(machine.coef_[0])
        self.rows_, self.coef_ = rows[kept], machine.coef_[0][kept]
        self.intercept_ = float(machine.intercept_[0])

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        if not len(self.coef_):
            return np.full(groups.n_groups, self.intercept_)
        features = largest_similarity(self.kernel_, rows, groups, self.rows_)
        return features @ self.coef_ + self.intercept_
