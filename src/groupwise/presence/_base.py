"""What the linear-programming boosters share: parameters, outputs, and the stored ensemble."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from groupwise.base import BaseGroupClassifier
from groupwise.boosting import Ensemble
from groupwise.exceptions import GroupDataError
from groupwise.groups import show
from groupwise.presence._master import Master
from groupwise.presence._pool import AskedPool, Pool
from groupwise.presence.rule import Presence
from groupwise.presence.stumps import Stumps
from groupwise.rules import Rule
from groupwise.validation import check_rows

__all__ = ["BaseProgramBooster"]

_ZERO = 1e-12


class BaseProgramBooster(BaseGroupClassifier):
    """A classifier whose weights solve a linear program over hypotheses."""

    estimator: Any
    nu: float
    C: float | None
    background: Any
    tol: float
    n_asked: int

    ensembles_: list[Ensemble]
    estimator_weights_: NDArray[Any]

    def _rule(self) -> Rule:
        return Presence(self._background())

    def _background(self) -> int | None:
        """Position of the class that a group has only if all of its rows have it."""
        if isinstance(self.background, str) and self.background == "auto":
            return 0 if len(self.classes_) == 2 else None
        if self.background is None:
            return None
        at = np.flatnonzero(self.classes_ == self.background)
        if not len(at):
            raise GroupDataError(
                f"background must be 'auto', None or one of the classes {self.classes_.tolist()}, "
                f"got {show(self.background)}"
            )
        return int(at[0])

    def _check_parameters(self) -> None:
        if self.C is None and not (np.isfinite(self.nu) and 0 < self.nu <= 1):
            raise ValueError(f"nu must be in (0, 1], got {self.nu!r}")
        if self.C is not None and not (np.isfinite(self.C) and self.C > 0):
            raise ValueError(f"C must be a finite number > 0, got {self.C!r}")
        if self.n_asked < 1:
            raise ValueError(f"n_asked must be at least 1, got {self.n_asked!r}")

    def _cost(self, n_examples: int) -> float:
        return 1.0 / (self.nu * n_examples) if self.C is None else float(self.C)

    def _learner(self) -> Any:
        return Stumps(32) if self.estimator is None else self.estimator

    def _store(self, master: Master, weight: NDArray[Any]) -> None:
        """Keep the hypotheses with a weight; one ensemble for each output."""
        used = np.flatnonzero(weight > _ZERO)
        columns, weight = master.columns[used], weight[used]
        self.estimator_weights_ = weight
        self._n_outputs = master.problem.n_outputs
        self.ensembles_ = []
        for output in range(self._n_outputs):
            mine = columns.output == output
            self.ensembles_.append(
                _combine(master.pool, columns.number[mine], (columns.sign * weight)[mine])
            )

    @property
    def ensemble_(self) -> Ensemble:
        """The weighted hypotheses of a model with two classes."""
        check_is_fitted(self)
        if len(self.ensembles_) > 1:
            raise AttributeError("with three or more classes there is an ensemble for each of them")
        return self.ensembles_[0]

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Score of each row, on the scale of the margin: 1 is as sure as asked for.

        Returns
        -------
        score : ndarray of shape (n_rows,) for two classes, else (n_rows, n_classes)
        """
        check_is_fitted(self)
        X = check_rows(self, self._features(X))
        scores = [ensemble.score(X) for ensemble in self.ensembles_]
        return scores[0] if len(scores) == 1 else np.column_stack(scores)

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The logistic function of twice the score: above one half where positive, but no chance.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        score = self.decision_function(X)
        if score.ndim == 1:
            score = np.column_stack([-score, score])
        return softmax(score, axis=1)


def _combine(pool: Pool | AskedPool, number: NDArray[np.intp], weight: NDArray[Any]) -> Ensemble:
    """Sum up equal hypotheses, so that each is evaluated once."""
    distinct, place = np.unique(number, return_inverse=True)
    return pool.combine(distinct, np.bincount(place, weight, minlength=len(distinct)))
