"""Support vector machines on kernels between groups (Gaertner, Flach, Kowalczyk, Smola 2002)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_choice, check_number, dense
from groupwise.kernels import Kernel, fit_kernel
from groupwise.kernels.sets import set_kernel, set_norms
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin

__all__ = ["SetKernelClassifier"]


class SetKernelClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""A support vector machine on a kernel between groups.

    ``kind="normalised"``: the similarity of all pairs of rows, over the groups' norms,

    .. math:: K(A, B) = \frac{\langle A, B \rangle}{\sqrt{\langle A, A \rangle
              \langle B, B \rangle}}, \qquad
              \langle A, B \rangle = \sum_{x \in A} \sum_{z \in B} k(x, z) .

    ``kind="statistic"``: the Gaussian kernel of each group's least and largest feature values.

    Parameters
    ----------
    kind : {"normalised", "statistic"}, default="normalised"
    C : float, default=10.0
    kernel : {"rbf", "linear"}, default="rbf"
        Between rows (or statistics).
    width : float, default=0.5
        The Gaussian's standard deviation over the median distance between rows (or statistics).
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    kernel_ : Kernel
    coef_ : ndarray of shape (n_groups,)
        Weight of each training group, many of them zero.
    intercept_ : float

    References
    ----------
    T. Gaertner, P. Flach, A. Kowalczyk and A. Smola (2002). Multi-instance kernels. ICML.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import SetKernelClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = SetKernelClassifier().fit(d.X, d.y, groups=d.groups)
    >>> clf.predict_groups(d.X, groups=d.groups).shape
    (40,)
    """

    def __init__(
        self,
        kind: str = "normalised",
        *,
        C: float = 10.0,
        kernel: str = "rbf",
        width: float = 0.5,
        group_column: str | None = None,
    ):
        self.kind = kind
        self.C = C
        self.kernel = kernel
        self.width = width
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_choice("kind", self.kind, ("normalised", "statistic"))
        check_number("C", self.C, "(0, inf)")

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        self._kind = self.kind
        rows, sets = self._represent(bags.X, bags.groups)
        self.kernel_: Kernel = fit_kernel(self.kernel, self.width, rows)
        self._X, self._sets = rows, sets
        self._norm = set_norms(self.kernel_, rows, sets)
        machine = SVC(C=self.C, kernel="precomputed").fit(self._gram(rows, sets), bags.y_group)
        self.coef_ = np.zeros(sets.n_groups)
        self.coef_[machine.support_] = machine.dual_coef_[0]
        self.intercept_ = float(machine.intercept_[0])

    def _represent(self, rows: Rows, groups: Groups) -> tuple[Rows, Groups]:
        """Rows in groups as they are, or one line of statistics per group."""
        if self._kind == "normalised":
            return rows, groups
        values = dense(rows)
        lines = np.hstack([-groups.max(-values), groups.max(values)])
        return lines, Groups.singletons(len(lines))

    def _gram(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        cross = set_kernel(self.kernel_, rows, groups, self._X, self._sets)
        return cross / np.outer(set_norms(self.kernel_, rows, groups), self._norm)

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return self._gram(*self._represent(rows, groups)) @ self.coef_ + self.intercept_
