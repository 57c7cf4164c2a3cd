"""Groups described by how far they lie from every training group (Cheplygina et al. 2015)."""

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number
from groupwise.kernels.sets import mean_least_distances
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin

__all__ = ["DissimilarityClassifier"]


class DissimilarityClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""Logistic regression on the distances of a group to all training groups.

    .. math:: d(A, B) = \frac{1}{|A|} \sum_{x \in A} \min_{z \in B} |x - z|

    A group A is described by d(A, B) and d(B, A) for every training group B, columns scaled. Unlike
    a nearest neighbour it learns which groups, and which direction, tell the classes apart.

    Parameters
    ----------
    C : float, default=0.1
        Inverse of the penalty on the weights.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    classifier_ : Pipeline
        Of the scaled distances.

    Notes
    -----
    All rows are kept, and a prediction costs as many distances as there are pairs of rows.

    References
    ----------
    V. Cheplygina, D. Tax and M. Loog (2015). Multiple instance learning with bag dissimilarities.
    Pattern Recognition 48. Their meanmin.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import DissimilarityClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = DissimilarityClassifier().fit(d.X, d.y, groups=d.groups)
    >>> clf.score(d.X, d.y, groups=d.groups) > 0.9
    True
    """

    def __init__(self, *, C: float = 0.1, group_column: str | None = None):
        self.C = C
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        self._X, self._sets = bags.X, bags.groups
        machine = make_pipeline(StandardScaler(), LogisticRegression(C=self.C, max_iter=1000))
        self.classifier_ = machine.fit(self._distances(bags.X, bags.groups), bags.y_group)

    def _distances(self, X: Rows, groups: Groups) -> NDArray[np.float64]:
        return np.hstack(mean_least_distances(X, groups, self._X, self._sets))

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        return self.classifier_.decision_function(self._distances(rows, groups))
