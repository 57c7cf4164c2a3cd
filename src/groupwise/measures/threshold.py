"""Any scorer of rows, with the threshold that is best for groups it has not seen."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting.votes import link
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, take_rows_like
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.held_out import fit_rows, held_out_scores
from groupwise.metrics import GroupMean, GroupMeasure, MeasureLike, ask
from groupwise.model_selection import Splitter

__all__ = ["ThresholdTunedClassifier", "best_threshold"]


def best_threshold(
    y_row: NDArray[Any],
    score_row: NDArray[Any],
    groups: Groups,
    measure: GroupMeasure,
    *,
    n_candidates: int = 200,
) -> tuple[float, float]:
    """The threshold with the largest mean group measure, and that mean.

    Candidates lie half-way between neighbouring scores, at ranks that are dense at the top, where
    rare positives are, and reach to the bottom; the ends (all rows, no row) are among them. Of
    equally good ones the middle one is taken.
    """
    values = np.unique(score_row)[::-1]
    steps = np.concatenate(
        [np.geomspace(1, len(values), n_candidates), np.linspace(1, len(values), n_candidates // 4)]
    )
    rank = np.unique(steps.astype(np.intp))
    rank = rank[rank < len(values)]
    middle = 0.5 * (values[rank - 1] + values[rank])
    candidates = np.concatenate([[values[0] + 1.0], middle, [values[-1] - 1.0]])
    means = np.array([GroupMean()(measure.of(y_row, score_row - c, groups)) for c in candidates])
    best = np.flatnonzero(means >= means.max() - 1e-12)
    chosen = best[len(best) // 2]
    return float(candidates[chosen]), float(means[chosen])


class ThresholdTunedClassifier(BaseMeasureClassifier):
    """A classifier of rows with one threshold, chosen on held-out groups for a group measure.

    The training groups are split into folds, each fold is scored by a model of the others, and the
    threshold on these scores with the largest mean measure is kept; the model is then fitted to
    all groups, which are passed on to an estimator that takes them. Two classes. Every method of a
    comparison deserves this treatment.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``decision_function`` or ``predict_proba``; ``None`` is
        :class:`BoostedRowsClassifier`.
    measure : str, GroupMeasure or callable, default="f1"
        A measure of labels; one of an order has no use for a threshold.
    cv : int or splitter, default=5
        Number of folds of whole groups, or a splitter that keeps groups whole and tests every row
        once.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
        For the folds and the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimator_ : classifier
        Fitted to all groups.
    threshold_ : float
        On the estimator's ``decision_function`` (or its probability of the second class less one
        half).
    measure_ : GroupMeasure
    held_out_measure_ : float
        Mean measure of the held-out groups at the threshold; a little too good, as the threshold
        was chosen by it.
    n_groups_ : int

    Notes
    -----
    ``decision_function`` is the estimator's score less the threshold, and ``predict_proba`` the
    logistic function of that: above one half where it is positive, not calibrated.

    Examples
    --------
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import BoostedRowsClassifier, ThresholdTunedClassifier
    >>> u = make_users(n_users=30, random_state=0)
    >>> clf = ThresholdTunedClassifier(BoostedRowsClassifier(n_estimators=20), cv=3, random_state=0)
    >>> clf.fit(u.X, u.y, groups=u.groups).threshold_ < 0  # positives are rare
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        measure: MeasureLike = "f1",
        cv: int | Splitter = 5,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.cv = cv
        self.group_column = group_column
        self.random_state = random_state

    def _learn(self, data: GroupedRows) -> None:
        rng = check_random_state(self.random_state)
        score_row = held_out_scores(self._estimator(), data, _score, cv=self.cv, random_state=rng)
        self.threshold_, self.held_out_measure_ = best_threshold(
            data.y_row, score_row, data.groups, self.measure_
        )
        self.estimator_ = fit_rows(self._estimator(), data.X, data.y_row, data.groups, rng)

    def _estimator(self) -> BaseEstimator:
        return BoostedRowsClassifier() if self.estimator is None else self.estimator

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = _score(self.estimator_, rows, groups) - self.threshold_
        return score_row, link(score_row)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_rows_like(tags, self._estimator())
        tags.classifier_tags.multi_class = False
        return tags


def _score(model: BaseEstimator, X: Rows, groups: Groups) -> NDArray[Any]:
    return ask(model, X, groups).score_row
