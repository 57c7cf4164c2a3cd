"""Groups with a label of two classes, in an order that does not depend on how they were given."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows
from groupwise.presence.canonical_order import canonical_order

__all__ = ["Bags", "make_bags"]


@dataclass(frozen=True)
class Bags:
    """Training data in canonical order.

    Attributes
    ----------
    X : array of shape (n_rows, n_features)
        Sorted by group.
    groups : Groups
    y_group : ndarray of shape (n_groups,)
        0 and 1.
    """

    X: Rows
    groups: Groups
    y_group: NDArray[np.intp]

    @property
    def positive_row(self) -> NDArray[np.bool_]:
        """Rows of positive groups."""
        return self.groups.spread(self.y_group == 1)


def make_bags(data: GroupedRows) -> Bags:
    """Put checked rows of two classes in order.

    Raises
    ------
    GroupDataError
        If there are more than two classes.
    """
    if len(data.classes) != 2:
        raise GroupDataError(
            "Only binary classification is supported. y holds the classes "
            f"{data.classes.tolist()}; DPBoostClassifier takes more than two"
        )
    ordered = canonical_order(data.X, data.y_row, data.groups)
    return Bags(data.X[ordered.order], ordered.groups, data.y_group[ordered.group])
