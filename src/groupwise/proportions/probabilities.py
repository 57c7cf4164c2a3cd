"""Class probabilities of rows with their logarithms, from scores or from shares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_softmax

from groupwise.losses.base import link

__all__ = ["RowProba"]

_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class RowProba:
    """Class probabilities of rows, and their logarithms.

    Attributes
    ----------
    proba : ndarray of shape (n_rows, n_classes)
    log_proba : ndarray of shape (n_rows, n_classes)
        Finite, also where the probability is zero; from scores, exact where it underflows.
    """

    proba: NDArray[np.float64]
    log_proba: NDArray[np.float64]

    @classmethod
    def of_scores(cls, score: NDArray[np.float64]) -> "RowProba":
        """Logistic of one column, the log-odds of the second class; softmax of several."""
        if score.shape[1] == 1:
            log_odds = score[:, 0]
            log_proba = np.column_stack([log_expit(-log_odds), log_expit(log_odds)])
            return cls(link(log_odds), log_proba)
        return cls(link(score), log_softmax(score, axis=1))

    @classmethod
    def of_proba(cls, proba: NDArray[np.float64]) -> "RowProba":
        """Of probabilities that may be zero."""
        return cls(proba, np.log(np.maximum(proba, _TINY)))

    def with_absent(self, present: NDArray[np.bool_]) -> "RowProba":
        """Columns for all classes, of which only those ``present`` are held; the others are zero.

        Examples
        --------
        >>> import numpy as np
        >>> known = RowProba.of_proba(np.array([[0.25, 0.75]]))
        >>> known.with_absent(np.array([True, False, True])).proba.tolist()
        [[0.25, 0.0, 0.75]]
        """
        if present.all():
            return self
        proba = np.zeros((len(self.proba), len(present)))
        log_proba = np.full(proba.shape, np.log(_TINY))
        proba[:, present], log_proba[:, present] = self.proba, self.log_proba
        return RowProba(proba, log_proba)

    def scores(self) -> NDArray[np.float64]:
        """Log-odds of the second of two classes, (n_rows,); of more, the log-probabilities."""
        if self.log_proba.shape[1] == 2:
            return self.log_proba[:, 1] - self.log_proba[:, 0]
        return self.log_proba
