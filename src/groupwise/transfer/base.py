"""What every transfer estimator shares: rows, their domains, and which domain counts."""

from abc import abstractmethod
from collections.abc import Hashable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import _num_samples, check_is_fitted

from groupwise._typing import Ids, MatrixLike, Rows
from groupwise.base import BaseGroupClassifier, GroupMixin
from groupwise.boosting import HistTrees, WeakLearner, accepts_nan, by_position
from groupwise.boosting.protocol import Scores
from groupwise.boosting.votes import decide, vote_proba
from groupwise.exceptions import GroupDataError, GroupsLostWarning, warn_caller
from groupwise.groups import Groups, show
from groupwise.inputs import (
    ClassWeight,
    DomainRows,
    check_domains,
    check_groups,
    check_labels,
    check_rows,
    check_totals,
    check_weights,
    expecting,
    find_target_rows,
    group_numbers,
    split_column,
)
from groupwise.inputs.labels import one_entry_per_row, refuse_missing
from groupwise.inputs.rows import remember_features
from groupwise.rules import MajorityVote
from groupwise.transfer.learners import Learner, get_transfer_learner

__all__ = [
    "BaseTransferClassifier",
    "TransferMixin",
    "TransferRegressorMixin",
    "class_weighted",
    "log_odds_proba",
]


