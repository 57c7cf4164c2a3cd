"""Decide every group so that its expected measure is largest."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting.votes import link
from groupwise.groups import Groups
from groupwise.inputs import GroupedRows, check_number, take_rows_like
from groupwise.measures.base import BaseMeasureClassifier
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.decision import STRENGTHS, score_for_f, with_own_shares
from groupwise.measures.held_out import fit_rows, held_out_scores
from groupwise.metrics import Accuracy, FBeta, GroupMean, GroupMeasure, MeasureLike, ask
from groupwise.model_selection import Splitter

__all__ = ["ExpectedMeasureClassifier"]


class ExpectedMeasureClassifier(BaseMeasureClassifier):
    r"""A row classifier whose groups are labelled for the largest expected measure.

    The probabilities :math:`p_{ij}` of the rows come from any classifier (by default gradient
    boosting). No single threshold on them is best for a mean of group measures: for F1 the best
    threshold of a group is half of the F1 it can reach, so it differs from group to group. This
    classifier computes, for every group, the expected F of calling its k most likely rows positive,
    exactly for independent labels, and takes the best k
    (:func:`groupwise.measures.decision.best_f_cuts`).

    Before that, probabilities may be moved to the group's own share of positives, as far as its
    rows tell (:func:`groupwise.measures.decision.with_own_shares`); how far is chosen on held-out
    groups. And if no group was without positives in training, groups are taken to have at least
    one, and each gets at least one row called positive. Two classes; groups are passed on to an
    estimator that takes them.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``predict_proba``; ``None`` is :class:`BoostedRowsClassifier`. Its
        probabilities should be calibrated, for which scikit-learn's ``CalibratedClassifierCV`` can
        help.
    measure : str or GroupMeasure, default="f1"
        ``"f1"``, :class:`FBeta` or ``"accuracy"`` (whose best cut is one half everywhere).
    strength : float or "tuned", default="tuned"
        How many rows of the overall share of positives each group's own share starts with; ``inf``
        takes the probabilities as they are. ``"tuned"`` takes the best mean measure of held-out
        groups (``cv`` more fits); without groups it is ``inf``.
    cv : int or splitter, default=3
        Number of folds of whole groups for it, or a splitter that keeps groups whole and tests
        every row once.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
        For the folds and the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimator_ : classifier
        Fitted.
    measure_ : GroupMeasure
        What groups are decided for.
    share_ : float
        Share of positive rows in training.
    strength_ : float
    held_out_measure_ : dict or None
        Mean measure of the held-out groups for each strength tried.
    may_be_empty_ : bool
        Whether groups may be without positives.
    n_groups_ : int

    Notes
    -----
    ``decision_function`` is the log-odds of each row less the cut of its group: positive rows are
    above zero. ``predict_proba`` holds the rows' probabilities as the estimator gives them, which
    no group changes; ``predict_groups`` goes by the rows' labels. A group of one row is decided by
    its likelier class (unless every group has a positive row), so that without groups the method is
    its estimator. A model fitted with groups is not asked without.

    References
    ----------
    M. Saerens, P. Latinne and C. Decaestecker (2002). Adjusting the outputs of a classifier to new
    a priori probabilities. Neural Computation.
    N. Ye, K. Chai, W. Lee and H. Chieu (2012). Optimizing F-measures: a tale of two approaches.
    ICML. The integral is ours.

    Examples
    --------
    >>> from groupwise.datasets.users import make_users
    >>> from groupwise.measures import BoostedRowsClassifier, ExpectedMeasureClassifier
    >>> u = make_users(n_users=40, random_state=0)
    >>> clf = ExpectedMeasureClassifier(BoostedRowsClassifier(n_estimators=30))
    >>> clf = clf.fit(u.X, u.y, groups=u.groups)
    >>> clf.predict(u.X, groups=u.groups).shape == u.y.shape
    True
    """

    _decides_per_group = True

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        measure: MeasureLike = "f1",
        strength: float | str = "tuned",
        cv: int | Splitter = 3,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.strength = strength
        self.cv = cv
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if self.strength != "tuned":
            check_number("strength", self.strength, "[0, inf]")
        estimator = self._estimator()
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"{type(estimator).__name__} has no predict_proba")

    def _learn(self, data: GroupedRows) -> None:
        rng = check_random_state(self.random_state)
        self.share_ = float(data.y_row.mean())
        self.may_be_empty_ = _may_be_empty(data, self.measure_)
        self.strength_, self.held_out_measure_ = self._tune(data, rng)
        self.estimator_ = fit_rows(self._estimator(), data.X, data.y_row, data.groups, rng)

    def _resolve_measure(self) -> GroupMeasure:
        measure = super()._resolve_measure()
        if not isinstance(measure, FBeta | Accuracy):
            raise ValueError(
                "the best labelling is known for accuracy and F measures, not for "
                f"{measure!r}; ThresholdTunedClassifier serves any measure"
            )
        return measure

    def _tune(
        self, data: GroupedRows, rng: np.random.RandomState
    ) -> tuple[float, dict[float, float] | None]:
        """The strength, and the mean measure of held-out groups for each one tried."""
        if self.strength != "tuned":
            return float(self.strength), None
        if _rows_alone(data.groups):
            return np.inf, None
        log_odds = held_out_scores(self._estimator(), data, _log_odds, cv=self.cv, random_state=rng)
        means = {}
        for strength in STRENGTHS:
            score_row = self._decide(log_odds, data.groups, strength)
            means[strength] = GroupMean()(self.measure_.of(data.y_row, score_row, data.groups))
        return max(means, key=lambda strength: means[strength]), means

    def _decide(self, log_odds: NDArray[Any], groups: Groups, strength: float) -> NDArray[Any]:
        if isinstance(self.measure_, FBeta):
            decided = score_for_f(
                log_odds,
                groups,
                share=self.share_,
                strength=strength,
                beta=self.measure_.beta,
                may_be_empty=self.may_be_empty_,
            )
        else:
            decided = with_own_shares(log_odds, groups, share=self.share_, strength=strength)
        if not self.may_be_empty_:
            return decided
        # the same decision where F is best, and a score that still tells rows apart
        return np.where(groups.sizes[groups.codes] == 1, log_odds, decided)

    def _estimator(self) -> BaseEstimator:
        return BoostedRowsClassifier() if self.estimator is None else self.estimator

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        proba_row = ask(self.estimator_, rows, groups).proba_row
        return self._decide(_logit(proba_row), groups, self.strength_), proba_row

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        return self.rule_.combine(link(score_row), groups)  # the rows' labels vote

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        take_rows_like(tags, self._estimator())
        tags.classifier_tags.multi_class = False
        return tags


def _log_odds(model: BaseEstimator, X: Rows, groups: Groups) -> NDArray[Any]:
    return _logit(ask(model, X, groups).proba_row)


def _logit(proba_row: NDArray[Any]) -> NDArray[Any]:
    return logit(np.clip(proba_row[:, 1], 1e-12, 1.0 - 1e-12))


def _rows_alone(groups: Groups) -> bool:
    return groups.n_groups == groups.n_rows


def _may_be_empty(data: GroupedRows, measure: GroupMeasure) -> bool:
    """Whether groups may be without positives; a row alone always may."""
    some_are = bool((data.groups.sum(data.y_row) == 0).any())
    skipped = getattr(measure, "without_positives", "count") == "skip"
    return _rows_alone(data.groups) or (some_are and not skipped)
