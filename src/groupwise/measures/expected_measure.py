"""Decide every group so that its expected measure is largest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import Ids, MatrixLike, RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs.parameters import check_number
from groupwise.measures.base import BaseMeasureClassifier, fit_rows
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.decision import best_f_cuts, with_own_shares
from groupwise.measures.held_out import held_out_scores
from groupwise.metrics import Accuracy, FBeta, GroupMean, GroupMeasure, MeasureLike
from groupwise.model_selection import Splitter
from groupwise.validation import GroupedRows, check_groups, check_rows, split_group_column

__all__ = ["ExpectedMeasureClassifier"]

# Tried on held-out groups; of equally good ones the first, the weakest change.
_STRENGTHS = (np.inf, 3000.0, 1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)


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
    one, and each gets at least one row called positive.

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
    ``predict``, ``decision_function`` and ``score`` take ``groups``. Without groups every row is
    decided on its own, by its most likely class, which is the same rule for a group of one row.
    ``predict_proba`` gives the rows' probabilities, which no group changes.

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

    __metadata_request__predict = {"groups": True}  # noqa: RUF012
    __metadata_request__decision_function = {"groups": True}  # noqa: RUF012

    _learns_from_groups = False

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

    def fit(
        self, X: MatrixLike, y: ArrayLike, *, groups: Ids = None
    ) -> "ExpectedMeasureClassifier":
        """Fit to labelled rows in groups.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The rows' labels, of two classes; the second is the positive one.
        groups : array-like of shape (n_rows,), default=None
            Passed on to the estimator if it takes them.

        Returns
        -------
        self : ExpectedMeasureClassifier
        """
        measure = self._measure(2)
        if not isinstance(measure, FBeta | Accuracy):
            raise ValueError(
                "the best labelling is known for accuracy and F measures, not for "
                f"{measure!r}; ThresholdTunedClassifier serves any measure"
            )
        if self.strength != "tuned":
            check_number("strength", self.strength, "[0, inf]")
        data = self._check_training(X, y, groups)
        self._check_two_classes()
        estimator = self._estimator()
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"{type(estimator).__name__} has no predict_proba")
        rng = check_random_state(self.random_state)
        self.measure_ = measure
        self.share_ = float(data.y_row.mean())
        some_empty = bool((data.groups.sum(data.y_row) == 0).any())
        self.may_be_empty_ = some_empty and measure.without_positives == "count"
        self.strength_, self.held_out_measure_ = self._tune(data, measure, rng)
        self.estimator_ = fit_rows(estimator, data.X, data.y_row, data.groups.codes, rng)
        return self

    def _tune(
        self, data: GroupedRows, measure: FBeta | Accuracy, rng: np.random.RandomState
    ) -> tuple[float, dict[float, float] | None]:
        """The strength, and the mean measure of held-out groups for each one tried."""
        if self.strength != "tuned":
            return float(self.strength), None
        if data.groups.n_groups == data.groups.n_rows:
            return np.inf, None
        log_odds = held_out_scores(
            self._estimator(), data, _log_odds_of, cv=self.cv, random_state=rng
        )
        means = {}
        for strength in _STRENGTHS:
            score_row = self._decide(log_odds, data.groups, measure, strength)
            means[strength] = GroupMean()(measure.of(data.y_row, score_row, data.groups))
        return max(means, key=lambda strength: means[strength]), means

    def _decide(
        self, log_odds: NDArray[Any], groups: Groups, measure: GroupMeasure, strength: float
    ) -> NDArray[Any]:
        moved = with_own_shares(log_odds, groups, share=self.share_, strength=strength)
        if not isinstance(measure, FBeta):
            return moved
        cuts = best_f_cuts(expit(moved), groups, beta=measure.beta, may_be_empty=self.may_be_empty_)
        return moved - cuts.cut[groups.codes]

    def _estimator(self) -> BaseEstimator:
        return BoostedRowsClassifier() if self.estimator is None else self.estimator

    def predict_proba(self, X: MatrixLike) -> NDArray[Any]:
        """Class probabilities of each row, as the estimator gives them.

        Returns
        -------
        proba : ndarray of shape (n_rows, 2)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(check_rows(self, self._features(X)))

    def decision_function(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Log-odds of each row less the cut of its group: positive rows are above zero.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : ndarray of shape (n_rows,)
        """
        log_odds = _log_odds(self.predict_proba(X))
        groups = split_group_column(X, self.group_column, groups, required=False)[1]
        if groups is None:
            return log_odds
        encoded = check_groups(groups, _num_samples(X))
        return self._decide(log_odds, encoded, self.measure_, self.strength_)

    def predict(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Predict the class of each row, in view of its group.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            ``None``: each row is decided on its own.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        score_row = self.decision_function(X, groups)
        return self.classes_[(score_row > 0).astype(np.intp)]

    def score(self, X: MatrixLike, y: ArrayLike, groups: Ids = None) -> float:
        """Mean over groups of the measure.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
        """
        score_row = self.decision_function(X, groups)
        return self._mean_measure(y, score_row, self._groups_of(X, groups))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = self._estimator().__sklearn_tags__().input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        tags.classifier_tags.multi_class = False
        return tags


def _log_odds_of(model: Any, X: Rows) -> NDArray[Any]:
    return _log_odds(model.predict_proba(X))


def _log_odds(proba_row: NDArray[Any]) -> NDArray[Any]:
    return logit(np.clip(proba_row[:, 1], 1e-12, 1.0 - 1e-12))
