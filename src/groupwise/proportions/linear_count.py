"""The likelihood of the groups' counts, linear in the features."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse import hstack as sparse_hstack
from scipy.sparse.linalg import lsqr
from sklearn.preprocessing import StandardScaler

from groupwise._typing import RandomState, Rows
from groupwise.inputs import ShareRows, check_number, dense, whole_counts
from groupwise.losses.base import BoundLoss
from groupwise.losses.proportions import CountLikelihoodLoss
from groupwise.proportions.base import BaseProportionsClassifier
from groupwise.proportions.count_likelihood import minimise_counts, row_scores, rows_of
from groupwise.proportions.folds import Splitter, check_cv, make_folds
from groupwise.proportions.probabilities import RowProba
from groupwise.proportions.soft_labels import SLOPE, aggregate_targets

__all__ = ["LinearCountClassifier"]

Weights = tuple[NDArray[np.float64], NDArray[np.float64]]


class LinearCountClassifier(BaseProportionsClassifier):
    r"""Logistic regression fitted to the likelihood of the groups' class counts.

    .. math:: \min_{w, c} -\sum_g \log P\Big(\sum_{i \in g} y_i = n_g^+ \,\Big|\,
              P(y_i = 1) = \sigma(w^\top x_i + c)\Big) + \tfrac\alpha2 |w|^2

    with x the standardised features (divided by their deviations alone if sparse). Time and memory
    are linear in the rows: no kernel, no graph. The loss is
    :class:`groupwise.losses.CountLikelihoodLoss`, exact for groups of two classes up to 128 rows.
    It is not convex; the start is the least squares solution of the groups' sums, and from the
    largest penalty to the smallest each solution starts the next.

    Parameters
    ----------
    alphas : tuple of float, default=(0.01, 0.1, 1, 10, 100)
        Penalties to choose from, by the likelihood of held-out groups' counts; 1 / C of
        scikit-learn's ``LogisticRegression``. A single one is taken as it is.
    cv : int or splitter, default=5
        Number of folds, or a splitter that keeps groups whole (it is given no y).
    classes : array-like of shape (n_classes,), default=None
        Names of the classes; see :func:`groupwise.inputs.class_counts`.
    group_column : str, default=None
        Name of the column of a DataFrame ``X`` that holds the group ids.
    random_state : int, RandomState instance or None, default=None
        Draws the folds.

    Attributes
    ----------
    alpha_ : float
        What was chosen.
    held_out_loss_ : ndarray of shape (n_alphas,)
        Negative log-likelihood of held-out groups' counts, per group; only of several ``alphas``.
    coef_ : ndarray of shape (n_features, n_outputs)
        Of standardised features; one output for two classes, the log-odds of the second.
    intercept_ : ndarray of shape (n_outputs,)
    neg_log_likelihood_ : float
        Of the training groups' counts, at the solution.
    classes_, transduction_, transduction_proba_, prior_, n_groups_
        As in :class:`ManifoldAOCClassifier`.

    Notes
    -----
    With ``groups=None`` this is scikit-learn's ``LogisticRegression(C=1 / alpha)`` on standardised
    features.

    References
    ----------
    S. X. Chen and J. S. Liu (1997). Statistical applications of the Poisson-binomial and
    conditional Bernoulli distributions. Statistica Sinica 7.

    Examples
    --------
    >>> from groupwise.datasets.aggregates import make_aggregates
    >>> from groupwise.proportions import LinearCountClassifier
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(100, centers=2, random_state=0)
    >>> d = make_aggregates(X, y, size=5, random_state=0)
    >>> clf = LinearCountClassifier(random_state=0).fit(d.X, d.y, groups=d.groups)
    >>> bool((clf.predict(X) == y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        alphas: tuple[float, ...] = (0.01, 0.1, 1.0, 10.0, 100.0),
        *,
        cv: int | Splitter = 5,
        classes: ArrayLike | None = None,
        group_column: str | None = None,
        random_state: RandomState = None,
    ):
        self.alphas = alphas
        self.cv = cv
        self.classes = classes
        self.group_column = group_column
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_cv(self.cv)
        if len(self.alphas) == 0:
            raise ValueError("alphas must hold at least one number, got none")
        for alpha in self.alphas:
            check_number("alphas", alpha, "(0, inf)")

    def _learn(self, data: ShareRows) -> RowProba:
        self._scaler = StandardScaler(with_mean=not issparse(data.X)).fit(data.X)
        x = self._scaler.transform(data.X)
        everything = np.arange(data.groups.n_groups)
        descending = np.sort(np.asarray(self.alphas, dtype=float))[::-1]
        self.alpha_ = float(descending[0])
        if len(descending) > 1:
            self.held_out_loss_, self.alpha_ = self._choose(x, data)
        path = descending[descending >= self.alpha_]
        self.coef_, self.intercept_, self.neg_log_likelihood_ = _path(x, data, everything, path)[-1]
        return self._of_scaled(x)

    def _choose(self, x: Rows, data: ShareRows) -> tuple[NDArray[np.float64], float]:
        """Loss of held-out groups for every alpha, and the alpha where it is least."""
        alphas = np.asarray(self.alphas, dtype=float)
        order = np.argsort(-alphas)
        total = np.zeros(len(alphas))
        target_group = aggregate_targets(data)
        for held_out in make_folds(self.cv, data.X, data.groups, target_group, self.random_state):
            train = np.setdiff1d(np.arange(data.groups.n_groups), held_out)
            rows, loss = _bound(data, held_out)
            for k, (weights, bias, _) in zip(
                order, _path(x, data, train, alphas[order]), strict=True
            ):
                total[k] += loss.value(row_scores(x[rows] @ weights + bias))
        total /= data.groups.n_groups
        return total, float(alphas[total.argmin()])

    def _of_scaled(self, x: Rows) -> RowProba:
        return RowProba.of_scores(np.asarray(x @ self.coef_) + self.intercept_)

    def _proba(self, X: Rows) -> RowProba:
        # means cannot be taken off a sparse table, and a dense one may be asked of either
        table = dense(X) if self._scaler.with_mean else X
        return self._of_scaled(self._scaler.transform(table))


def _bound(data: ShareRows, part: NDArray[np.intp]) -> tuple[NDArray[np.intp], BoundLoss]:
    """The rows of some groups, and the likelihood of these groups' counts."""
    rows, groups = rows_of(data.groups, part)
    shares = whole_counts(data.counts_group)[part] / data.sizes[part, None]
    return rows, CountLikelihoodLoss().bind(shares, groups, n_classes=data.n_classes)


def _path(
    x: Rows, data: ShareRows, part: NDArray[np.intp], alphas: NDArray[np.float64]
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], float]]:
    """Solutions for penalties in the order given, each the start of the next."""
    rows, loss = _bound(data, part)
    own = x[rows]
    start = _least_squares(own, data, part, float(alphas[0]))
    found = []
    for alpha in alphas:
        weights, bias, value = minimise_counts(own, loss, *start, float(alpha))
        start = weights, bias
        found.append((weights, bias, value))
    return found


def _least_squares(x: Rows, data: ShareRows, part: NDArray[np.intp], alpha: float) -> Weights:
    """Sums of soft labels in every group, each weighed by its size; soft labels as log-odds."""
    _, groups = rows_of(data.groups, part)
    root = np.sqrt(data.sizes[part])
    scaled = csr_array(
        (1 / root[groups.codes], (groups.codes, np.arange(groups.n_rows))),
        shape=(groups.n_groups, groups.n_rows),
    )
    sums = scaled @ x
    stack = sparse_hstack if issparse(x) else np.hstack
    both = stack([sums, root[:, None]])
    target = aggregate_targets(data)[part] / root[:, None]
    damp = np.sqrt(alpha)
    found = SLOPE * np.column_stack([lsqr(both, each, damp=damp)[0] for each in target.T])
    return found[:-1], found[-1]
