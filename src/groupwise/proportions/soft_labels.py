"""Soft labels of rows, what they should sum to, and the probabilities they stand for."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise._typing import MatrixLike, Rows
from groupwise.groups import Groups
from groupwise.inputs import ShareRows
from groupwise.proportions.decode import project_simplex
from groupwise.proportions.probabilities import RowProba
from groupwise.rules import Rule, two_columns

__all__ = [
    "SLOPE",
    "SoftLabelMixin",
    "aggregate_targets",
    "soft_label_proba",
    "soft_label_shares",
]

#: Log-odds per unit of soft label. A soft label is +-1 for a sure row.
SLOPE = 2.5


def aggregate_targets(data: ShareRows) -> NDArray[np.float64]:
    """What soft labels of a group's rows should sum to.

    Two classes: rows of the second minus rows of the first (a single output, labels of +-1). More:
    the counts (one output per class, labels of 0 and 1).
    """
    if data.n_classes == 2:
        return data.counts_group[:, 1:] - data.counts_group[:, :1]
    return data.counts_group


def soft_label_proba(values: NDArray[np.float64]) -> RowProba:
    """Class probabilities from soft labels (n_rows, n_outputs)."""
    return RowProba.of_scores(SLOPE * values)


def soft_label_shares(mean_group: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class shares from mean soft labels (n_groups, n_outputs): the nearest distributions."""
    if mean_group.shape[1] == 1:
        second = np.clip(0.5 * (1.0 + mean_group[:, 0]), 0.0, 1.0)
        return two_columns(second)
    return project_simplex(mean_group)


class SoftLabelMixin:
    """Rows with soft labels: real numbers near +-1, or near 0 and 1 for each of three classes.

    Goes before :class:`BaseProportionsClassifier`. A subclass writes ``_fit_values(data)``, the
    soft labels of the training rows, and ``_values(X)``, those of any rows, both
    (n_rows, n_outputs). A group's shares are those of its mean soft label, which is what was
    fitted.
    """

    rule_: Rule
    _checked: Callable[..., tuple[Rows, Groups]]
    _constant: bool
    _present: NDArray[np.bool_]

    @abstractmethod
    def _fit_values(self, data: ShareRows) -> NDArray[np.float64]:
        """Fit; the soft labels of the training rows."""

    @abstractmethod
    def _values(self, X: Rows) -> NDArray[np.float64]:
        """Soft labels of checked rows."""

    def _learn(self, data: ShareRows) -> RowProba:
        return soft_label_proba(self._fit_values(data))

    def _proba(self, X: Rows) -> RowProba:
        return soft_label_proba(self._values(X))

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        if self._constant:
            return self.rule_.combine(proba_row, groups)
        # Scores are SLOPE times the soft labels, for three and more classes up to a constant of
        # the row, and the nearest distribution does not depend on such constants.
        score = score_row[:, None] if score_row.ndim == 1 else score_row[:, self._present]
        shares = np.zeros((groups.n_groups, len(self._present)))
        shares[:, self._present] = soft_label_shares(groups.mean(score) / SLOPE)
        return shares

    def soft_labels(self, X: MatrixLike) -> NDArray[np.float64]:
        """The function f that is learned, on each row.

        Returns
        -------
        values : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
            Near -1 and +1 (second class) for two classes; near 0 and 1 for more. Classes that no
            training group had rows of do not count.
        """
        rows, _ = self._checked(X, None)
        if self._constant:
            raise AttributeError(
                "all groups had the same shares of the classes, so no function was learned; "
                "predict_proba gives the shares"
            )
        values = self._values(rows)
        return values[:, 0] if values.shape[1] == 1 else values
