"""Few large groups: a mean-operator start, then labels that have the counts and trees, in turn."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.preprocessing import StandardScaler

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_number, whole_counts
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.decode import decode_counts
from groupwise.proportions.group_means import dense
from groupwise.proportions.mean_map import weights_of_class_means
from groupwise.proportions.probabilities import RowProba
from groupwise.threads import few_threads

__all__ = ["DecodeRefitClassifier", "mean_map_scores"]

_FOLDS = 5
_MAX_STEPS = 300


class DecodeRefitClassifier(BaseProportionsClassifier):
    r"""Any classifier, fitted to labels that agree with the counts, again and again.

    Counts of groups with thousands of rows say next to nothing of a single row, and trees on their
    likelihood learn the groups. What such groups do tell are the means of the classes, so

    1. the start is the mean map (:class:`MeanMapClassifier`) on standardised features, linear;
    2. in each group the rows of highest score get the labels, as many as are known to have them
       (:func:`decode_counts`);
    3. the classifier is fitted to these labels, and scores every row by a model that has not seen
       it (five folds of rows), so that labels can change.

    Steps 2 and 3 are repeated, as :class:`AlternatingMeanMapClassifier` does for a linear model.

    Parameters
    ----------
    estimator : classifier, default=None
        With ``predict_proba``. ``None``: scikit-learn's ``HistGradientBoostingClassifier``.
    C : float, default=1.0
        Inverse of the start's penalty, as in scikit-learn's ``LogisticRegression``.
    max_iter : int, default=3
        Times that labels are decoded and the classifier is fitted; fewer if labels stay.
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Of the default estimator; one that is given has its own.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to the last labels of all rows.
    n_iter_ : int
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` labels are known, and this is the estimator itself.

    References
    ----------
    Quadrianto, Smola, Caetano and Le (2009). Estimating labels from label proportions. JMLR 10.
    Patrini, Nock, Rivera and Caetano (2014). (Almost) no label no cry. NeurIPS. Trees in place of
    their linear model, and folds, are ours.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import DecodeRefitClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(400, centers=2, random_state=0)
    >>> d = make_aggregates(X, y, size=100, randomness=0.8, random_state=0)
    >>> clf = DecodeRefitClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        *,
        C: float = 1.0,
        max_iter: int = 3,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.estimator = estimator
        self.C = C
        self.max_iter = max_iter
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_number("C", self.C, "(0, inf)")
        check_number("max_iter", self.max_iter, "[1, inf)", whole=True)
        if self.estimator is not None and not hasattr(self.estimator, "predict_proba"):
            raise ValueError(f"{type(self.estimator).__name__} has no predict_proba")

    def _learn(self, data: ShareRows) -> RowProba:
        with few_threads(data.X.shape[0]):
            self._alternate(data)
        return self._proba(data.X)

    def _alternate(self, data: ShareRows) -> None:
        """Decode and fit in turn."""
        x = dense(data.X)
        counts = whole_counts(data.counts_group)
        score = mean_map_scores(StandardScaler().fit_transform(x), data, self.C)
        code = decode_counts(score, counts, data.groups)
        # rows that the start finds alike are in different folds, whatever their order
        fold = np.argsort(np.argsort(score[:, 0], kind="stable"), kind="stable") % _FOLDS
        for n_iter in range(1, self.max_iter + 1):
            self.n_iter_ = n_iter
            if n_iter == self.max_iter:
                break
            proba = self._out_of_fold(x, code, fold, data.n_classes)
            score = np.log(np.maximum(proba, 1e-12))
            following = decode_counts(score, counts, data.groups)
            if (following == code).all():
                break
            code = following
        self.estimator_ = self._unfitted().fit(x, code)

    def _unfitted(self) -> BaseEstimator:
        if self.estimator is None:
            return HistGradientBoostingClassifier(random_state=self.random_state)
        return clone(self.estimator)

    def _out_of_fold(
        self,
        x: NDArray[np.float64],
        code: NDArray[np.intp],
        fold: NDArray[np.intp],
        n_classes: int,
    ) -> NDArray[np.float64]:
        """Probabilities of every row, by a model of the other folds' rows and labels."""
        proba = np.zeros((len(x), n_classes))
        for k in np.unique(fold):
            train, test = fold != k, np.flatnonzero(fold == k)
            seen = np.unique(code[train])
            if len(seen) == 1:  # all rows of the others are in this fold
                proba[test, seen[0]] = 1.0
                continue
            model = self._unfitted().fit(x[train], code[train])
            proba[np.ix_(test, seen)] = model.predict_proba(x[test])
        return proba

    def _proba(self, X: Rows) -> RowProba:
        with few_threads(X.shape[0]):
            return RowProba.of_proba(self.estimator_.predict_proba(dense(X)))


def mean_map_scores(x: NDArray[np.float64], data: ShareRows, C: float) -> NDArray[np.float64]:
    """Scores of all rows: logistic regression by class sums, which least squares give."""
    n_classes, n_features = data.n_classes, x.shape[1]
    count = data.counts_group.sum(axis=0)
    goal = np.vstack([x.T @ weights_of_class_means(data), count])

    def value_and_gradient(packed: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        w = packed.reshape(n_features + 1, n_classes)
        score = x @ w[:-1] + w[-1]
        proba = softmax(score, axis=1)
        gradient = np.vstack([x.T @ proba, proba.sum(axis=0)]) - goal
        gradient[:-1] += w[:-1] / C
        value = logsumexp(score, axis=1).sum() - (w * goal).sum()
        return float(value + 0.5 / C * (w[:-1] ** 2).sum()), gradient.ravel()

    start = np.zeros((n_features + 1, n_classes))
    start[-1] = np.log(count / count.sum())
    options = {"maxiter": _MAX_STEPS}
    found = minimize(
        value_and_gradient, start.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    w = found.x.reshape(start.shape)
    return np.asarray(x @ w[:-1] + w[-1])
