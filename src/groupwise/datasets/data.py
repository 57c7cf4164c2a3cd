"""What loaders and generators return."""

from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

__all__ = ["AggregateData", "GroupedData", "LabelledData", "TransferData"]


@dataclass(frozen=True, eq=False)
class _Data:
    """Values that all have one entry per row."""

    def take(self, rows: NDArray[Any]) -> Self:
        """The same data with these rows only, by position or by a mask.

        Parameters
        ----------
        rows : ndarray

        Returns
        -------
        data : the same type
        """
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(
            self,
            **{
                name: _safe_indexing(part, rows) for name, part in given.items() if part is not None
            },
        )


@dataclass(frozen=True, eq=False)
class LabelledData(_Data):
    """Rows, each with its label.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
    """

    X: Any
    y: NDArray[Any]


@dataclass(frozen=True, eq=False)
class GroupedData(LabelledData):
    """Rows in groups, with what is known and what is hidden.

    Attributes
    ----------
    X : {ndarray, sparse matrix, DataFrame} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        What a learner may see: the group's label on each of its rows, or the rows' own.
    groups : ndarray of shape (n_rows,)
    y_row : ndarray of shape (n_rows,) or None
        The rows' own labels, hidden from learners; ``None`` where nobody knows them.
    keep_whole : ndarray of shape (n_rows,) or None
        Coarser ids that no split should divide, such as users who have several sessions each.
    """

    groups: NDArray[Any]
    y_row: NDArray[Any] | None = None
    keep_whole: NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class AggregateData(_Data):
    """Rows in groups of which the class counts are known.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
    y : DataFrame of shape (n_rows, n_classes)
        What a learner may see: the group's class counts on each of its rows.
    groups : ndarray of shape (n_rows,)
    y_row : ndarray of shape (n_rows,)
        The rows' own labels, hidden from learners.
    """

    X: NDArray[Any]
    y: pd.DataFrame
    groups: NDArray[np.intp]
    y_row: NDArray[Any]


@dataclass(frozen=True, eq=False)
class TransferData(LabelledData):
    """Rows of two domains.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        1 for the class that a task's name gives first, 0 for the other.
    domains : ndarray of shape (n_rows,)
        "source" or "target".
    """

    domains: NDArray[np.str_]
