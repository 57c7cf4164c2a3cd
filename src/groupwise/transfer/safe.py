"""TrAdaBoost, unless a plain weighted fit does better on held-out rows of the target."""

import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import HistTrees, accepts_nan
from groupwise.groups import Groups
from groupwise.inputs import DomainRows
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner
from groupwise.transfer.model_selection import Folds
from groupwise.transfer.target_selection import (
    NegativeTransferWarning,
    TargetSelection,
    fit_to_rows,
    select_safely,
)
from groupwise.transfer.tradaboost import TrAdaBoostClassifier, WorseThanGuessingWarning
from groupwise.transfer.weighted import WeightedTransferClassifier

__all__ = ["SafeTrAdaBoostClassifier"]

_BASELINES = ("equal_mass", "union", "target_only")


class SafeTrAdaBoostClassifier(BaseTransferClassifier):
    """TrAdaBoost or a baseline of the same learner, whichever the target's rows prefer.

    Candidates are TrAdaBoost and :class:`WeightedTransferClassifier` with the weightings
    ``"equal_mass"``, ``"union"`` and ``"target_only"``, compared by cross-validation over the
    target's rows. Below 20 target rows these errors are mostly noise, and the equal-mass fit is
    kept unless another is better by two standard errors. Where transfer loses to the target alone,
    a :class:`NegativeTransferWarning` says so.

    Parameters
    ----------
    tradaboost : TrAdaBoostClassifier, default=None
        ``None``: ``TrAdaBoostClassifier()``. Its ``estimator`` and ``class_weight`` are the
        baselines' too; its ``target_domain`` and ``random_state`` are set from here.
    cv : int, splitter or iterable of splits, default=None
        As for :class:`BalancedTransferClassifier`.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    best_estimator_ : TrAdaBoostClassifier or WeightedTransferClassifier
        Fitted to all rows.
    selection_ : TargetSelection or None
        The held-out errors and the choice; ``None`` without source rows, where there is none.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import SafeTrAdaBoostClassifier, TrAdaBoostClassifier
    >>> d = make_shifted_domains(random_state=1)
    >>> clf = SafeTrAdaBoostClassifier(
    ...     TrAdaBoostClassifier(n_estimators=5), target_domain="target", random_state=0)
    >>> sorted(clf.fit(d.X, d.y, domains=d.domains).selection_.errors)
    ['equal_mass', 'target_only', 'tradaboost', 'union']
    """

    def __init__(
        self,
        tradaboost: TrAdaBoostClassifier | None = None,
        *,
        cv: Folds = None,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.tradaboost = tradaboost
        self.cv = cv
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        """The boosting inside checks its own."""

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        with warnings.catch_warnings():
            if data.n_source:  # the comparison judges it
                warnings.simplefilter("ignore", WorseThanGuessingWarning)
            boosted = fit_to_rows(self._boosting().set_params(random_state=rng), data)
        self.best_estimator_: TrAdaBoostClassifier | WeightedTransferClassifier = boosted
        self.selection_: TargetSelection | None = None
        if data.n_source:
            self._compare(data, rng)

    def _boosting(self) -> TrAdaBoostClassifier:
        given = TrAdaBoostClassifier() if self.tradaboost is None else clone(self.tradaboost)
        return given.set_params(
            target_domain=self.target_domain,
            domain_column=None,
            estimator=self._by_position(given.estimator),
        )

    def _compare(self, data: DomainRows, rng: np.random.RandomState) -> None:
        """Put a baseline in place of the boosted model where held-out target rows prefer it."""
        boosting = self._boosting()
        baselines = {
            name: WeightedTransferClassifier(
                boosting.estimator,
                weighting=name,
                target_domain=self.target_domain,
                class_weight=boosting.class_weight,
                random_state=rng.randint(2**31 - 1),
            )
            for name in _BASELINES
        }
        boosting.set_params(random_state=rng.randint(2**31 - 1))
        everyone: dict[str, BaseTransferClassifier] = {"tradaboost": boosting, **baselines}
        selection = select_safely(
            everyone, data, self.target_domain, rng, start="equal_mass", cv=self.cv
        )
        self.selection_ = selection
        if selection.chosen != "tradaboost":
            self.best_estimator_ = fit_to_rows(baselines[selection.chosen], data)
        if selection.negative_transfer:
            errors = {name: round(error, 3) for name, error in selection.errors.items()}
            warnings.warn(
                "negative transfer: on held-out rows the target alone does best, so the source "
                f"rows are not used (errors {errors})",
                NegativeTransferWarning,
                stacklevel=4,
            )

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self.best_estimator_.predictions(rows, groups)
        return found.score_row, found.proba_row

    @property
    def _boosts(self) -> Learner:
        """The weak learner of the boosting inside."""
        return getattr(self.tradaboost, "estimator", None)

    @property
    def _splits_on_categories(self) -> bool:  # type: ignore[override]  # of the learner
        return isinstance(self._boosts, HistTrees)

    def _allows_nan(self) -> bool:
        return accepts_nan(self._boosts)
