"""What a fitted estimator says about rows and groups, in one shape for all methods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from groupwise.base import BaseGroupClassifier
from groupwise.gbdt import GroupBoostClassifier
from groupwise.gbdt.classifier import combine_scores
from groupwise.groups import Groups
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.rules import get_rule

__all__ = ["Predictions", "predict_all"]


@dataclass(frozen=True)
class Predictions:
    """Predictions for rows and groups.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    groups : Groups
    score_row : ndarray of shape (n_rows,) or (n_rows, n_classes)
        As measures take it: above zero is the second of two classes.
    proba_row : ndarray of shape (n_rows, n_classes) or None
        ``None`` where the method has no probabilities.
    proba_group : ndarray of shape (n_groups, n_classes)
        Probabilities of the group's class, or predicted shares.
    code_row : ndarray of shape (n_rows,)
        Positions in ``classes``.
    """

    classes: NDArray[Any]
    groups: Groups
    score_row: NDArray[Any]
    proba_row: NDArray[Any] | None
    proba_group: NDArray[Any]
    code_row: NDArray[np.intp]

    @property
    def code_group(self) -> NDArray[np.intp]:
        return self.proba_group.argmax(axis=1)


def predict_all(estimator: Any, X: NDArray[Any], groups: Groups) -> Predictions:
    """Ask a fitted estimator about rows and their groups.

    A pass through the trees costs seconds on a large table, so rows are asked once where the
    groups' answer follows from the rows'.
    """
    classes = np.asarray(estimator.classes_)
    if isinstance(estimator, GroupBoostClassifier):
        return _from_scores(estimator, X, groups)
    proba = None
    if hasattr(estimator, "predict_proba"):
        proba = np.asarray(estimator.predict_proba(X))
    if proba is None or isinstance(estimator, BaseMeasureClassifier):  # scores know thresholds
        score = np.asarray(estimator.decision_function(X))
        code = np.searchsorted(classes, np.asarray(estimator.predict(X)))
    else:
        score = proba[:, 1] - 0.5 if len(classes) == 2 else proba
        code = proba.argmax(axis=1)
    votes = np.eye(len(classes))[code] if proba is None else proba
    own = getattr(type(estimator), "predict_groups_proba", None)
    if own is None:
        proba_group = get_rule("majority").combine(votes, groups)
    elif own is BaseGroupClassifier.predict_groups_proba:
        proba_group = estimator._rule().combine(votes, groups)
    else:
        proba_group = np.asarray(estimator.predict_groups_proba(X, groups))
    return Predictions(classes, groups, score, proba, proba_group, code)


def _from_scores(estimator: GroupBoostClassifier, X: NDArray[Any], groups: Groups) -> Predictions:
    score = estimator.decision_function(X)
    proba = estimator.loss_.proba(score)
    proba_group = combine_scores(score, groups, estimator.loss_, estimator.rule_)
    return Predictions(estimator.classes_, groups, score, proba, proba_group, proba.argmax(axis=1))
