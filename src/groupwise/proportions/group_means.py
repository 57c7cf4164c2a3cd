"""Any scikit-learn estimator on the mean row of each group: the baselines of this package."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression, RidgeCV

from groupwise._typing import Rows
from groupwise.base import BaseGroupRegressor
from groupwise.groups import Groups
from groupwise.inputs import ShareRows, TotalRows, dense
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.probabilities import RowProba

__all__ = ["GroupMeansClassifier", "GroupMeansRegressor"]


class GroupMeansClassifier(BaseProportionsClassifier):
    """A classifier on each group's mean row, which has each class as often as the group has.

    A group becomes one line per class, weighted by the rows of that class. The baseline of learning
    from proportions: with ``DummyClassifier(strategy="prior")`` it predicts the same shares
    everywhere.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``predict_proba``, and ``sample_weight`` in ``fit``; ``None``:
        ``LogisticRegression(max_iter=1000)``.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes, in order, where ``y`` holds shares or counts.
    group_column : str, default=None

    Attributes
    ----------
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.
    estimator_ : classifier
        Fitted to the groups' means.

    Examples
    --------
    >>> from groupwise.proportions import GroupMeansClassifier
    >>> X = [[0.0], [0.2], [5.0], [5.1], [5.2], [5.3]]
    >>> clf = GroupMeansClassifier().fit(X, list("aabbbb"), groups=[0, 0, 0, 1, 1, 1])
    >>> clf.predict([[0.3], [5.2]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
    ):
        self.estimator = estimator
        self.classes = classes
        self.group_column = group_column

    def _check_parameters(self) -> None:
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"{type(self.estimator).__name__} has no predict_proba")

    def _learn(self, data: ShareRows) -> RowProba:
        given = self.estimator
        self.estimator_ = LogisticRegression(max_iter=1000) if given is None else clone(given)
        means = data.groups.mean(dense(data.X))
        n_groups, n_classes = data.counts_group.shape
        group, code = np.divmod(np.flatnonzero(data.counts_group), n_classes)
        weight = data.counts_group[group, code]
        self.estimator_.fit(means[group], code, sample_weight=weight * n_groups / weight.sum())
        return self._proba(data.X)

    def _proba(self, X: Rows) -> RowProba:
        return RowProba.of_proba(self.estimator_.predict_proba(dense(X)))


class GroupMeansRegressor(BaseGroupRegressor):
    """A regressor on each group's mean row and mean number.

    For a linear model that is all that groups tell: the mean of its rows' numbers is the number of
    their mean.

    Parameters
    ----------
    estimator : regressor, default=None
        ``None``: ``RidgeCV`` over ten penalties.
    target : {"mean", "total"}, default="mean"
        What ``y`` says of a group, and what :meth:`predict_groups` predicts.
    group_column : str, default=None

    Attributes
    ----------
    estimator_ : regressor
        Fitted to the groups' means.
    target_ : str
    n_groups_ : int

    Examples
    --------
    >>> from groupwise.proportions import GroupMeansRegressor
    >>> X, groups = [[0.0], [2.0], [4.0], [6.0]], [0, 0, 1, 1]
    >>> reg = GroupMeansRegressor().fit(X, [1.0, 1.0, 5.0, 5.0], groups=groups)
    >>> reg.predict_groups(X, groups=groups).round(1).tolist()
    [1.0, 5.0]
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        target: str = "mean",
        group_column: str | None = None,
    ):
        self.estimator = estimator
        self.target = target
        self.group_column = group_column

    def _learn(self, data: TotalRows) -> None:
        penalties = np.logspace(-3, 6, 10)
        self.estimator_ = RidgeCV(penalties) if self.estimator is None else clone(self.estimator)
        self.estimator_.fit(data.groups.mean(dense(data.X)), data.mean_group)

    def _answer_rows(self, rows: Rows, groups: Groups) -> NDArray[Any]:
        return np.asarray(self.estimator_.predict(dense(rows)), dtype=float)
