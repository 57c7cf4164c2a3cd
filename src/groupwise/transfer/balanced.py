"""One weighted fit, with the target's share of the weight chosen on held-out target rows."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from groupwise.boosting import HistTrees
from groupwise.transfer.base import BaseTransferClassifier
from groupwise.transfer.safe import select_on_target
from groupwise.transfer.weighted import WeightedTransferClassifier, fit_once
from groupwise.transfer.weighting import TargetShare, get_weighting

__all__ = ["BalancedTransferClassifier"]


class BalancedTransferClassifier(BaseTransferClassifier):
    """A weighted fit whose target share is chosen by cross-validation over the target's rows.

    Candidates are union, each share of ``shares`` and target only; the fewest errors on held-out
    rows win (see :func:`groupwise.transfer.safe.select_on_target`).

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        As for :class:`TrAdaBoostClassifier`.
    shares : tuple of float, default=(0.5, 0.3, 0.7, 0.1, 0.9)
        In order of preference.
    n_splits : int, default=5
        Folds of the target; fewer where a class has fewer rows.
    n_repeats : int, default=2
    target : domain id, default=None
        The domain that counts. May be left out when there is only one.
    balance_classes : bool, default=False
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    ensemble_ : Ensemble
        The one hypothesis.
    selection_ : TargetSelection
        Held-out errors of the candidates. Absent without source rows.

    Examples
    --------
    >>> from groupwise.datasets.transfer import make_shifted_domains
    >>> from groupwise.transfer import BalancedTransferClassifier, LinearLearner
    >>> d = make_shifted_domains(random_state=0)
    >>> clf = BalancedTransferClassifier(LinearLearner(), target="target", random_state=0)
    >>> sorted(clf.fit(d.X, d.y, domains=d.domains).selection_.errors)[:2]
    ['share 0.1', 'share 0.3']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        shares: tuple[float, ...] = (0.5, 0.3, 0.7, 0.1, 0.9),
        n_splits: int = 5,
        n_repeats: int = 2,
        target: Any = None,
        balance_classes: bool = False,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.shares = shares
        self.n_splits = n_splits
        self.n_repeats = n_repeats
        self.target = target
        self.balance_classes = balance_classes
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        *,
        domains: ArrayLike | None = None,
        X_unlabeled: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> "BalancedTransferClassifier":
        """Fit to labelled rows of the target and of other domains.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,)
        domains : array-like of shape (n_rows,), default=None
            The domain of each row. ``None``: all rows are of the target.
        X_unlabeled : {array-like, sparse matrix} of shape (n_unlabeled, n_features), default=None
            Rows of the target without labels, for a transductive learner.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        self : BalancedTransferClassifier
        """
        data = self._check_training(X, y, domains, sample_weight, X_unlabeled)
        rng = check_random_state(self.random_state)
        weightings: dict[str, Any] = {
            f"share {share:g}": TargetShare(share) for share in self.shares
        }
        weightings |= {name: get_weighting(name) for name in ("union", "target_only")}
        seed = rng.randint(2**31 - 1)
        candidates = {
            name: WeightedTransferClassifier(
                self.estimator,
                weighting=weighting,
                target=self.target,
                balance_classes=self.balance_classes,
                random_state=seed,
            )
            for name, weighting in weightings.items()
        }
        chosen = "union"
        if data.n_source:
            self.selection_ = select_on_target(
                candidates, data, rng, n_splits=self.n_splits, n_repeats=self.n_repeats
            )
            chosen = self.selection_.chosen
        self.ensemble_ = fit_once(candidates[chosen], data, weightings[chosen].weigh(data))
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or isinstance(self.estimator, HistTrees)
        return tags