class TransferMixin(GroupMixin):
    """Domains in ``fit`` and ``score``, where other estimators have groups.

    Its estimators learn from single rows, so groups come in only when a fitted model is asked.
    ``domains`` is requested by default in scikit-learn's metadata routing.
    """

    __metadata_request__fit = {"groups": UNUSED, "domains": True}  # noqa: RUF012
    __metadata_request__score = {"groups": UNUSED, "domains": True}  # noqa: RUF012

    _learns_from_groups = False
    #: Whether a fit without domains is another model than a fit with them.
    _learns_from_domains = True

    domain_column: str | None = None
    target_domain: Hashable | None
    target_domain_: Hashable | None

    @staticmethod
    @abstractmethod
    def _metric(y: ArrayLike, predicted: ArrayLike, *, sample_weight: ArrayLike | None) -> float:
        """What :meth:`score` reports."""

    @abstractmethod
    def _truth(self, y: ArrayLike, rows: Groups) -> NDArray[Any]:
        """What rows are known to be, checked."""

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse constructor parameters that make no sense."""

    @abstractmethod
    def _learn(self, data: DomainRows) -> None:
        """Fit to checked rows, and store what answers need."""

    def _domains_to_fit(self, X: MatrixLike, domains: Ids) -> tuple[Any, Ids]:
        """Features and domains of training data; says where there are no domains."""
        X, domains = split_column(X, self.domain_column, domains, name="domain")
        if domains is None and self._learns_from_domains:
            only = show(0 if self.target_domain is None else self.target_domain)
            warn_caller(
                f"{type(self).__name__}.fit got no domains and takes every row for one of the "
                "target: were they lost on the way? Ways out: "
                "sklearn.set_config(enable_metadata_routing=True), or domain_column= with the ids "
                f"in X; domains=[{only}] * len(X) says that all rows are meant to be of the target",
                GroupsLostWarning,
            )
        return X, domains

    def _checked(
        self, X: MatrixLike, groups: Ids, *, about_groups: bool = False
    ) -> tuple[Rows, Groups]:
        check_is_fitted(self)
        X, _ = split_column(X, self.domain_column, None, name="domain", required=False)
        return super()._checked(X, groups, about_groups=about_groups)

    def _target_rows(self, X: MatrixLike, domains: Ids) -> NDArray[np.bool_]:
        """Which rows a fitted model is judged by; without domains, all of them."""
        check_is_fitted(self)
        _, domains = split_column(X, self.domain_column, domains, name="domain", required=False)
        n_rows = _num_samples(X)
        encoded = None if domains is None else check_groups(domains, n_rows, name="domains")
        return find_target_rows(encoded, self.target_domain_, n_rows)

    def score(
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """How well rows of the target domain are predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            Rows of other domains do not count. ``None``: all rows are of the target (or
            ``domain_column`` holds the domains).
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        score : float
            Classifiers: share of rows predicted right. Regressors: coefficient of determination.
        """
        is_target = self._target_rows(X, domains)
        return self._score_on_target(y, self.predict(X), is_target, sample_weight)

    def _score_on_target(
        self,
        y: ArrayLike,
        predicted: NDArray[Any],
        is_target: NDArray[np.bool_],
        sample_weight: ArrayLike | None,
    ) -> float:
        truth = self._truth(y, Groups.singletons(len(predicted)))
        weight = check_weights(sample_weight, predicted)
        weight = None if weight is None else weight[is_target]
        with expecting("y", "what fit was given"):
            found = self._metric(truth[is_target], predicted[is_target], sample_weight=weight)
        return float(found)


def class_weighted(
    weight_row: NDArray[Any],
    y_row: NDArray[np.intp],
    classes: NDArray[Any],
    class_weight: ClassWeight,
) -> NDArray[Any]:
    """Weights with the same total in every class (``"balanced"``), or times those of a dict."""
    if class_weight is None:
        return weight_row
    if isinstance(class_weight, str):
        return weight_row / np.bincount(y_row, weights=weight_row)[y_row]
    return weight_row * np.array([class_weight.get(c, 1.0) for c in classes.tolist()])[y_row]


def log_odds_proba(score: NDArray[Any]) -> NDArray[Any]:
    r"""Class probabilities from :math:`F = \sum_t \ln(1/\beta_t) (2 h_t - 1)`.

    For two classes :math:`1/(1 + e^{-F(x)})`, AdaBoost's estimate; for more that of SAMME.
    """
    return vote_proba(score, 0.5 if score.ndim == 1 else 1.0 / (score.shape[1] - 1))


class BaseTransferClassifier(TransferMixin, BaseGroupClassifier):
    """Base of the transfer classifiers.

    A subclass has the constructor parameters ``target_domain`` and ``domain_column``, writes
    :meth:`_check_parameters` and :meth:`_learn`, and stores ``ensemble_`` or writes
    :meth:`_score_rows`.
    """

    _metric = staticmethod(accuracy_score)

    __metadata_request__fit = {"X_unlabeled": True}  # noqa: RUF012

    estimator: Learner
    ensemble_: Scores

    #: Whether a fit needs labelled rows of the target domain.
    _needs_target = True

    def fit(  # type: ignore[override]  # domains in the place of groups
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
        X_unlabeled: MatrixLike | None = None,
    ) -> Self:
        """Fit to labelled rows of the target and of other domains.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The class of each row.
        domains : array-like of shape (n_rows,), default=None
            The domain of each row; all but ``target_domain`` are source. ``None``: all rows are of
            the target (or ``domain_column`` holds the domains), and a warning says so.
        sample_weight : array-like of shape (n_rows,), default=None
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows of the target without labels, for learners and weightings that use them.

        Returns
        -------
        self : object
        """
        trial = self._trial()
        trial._check_parameters()
        trial._learn(trial._check_training(X, y, domains, sample_weight, X_unlabeled))
        return self._take_over(trial)

    def _check_training(  # type: ignore[override]  # domains in the place of groups
        self,
        X: MatrixLike,
        y: ArrayLike,
        domains: Ids,
        sample_weight: ArrayLike | None = None,
        X_unlabeled: MatrixLike | None = None,
    ) -> DomainRows:
        """Check training data and store what every fitted model knows of them."""
        X, domains = self._domains_to_fit(X, domains)
        trial = copy(self)  # remembers the features before all is checked
        rows = check_labels(trial, X, y, None, one_label_per_group=False)
        if X_unlabeled is not None:
            X_unlabeled, _ = split_column(
                X_unlabeled, self.domain_column, None, name="domain", required=False
            )
            X_unlabeled = check_rows(trial, X_unlabeled)
        data = check_domains(
            rows.X,
            rows.y_row,
            rows.classes,
            domains,
            target_domain=self.target_domain,
            sample_weight=sample_weight,
            X_unlabeled=X_unlabeled,
            need_target=self._needs_target,
        )
        if len(np.unique(data.y_row)) < 2:
            raise GroupDataError(
                "the rows with sample_weight above 0 hold one class only; "
                "a classifier needs at least two"
            )
        remember_features(self, X)
        self.classes_ = rows.classes
        self.target_domain_ = self.target_domain
        return data

    def _truth(self, y: ArrayLike, rows: Groups) -> NDArray[Any]:
        labels = one_entry_per_row(y, rows)
        refuse_missing(labels, rows)
        return labels

    @property
    def _splits_on_categories(self) -> bool:  # type: ignore[override]  # of the learner
        return isinstance(getattr(self, "estimator", None), HistTrees)

    @property
    def _largest_value(self) -> float:  # type: ignore[override]  # of the learner
        return np.inf if self._splits_on_categories else GroupMixin._largest_value

    def _allows_nan(self) -> bool:
        return accepts_nan(self.estimator)

    def _by_position(self, estimator: Learner) -> Learner:
        """A learner for checked rows, whose columns have lost their names."""
        names = getattr(self, "feature_names_in_", None)
        found: Learner = by_position(estimator, names, self._category_columns())
        return found

    def _learner(
        self, data: DomainRows, estimator: Learner, *, hypotheses: str = "hard"
    ) -> WeakLearner:
        """The weak learner for these rows; it is handed the unlabelled ones too."""
        return get_transfer_learner(
            self._by_position(estimator),
            len(data.classes),
            hypotheses=hypotheses,
            X_unlabeled=data.X_unlabeled,
        )

    def _score_rows(self, rows: Rows) -> NDArray[Any]:
        """Scores of checked rows, taken for rows of the target."""
        return self.ensemble_.score(rows)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        score_row = self._score_rows(rows)
        return score_row, log_odds_proba(score_row)

    def _label_rows(self, score_row: NDArray[Any], proba_row: NDArray[Any]) -> NDArray[np.intp]:
        """Class codes of rows; a tie of two classes goes to the second."""
        return decide(score_row)

    def _answer_groups(
        self, rows: Rows, groups: Groups, score_row: NDArray[Any], proba_row: NDArray[Any]
    ) -> NDArray[Any]:
        return MajorityVote().count(self._label_rows(score_row, proba_row), proba_row, groups)

    def predict_proba(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        r"""Class probabilities of each row, taken for a row of the target domain.

        Two classes: the logistic function :math:`1/(1 + e^{-F(x)})` of the score F; K classes:
        the softmax of :math:`F(x) / (K - 1)`. For boosted votes this is AdaBoost's estimate; it is
        not calibrated. Of a single weighted fit they are the learner's own, where it has any.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Not used: rows are predicted one by one.

        Returns
        -------
        proba : ndarray of shape (n_rows, n_classes)
        """
        return super().predict_proba(X, groups)

    def predict(self, X: MatrixLike, groups: Ids = None) -> NDArray[Any]:
        """Predict the class of each row; a tie of two classes goes to the second.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        groups : array-like of shape (n_rows,), default=None
            Not used: rows are predicted one by one.

        Returns
        -------
        y : ndarray of shape (n_rows,)
        """
        return super().predict(X, groups)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allows_nan()
        return tags


class TransferRegressorMixin(TransferMixin):
    """``fit`` of the transfer regressors; a group's number is the mean of its rows'.

    Goes before :class:`groupwise.base.BaseGroupRegressor`.

    A subclass has the constructor parameters ``target_domain`` and ``domain_column``, writes
    :meth:`_check_parameters`, :meth:`_learn` and ``_answer_rows``.
    """

    _metric = staticmethod(r2_score)
    target_ = "mean"

    def _truth(self, y: ArrayLike, rows: Groups) -> NDArray[Any]:
        return group_numbers(y, rows, target="mean")

    def fit(  # type: ignore[override]  # domains in the place of groups
        self,
        X: MatrixLike,
        y: ArrayLike,
        *,
        domains: Ids = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit to rows of the target and of other domains.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
            The number of each row.
        domains : array-like of shape (n_rows,), default=None
            Without any (nor a ``domain_column``) all rows are of the target, which is AdaBoost.R2,
            and a warning says so.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : object
        """
        trial = self._trial()
        trial._check_parameters()
        trial._learn(trial._check_training(X, y, domains, sample_weight))
        return self._take_over(trial)

    def _check_training(
        self, X: MatrixLike, y: ArrayLike, domains: Ids, sample_weight: ArrayLike | None = None
    ) -> DomainRows:
        """Check training data and store what every fitted model knows of them."""
        X, domains = self._domains_to_fit(X, domains)
        rows = check_totals(copy(self), X, y, None, target="mean")
        data = check_domains(
            rows.X,
            rows.y_row,
            np.empty(0),
            domains,
            target_domain=self.target_domain,
            sample_weight=sample_weight,
        )
        remember_features(self, X)
        self.target_domain_ = self.target_domain
        return data
