"""Models of the source's rows alone, and what they say of rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from groupwise._typing import Rows
from groupwise.exceptions import GroupDataError
from groupwise.inputs import DomainRows
from groupwise.transfer.learners import Learner
from groupwise.transfer.weighted import WeightedTransferClassifier

__all__ = ["fit_source_models", "source_log_odds"]


def fit_source_models(
    data: DomainRows, learners: Sequence[Learner], seed: int
) -> list[WeightedTransferClassifier]:
    """One model per learner of all sources together, of class codes; none without their rows."""
    if not data.n_source:
        return []
    source = data.take(np.flatnonzero(~data.is_target))
    if len(np.unique(source.y_row)) < 2:
        raise GroupDataError("the rows of the source hold one class only: it has no model")
    return [
        WeightedTransferClassifier(learner, weighting="union", random_state=seed).fit(
            source.X, source.y_row, sample_weight=source.weight_row, X_unlabeled=data.X_unlabeled
        )
        for learner in learners
    ]


def source_log_odds(
    models: Sequence[WeightedTransferClassifier], X: Rows, n_classes: int, *, edge: float
) -> NDArray[Any]:
    """Log-odds (n_rows, n_models, n_classes) of probabilities kept ``edge`` from 0 and 1."""
    codes = np.arange(n_classes)
    proba = np.empty((X.shape[0], len(models), n_classes))
    for place, model in enumerate(models):
        proba[:, place] = model.predictions(X).with_classes(codes).proba_row
    return logit(np.clip(proba, edge, 1.0 - edge))
