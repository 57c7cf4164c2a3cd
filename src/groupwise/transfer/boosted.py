"""What the boosted transfer classifiers share: parameters of rounds, probabilities, stages."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from groupwise.boosting import HistTrees
from groupwise.transfer.base import BaseTransferClassifier, TransferRows, decide, domain_shares
from groupwise.transfer.rounds import first_voter
from groupwise.validation import check_rows

__all__ = [
    "BoostedTransferClassifier",
    "StagedTransferClassifier",
    "initial_share",
    "starting_weights",
]


class BoostedTransferClassifier(BaseTransferClassifier):
    """Base of the classifiers that add up votes: ``ensemble_`` is a score in log-odds."""

    estimator: Any
    n_estimators: int

    def _check_choices(self, **allowed: tuple[str, ...]) -> None:
        """Check the number of rounds and the parameters that name a choice."""
        if self.n_estimators < 1:
            raise ValueError(f"n_estimators must be at least 1, got {self.n_estimators!r}")
        for name, values in allowed.items():
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be one of {values}, got {getattr(self, name)!r}")

    def predict_proba(self, X: Any) -> NDArray[Any]:
        r"""Class probabilities of each row: AdaBoost's estimate from the score.

        For two classes :math:`1/(1 + e^{-F(x)})` with
        :math:`F = \sum_t \ln(1/\beta_t) (2 h_t - 1)`.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            return softmax(np.column_stack([-0.5 * score, 0.5 * score]), axis=1)
        return softmax(score / (score.shape[1] - 1), axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or isinstance(self.estimator, HistTrees)
        return tags


class StagedTransferClassifier(BoostedTransferClassifier):
    """Base of those whose rounds come one after the other.

    A subclass stores ``rounds_`` (an ensemble of all rounds), ``ensemble_`` (those that vote) and
    ``_half_votes``.
    """

    rounds_: Any
    _half_votes: bool = False

    def _votes_from(self, n_rounds: int) -> int:
        """The first round that votes in a run of this length, counted from 0."""
        return first_voter(n_rounds) if self._half_votes else 0

    def staged_decision_function(self, X: Any) -> Iterator[NDArray[Any]]:
        """Scores the model would give had it stopped after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)

        Yields
        ------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = check_rows(self, X)
        totals: dict[int, Any] = {0: 0.0}
        for length, total in enumerate(self.rounds_.staged_score(X), start=1):
            totals[length] = total
            first = self._votes_from(length)
            yield total - totals[first]
            for passed in [key for key in totals if key < first]:
                del totals[passed]

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Classes the model would give had it stopped after each round."""
        for score in self.staged_decision_function(X):
            yield self.classes_[decide(score)]


def initial_share(initial: str | float) -> float | None:
    """The target's share of the initial weight; ``None`` where every row weighs the same."""
    if isinstance(initial, str):
        if initial in ("uniform", "equal_mass"):
            return None if initial == "uniform" else 0.5
    elif 0.0 < initial < 1.0:
        return float(initial)
    raise ValueError(
        f"initial must be 'uniform', 'equal_mass' or a share in (0, 1), got {initial!r}"
    )


def starting_weights(data: TransferRows, initial: str | float) -> NDArray[np.float64]:
    """The weights of the first round, a fresh array."""
    share = initial_share(initial)
    if share is None:
        return data.weight_row.copy()
    return domain_shares(data.weight_row, data.is_target, share)
