"""AOC-kNN: neighbours vote with the shares of their groups."""

from numpy.typing import ArrayLike
from sklearn.neighbors import NearestNeighbors

from groupwise._typing import Rows
from groupwise.exceptions import GroupDataError
from groupwise.inputs import ShareRows, check_number
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.probabilities import RowProba

__all__ = ["KNNAOCClassifier"]


class KNNAOCClassifier(BaseProportionsClassifier):
    r"""Nearest neighbours, each with the class shares of its group.

    .. math:: P(c | x) = \frac1k \sum_{i \in N_k(x)} \pi_{g(i), c}

    Every training row inherits its group's shares; a row's probabilities are the mean of its
    neighbours' shares. A training row is its own nearest neighbour.

    Parameters
    ----------
    n_neighbors : int, default=5
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    neighbours_ : NearestNeighbors
        Of the training rows.
    shares_row_ : ndarray of shape (n_rows, n_classes)
        What each training row inherits.
    transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is scikit-learn's ``KNeighborsClassifier``.

    References
    ----------
    D. Musicant, J. Christensen and J. Olson (2007). Supervised learning by training on aggregate
    outputs. ICDM.

    Examples
    --------
    >>> from groupwise.proportions import KNNAOCClassifier
    >>> clf = KNNAOCClassifier(n_neighbors=2)
    >>> clf = clf.fit([[0.0], [1.0], [9.0]], ["a", "b", "b"], groups=["u", "u", "v"])
    >>> clf.predict_proba([[0.1], [6.0]]).tolist()
    [[0.5, 0.5], [0.25, 0.75]]
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.classes = classes
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_number("n_neighbors", self.n_neighbors, "[1, inf)", whole=True)

    def _learn(self, data: ShareRows) -> RowProba:
        if self.n_neighbors > data.groups.n_rows:
            raise GroupDataError(
                f"n_neighbors={self.n_neighbors} is more than there are rows: "
                f"n_samples = {data.groups.n_rows}"
            )
        self.shares_row_ = data.shares_group[data.groups.codes]
        self.neighbours_ = NearestNeighbors(n_neighbors=self.n_neighbors).fit(data.X)
        return self._proba(data.X)

    def _proba(self, X: Rows) -> RowProba:
        nearest = self.neighbours_.kneighbors(X, return_distance=False)
        return RowProba.of_proba(self.shares_row_[nearest].mean(axis=1))
