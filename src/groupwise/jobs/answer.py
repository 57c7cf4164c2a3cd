"""What a fitted model says about rows and groups, in one shape for all methods."""

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

__all__ = ["Answer", "ask"]


@dataclass(frozen=True)
class Answer:
    """Predictions for rows and groups.

    Attributes
    ----------
    row_code : ndarray of shape (n_rows,)
        Class codes.
    row_proba : ndarray of shape (n_rows, n_classes) or None
        ``None`` where the method has no probabilities.
    row_score : ndarray of shape (n_rows,) or (n_rows, n_classes)
        As measures take it: above zero is the second of two classes.
    group_proba : ndarray of shape (n_groups, n_classes)
        Probabilities of the group's class, or predicted shares.
    """

    row_code: NDArray[np.intp]
    row_proba: NDArray[Any] | None
    row_score: NDArray[Any]
    group_proba: NDArray[Any]

    @property
    def group_code(self) -> NDArray[np.intp]:
        return self.group_proba.argmax(axis=1)

    def row_weights(self, groups: Groups) -> NDArray[np.float64]:
        """Each row's part in its group's label: its probability of it, as a share of the group."""
        if self.row_proba is None:
            raise ValueError("the method gives no probabilities of rows")
        code = groups.spread(self.group_code)
        proba = self.row_proba[np.arange(len(code)), code]
        total = groups.sum(proba)
        even = 1.0 / groups.sizes
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(
                total[groups.codes] > 0, proba / total[groups.codes], even[groups.codes]
            )


def ask(estimator: Any, X: Any, groups: Groups, n_classes: int) -> Answer:
    """Ask a fitted estimator, trained on class codes, about rows and their groups.

    A pass through the trees costs seconds on a large table, so rows are asked once where the
    groups' answer follows from the rows'.
    """
    if isinstance(estimator, GroupBoostClassifier):
        return _from_scores(estimator, X, groups, n_classes)
    proba = None
    if hasattr(estimator, "predict_proba"):
        proba = _columns(estimator, estimator.predict_proba(X), n_classes)
    if proba is None or isinstance(estimator, BaseMeasureClassifier):  # scores know thresholds
        score = np.asarray(estimator.decision_function(X))
        code = np.asarray(estimator.predict(X)).astype(np.intp)
    else:
        score = proba[:, 1] - 0.5 if n_classes == 2 else proba
        code = proba.argmax(axis=1)
    votes = np.eye(n_classes)[code] if proba is None else proba
    own = getattr(type(estimator), "predict_groups_proba", None)
    if own is None:
        group_proba = get_rule("majority").combine(votes, groups)
    elif own is BaseGroupClassifier.predict_groups_proba:
        group_proba = estimator._rule().combine(votes, groups)
    else:
        group_proba = _columns(estimator, estimator.predict_groups_proba(X, groups), n_classes)
    return Answer(code, proba, score, group_proba)


def _from_scores(estimator: GroupBoostClassifier, X: Any, groups: Groups, n_classes: int) -> Answer:
    score = estimator.decision_function(X)
    proba = _columns(estimator, estimator.loss_.proba(score), n_classes)
    own = combine_scores(score, groups, estimator.loss_, estimator.rule_)
    group_proba = _columns(estimator, own, n_classes)
    return Answer(proba.argmax(axis=1), proba, proba[:, 1] - 0.5, group_proba)


def _columns(estimator: Any, proba: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """One column per class of the job, also of those that a training fold did not hold."""
    known = np.asarray(estimator.classes_).astype(np.intp)
    if len(known) == n_classes:
        return np.asarray(proba)
    full = np.zeros((len(proba), n_classes))
    full[:, known] = proba
    return full
