"""Citation-kNN: neighbours, and those who call one a neighbour (Wang and Zucker 2000)."""

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number
from groupwise.kernels.sets import hausdorff_distances
from groupwise.presence.base import BasePresenceClassifier, GroupScoreMixin

__all__ = ["CitationKNNClassifier"]


class CitationKNNClassifier(GroupScoreMixin, BasePresenceClassifier):
    r"""Votes of a group's nearest training groups and of those that have it among their nearest.

    Groups lie as far apart as their two nearest rows, :math:`\min_{x \in A, z \in B} |x - z|`. The
    references of a group are its R nearest training groups; its citers the training groups for
    which it would be among the C nearest. A group is positive if most of both are; a tie is
    negative.

    Parameters
    ----------
    n_references : int, default=2
        R.
    n_citers : int, default=4
        C, the rank up to which a training group cites.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)

    References
    ----------
    J. Wang and J.-D. Zucker (2000). Solving the multiple-instance problem: a lazy learning
    approach. ICML.

    Examples
    --------
    >>> from groupwise.datasets import make_presence_bags
    >>> from groupwise.presence import CitationKNNClassifier
    >>> d = make_presence_bags(20, random_state=0)
    >>> clf = CitationKNNClassifier().fit(d.X, d.y, groups=d.groups)
    >>> clf.score(d.X, d.y, groups=d.groups) > 0.5
    True
    """

    def __init__(
        self, n_references: int = 2, *, n_citers: int = 4, group_column: str | None = None
    ):
        self.n_references = n_references
        self.n_citers = n_citers
        self.group_column = group_column

    def _check_parameters(self) -> None:
        check_number("n_references", self.n_references, "[0, inf)", whole=True)
        check_number("n_citers", self.n_citers, "[0, inf)", whole=True)
        if self.n_references + self.n_citers == 0:
            raise ValueError("n_references and n_citers must be not both 0")

    def _learn(self, data: GroupedRows) -> None:
        bags = self._bags(data)
        self._X, self._sets, self._positive = bags.X, bags.groups, bags.y_group == 1
        self._n_references = self.n_references
        distance = hausdorff_distances(bags.X, bags.groups, bags.X, bags.groups).copy()
        np.fill_diagonal(distance, np.inf)
        # how near a newcomer has to be to come among the C nearest of each training group
        at = min(self.n_citers, len(distance) - 1)
        self._reach = np.sort(distance, axis=1)[:, at - 1] if at > 0 else np.full(len(distance), -1)

    def _score_groups(self, rows: Rows, groups: Groups) -> NDArray[np.float64]:
        distance = hausdorff_distances(rows, groups, self._X, self._sets)
        positive = self._positive
        vote = np.where(positive, 1.0, -1.0)
        n_references = min(self._n_references, distance.shape[1])
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :n_references]
        total = vote[nearest].sum(axis=1) + (distance <= self._reach) @ vote
        count = n_references + (distance <= self._reach).sum(axis=1)
        return total / np.maximum(count, 1)
