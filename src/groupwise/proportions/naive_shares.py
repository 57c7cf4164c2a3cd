"""The naive approach to shares: give every row its group's shares and train any classifier."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags, check_random_state

from groupwise._typing import RandomState, Rows
from groupwise.boosting import BoostedTrees, accepts_nan, get_weak_learner
from groupwise.boosting.protocol import LearnerLike
from groupwise.boosting.votes import vote_shares
from groupwise.inputs import ShareRows
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.probabilities import RowProba

__all__ = ["NaiveSharesClassifier"]


class NaiveSharesClassifier(BaseProportionsClassifier):
    """Any classifier trained on the group's shares as each row's probabilities.

    Every row is taken for an example of all classes that its group has, one line per class, with
    the class's share for a weight; the group's shares are the mean of its rows' probabilities. That
    is all there is to know where rows of a group are alike. Where they are not, what one row says
    is lost among its neighbours, and :class:`~groupwise.losses.CountLikelihoodLoss` finds it again.

    Parameters
    ----------
    estimator : classifier or weak learner, default=None
        With ``sample_weight`` in ``fit``, and probabilities; ``None``:
        :class:`~groupwise.boosting.BoostedTrees`.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes, in order, where ``y`` holds shares or counts.
    group_column : str, default=None
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.
    ensemble_ : Ensemble
        The one hypothesis.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from groupwise.proportions import NaiveSharesClassifier
    >>> X = [[0.0], [0.2], [5.0], [5.1], [5.2], [5.3]]
    >>> clf = NaiveSharesClassifier(DecisionTreeClassifier())
    >>> clf = clf.fit(X, list("abbbbb"), groups=[0, 0, 1, 1, 1, 1])
    >>> clf.predict_proba([[0.1], [5.2]]).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    def __init__(
        self,
        estimator: LearnerLike = None,
        *,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        get_weak_learner(self._estimator(), hypotheses="soft")

    def _estimator(self) -> LearnerLike:
        return BoostedTrees() if self.estimator is None else self.estimator

    def _learn(self, data: ShareRows) -> RowProba:
        share_row = data.shares_group[data.groups.codes]
        row, code = np.nonzero(share_row)
        learner = get_weak_learner(self._estimator(), data.n_classes, hypotheses="soft")
        rng = check_random_state(self.random_state)
        run = learner.bind(data.X[row]).start(data.n_classes, rng, resample=False)
        run.fit(code, share_row[row, code])
        self.ensemble_ = run.combine([1.0])
        return self._proba(data.X)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_proba(vote_shares(self.ensemble_.score(X)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = accepts_nan(self._estimator())
        return tags
