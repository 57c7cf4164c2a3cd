"""One weighted fit, with the target's share of the weight chosen on held-out target rows."""

from collections.abc import Hashable
from typing import Any

from numpy.typing import NDArray
from sklearn.utils import check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.groups import Groups
from groupwise.inputs import ClassWeight, DomainRows, check_class_weight
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.learners import Learner
from groupwise.transfer.model_selection import Folds
from groupwise.transfer.target_selection import TargetSelection, fit_to_rows, select_on_target
from groupwise.transfer.weighted import WeightedTransferClassifier
from groupwise.transfer.weighting import TargetShare, Weighting, get_weighting

__all__ = ["BalancedTransferClassifier"]


class BalancedTransferClassifier(BaseTransferClassifier):
    """A weighted fit whose target share is chosen by cross-validation over the target's rows.

    Candidates are union, each share of ``shares`` and target only; the fewest errors on held-out
    rows win (see :func:`groupwise.transfer.target_selection.select_on_target`).

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    shares : tuple of float, default=(0.5, 0.3, 0.7, 0.1, 0.9)
        In order of preference.
    cv : int, splitter or iterable of splits, default=None
        Folds of the target's rows, such as :class:`TargetKFold`; a number is lowered where a class
        has fewer rows. ``None``: five folds, twice over. Folds by number are drawn by what rows
        hold, so that their order makes no difference.
    target_domain : domain id, default=None
        The domain that counts. May be left out when there is only one.
    domain_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the domains.
    class_weight : dict, "balanced" or None, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    best_estimator_ : WeightedTransferClassifier
        Fitted to all rows.
    selection_ : TargetSelection or None
        Held-out errors of the candidates; ``None`` without source rows.

    Examples
    --------
    >>> from groupwise.boosting import LinearLearner
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import BalancedTransferClassifier
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = BalancedTransferClassifier(LinearLearner(), target_domain="target", random_state=0)
    >>> sorted(clf.fit(d.X, d.y, domains=d.domains).selection_.errors)[:2]
    ['share 0.1', 'share 0.3']
    """

    def __init__(
        self,
        estimator: Learner = None,
        *,
        shares: tuple[float, ...] = (0.5, 0.3, 0.7, 0.1, 0.9),
        cv: Folds = None,
        target_domain: Hashable | None = None,
        domain_column: str | None = None,
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.shares = shares
        self.cv = cv
        self.target_domain = target_domain
        self.domain_column = domain_column
        self.class_weight = class_weight
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_class_weight(self.class_weight)

    def _learn(self, data: DomainRows) -> None:
        rng = check_random_state(self.random_state)
        weightings: dict[str, Weighting] = {
            f"share {share:g}": TargetShare(share) for share in self.shares
        }
        weightings |= {name: get_weighting(name) for name in ("union", "target_only")}
        seed = rng.randint(2**31 - 1)
        estimator = self._by_position(self.estimator)
        candidates = {
            name: WeightedTransferClassifier(
                estimator,
                weighting=weighting,
                target_domain=self.target_domain,
                class_weight=self.class_weight,
                random_state=seed,
            )
            for name, weighting in weightings.items()
        }
        self.selection_: TargetSelection | None = None
        if data.n_source:
            self.selection_ = select_on_target(
                candidates, data, self.target_domain, rng, cv=self.cv
            )
        best = candidates["union" if self.selection_ is None else self.selection_.chosen]
        self.best_estimator_ = fit_to_rows(best, data)

    def _answer_rows(self, rows: Rows, groups: Groups) -> tuple[NDArray[Any], NDArray[Any]]:
        found = self.best_estimator_.predictions(rows, groups)
        return found.score_row, found.proba_row
