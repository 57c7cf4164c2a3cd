"""Sets of classes for groups, and for rows where rows are labelled."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.exceptions import GroupDataError
from groupwise.groups import Groups
from groupwise.uncertainty.base import ClassifierWrapperMixin, ConformalMixin
from groupwise.uncertainty.density_ratio import DensityRatio
from groupwise.uncertainty.quantiles import class_scores

__all__ = ["LABELS", "ROWS", "SetsMixin"]

# Kinds with a label per group, and per row.
LABELS = ("majority", "presence")
ROWS = ("measure", "transfer")


class SetsMixin(ClassifierWrapperMixin, ConformalMixin):
    """Which classes the models of the folds cannot rule out."""

    kind_: str
    density_ratio_: DensityRatio | None
    _per_class: bool

    def predict_group_sets(
        self, X: MatrixLike, groups: Ids = None, *, coverage: float | None = None
    ) -> NDArray[np.bool_]:
        """Which classes each group may have.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.

        Returns
        -------
        inside : ndarray of bool of shape (n_groups, n_classes)
            In the order of ``np.unique(groups)``, columns as in ``classes_``.
        """
        rows, encoded = self._checked(X, groups, about_groups=True)
        if self.kind_ not in LABELS:
            other = "predict_group_intervals" if self.kind_ == "proportions" else "predict_row_sets"
            raise GroupDataError(
                f"kind={self.kind_!r} has no label per group, so there are no sets of them; "
                f"{other} answers for it"
            )
        proba = self._of_folds(rows, encoded, "proba_group")
        predicted = self._answer_groups_only(rows, encoded).argmax(axis=1)
        return self._sets(proba, predicted, coverage, None)

    def predict_row_sets(
        self, X: MatrixLike, groups: Ids = None, *, coverage: float | None = None
    ) -> NDArray[np.bool_]:
        """Which classes each row may have, where rows are labelled (measures, transfer).

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
        coverage : float, default=None
            Another than that of ``fit``.

        Returns
        -------
        inside : ndarray of bool of shape (n_rows, n_classes)

        Raises
        ------
        GroupDataError
            Where only groups have labels: how often a row's set holds its label could not be
            checked on any data, so nothing can be promised.
        """
        rows, encoded = self._checked(X, groups)
        if self.kind_ not in ROWS:
            raise GroupDataError(
                "nothing can be promised of single rows where only groups have labels: no data "
                "could show how often a row's set holds its label. predict_group_sets and "
                "predict_group_intervals answer for groups; with labelled rows, kind='measure'"
            )
        weight = None if self.density_ratio_ is None else self.density_ratio_.weights(rows)
        proba = self._of_folds(rows, encoded, "proba_row")
        predicted = self._predictions(rows, encoded).code_row  # which a group's cut may decide
        return self._sets(proba, predicted, coverage, weight)

    def _of_folds(self, rows: Rows, groups: Groups, what: str) -> NDArray[np.float64]:
        """Probabilities by the model of each fold, (n_folds, n, n_classes)."""
        return np.stack([getattr(self._asked(model, rows, groups), what) for model in self.models_])

    def _sets(
        self,
        proba: NDArray[Any],
        predicted: NDArray[np.intp],
        coverage: float | None,
        weight: NDArray[Any] | None,
    ) -> NDArray[np.bool_]:
        wanted, scores = self._wanted(coverage), class_scores(proba, self.conformity_)
        inside = np.empty(proba.shape[1:], dtype=bool)
        for code in range(proba.shape[2]):
            known = self.calibration_.of_class(code) if self._per_class else self.calibration_
            inside[:, code] = known.keeps(
                scores[:, :, code], wanted, 1.0 if weight is None else weight
            )
        if self.conformity_ == "adaptive":
            inside[np.arange(len(inside)), predicted] = True
        return inside
