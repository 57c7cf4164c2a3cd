"""Decide every group so that its expected measure is largest."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logit
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise.groups import Groups
from groupwise.measures.base import BaseMeasureClassifier, fit_rows
from groupwise.measures.boosted_rows import BoostedRowsClassifier
from groupwise.measures.counts import Accuracy, FBeta
from groupwise.measures.expected import best_f_cuts
from groupwise.validation import check_groups, check_rows, split_group_column

__all__ = ["ExpectedMeasureClassifier"]


class ExpectedMeasureClassifier(BaseMeasureClassifier):
    r"""A row classifier whose groups are labelled for the largest expected measure.

    The chances :math:`p_{ij}` of the rows come from any classifier (by default gradient boosting).
    No single threshold on them is best for a mean of group measures: for F1 the best threshold of a
    group is half of the F1 it can reach, so it differs from group to group. This classifier
    computes, for every group, the expected F of calling its k most likely rows positive, exactly
    for independent labels, and takes the best k (:func:`groupwise.measures.expected.best_f_cuts`).

    If no group was without positives in training, groups are taken to have at least one, and each
    gets at least one row called positive.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``predict_proba``; ``None`` is :class:`BoostedRowsClassifier`. Its chances should be
        honest (calibrated), for which scikit-learn's ``CalibratedClassifierCV`` can help.
    measure : str or GroupMeasure, default="f1"
        ``"f1"``, :class:`FBeta` or ``"accuracy"`` (whose best cut is one half everywhere).
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None
        For the estimator.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    estimator_ : classifier
        Fitted.
    may_be_empty_ : bool
        Whether groups may be without positives.
    n_groups_ : int

    Notes
    -----
    ``predict``, ``decision_function`` and ``score`` take ``groups``. Without groups every row is
    decided on its own, by its most likely class, which is the same rule for a group of one row.
    ``predict_proba`` gives the rows' chances, which no group changes.

    References
    ----------
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
        estimator: Any = None,
        *,
        measure: Any = "f1",
        group_column: str | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.measure = measure
        self.group_column = group_column
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike, *, groups: ArrayLike | None = None
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
        data = self._check_training(X, y, groups)
        self._check_two_classes()
        estimator = self._estimator()
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"{type(estimator).__name__} has no predict_proba")
        rng = check_random_state(self.random_state)
        self.estimator_ = fit_rows(estimator, data.X, data.y_row, data.groups.codes, rng)
        some_empty = bool((data.groups.sum(data.y_row) == 0).any())
        self.may_be_empty_ = some_empty and measure.without_positives == "count"
        return self

    def _estimator(self) -> Any:
        return BoostedRowsClassifier() if self.estimator is None else self.estimator

    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Class probabilities of each row, as the estimator gives them.

        Returns
        -------
        proba : ndarray of shape (n_rows, 2)
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(check_rows(self, self._features(X)))

    def decision_function(self, X: Any, groups: ArrayLike | Groups | None = None) -> NDArray[Any]:
        """Log-odds of each row less the cut of its group: positive rows are above zero.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : ndarray of shape (n_rows,)
        """
        positive = self.predict_proba(X)[:, 1]
        log_odds = logit(np.clip(positive, 1e-12, 1.0 - 1e-12))
        groups = split_group_column(X, self.group_column, groups, required=False)[1]
        measure = self._measure(2)
        if groups is None or not isinstance(measure, FBeta):
            return log_odds
        encoded = check_groups(groups, _num_samples(X))
        cuts = best_f_cuts(positive, encoded, beta=measure.beta, may_be_empty=self.may_be_empty_)
        return log_odds - cuts.cut[encoded.codes]

    def predict(self, X: Any, groups: ArrayLike | Groups | None = None) -> NDArray[Any]:
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

    def score(self, X: Any, y: ArrayLike, groups: ArrayLike | Groups | None = None) -> float:
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._estimator().__sklearn_tags__().input_tags
        tags.input_tags.sparse = inner.sparse
        tags.input_tags.allow_nan = inner.allow_nan
        tags.classifier_tags.multi_class = False
        return tags
